//! The walk over commands against the shell itself: whatever bash runs, the walk has seen, or said that it cannot read.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use toolreplay::shell;

/// A generator of numbers that are always the same.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

const PIECES: [&str; 58] = [
    "aa",
    "bb x",
    "cc",
    "dd",
    " ",
    " ",
    " ",
    "\n",
    ";",
    "; ",
    " && ",
    " || ",
    " | ",
    " & ",
    "(",
    ")",
    "$(",
    ")",
    "`",
    "`",
    "\"",
    "\"",
    "'",
    "'",
    "\\",
    "\\\n",
    "{ ",
    "; }",
    "$x",
    "${x:-",
    "}",
    "$((",
    "))",
    "1+1",
    "<<E\n",
    "\nE\n",
    "<<'E'\n",
    "<<-E\n",
    "# ",
    "if aa; then ",
    "; fi",
    "for i in 1 2; do ",
    "; done",
    "case x in x) ",
    ";; esac",
    "x=",
    "eval ",
    "command ",
    "builtin eval ",
    "!",
    "[[ a == ",
    " ]]",
    "f() { ",
    "<<< ",
    "$'",
    "\\x61a'",
    "<(",
    "~",
];

/// Texts in which most pieces stand where they can.
const SHAPES: [&str; 26] = [
    "aa $(bb x)",
    "aa \"$(cc)\"",
    "aa `dd`",
    "aa \"`dd`\"",
    "(aa; bb x)",
    "{ aa; bb x; }",
    "aa <<E\n$(bb x)\nE\n",
    "aa <<'E'\n$(bb x)\nE\n",
    "aa ${x:-$(cc)}",
    "aa \"${x:-$(cc)}\"",
    "aa $((1 + $(cc)))",
    "x=$(aa) bb x",
    "for i in $(aa); do cc; done",
    "if aa; then bb x; fi",
    "case $(aa) in x) bb x;; *) cc;; esac",
    "f() { aa; }; f",
    "eval 'aa; bb x'",
    "eval \"aa\" bb",
    "aa <(bb x)",
    "aa <<< \"$(cc)\"",
    "command aa",
    "! aa",
    "a''a",
    "\"a\"a",
    "a\\a",
    "$'\\x61a'",
];

fn text(numbers: &mut Numbers) -> String {
    let mut text = String::new();
    for _ in 0..1 + numbers.below(3) {
        let shape = SHAPES[numbers.below(SHAPES.len())].to_owned();
        text.push_str(&shape);
        text.push_str(["; ", "\n", " && ", " | ", " ", ""][numbers.below(6)]);
    }
    // and some of it broken or moved
    for _ in 0..numbers.below(4) {
        let mut at = numbers.below(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        match numbers.below(3) {
            0 if at < text.len() => {
                text.remove(at);
            }
            _ => text.insert_str(at, PIECES[numbers.below(PIECES.len())]),
        }
    }
    text
}

/// The names that bash looked for when it ran a text.
fn ran(folder: &std::path::Path, number: usize, text: &str) -> Option<BTreeSet<String>> {
    // what one text leaves running must not write into the log of the next
    let log = folder.join(format!("log-{number}"));
    std::fs::write(&log, "").ok()?;
    let script =
        "PATH=/nonexistent; command_not_found_handle() { printf '%s\\n' \"$1\" >>\"$LOG\"; return 0; }; eval \"$TEXT\"";
    let status = Command::new("timeout")
        .args(["5", "bash", "--norc", "--noprofile", "-c", script])
        .current_dir(folder)
        .env("TEXT", text)
        .env("LOG", &log)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.ok()?;
    Some(std::fs::read_to_string(&log).ok()?.lines().map(str::to_owned).collect())
}

#[test]
fn bash_runs_nothing_that_is_not_seen() {
    let folder = tempfile::tempdir().unwrap();
    if Command::new("bash").arg("--version").stdout(Stdio::null()).status().is_err() {
        return;
    }
    let mut numbers = Numbers(20_261_201);
    let (mut read, mut missed) = (0, Vec::new());
    for number in 0..400 {
        let text = text(&mut numbers);
        let script = shell::read(&text);
        let open = !script.unread.is_empty()
            || script.commands.iter().any(|command| command.words.first().is_some_and(|word| word.literal().is_none()));
        if open {
            continue;
        }
        read += 1;
        let seen: BTreeSet<String> = script
            .commands
            .iter()
            .filter_map(|command| command.words.first()?.literal().map(|name| name.into_owned()))
            .collect();
        let Some(ran) = ran(folder.path(), number, &text) else { return };
        if !ran.is_subset(&seen) {
            missed.push(format!("{text:?}: ran {ran:?}, saw {seen:?}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    assert!(read > 80, "only {read} texts could be read");
}
