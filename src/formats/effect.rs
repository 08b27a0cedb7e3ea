//! What a call does to the state that others see: by the tool's name, and where the name does not tell, by what it was
//! called with.
//!
//! Every importer brings the profile of the agent whose recordings it reads. A tool that no profile knows may change
//! state: it keeps a repeat from being called redundant.

use super::event::Effect;
use super::servers;
use crate::json::view::Value;
use crate::shell;

/// What a format's own words in a result stand for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Words {
    /// The tool's own words, without those of the program that ran it.
    Own(Vec<u8>),
    /// The same as when it was last asked.
    Unchanged,
}

/// How to tell from the arguments.
#[derive(Debug, Clone, Copy)]
pub(crate) enum By {
    /// A shell command, or a list of words that are one, in this member (a path of names).
    Shell(&'static [&'static str]),
    /// Reads only if this member has one of these values.
    Field(&'static str, &'static [&'static str]),
    /// A poll if this member is empty text or missing; it changes state otherwise.
    EmptyPoll(&'static str),
}

/// The tools of one kind of agent. Names match exactly.
#[derive(Debug)]
pub(crate) struct Profile {
    /// What `$import` calls it.
    pub(crate) name: &'static str,
    /// Change nothing.
    pub(crate) read_only: &'static [&'static str],
    /// Change state.
    pub(crate) mutating: &'static [&'static str],
    /// Depends on the arguments.
    pub(crate) by_args: &'static [(&'static str, By)],
    /// Change the agent's own plan or notes alone.
    pub(crate) session: &'static [&'static str],
    /// Do what the calls they make do; those may not be recorded.
    pub(crate) containers: &'static [&'static str],
    /// Ask how far something is: an answer that changed is what they are for.
    pub(crate) polls: &'static [&'static str],
    /// What all others do.
    pub(crate) others: Effect,
    /// Which argument names the one file that a call reads or changes.
    pub(crate) targets: &'static [(&'static str, &'static str)],
    /// Arguments that make no difference to what a call does: words for a person, limits of time and of output.
    pub(crate) ignored: &'static [(&'static str, &'static [&'static str])],
    /// Answers of these are expected to differ.
    pub(crate) varies: &'static [&'static str],
    /// Takes the words of the program that ran a tool out of its result.
    pub(crate) words: Option<fn(Value<'_>) -> Option<Words>>,
}

/// What a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Doing {
    pub(crate) effect: Effect,
    /// It asks how far something is.
    pub(crate) poll: bool,
    /// Its answers are expected to differ.
    pub(crate) varies: bool,
}

impl Profile {
    /// A profile that knows no tool.
    pub(crate) const NONE: Profile = Profile {
        name: "",
        read_only: &[],
        mutating: &[],
        by_args: &[],
        session: &[],
        containers: &[],
        polls: &[],
        others: Effect::Unknown,
        targets: &[],
        ignored: &[],
        varies: &[],
        words: None,
    };

    /// Transcripts themselves, where nothing is known but who is a mutator.
    pub(crate) const NATIVE: Profile = Profile {
        others: Effect::Undeclared,
        targets: &[("read_file", "path"), ("write_file", "path"), ("create_file", "path"), ("delete_file", "path")],
        ..Profile::NONE
    };

    /// Whether it knows no more than a transcript says.
    pub(crate) fn is_plain(&self) -> bool {
        self.others == Effect::Undeclared
    }

    /// The argument that names the one file a tool reads or changes.
    pub(crate) fn target(&self, tool: &str) -> Option<&'static str> {
        self.targets.iter().find(|(name, _)| *name == tool).map(|(_, argument)| *argument)
    }

    /// The arguments of a tool that make no difference.
    pub(crate) fn ignored(&self, tool: &str) -> &'static [&'static str] {
        self.ignored.iter().find(|(name, _)| *name == tool).map_or(&[], |(_, names)| names)
    }

    /// Whether the arguments tell what a tool's call does.
    pub(crate) fn is_by_args(&self, tool: &str) -> bool {
        self.by_args.iter().any(|(name, _)| *name == tool)
    }

    /// The shell command of a call, if its tool is a shell.
    fn command(&self, tool: &str, args: Option<Value<'_>>) -> Option<String> {
        let By::Shell(path) = self.by_args.iter().find(|(name, _)| *name == tool)?.1 else { return None };
        let command = args?.path(path)?;
        match command.as_str() {
            Some(text) => Some(text.into_owned()),
            None => {
                let words: Option<Vec<_>> = command.items().map(|word| word.as_str()).collect();
                words.map(|words| words.join(" "))
            }
        }
    }

    /// Whether it says something of a tool.
    pub(crate) fn knows(&self, tool: &str) -> bool {
        [self.read_only, self.mutating, self.session, self.containers, self.polls]
            .iter()
            .any(|names| names.contains(&tool))
            || self.by_args.iter().any(|(name, _)| *name == tool)
    }

    /// What a call does, as far as its tool and arguments tell.
    pub(crate) fn judge(&self, tool: &str, args: Option<Value<'_>>) -> Doing {
        let has = |names: &[&str]| names.contains(&tool);
        let mut poll = has(self.polls);
        let effect = if has(self.read_only) {
            Effect::ReadOnly
        } else if has(self.session) {
            Effect::Session
        } else if let Some((_, by)) = self.by_args.iter().find(|(name, _)| *name == tool) {
            by_args(*by, args, &mut poll)
        } else if has(self.mutating) || has(self.containers) {
            Effect::Mutates
        } else {
            servers::effect(tool).filter(|_| self.others == Effect::Unknown).unwrap_or(self.others)
        };
        let command = self.command(tool, args);
        poll |= command.as_deref().is_some_and(polls)
            || self.target(tool).and_then(|name| args?.str_at(name)).is_some_and(|path| is_task_output(&path));
        let varies = has(self.varies) || servers::varies(tool) || command.as_deref().is_some_and(varies);
        Doing { effect, poll, varies }
    }
}

fn by_args(by: By, args: Option<Value<'_>>, poll: &mut bool) -> Effect {
    let read_only = match by {
        By::Shell(path) => args.and_then(|args| args.path(path)).is_some_and(|command| match command.as_str() {
            Some(text) => shell::is_read_only(&text),
            None => command.is_array() && words_are_read_only(command),
        }),
        By::Field(name, reads) => args.and_then(|args| args.str_at(name)).is_some_and(|value| reads.contains(&&*value)),
        By::EmptyPoll(name) => {
            let empty = args.is_some_and(|args| {
                args.is_object() && args.get(name).is_none_or(|value| matches!(value.text(), b"\"\"" | b"null"))
            });
            *poll |= empty;
            empty
        }
    };
    if read_only { Effect::ReadOnly } else { Effect::Mutates }
}

/// The file that a program collects the output of a background task in.
fn is_task_output(path: &str) -> bool {
    path.ends_with(".output") && path.contains("/tasks/")
}

/// Whether a command waits for something or looks at how far it is. A hint for comparisons, not a judgement of safety: the
/// command is looked at as words.
fn polls(command: &str) -> bool {
    let waits = command.trim_start().starts_with("sleep ");
    waits || command.split_whitespace().any(|word| is_task_output(word.trim_matches(['"', '\''])))
}

/// Commands whose answers come from a clock, from other processes or from the network.
const VARYING: [&str; 28] = [
    "curl",
    "date",
    "df",
    "docker",
    "dig",
    "free",
    "gh",
    "host",
    "jobs",
    "journalctl",
    "kubectl",
    "lsof",
    "netstat",
    "nvidia-smi",
    "pgrep",
    "ping",
    "podman",
    "ps",
    "pstree",
    "ss",
    "systemctl",
    "time",
    "top",
    "uptime",
    "vmstat",
    "w",
    "wget",
    "who",
];

/// Whether one of a command's programs is expected to answer differently each time; by its words, as [`polls`].
fn varies(command: &str) -> bool {
    let starts = command.split(['|', ';', '&', '\n', '(', '`']).filter_map(|part| {
        part.split_whitespace().find(|word| !word.contains('=') && !matches!(*word, "sudo" | "env" | "command"))
    });
    let mut programs = starts.map(|word| word.rsplit('/').next().unwrap_or(word));
    programs.any(|program| VARYING.contains(&program)) || command.contains("$RANDOM") || command.contains("git fetch")
}

/// What `$import` calls an agent of which nothing is known.
pub(crate) const UNKNOWN: &str = "unknown";

/// A command given as its words: of a shell that is handed a script, the script decides.
fn words_are_read_only(words: Value<'_>) -> bool {
    let words: Option<Vec<String>> = words.items().map(|word| word.as_str().map(|word| word.into_owned())).collect();
    let Some(words) = words else { return false };
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [shell, "-c" | "-lc", script] if matches!(shell.rsplit('/').next(), Some("bash" | "sh" | "zsh" | "dash")) => {
            shell::is_read_only(script)
        }
        [] => false,
        ref words => shell::words_are_read_only(words),
    }
}

/// The tools of a profile for `toolreplay formats`: what reads only, what depends on the arguments.
impl Profile {
    pub(crate) fn summary(&self) -> String {
        let by_args: Vec<&str> = self.by_args.iter().map(|(name, _)| *name).collect();
        let mut parts = Vec::new();
        for (label, names) in [
            ("read only", self.read_only),
            ("plan and notes only", self.session),
            ("by their arguments", &by_args),
            ("change state", self.mutating),
            ("as what they start", self.containers),
        ] {
            if !names.is_empty() {
                parts.push(format!("{label}: {}", names.join(" ")));
            }
        }
        parts.push(match self.others {
            Effect::ReadOnly => "all others read only, but for those that '--mutator' names".to_owned(),
            _ => "all others may change state".to_owned(),
        });
        parts.join("; ")
    }
}
