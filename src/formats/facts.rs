//! What of a call makes a difference: the same for a recording and for the transcript that an import makes of it, because
//! both ask here.

use super::effect::{Profile, Words};
use crate::call::{Effect, Print};
use crate::engine::{Noted, Ruleset};
use crate::finding::ArgumentPlace;
use crate::json::view::{self, Value};
use crate::rules::Arguments;
use std::borrow::Cow;

/// What a call's tool and arguments tell.
#[derive(Debug, Clone)]
pub(crate) struct CallFacts {
    /// The print of the tool and of those arguments that make a difference.
    pub(crate) same: Print,
    pub(crate) effect: Effect,
    pub(crate) poll: bool,
    pub(crate) varies: bool,
    /// Nobody described the tool but as a mutator.
    pub(crate) plain: bool,
    /// A part of the arguments was blacked out: the call is like no other.
    pub(crate) blacked_out: bool,
    /// Stands for the one file it is about.
    pub(crate) target: Option<u64>,
    /// What the rules noted.
    pub(crate) noted: Noted,
}

/// What a result tells.
#[derive(Debug, Clone)]
pub(crate) struct ResultFacts {
    /// The print of that part that makes a difference.
    pub(crate) print: Print,
    /// It says no more than: the same as when you last asked.
    pub(crate) unchanged: bool,
    /// It was blacked out: it is neither equal to another nor different from it.
    pub(crate) blacked_out: bool,
    /// What the rules noted.
    pub(crate) noted: Noted,
}

/// Where a call was made.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a> {
    pub(crate) cwd: Option<&'a str>,
    pub(crate) agent: Option<&'a str>,
    /// The names under which a scope may have lists for it, where they are known already.
    pub(crate) agents: Option<&'a [&'a str]>,
    pub(crate) locate: &'a dyn Fn(&str) -> Option<ArgumentPlace>,
}

/// Looks at a call. `literal` is the tool's name as a JSON string, `args` an object, both in canonical form.
pub(crate) fn of_call(
    ruleset: &Ruleset,
    profile: &Profile,
    tool: &str,
    literal: &[u8],
    args: Value<'_>,
    around: Around<'_>,
) -> CallFacts {
    let known = ruleset.traits.of(tool);
    let judged = profile.judge(tool, Some(args));
    let mutator = ruleset.mutators.contains(literal);
    let effect = known.effect.unwrap_or(if mutator { Effect::Mutates } else { judged.effect });
    let plain = profile.is_plain() && (known.effect.is_none() || mutator && known.effect == Some(Effect::Mutates));
    let key = ruleset.key();
    let same = match ruleset.traits.args(&known, args, profile.ignored(tool)) {
        Some(text) => key.print_parts(&[&text, literal]),
        None => key.print_parts(&[args.text(), literal]),
    };
    let cwd = args.str_at("workdir").map(|cwd| cwd.into_owned());
    let cwd = cwd.as_deref().or(around.cwd);
    let target = profile.target(tool).and_then(|name| args.str_at(name)).and_then(|path| lexical(&path, cwd));
    let mut noted = Noted::default();
    let Around { agent, agents, locate, .. } = around;
    let arguments = Arguments { tool, literal, arguments: args, cwd, agent, agents, key, locate };
    ruleset.inspect_arguments(&arguments, &mut noted);
    CallFacts {
        same,
        effect,
        poll: known.poll.unwrap_or(judged.poll),
        varies: known.varies || judged.varies,
        plain,
        blacked_out: is_blacked_out(args.text()),
        target: target.map(|path| key.print_parts(&[path.as_bytes()]).number()),
        noted,
    }
}

/// The arguments that make a difference, in canonical form: what a finding's fingerprint is made of. And all of them,
/// where that is more.
pub(crate) fn subject(ruleset: &Ruleset, profile: &Profile, tool: &str, args: Vec<u8>) -> (Vec<u8>, Option<Vec<u8>>) {
    let known = ruleset.traits.of(tool);
    let part = view::only_value(&args).ok().and_then(|value| ruleset.traits.args(&known, value, profile.ignored(tool)));
    match part {
        Some(part) => (part, Some(args)),
        None => (args, None),
    }
}

/// Looks at a result: a response in canonical form, without what an import put there.
pub(crate) fn of_result(ruleset: &Ruleset, profile: &Profile, tool: Option<&str>, response: &[u8]) -> ResultFacts {
    let key = ruleset.key();
    let mut facts = ResultFacts {
        print: key.print_parts(&[response]),
        unchanged: false,
        blacked_out: false,
        noted: Noted::default(),
    };
    let Ok(value) = view::only_value(response) else { return facts };
    if ruleset.needs().results {
        ruleset.inspect_result(value, &mut facts.noted);
    }
    if !ruleset.needs().comparison {
        return facts;
    }
    let whole = value.get("content").filter(|content| content.is_string()).unwrap_or(value);
    facts.blacked_out = whole.text().len() < 64 && is_blacked_out(whole.text());
    match compared(ruleset, profile, tool, value) {
        Some(Cow::Owned(text)) => facts.print = key.print_parts(&[&text]),
        Some(Cow::Borrowed(_)) => {}
        None => facts.unchanged = true,
    }
    facts
}

/// The part of a response that makes a difference; `None`: it says no more than that nothing has changed.
pub(crate) fn compared<'r>(
    ruleset: &Ruleset,
    profile: &Profile,
    tool: Option<&str>,
    response: Value<'r>,
) -> Option<Cow<'r, [u8]>> {
    match profile.words.and_then(|words| words(response)) {
        Some(Words::Own(text)) => Some(text.into()),
        Some(Words::Unchanged) => None,
        None => {
            let known = tool.map(|tool| ruleset.traits.of(tool)).unwrap_or_default();
            let part = ruleset.traits.response(&known, response);
            Some(part.map_or(Cow::Borrowed(response.text()), Cow::Owned))
        }
    }
}

/// Whether somebody put a mark in the place of what a text held.
pub(super) fn is_blacked_out(text: &[u8]) -> bool {
    ["REDACTED", "<redacted>", "[redacted]"].iter().any(|mark| memchr::memmem::find(text, mark.as_bytes()).is_some())
}

/// A path as it reads when `.`, `..` and doubled slashes are folded; the disk is never asked. `None` where it is no path
/// that can be compared.
fn lexical(path: &str, cwd: Option<&str>) -> Option<String> {
    let path = path.replace('\\', "/");
    let whole = match (path.starts_with('/') || path.get(1..3) == Some(":/"), cwd) {
        (true, _) | (false, None) => path,
        (false, Some(cwd)) => format!("{}/{path}", cwd.replace('\\', "/")),
    };
    if whole.is_empty() || whole.contains('\0') {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::lexical;

    #[test]
    fn paths_are_compared_as_they_read() {
        for (one, cwd, other) in [
            ("/w/a/../b.txt", None, "w/b.txt"),
            ("b.txt", Some("/w"), "w/b.txt"),
            ("./x//b.txt", Some("/w/"), "w/x/b.txt"),
            ("C:\\w\\b.txt", Some("/w"), "C:/w/b.txt"),
            ("b.txt", None, "b.txt"),
        ] {
            assert_eq!(lexical(one, cwd).as_deref(), Some(other), "{one}");
        }
        assert_eq!(lexical("", None), None);
    }
}
