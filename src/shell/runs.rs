//! Commands that run other commands: what they run, told from their words.
//!
//! Where a command's options are not known, every reading is followed: a command too many is looked at rather than one
//! too few.

use super::{Assignment, Piece, RedirectKind, Simple, Why, Word};
use std::borrow::Cow;

/// What a command runs.
#[derive(Debug)]
pub(super) enum Run {
    /// Another command.
    Command(Vec<Assignment>, Vec<Word>),
    /// A text as a script.
    Script(String),
    /// Something that cannot be told.
    Unread(Why, String),
}

/// A command that runs the words behind its own.
struct Wrapper {
    names: &'static [&'static str],
    /// Options that take the next word, of one letter and long ones.
    letters: &'static str,
    long: &'static [&'static str],
    /// How many words stand before the command.
    operands: usize,
    /// Options with which it runs nothing.
    inert: &'static [&'static str],
    how: How,
}

#[derive(Clone, Copy, PartialEq)]
enum How {
    /// The words are the command.
    Words,
    /// More words come from its input.
    WordsAndInput,
    /// The words are joined to a script.
    Joined,
}

const fn wrapper(names: &'static [&'static str], letters: &'static str, long: &'static [&'static str]) -> Wrapper {
    Wrapper { names, letters, long, operands: 0, inert: &[], how: How::Words }
}

const WRAPPERS: &[Wrapper] = &[
    wrapper(
        &["nohup", "builtin", "setsid", "noglob", "nocorrect", "catchsegv", "unbuffer", "busybox", "toybox"],
        "",
        &[],
    ),
    Wrapper { inert: &["-v", "-V"], ..wrapper(&["command"], "", &[]) },
    wrapper(&["exec"], "a", &[]),
    wrapper(&["time"], "fo", &["--format", "--output"]),
    wrapper(&["nice"], "n", &["--adjustment"]),
    wrapper(&["ionice"], "cnpPu", &["--class", "--classdata", "--pid", "--pgid", "--uid"]),
    wrapper(&["stdbuf"], "ioe", &["--input", "--output", "--error"]),
    Wrapper { operands: 1, ..wrapper(&["timeout", "gtimeout"], "ks", &["--kill-after", "--signal"]) },
    Wrapper { operands: 1, ..wrapper(&["chrt"], "TPD", &[]) },
    Wrapper { operands: 1, ..wrapper(&["taskset"], "", &[]) },
    Wrapper { operands: 1, ..wrapper(&["chroot"], "", &["--userspec", "--groups"]) },
    wrapper(
        &["sudo"],
        "ughpCrtTUDR",
        &["--user", "--group", "--host", "--prompt", "--chdir", "--chroot", "--role", "--type"],
    ),
    wrapper(&["doas"], "uC", &[]),
    wrapper(&["env", "genv"], "uCS", &["--unset", "--chdir", "--split-string"]),
    Wrapper {
        how: How::WordsAndInput,
        ..wrapper(
            &["xargs", "gxargs"],
            "aEdILnPsRSJ",
            &[
                "--arg-file",
                "--delimiter",
                "--max-lines",
                "--max-args",
                "--max-procs",
                "--max-chars",
                "--process-slot-var",
            ],
        )
    },
    wrapper(&["strace", "ltrace"], "aeoOPpsSuUXbEI", &[]),
    wrapper(&["caffeinate"], "tw", &[]),
    wrapper(&["proxychains", "proxychains4", "torsocks"], "f", &[]),
    Wrapper { how: How::Joined, ..wrapper(&["watch"], "nqis", &["--interval", "--equexit"]) },
    Wrapper { operands: 1, ..wrapper(&["flock"], "wEo", &["--timeout", "--wait", "--conflict-exit-code"]) },
    Wrapper { operands: 1, how: How::Joined, ..wrapper(&["ssh"], "bcDEeFIiJLlmOopQRSWw", &[]) },
    Wrapper { how: How::Joined, ..wrapper(&["eval"], "", &[]) },
    Wrapper { how: How::WordsAndInput, ..wrapper(&["parallel"], "jaSnNL", &["--jobs", "--arg-file"]) },
];

/// Commands whose second word makes them wrappers.
const RUNNERS: [(&str, &str); 6] =
    [("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("bundle", "exec"), ("pdm", "run"), ("rye", "run")];

const SHELLS: [&str; 12] = ["sh", "bash", "zsh", "dash", "ksh", "ash", "mksh", "rbash", "fish", "csh", "tcsh", "yash"];

/// Builtins that evaluate a subscript in a name they are given.
const SUBSCRIPTS: [&str; 15] = [
    "let",
    "test",
    "[",
    "printf",
    "read",
    "unset",
    "declare",
    "typeset",
    "local",
    "export",
    "readonly",
    "mapfile",
    "readarray",
    "wait",
    "getopts",
];

/// The name of a program without its folder, as file systems that do not tell case apart compare it.
#[must_use]
pub fn base_name(word: &str) -> Cow<'_, str> {
    let base = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let base = match base.len().checked_sub(4) {
        Some(stem) if base.get(stem..).is_some_and(|end| end.eq_ignore_ascii_case(".exe")) => &base[..stem],
        _ => base,
    };
    if base.chars().any(char::is_uppercase) { Cow::Owned(base.to_lowercase()) } else { Cow::Borrowed(base) }
}

/// Whether a word names a shell where shells lie.
pub(super) fn is_plain_shell(word: &str) -> bool {
    let name = ["/bin/", "/usr/bin/", "/usr/local/bin/"].iter().find_map(|folder| word.strip_prefix(folder));
    ["sh", "bash", "zsh", "dash"].contains(&name.unwrap_or(word))
}

/// Whether a word is options of a shell, the last of which takes a script, and none of which reads a file.
pub(super) fn takes_script(word: &str) -> bool {
    matches!(word, "-c" | "-lc" | "-ec" | "-euc" | "-elc" | "-lec" | "-xc")
}

/// What a command runs.
pub(super) fn runs(command: &Simple) -> Vec<Run> {
    let words = &command.words[..];
    let Some((first, arguments)) = words.split_first() else { return Vec::new() };
    let Some(name) = first.literal() else { return Vec::new() };
    let name = base_name(&name);
    if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&&*name)) {
        return wrapped(wrapper, &name, arguments);
    }
    if SHELLS.contains(&&*name) {
        return shell(command, arguments);
    }
    match &*name {
        "find" | "gfind" => find(arguments),
        "fd" | "fdfind" => after(arguments, &["-x", "--exec", "-X", "--exec-batch"]),
        "su" | "script" | "runuser" => option_scripts(arguments, &["-c", "--command"], false),
        "source" | "." => sourced(arguments),
        "trap" => arguments.first().map(text_of).into_iter().collect(),
        "alias" => arguments.iter().filter_map(alias).collect(),
        "git" => git(arguments),
        _ if SUBSCRIPTS.contains(&&*name) => {
            let runs =
                |text: &str| (text.contains("$(") || text.contains('`')) && (text.contains('[') || name == "let");
            let found = arguments.iter().find(|word| word.literal().is_some_and(|text| runs(&text)));
            found.map(|word| Run::Unread(Why::MadeScript, word.raw.clone())).into_iter().collect()
        }
        _ => match RUNNERS.iter().find(|(program, _)| *program == name) {
            Some((_, verb)) => match arguments.iter().position(|word| word.literal().is_some_and(|word| word == *verb))
            {
                Some(at) => wrapped(&wrapper(&[], "p", &["--with", "--project", "--python"]), "", &arguments[at + 1..]),
                None => Vec::new(),
            },
            None => Vec::new(),
        },
    }
}

fn text_of(script: &Word) -> Run {
    match script.literal() {
        Some(text) => Run::Script(text.into_owned()),
        None => Run::Unread(Why::MadeScript, script.raw.clone()),
    }
}

fn alias(word: &Word) -> Option<Run> {
    if word.literal().is_some_and(|text| !text.contains('=')) {
        return None;
    }
    Some(match word.literal().as_deref().and_then(|text| text.split_once('=')) {
        Some((_, script)) => Run::Script(script.to_owned()),
        None => Run::Unread(Why::MadeScript, word.raw.clone()),
    })
}

/// The command behind a wrapper's own words.
fn wrapped(wrapper: &Wrapper, name: &str, arguments: &[Word]) -> Vec<Run> {
    let mut out = Vec::new();
    let mut assignments = Vec::new();
    let mut operands = wrapper.operands;
    let mut rest = arguments;
    // an option that is not known may or may not take the next word
    let mut unsure = false;
    while let Some((word, behind)) = rest.split_first() {
        let Some(text) = word.literal() else {
            // a value in its place is one word; anything else may be options, a name, or nothing
            out.push(Run::Unread(Why::MadeCommand, word.raw.clone()));
            if operands > 0 || word.may_split() && behind.iter().any(|word| word.literal().is_some()) {
                operands = operands.saturating_sub(1);
                rest = behind;
                continue;
            }
            return out;
        };
        if wrapper.inert.contains(&&*text) {
            return out;
        }
        if text == "--" {
            rest = behind;
            while operands > 0 && !rest.is_empty() {
                operands -= 1;
                rest = &rest[1..];
            }
            break;
        }
        if matches!(name, "env" | "genv")
            && (text == "-S"
                || text == "--split-string"
                || text.starts_with("-S")
                || text.starts_with("--split-string="))
        {
            let script = match text
                .strip_prefix("--split-string=")
                .or(text.strip_prefix("-S"))
                .filter(|text| !text.is_empty())
            {
                Some(script) => Run::Script(script.to_owned()),
                None => behind.first().map_or(Run::Unread(Why::MadeScript, word.raw.clone()), text_of),
            };
            out.push(script);
            rest = behind;
            continue;
        }
        if name == "flock" && (text == "-c" || text == "--command") {
            out.extend(behind.first().map(text_of));
            return out;
        }
        if text.len() > 1 && text.starts_with('-') {
            let (skip, sure) = option_length(wrapper, &text);
            rest = behind.get(skip..).unwrap_or(&[]);
            // options of xargs and env that name a value in the same word need no guess
            if !sure && !behind.is_empty() {
                unsure = true;
            }
            continue;
        }
        if let Some((variable, value)) = text.split_once('=')
            && matches!(name, "env" | "genv" | "sudo" | "doas")
            && !variable.is_empty()
        {
            assignments.push(Assignment { name: variable.to_owned(), value: Some(Word::plain(value)) });
            rest = behind;
            continue;
        }
        if operands > 0 {
            operands -= 1;
            rest = behind;
            continue;
        }
        break;
    }
    if rest.is_empty() {
        return out;
    }
    let mut push = |words: &[Word]| match wrapper.how {
        How::Words => out.push(Run::Command(assignments.clone(), words.to_vec())),
        How::WordsAndInput => {
            let mut words: Vec<Word> = words.iter().map(replaced).collect();
            words.push(Word::unknown("…"));
            out.push(Run::Command(Vec::new(), words));
        }
        How::Joined => {
            let texts: Option<Vec<Cow<'_, str>>> = words.iter().map(Word::literal).collect();
            out.push(match texts {
                Some(texts) => Run::Script(texts.join(" ")),
                None => Run::Unread(Why::MadeScript, words.iter().map(|word| &*word.raw).collect::<Vec<_>>().join(" ")),
            });
        }
    };
    push(rest);
    // what was taken for the command may be the value of an option before it
    if unsure && rest.len() > 1 {
        push(&rest[1..]);
    }
    out
}

/// How many words behind it an option takes, and whether that is known.
fn option_length(wrapper: &Wrapper, text: &str) -> (usize, bool) {
    if text.starts_with("--") {
        if text.contains('=') {
            return (0, true);
        }
        return if wrapper.long.contains(&text) { (1, true) } else { (0, false) };
    }
    // `-n5`, `-0n`, `-n 5`: the first letter that takes a value takes what is left of the word, or the next one
    match text[1..].char_indices().find(|(_, letter)| wrapper.letters.contains(*letter)) {
        Some((at, letter)) => (usize::from(1 + at + letter.len_utf8() == text.len()), true),
        None => {
            (0, text[1..].bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_alphabetic()) && text.len() < 6)
        }
    }
}

/// A word in which a file name is put in place of `{}`.
fn replaced(word: &Word) -> Word {
    if word.raw.contains("{}") { Word::unknown(&word.raw) } else { word.clone() }
}

fn find(arguments: &[Word]) -> Vec<Run> {
    let mut out = Vec::new();
    let mut rest = arguments;
    while let Some((word, behind)) = rest.split_first() {
        rest = behind;
        match word.literal().as_deref() {
            Some("-exec" | "-execdir" | "-ok" | "-okdir") => {
                let ends = |word: &Word| matches!(word.literal().as_deref(), Some(";" | "+"));
                let end = rest.iter().position(ends).unwrap_or(rest.len());
                if end > 0 {
                    out.push(Run::Command(Vec::new(), rest[..end].iter().map(replaced).collect()));
                }
                rest = rest.get(end + 1..).unwrap_or(&[]);
            }
            Some(_) => {}
            // it may be `-exec` and what follows; a name or a pattern for file names is not
            None if word.may_split()
                && matches!(word.pieces[..], [Piece::Variable { .. }, ..] | [Piece::Output { .. }, ..]) =>
            {
                out.push(Run::Unread(Why::MadeCommand, word.raw.clone()));
            }
            None => {}
        }
    }
    out
}

fn after(arguments: &[Word], options: &[&str]) -> Vec<Run> {
    let at = arguments.iter().position(|word| word.literal().is_some_and(|word| options.contains(&&*word)));
    match at.and_then(|at| arguments.get(at + 1..)) {
        Some(words) if !words.is_empty() => {
            let mut words: Vec<Word> = words.iter().map(replaced).collect();
            words.push(Word::unknown("…"));
            vec![Run::Command(Vec::new(), words)]
        }
        _ => Vec::new(),
    }
}

/// The values of options that are scripts.
fn option_scripts(arguments: &[Word], options: &[&str], joined_only: bool) -> Vec<Run> {
    let mut out = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        let start = word.start();
        if let Some(option) = options.iter().find(|option| start.starts_with(&format!("{option}="))) {
            out.push(match word.literal() {
                Some(text) => Run::Script(text[option.len() + 1..].to_owned()),
                None => Run::Unread(Why::MadeScript, word.raw.clone()),
            });
        } else if !joined_only && word.literal().is_some_and(|text| options.contains(&&*text)) {
            out.extend(arguments.get(at + 1).map(text_of));
        }
    }
    out
}

fn sourced(arguments: &[Word]) -> Vec<Run> {
    let Some(file) = arguments.first() else { return Vec::new() };
    match file.literal() {
        Some(file) if is_input(&file) => vec![Run::Unread(Why::PipedScript, file.into_owned())],
        // a file: what it holds is not in the call
        Some(_) => Vec::new(),
        None => vec![Run::Unread(Why::MadeScript, file.raw.clone())],
    }
}

fn is_input(file: &str) -> bool {
    file == "/dev/stdin" || file.starts_with("/dev/fd/") || file.starts_with("/proc/self/fd/")
}

/// A shell: the script of `-c`, a file, or its input.
fn shell(command: &Simple, arguments: &[Word]) -> Vec<Run> {
    let mut rest = arguments;
    while let Some((word, behind)) = rest.split_first() {
        let Some(text) = word.literal() else {
            return vec![Run::Unread(Why::MadeScript, word.raw.clone())];
        };
        match &*text {
            "--rcfile" | "--init-file" | "-o" | "+o" | "-O" | "+O" => rest = behind.get(1..).unwrap_or(&[]),
            "-" | "--" => {
                rest = behind;
                break;
            }
            "-s" => return input(command),
            long if long.starts_with("--") => {
                if long == "--version" || long == "--help" {
                    return Vec::new();
                }
                rest = behind;
            }
            cluster if cluster.starts_with(['-', '+']) => {
                // the values of `o` and `O` come before the script
                let values = cluster.chars().filter(|letter| matches!(letter, 'o' | 'O')).count();
                if cluster.starts_with('-') && cluster.contains('c') {
                    return script_behind(word, behind, values);
                }
                if cluster.contains('s') {
                    return input(command);
                }
                rest = behind.get(values..).unwrap_or(&[]);
            }
            _ => break,
        }
    }
    match rest.first() {
        None => input(command),
        Some(file) => sourced(std::slice::from_ref(file)),
    }
}

/// The script of `-c`; more options may stand before it.
fn script_behind(option: &Word, behind: &[Word], values: usize) -> Vec<Run> {
    let mut rest = behind.get(values..).unwrap_or(&[]);
    while let Some((word, next)) = rest.split_first() {
        match word.literal() {
            Some(text) if text.len() > 1 && text.starts_with(['-', '+']) && text != "--" => {
                let values = usize::from(!text.starts_with("--") && text.contains(['o', 'O']));
                rest = next.get(values..).unwrap_or(&[]);
            }
            Some(text) if text == "--" => rest = next,
            Some(text) => return vec![Run::Script(text.into_owned())],
            None => return vec![Run::Unread(Why::MadeScript, word.raw.clone())],
        }
    }
    vec![Run::Unread(Why::Broken, option.raw.clone())]
}

/// A shell that reads its input: text that stands in the command can be read.
fn input(command: &Simple) -> Vec<Run> {
    let reads = |kind| matches!(kind, RedirectKind::Read | RedirectKind::ReadWrite | RedirectKind::Text);
    match command.redirects.iter().rfind(|redirect| reads(redirect.kind)) {
        Some(redirect) if redirect.kind == RedirectKind::Text => vec![text_of(&redirect.target)],
        // a file: what it holds is not in the call
        Some(redirect) if redirect.target.literal().is_some_and(|file| !is_input(&file)) => Vec::new(),
        _ => vec![Run::Unread(Why::PipedScript, command.part.clone())],
    }
}

/// The subcommands and settings of git that run commands.
fn git(arguments: &[Word]) -> Vec<Run> {
    let mut out = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        let Some(text) = word.literal() else { continue };
        // `-c alias.x='!command'` and the like
        if let Some((_, script)) = text.split_once("=!") {
            out.push(Run::Script(script.to_owned()));
        }
        let behind = &arguments[at + 1..];
        match (&*text, behind.first().and_then(Word::literal).as_deref()) {
            ("bisect", Some("run")) if behind.len() > 1 => {
                out.push(Run::Command(Vec::new(), behind[1..].to_vec()));
            }
            ("submodule", _) => {
                if let Some(each) = behind.iter().position(|word| word.literal().is_some_and(|word| word == "foreach"))
                {
                    let words = behind[each + 1..].iter().filter(|word| !word.start().starts_with('-'));
                    let texts: Option<Vec<Cow<'_, str>>> = words.map(Word::literal).collect();
                    out.push(match texts {
                        Some(texts) => Run::Script(texts.join(" ")),
                        None => Run::Unread(Why::MadeScript, text.into_owned()),
                    });
                }
            }
            ("rebase", _) => out.extend(option_scripts(behind, &["-x", "--exec"], false)),
            _ => {}
        }
    }
    out
}
