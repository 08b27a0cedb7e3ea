//! Whether a shell command can only read: every command in it is on a short list, with no option that writes or runs
//! something else, and nothing is redirected, substituted or put into the background. What cannot be parsed may write.

use brush_parser::ast::{
    AndOr, Command, CommandPrefixOrSuffixItem as Item, CompoundList, IoFileRedirectKind, IoFileRedirectTarget,
    IoRedirect, Pipeline, SeparatorOperator, SimpleCommand,
};
use brush_parser::word::{self, WordPiece, WordPieceWithSource};
use brush_parser::{Parser, ParserOptions};

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
    let options = ParserOptions::default();
    let mut parser = Parser::new(command.as_bytes(), &options);
    let Ok(program) = parser.parse_program() else { return false };
    !program.complete_commands.is_empty() && program.complete_commands.iter().all(|list| list_reads(list, &options))
}

fn is_known(name: &str) -> bool {
    READERS.contains(&name)
        || matches!(name, "git" | "find" | "rg" | "sed" | "sort" | "tr" | "uniq" | "base64" | "date")
}

fn list_reads(list: &CompoundList, options: &ParserOptions) -> bool {
    list.0.iter().all(|item| {
        matches!(item.1, SeparatorOperator::Sequence)
            && pipeline_reads(&item.0.first, options)
            && item.0.additional.iter().all(|next| match next {
                AndOr::And(pipeline) | AndOr::Or(pipeline) => pipeline_reads(pipeline, options),
            })
    })
}

fn pipeline_reads(pipeline: &Pipeline, options: &ParserOptions) -> bool {
    pipeline.seq.iter().all(|command| match command {
        Command::Simple(command) => simple_reads(command, options),
        Command::Compound(..) | Command::Function(_) | Command::ExtendedTest(..) => false,
    })
}

fn simple_reads(command: &SimpleCommand, options: &ParserOptions) -> bool {
    // an assignment may change what a command runs
    if command.prefix.as_ref().is_some_and(|prefix| !prefix.0.is_empty()) {
        return false;
    }
    let Some(name) = command.word_or_name.as_ref().and_then(|name| literal(&name.value, options)) else {
        return false;
    };
    let mut words = vec![name];
    for item in command.suffix.iter().flat_map(|suffix| &suffix.0) {
        match item {
            Item::Word(argument) | Item::AssignmentWord(_, argument) => match literal(&argument.value, options) {
                Some(argument) => words.push(argument),
                None => return false,
            },
            Item::IoRedirect(redirect) if is_harmless(redirect) => {}
            Item::IoRedirect(_) | Item::ProcessSubstitution(..) => return false,
        }
    }
    words_are_read_only(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Reading from a file, joining two outputs, throwing output away.
fn is_harmless(redirect: &IoRedirect) -> bool {
    match redirect {
        IoRedirect::File(_, IoFileRedirectKind::Read, IoFileRedirectTarget::Filename(_)) => true,
        IoRedirect::File(
            _,
            IoFileRedirectKind::Write | IoFileRedirectKind::Append,
            IoFileRedirectTarget::Filename(to),
        ) => to.value == "/dev/null",
        IoRedirect::File(_, IoFileRedirectKind::DuplicateOutput, IoFileRedirectTarget::Duplicate(to)) => {
            to.value.bytes().all(|byte| byte.is_ascii_digit())
        }
        IoRedirect::File(_, IoFileRedirectKind::DuplicateOutput, IoFileRedirectTarget::Fd(_)) => true,
        IoRedirect::OutputAndError(to, _) => to.value == "/dev/null",
        _ => false,
    }
}

/// The text of a word in which nothing is substituted.
fn literal(word: &str, options: &ParserOptions) -> Option<String> {
    let mut text = String::new();
    word::parse(word, options).ok()?.iter().try_for_each(|piece| push(piece, &mut text))?;
    Some(text)
}

fn push(piece: &WordPieceWithSource, text: &mut String) -> Option<()> {
    match &piece.piece {
        WordPiece::Text(part) | WordPiece::SingleQuotedText(part) => text.push_str(part),
        WordPiece::EscapeSequence(part) => text.push_str(part.strip_prefix('\\').unwrap_or(part)),
        WordPiece::DoubleQuotedSequence(pieces) => pieces.iter().try_for_each(|piece| push(piece, text))?,
        WordPiece::TildeExpansion(_) => text.push('~'),
        // what a variable holds is not known, but it runs nothing
        WordPiece::ParameterExpansion(_) => text.push_str("$_"),
        _ => return None,
    }
    Some(())
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
