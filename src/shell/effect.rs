//! Whether a shell command can only read: every command in it is on a short list, with no option that writes or runs
//! something else, and nothing is redirected, substituted or put into the background. What cannot be parsed may write.

use super::script::{Redirect, RedirectKind, Simple, Via};
use super::walk::read;
use super::word::{Piece, Word};

/// Longer commands are scripts, and scripts may write.
const MAX_COMMAND: usize = 16 << 10;

/// Commands that read and print, whatever their arguments.
const READERS: [&str; 33] = [
    "basename", "cat", "cd", "cmp", "cut", "diff", "dirname", "du", "df", "echo", "expr", "false", "file", "grep",
    "egrep", "fgrep", "head", "id", "ls", "nl", "paste", "pwd", "readlink", "realpath", "rev", "seq", "stat", "tail",
    "true", "uname", "wc", "which", "whoami",
];

/// Whether a command line only reads.
pub(crate) fn is_read_only(command: &str) -> bool {
    let first = command.split_whitespace().next().unwrap_or("");
    // most commands are told by their first word; one that is not on the list needs no parser
    if command.len() > MAX_COMMAND || !is_known(first) {
        return false;
    }
    let script = read(command);
    script.unread.is_empty() && !script.commands.is_empty() && script.commands.iter().all(simple_reads)
}

fn is_known(name: &str) -> bool {
    READERS.contains(&name)
        || matches!(name, "git" | "find" | "rg" | "sed" | "sort" | "tr" | "uniq" | "base64" | "date")
}

fn simple_reads(command: &Simple) -> bool {
    // an assignment may change what a command runs; loops, subshells and what other commands run are left to a person
    if !command.assignments.is_empty() || command.background || command.via != Via::Listed {
        return false;
    }
    let words: Option<Vec<String>> = command.words.iter().map(text).collect();
    words.is_some_and(|words| words_are_read_only(&words.iter().map(String::as_str).collect::<Vec<_>>()))
        && command.redirects.iter().all(is_harmless)
}

/// Reading from a file, joining two outputs, throwing output away.
fn is_harmless(redirect: &Redirect) -> bool {
    match redirect.kind {
        RedirectKind::Read | RedirectKind::Descriptor => true,
        RedirectKind::Write | RedirectKind::Append => redirect.target.literal().is_some_and(|file| file == "/dev/null"),
        RedirectKind::ReadWrite | RedirectKind::Text => false,
    }
}

/// The text of a word in which no command is run. What a variable holds is not known, but it runs nothing.
fn text(word: &Word) -> Option<String> {
    let mut text = String::new();
    for piece in &word.pieces {
        match piece {
            Piece::Text(part) | Piece::Pattern(part) | Piece::Braces(part) => text.push_str(part),
            Piece::Home(user) => text.extend(["~", user]),
            Piece::Variable { .. } => text.push_str("$_"),
            Piece::Output { .. } => return None,
        }
    }
    Some(text)
}

/// Whether a command given as its words only reads. An argument that holds `$_` stands for a variable.
pub(crate) fn words_are_read_only(words: &[&str]) -> bool {
    let Some((name, arguments)) = words.split_first() else { return false };
    let has = |options: &[&str]| arguments.iter().any(|argument| options.contains(argument));
    let starts = |prefixes: &[&str]| arguments.iter().any(|word| prefixes.iter().any(|start| word.starts_with(start)));
    // an option could hide in a variable
    let variable = arguments.iter().any(|argument| argument.starts_with("$_"));
    match *name {
        "find" => {
            !variable
                && !has(&["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fls", "-fprint", "-fprint0", "-fprintf"])
        }
        "rg" => !variable && !starts(&["--pre", "--hostname-bin", "--search-zip"]) && !short_option(arguments, 'z'),
        "base64" => !variable && !starts(&["-o", "--output"]),
        "sort" => {
            !variable && !starts(&["--output", "--compress-program", "-T", "--temp"]) && !short_option(arguments, 'o')
        }
        // a second file name is what it writes to
        "uniq" => !variable && arguments.iter().filter(|word| !word.starts_with('-')).count() <= 1,
        "tr" => true,
        "date" => !variable && !starts(&["-s", "--set"]) && arguments.iter().all(|word| word.starts_with(['+', '-'])),
        "sed" => sed_prints(arguments),
        "git" => !variable && git_reads(arguments),
        "diff" => !starts(&["--output"]),
        "file" => !starts(&["-C", "--compile"]),
        other => READERS.contains(&other),
    }
}

/// Whether a cluster of one-letter options holds a letter.
fn short_option(arguments: &[&str], letter: char) -> bool {
    arguments.iter().any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(letter))
}

/// `sed -n 10,20p file` and nothing else.
fn sed_prints(arguments: &[&str]) -> bool {
    let ["-n", script, files @ ..] = arguments else { return false };
    let range = script.strip_suffix('p');
    range.is_some_and(|range| !range.is_empty() && range.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '$')))
        && files.iter().all(|file| !file.starts_with('-'))
}

fn git_reads(mut arguments: &[&str]) -> bool {
    // where git looks, not what it does
    while let [option, rest @ ..] = arguments {
        arguments = match (*option, rest) {
            ("-C", [_, rest @ ..]) => rest,
            ("--no-pager", rest) => rest,
            _ => break,
        };
    }
    let Some((command, options)) = arguments.split_first() else { return false };
    let forbidden = [
        "--output",
        "--ext-diff",
        "--textconv",
        "--exec",
        "--paginate",
        "--config-env",
        "-c",
        "--open-files-in-pager",
        "-O",
    ];
    if options.iter().any(|option| forbidden.iter().any(|start| option.starts_with(start))) {
        return false;
    }
    match *command {
        "status" | "log" | "diff" | "show" | "rev-parse" | "ls-files" | "ls-tree" | "blame" | "grep" | "shortlog"
        | "describe" | "merge-base" | "cat-file" | "rev-list" => true,
        "branch" => options.iter().all(|option| {
            matches!(*option, "-a" | "-r" | "-v" | "-vv" | "--list" | "--all" | "--remotes" | "--show-current")
        }),
        "remote" => matches!(options, [] | ["-v"]),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_in_a_line_must_read() {
        for reads in [
            "ls -la",
            "cd src && git status && git log --oneline | head -5",
            "cat a.txt 2>/dev/null || echo 'rm -rf /'",
            "grep -rn \"fn main\" src; wc -l src/*.rs",
            "sed -n 10,20p src/lib.rs",
            "git -C sub diff HEAD~1 -- a.rs",
            "rg -n foo 2>&1 | sort | uniq",
            "find . -name '*.rs' | head",
            "head -3 < notes.txt",
            "echo $HOME",
        ] {
            assert!(is_read_only(reads), "{reads}");
        }
        for writes in [
            "",
            "make",
            "ls && rm -rf x",
            "git show > ~/.ssh/key",
            "echo $(rm x)",
            "echo `rm x`",
            "cat <(rm x)",
            "find . -delete",
            "find . $ARGS",
            "sed -i s/a/b/ f",
            "sed -n '1p;w f' a",
            "git branch -D main",
            "git -c core.pager=x log",
            "git diff --output=f",
            "git checkout .",
            "ls &",
            "(ls)",
            "for f in *; do cat $f; done",
            "LS_COLORS=x ls",
            "ls() { rm x; }; ls",
            "sort -o f f",
            "sort -no f f",
            "uniq a b",
            "cat 'unclosed",
            "tee f",
            "cat <<E\nE",
            "$CMD",
            "date -s 10:00",
        ] {
            assert!(!is_read_only(writes), "{writes}");
        }
    }
}
