//! The simple commands of a line, with what the line itself says of their words, their folder and their input.

use super::paths::{self, UNKNOWN};
use crate::shell::{self, Piece, RedirectKind, Script, Via, base_name};
use std::collections::HashMap;

/// A word of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// Without its quotes; `~` for the home folder, [`UNKNOWN`] for what a variable or a substitution would give.
    pub(super) text: String,
    /// It is what a substitution gives, and that downloads something.
    pub(super) fetched: bool,
}

/// A simple command.
#[derive(Debug, Clone, Default)]
pub(super) struct Simple {
    /// The program, without its folder, in small letters.
    pub(super) name: String,
    /// What stands behind the name.
    pub(super) arguments: Vec<Word>,
    /// Files that redirections write to, and read from.
    pub(super) writes: Vec<Word>,
    pub(super) reads: Vec<Word>,
    /// `NAME=value` before it, or as the whole of it.
    pub(super) assigned: Vec<(String, Word)>,
    /// The folder it runs in; none: not known.
    pub(super) folder: Option<String>,
    /// What comes in through a pipe was downloaded.
    pub(super) fed: bool,
    /// As it was written.
    pub(super) part: String,
}

impl Simple {
    pub(super) fn downloads(&self) -> bool {
        let local = self.arguments.iter().any(|word| is_local(&word.text));
        matches!(&*self.name, "curl" | "wget" | "fetch" | "aria2c" | "iwr" | "irm" | "invoke-webrequest") && !local
    }
}

/// Whether an address is one of this machine.
pub(super) fn is_local(text: &str) -> bool {
    let host = text.split_once("://").map_or(text, |(_, rest)| rest);
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    ["localhost", "127.0.0.1", "[::1]", "0.0.0.0", "host.docker.internal"]
        .iter()
        .any(|name| host.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/'])))
}

/// What a line has set so far.
#[derive(Debug, Clone, Default)]
struct State {
    folder: Option<String>,
    variables: HashMap<String, String>,
}

/// The states of the shells that a line starts.
#[derive(Debug, Default)]
struct States {
    listed: State,
    /// That of a subshell or a loop, as long as nothing stands behind it.
    compound: Option<State>,
    substituted: Option<State>,
    /// Those of scripts that a command runs, by the place of the command.
    run: HashMap<usize, State>,
}

impl States {
    fn of(&mut self, via: Via, before: &[State]) -> &mut State {
        if via == Via::Listed {
            self.compound = None;
        }
        if via != Via::Substituted {
            self.substituted = None;
        }
        match via {
            Via::Listed => &mut self.listed,
            Via::Compound => self.compound.get_or_insert_with(|| self.listed.clone()),
            Via::Substituted => {
                self.substituted.get_or_insert_with(|| before.last().cloned().unwrap_or_else(|| self.listed.clone()))
            }
            Via::RunBy(place) => {
                self.run.entry(place).or_insert_with(|| before.get(place).cloned().unwrap_or_default())
            }
        }
    }
}

/// The simple commands of a script, in order.
pub(super) fn resolved(script: &Script, folder: Option<&str>) -> Vec<Simple> {
    let mut states =
        States { listed: State { folder: folder.map(str::to_owned), ..State::default() }, ..States::default() };
    // the state that each command met
    let mut met: Vec<State> = Vec::new();
    let mut out: Vec<Simple> = Vec::new();
    for (place, command) in script.commands.iter().enumerate() {
        let state = states.of(command.via, &met);
        met.push(state.clone());
        let word = |word: &shell::Word| text(word, state);
        let mut words: Vec<Word> = command.words.iter().map(word).collect();
        if let Via::RunBy(by) = command.via
            && let Some(by) = out.get(by).filter(|by| by.name == "find")
        {
            words = found_by(by, &command.words, &words);
        }
        let name = words.first().map(|word| base_name(&word.text).into_owned()).unwrap_or_default();
        let arguments = words.split_off(words.len().min(1));
        let assigned: Vec<(String, Word)> = command
            .assignments
            .iter()
            .map(|one| (one.name.clone(), one.value.as_ref().map_or_else(unknown, |value| text(value, state))))
            .collect();
        let files = |kinds: &[RedirectKind]| {
            let of_kind = command.redirects.iter().filter(|redirect| kinds.contains(&redirect.kind));
            of_kind.map(|redirect| text(&redirect.target, state)).collect()
        };
        let mut own = Simple {
            name,
            arguments,
            writes: files(&[RedirectKind::Write, RedirectKind::Append, RedirectKind::ReadWrite]),
            reads: files(&[RedirectKind::Read]),
            assigned,
            folder: state.folder.clone(),
            fed: out[command.fed_by.start.min(place)..command.fed_by.end.min(place)]
                .iter()
                .any(|before| before.fed || before.downloads()),
            part: command.part.clone(),
        };
        follow(&mut own, state);
        out.push(own);
    }
    // what a substitution runs stands behind the command that it is a word of
    for place in 0..out.len() {
        let behind =
            script.commands[place + 1..].iter().take_while(|one| one.via != Via::Listed && one.via != Via::Compound);
        let inner = behind.enumerate().filter(|(_, one)| one.via == Via::Substituted);
        if inner.into_iter().any(|(at, _)| out[place + 1 + at].downloads()) {
            for (word, written) in out[place].arguments.iter_mut().zip(script.commands[place].words.iter().skip(1)) {
                word.fetched = matches!(written.pieces.first(), Some(Piece::Output { .. }));
            }
        }
    }
    out
}

/// What a command changes for those behind it.
fn follow(command: &mut Simple, state: &mut State) {
    match &*command.name {
        "" => {
            for (name, value) in &command.assigned {
                state.variables.insert(name.clone(), value.text.clone());
            }
        }
        "cd" | "pushd" => {
            let to = command.arguments.iter().find(|word| !word.text.starts_with('-'));
            state.folder = to.and_then(|to| paths::join(command.folder.as_deref(), &to.text));
        }
        "popd" => state.folder = None,
        "export" | "declare" | "local" | "readonly" | "typeset" => {
            for word in &command.arguments {
                if let Some((name, value)) = word.text.split_once('=') {
                    state.variables.insert(name.to_owned(), value.to_owned());
                    command.assigned.push((name.to_owned(), Word { text: value.to_owned(), fetched: false }));
                }
            }
        }
        "unset" | "read" => command.arguments.iter().for_each(|word| drop(state.variables.remove(&word.text))),
        _ => {}
    }
}

fn unknown() -> Word {
    Word { text: UNKNOWN.to_string(), fetched: false }
}

fn text(word: &shell::Word, state: &State) -> Word {
    let mut text = String::new();
    for piece in &word.pieces {
        match piece {
            Piece::Text(part) | Piece::Pattern(part) => text.push_str(part),
            Piece::Home(user) if user.is_empty() => text.push('~'),
            Piece::Braces(part) => {
                text.push('{');
                text.push_str(part);
                text.push('}');
            }
            Piece::Variable { name, .. } => match (state.variables.get(name), name.as_str()) {
                (Some(value), _) => text.push_str(value),
                (None, "HOME") => text.push('~'),
                (None, "PWD") => text.push('.'),
                (None, "TMPDIR" | "TEMP" | "TMP") => text.push_str("/tmp"),
                _ => text.push(UNKNOWN),
            },
            Piece::Home(_) | Piece::Output { .. } => text.push(UNKNOWN),
        }
    }
    Word { text, fetched: false }
}

/// Options of `find` that leave some files out.
pub(super) const FILTERS: [&str; 14] = [
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-mtime",
    "-mmin",
    "-atime",
    "-ctime",
    "-type",
    "-newer",
    "-regex",
    "-empty",
    "-size",
    "-maxdepth",
];

/// The folders that `find` starts from.
pub(super) fn starts(find: &Simple) -> impl Iterator<Item = &Word> {
    find.arguments.iter().take_while(|word| !word.text.starts_with(['-', '(', '!']))
}

/// The files that `find` goes through stand for `{}`: all below where it starts or, with a filter, some of them.
fn found_by(find: &Simple, written: &[shell::Word], words: &[Word]) -> Vec<Word> {
    let filtered = find.arguments.iter().any(|word| FILTERS.contains(&&*word.text));
    let files: Vec<Word> = if filtered { vec![unknown()] } else { starts(find).cloned().collect() };
    let each = written.iter().zip(words);
    each.flat_map(|(written, word)| if written.raw == "{}" { files.clone() } else { vec![word.clone()] }).collect()
}
