//! What a call does to the state that others see: by the tool's name, and where the name does not tell, by what it was
//! called with.
//!
//! Every importer brings the profile of the agent whose recordings it reads. A tool that no profile knows may change
//! state: it keeps a repeat from being called redundant.

use super::event::{Effect, Flags};
use crate::json::view::Value;
use crate::shell;

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
}

impl Profile {
    /// A profile that knows no tool.
    pub(crate) const NONE: Profile = Profile {
        read_only: &[],
        mutating: &[],
        by_args: &[],
        session: &[],
        containers: &[],
        polls: &[],
        others: Effect::Unknown,
    };

    /// Whether it says something of a tool.
    pub(crate) fn knows(&self, tool: &str) -> bool {
        [self.read_only, self.mutating, self.session, self.containers, self.polls]
            .iter()
            .any(|names| names.contains(&tool))
            || self.by_args.iter().any(|(name, _)| *name == tool)
    }

    /// The effect of a call, and whether it is a poll.
    pub(crate) fn judge(&self, tool: &str, args: Option<Value<'_>>) -> (Effect, Flags) {
        let has = |names: &[&str]| names.contains(&tool);
        let mut flags = Flags::default();
        if has(self.polls) {
            flags.set(Flags::POLL);
        }
        let effect = if has(self.read_only) {
            Effect::ReadOnly
        } else if has(self.session) {
            Effect::Session
        } else if let Some((_, by)) = self.by_args.iter().find(|(name, _)| *name == tool) {
            by_args(*by, args, &mut flags)
        } else if has(self.mutating) || has(self.containers) {
            Effect::Mutates
        } else {
            self.others
        };
        (effect, flags)
    }
}

fn by_args(by: By, args: Option<Value<'_>>, flags: &mut Flags) -> Effect {
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
            if empty {
                flags.set(Flags::POLL);
            }
            empty
        }
    };
    if read_only { Effect::ReadOnly } else { Effect::Mutates }
}

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
