//! Commands as scopes compare them: by the words of every simple command in them.

use super::paths::{self, Ground};
use crate::shell::{Piece, Redirect, RedirectKind, Script, Simple, Word, base_name};
use std::borrow::Cow;

/// What an entry says of commands.
#[derive(Debug, Clone, Default)]
pub(super) struct Rule {
    pub(super) prefixes: Vec<Prefix>,
    pub(super) flags_deny: Vec<String>,
    pub(super) redirect_to: Vec<paths::Pattern>,
}

/// Words that a command starts with; at each place one of several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Prefix {
    words: Vec<Vec<String>>,
    /// The first of them as names of programs.
    names: Vec<String>,
}

/// A script, with what every entry asks of it.
#[derive(Debug)]
pub(super) struct Commands {
    script: Script,
    /// Of each command the name, as far as it is known.
    names: Vec<Option<String>>,
    /// A relative file may lie elsewhere than where the script starts.
    moved: bool,
}

impl From<Script> for Commands {
    fn from(script: Script) -> Commands {
        let first = || script.commands.iter().map(|command| command.words.first());
        let moves = |name: &str| matches!(name, "cd" | "pushd" | "popd" | "chdir");
        let moved = first().flatten().filter_map(Word::literal).any(|name| moves(&name));
        let names = first().map(|word| word.and_then(known_name)).collect();
        Commands { names, moved, script }
    }
}

/// How something that is judged stands to an allow entry, with the part that decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Allow {
    Yes,
    /// It is certainly not what the entry allows.
    No(String),
    /// It may be.
    Unproven(String),
}

/// How it stands to a deny entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Deny {
    Yes(String),
    /// It may be what the entry denies.
    Maybe(String),
    No,
}

impl Rule {
    /// Whether everything a script runs is allowed.
    pub(super) fn allows(&self, commands: &Commands, ground: &Ground<'_>) -> Allow {
        let Commands { script, moved, .. } = commands;
        let mut open = None;
        for (command, name) in script.commands.iter().zip(&commands.names) {
            match self.allows_one(command, name.as_deref().unwrap_or_default(), ground, *moved) {
                Allow::Yes => {}
                no @ Allow::No(_) => return no,
                Allow::Unproven(part) => open = open.or(Some(part)),
            }
        }
        if let Some(unread) = script.unread.first() {
            let why = unread.why.text();
            open =
                open.or(Some(if unread.part.is_empty() { why.to_owned() } else { format!("{}: {why}", unread.part) }));
        }
        match open {
            Some(part) => Allow::Unproven(part),
            None => Allow::Yes,
        }
    }

    fn allows_one(&self, command: &Simple, name: &str, ground: &Ground<'_>, moved: bool) -> Allow {
        let part = || command.part.clone();
        if let Some(assignment) = command.assignments.first() {
            return Allow::No(if command.words.is_empty() { part() } else { format!("{}=", assignment.name) });
        }
        let mut open = None;
        if !command.words.is_empty() {
            match self.prefixes.iter().map(|prefix| prefix.starts(&command.words)).max() {
                Some(Starts::Yes) => {}
                Some(Starts::Unknown) => open = Some(part()),
                Some(Starts::No) | None => return Allow::No(part()),
            }
        }
        for redirect in &command.redirects {
            match self.redirects(redirect, ground, moved) {
                Some(true) => {}
                Some(false) => return Allow::No(format!("redirect to {}", redirect.target.raw)),
                None => open = open.or_else(|| Some(format!("redirect to {}", redirect.target.raw))),
            }
        }
        if self.flags_deny.is_empty() {
            return open.map_or(Allow::Yes, Allow::Unproven);
        }
        for (before, word) in command.words.iter().zip(command.words.iter().skip(1)) {
            if is_value(name, before, word) {
                continue;
            }
            match self.has_flag(word) {
                Some(false) => {}
                Some(true) => return Allow::No(word.raw.clone()),
                None => open = open.or_else(|| Some(word.raw.clone())),
            }
        }
        open.map_or(Allow::Yes, Allow::Unproven)
    }

    fn redirects(&self, redirect: &Redirect, ground: &Ground<'_>, moved: bool) -> Option<bool> {
        if matches!(redirect.kind, RedirectKind::Text | RedirectKind::Descriptor) {
            return Some(true);
        }
        let path = redirect.target.path()?;
        if path == "/dev/null" {
            return Some(true);
        }
        if redirect.target.is_pattern() {
            return None;
        }
        let absolute = path.starts_with(['/', '~']);
        let path = ground.fold(&path)?;
        let mut open = moved && !absolute;
        for pattern in &self.redirect_to {
            match pattern.fits(&path, ground, false) {
                Some(true) if !open => return Some(true),
                Some(true) | None => open = true,
                Some(false) => {}
            }
        }
        if open { None } else { Some(false) }
    }

    /// Whether a word is, or holds, a flag that is denied.
    fn has_flag(&self, word: &Word) -> Option<bool> {
        let Some(text) = word.literal() else {
            // what it starts with shows that it is no flag, unless it becomes several words
            let harmless = !word.start().is_empty() && !word.start().starts_with('-') && !splits_freely(word);
            return if harmless { Some(false) } else { None };
        };
        Some(self.flags_deny.iter().any(|flag| is_flag(&text, flag)))
    }

    /// Whether a script runs something that is denied.
    pub(super) fn denies(&self, commands: &Commands) -> Deny {
        let script = &commands.script;
        let mut open = None;
        for (command, name) in script.commands.iter().zip(&commands.names) {
            for prefix in &self.prefixes {
                match prefix.hits(name.as_deref(), &command.words) {
                    Some(true) => return Deny::Yes(command.part.clone()),
                    None => open = open.or_else(|| Some(command.part.clone())),
                    Some(false) => {}
                }
            }
        }
        if let Some(unread) = script.unread.iter().find(|unread| unread.why != crate::shell::Why::Empty) {
            open = open.or_else(|| Some(format!("{}: {}", unread.part, unread.why.text())));
        }
        open.map_or(Deny::No, Deny::Maybe)
    }
}

/// Whether a word may become several, by more than a file name pattern that starts with text.
fn splits_freely(word: &Word) -> bool {
    word.pieces.iter().any(|piece| match piece {
        Piece::Variable { name, quoted } => !quoted || name.is_empty() || name == "@",
        Piece::Output { quoted } => !quoted,
        Piece::Braces(_) => true,
        Piece::Text(_) | Piece::Pattern(_) | Piece::Home(_) => false,
    })
}

/// Whether a word is a flag: itself, with a value, cut short, or among letters behind one dash.
fn is_flag(word: &str, flag: &str) -> bool {
    if word == flag || word.strip_prefix(flag).is_some_and(|rest| rest.starts_with('=')) {
        return true;
    }
    if let Some(name) = flag.strip_prefix("--") {
        // programs take the start of a long option for the whole
        let given = word.strip_prefix("--").map(|given| given.split('=').next().unwrap_or(given));
        return given.is_some_and(|given| !given.is_empty() && name.starts_with(given));
    }
    match flag.strip_prefix('-') {
        Some(letter) if letter.chars().count() == 1 => {
            word.starts_with('-') && !word.starts_with("--") && word[1..].contains(letter)
        }
        _ => false,
    }
}

/// Whether a command starts with a prefix, word by word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Starts {
    No,
    Unknown,
    Yes,
}

impl Prefix {
    pub(super) fn new(words: Vec<Vec<String>>) -> Prefix {
        let names = words.first().into_iter().flatten().map(|name| base_name(name).into_owned()).collect();
        Prefix { words, names }
    }

    pub(super) fn words(&self) -> &[Vec<String>] {
        &self.words
    }

    /// For an allow: every word as it stands, in its place.
    fn starts(&self, words: &[Word]) -> Starts {
        for (place, wanted) in self.words.iter().enumerate() {
            let Some(word) = words.get(place) else { return Starts::No };
            match word.literal() {
                Some(text) if wanted.iter().any(|wanted| *wanted == text) => {}
                Some(_) => return Starts::No,
                // it might become the word, and take others with it
                None => return Starts::Unknown,
            }
        }
        Starts::Yes
    }

    /// For a deny: the name by its last part, the words that are no options in their order, the options wherever.
    fn hits(&self, known: Option<&str>, words: &[Word]) -> Option<bool> {
        let Some((_, arguments)) = words.split_first() else { return Some(false) };
        let (_, wanted) = self.words.split_first()?;
        let known = known?;
        if !self.names.iter().any(|wanted| wanted == known) {
            return Some(false);
        }
        let (options, operands): (Vec<_>, Vec<_>) =
            wanted.iter().partition(|wanted| wanted.iter().all(|word| word.len() > 1 && word.starts_with('-')));
        let options = options_hit(known, &options, arguments);
        let operands = operands_hit(known, &operands, arguments);
        match (options, operands) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        }
    }
}

/// The name of a command without its folder, as far as it is known: the folder may be a variable.
fn known_name(word: &Word) -> Option<String> {
    if let Some(text) = word.literal() {
        return Some(base_name(&text).into_owned());
    }
    match word.pieces.last() {
        Some(Piece::Text(text)) if text.contains('/') && !splits_freely(word) && !word.is_pattern() => {
            Some(base_name(text).into_owned())
        }
        _ => None,
    }
}

/// Whether an unknown word is surely the value of the option before it: the message of a commit.
fn is_value(name: &str, before: &Word, word: &Word) -> bool {
    let option = before.literal();
    let takes = |option: &str| {
        matches!(option, "--message" | "--file")
            || option.starts_with('-') && !option.starts_with("--") && option.ends_with(['m', 'F'])
    };
    name == "git" && !word.may_split() && word.literal().is_none() && option.is_some_and(|option| takes(&option))
}

/// Options that mean the same, where programs have several names for one; for one program or for all.
const SAME: [(&str, &[&str]); 6] = [
    ("", &["-f", "--force"]),
    ("", &["-r", "-R", "--recursive"]),
    ("", &["-d", "--delete"]),
    ("", &["-a", "--all"]),
    ("sed", &["-i", "--in-place"]),
    ("git", &["-n", "--no-verify"]),
];

/// Whether a command gives options, wherever they stand.
fn options_hit(name: &str, wanted: &[&Vec<String>], arguments: &[Word]) -> Option<bool> {
    let mut open = false;
    for wanted in wanted {
        match wanted.iter().map(|option| option_hit(name, option, arguments)).max_by_key(|hit| match hit {
            Some(true) => 2,
            None => 1,
            Some(false) => 0,
        }) {
            Some(Some(true)) => {}
            Some(None) => open = true,
            Some(Some(false)) | None => return Some(false),
        }
    }
    if open { None } else { Some(true) }
}

fn option_hit(name: &str, option: &str, arguments: &[Word]) -> Option<bool> {
    let letters = option
        .strip_prefix('-')
        .filter(|letters| matches!(letters.len(), 2..=4) && letters.bytes().all(|byte| byte.is_ascii_alphabetic()));
    if let Some(letters) = letters {
        // `-rf` is `-r` and `-f`, in one word or in two
        let each: Vec<Vec<String>> = letters.chars().map(|letter| vec![format!("-{letter}")]).collect();
        return options_hit(name, &each.iter().collect::<Vec<_>>(), arguments);
    }
    let mut open = false;
    for (place, word) in arguments.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|before| arguments.get(before));
        if before.is_some_and(|before| is_value(name, before, word)) {
            continue;
        }
        match word.literal() {
            Some(text) if option_given(name, option, &text) => return Some(true),
            Some(_) => {}
            None => open |= word.start().is_empty() || word.start().starts_with('-') || splits_freely(word),
        }
    }
    if open { None } else { Some(false) }
}

/// Whether a word gives an option, under any of its names.
fn option_given(name: &str, option: &str, word: &str) -> bool {
    let same = SAME.iter().filter(|(program, same)| (program.is_empty() || *program == name) && same.contains(&option));
    is_flag(word, option) || same.flat_map(|(_, same)| same.iter()).any(|other| is_flag(word, other))
}

/// Options of git that take the next word; no program's options are better known or more often put in between.
const GIT_VALUES: [&str; 9] = [
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--exec-path",
    "--super-prefix",
    "--config-env",
    "--attr-source",
];

/// One reading of the words so far: how many of the wanted ones were found.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Reading {
    found: usize,
    /// Whether the next word is, or may be, the value of an option.
    value: Value,
    /// Whether only words that are known led here.
    sure: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    No,
    May,
    Must,
}

/// Whether the words of a command that are no options start with the wanted ones. Every reading is followed, in one
/// pass: there are few.
fn operands_hit(name: &str, wanted: &[&Vec<String>], arguments: &[Word]) -> Option<bool> {
    if wanted.is_empty() {
        return Some(true);
    }
    let mut readings = vec![Reading { found: 0, value: Value::No, sure: true }];
    let mut open = false;
    for word in arguments {
        let mut next: Vec<Reading> = Vec::new();
        for reading in readings {
            if reading.value != Value::No {
                open |= word.may_split() && reading.value == Value::Must;
                add(&mut next, Reading { value: Value::No, ..reading });
                if reading.value == Value::Must {
                    continue;
                }
            }
            let step = Reading { value: Value::No, ..reading };
            match word.literal() {
                Some(text) if wanted[step.found].iter().any(|wanted| *wanted == text) => {
                    add(&mut next, Reading { found: step.found + 1, ..step });
                }
                Some(text) if text.len() > 1 && text.starts_with('-') => {
                    let value = match name {
                        "git" if GIT_VALUES.contains(&&*text) => Value::Must,
                        "git" => Value::No,
                        _ if text.contains('=') => Value::No,
                        _ => Value::May,
                    };
                    add(&mut next, Reading { value, ..step });
                }
                // a toolchain: `cargo +nightly publish`
                Some(text) if text.starts_with('+') => add(&mut next, step),
                Some(_) => {}
                // it may become the wanted word, an option, or several words
                None if word.may_split() => open = true,
                None if word.start().is_empty() => {
                    add(&mut next, Reading { found: step.found + 1, sure: false, ..step });
                    add(&mut next, Reading { value: Value::May, sure: false, ..step });
                }
                None => {
                    let option = word.start().starts_with('-');
                    let fits = wanted[step.found].iter().any(|wanted| wanted.starts_with(word.start()));
                    if option {
                        add(&mut next, Reading { value: Value::May, sure: false, ..step });
                    } else if fits {
                        add(&mut next, Reading { found: step.found + 1, sure: false, ..step });
                    }
                }
            }
        }
        if next.iter().any(|reading| reading.found == wanted.len() && reading.sure) {
            return Some(true);
        }
        open |= next.iter().any(|reading| reading.found == wanted.len());
        next.retain(|reading| reading.found < wanted.len());
        readings = next;
        if readings.is_empty() {
            break;
        }
    }
    if open { None } else { Some(false) }
}

fn add(readings: &mut Vec<Reading>, reading: Reading) {
    if !readings.contains(&reading) {
        readings.push(reading);
    }
}

/// The text of a list of words, for messages.
pub(super) fn shown(words: &[String]) -> Cow<'_, str> {
    match words {
        [word] => Cow::Borrowed(word),
        words => Cow::Owned(words.join(" ")),
    }
}
