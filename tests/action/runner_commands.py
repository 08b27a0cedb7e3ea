"""The commands a GitHub runner sees in a step's output.

The rules, as the runner has them: standard output and error are read as lines that end in LF, CRLF or a lone CR. After
white space a line may start with `::name properties::data`; otherwise `##[name properties]data` counts wherever it stands.
Names are compared without regard to case, and unknown ones are text. After `stop-commands` only the given token counts.
"""

import re

NAMES = {
    "add-mask", "add-matcher", "add-path", "debug", "echo", "endgroup", "error", "group", "internal-set-repo-path",
    "notice", "remove-matcher", "save-state", "set-env", "set-output", "stop-commands", "warning",
}


def lines(log: bytes):
    return re.split("\r\n|\r|\n", log.decode("utf-8", "replace"))


def unescaped(text: str, pairs) -> str:
    for escape, character in pairs:
        text = text.replace(escape, character)
    return text.replace("%25", "%")


DATA = [("%0D", "\r"), ("%0A", "\n")]
PROPERTY = DATA + [("%3A", ":"), ("%2C", ",")]


def properties(text: str, separator: str) -> dict:
    found = {}
    for part in text.split(separator):
        name, equals, value = part.strip().partition("=")
        if equals:
            found[name] = unescaped(value, PROPERTY)
    return found


def parse(line: str, names: set):
    """The command in one line as (name, properties, data), or None."""
    # what .NET takes for white space, Python does too, but for four separators of its own
    text = line.lstrip(" \t\v\f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
                       "\u2028\u2029\u202f\u205f\u3000")
    if text.startswith("::"):
        end = text.find("::", 2)
        if end > 0:
            name, _, rest = text[2:end].partition(" ")
            if name.lower() in names:
                return name.lower(), properties(rest, ","), unescaped(text[end + 2:], DATA)
    start = line.find("##[")
    if start >= 0:
        end = line.find("]", start)
        if end > 0:
            name, _, rest = line[start + 3:end].partition(" ")
            if name.lower() in names:
                return name.lower(), properties(rest, ";"), unescaped(line[end + 1:], DATA)
    return None


def commands(log: bytes, heed_stop: bool = True):
    """All commands of a log. Without `heed_stop` also those that `stop-commands` would silence."""
    token = None
    found = []
    for line in lines(log):
        command = parse(line, NAMES | ({token} if token else set()))
        if command is None:
            continue
        if command[0] == token:
            token = None
        elif token and heed_stop:
            continue
        elif command[0] == "stop-commands":
            token = command[2].lower()
            found.append(command)
        else:
            found.append(command)
    return found


def check_itself():
    def one(text):
        found = commands(text.encode())
        return found[0][0] if found else None

    for text, name in [
        ("::error file=a,line=1::boom", "error"), ('{"cmd":"echo ##[error]boom"}', "error"),
        ("text\r::add-mask::a", "add-mask"), ("text\r\n::group::x", "group"), ("\u2028\u3000::warning::x", "warning"),
        ("\x1b[31m##[add-path]x", "add-path"), ("::SET-OUTPUT name=findings::0", "set-output"),
        ("\x1b[31m::error::x", None), ("f:3: ::error::x", None), ("#\u200b#[error]x", None), ("##\\[error]x", None),
        ("::nonsense::x", None), ("::error", None), ("std::vec::Vec", None), ("::stop-commands::t\n::error::x", "stop-commands"),
    ]:
        assert one(text) == name, (text, one(text))
    stopped = b"::stop-commands::T0\n::error::hidden\n::t0::\n::error a=%3A%25::x%0Ay"
    assert [name for name, _, _ in commands(stopped)] == ["stop-commands", "error"]
    assert commands(stopped)[1] == ("error", {"a": ":%"}, "x\ny")
    assert [name for name, _, _ in commands(stopped, heed_stop=False)] == ["stop-commands", "error", "error"]


check_itself()
