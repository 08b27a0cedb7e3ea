//! A scope of either version, and what it says of a call.

use super::commands::{self, Allow, Deny};
use super::names::Name;
use super::paths::{self, Known, Places};
use super::schemas::Schema;
use super::{ScopeError, hosts, read};
use crate::json::view::{self, Value};
use crate::json::{Scratch, canonical};
use crate::sanitize::clip;
use crate::shell::{self, Script};
use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A scope file, read.
#[derive(Debug)]
pub struct Policy {
    /// 1 or 2.
    pub version: u8,
    /// The agent it was declared for, if it names one.
    pub agent: Option<String>,
    /// The SHA-256 of the file.
    pub sha256: [u8; 32],
    pub(super) root: Option<String>,
    pub(super) bodies: Vec<Body>,
    pub(super) entries: Vec<Entry>,
    /// The names of version 1, each as a JSON string in canonical form, with the place of its entry.
    pub(super) names: HashMap<Box<[u8]>, usize>,
    /// What the file says that does nothing.
    pub(super) pointless: Vec<Remark>,
}

/// The lists for one agent.
#[derive(Debug)]
pub(super) struct Body {
    /// The agent's name; none where the lists are for whoever is judged.
    pub(super) agent: Option<String>,
    pub(super) allow: Vec<usize>,
    pub(super) deny: Vec<usize>,
}

/// One entry of a list.
#[derive(Debug)]
pub struct Entry {
    /// Where it stands in the file: `denied_tools[2]`.
    pub place: String,
    /// Its line, from 1.
    pub line: u64,
    /// Its column, in characters from 1.
    pub column: u64,
    /// Why it is there, as the file says.
    pub why: Option<String>,
    pub(super) name: Name,
    pub(super) path: Option<PathRule>,
    pub(super) command: Option<CommandRule>,
    pub(super) url: Option<UrlRule>,
    pub(super) schema: Option<Schema>,
    pub(super) deny: bool,
}

impl Entry {
    /// Whether it is about calls with certain arguments alone.
    pub(super) fn is_conditional(&self) -> bool {
        self.path.is_some() || self.command.is_some() || self.url.is_some() || self.schema.is_some()
    }
}

/// The argument that a rule is about.
#[derive(Debug)]
pub(super) struct Argument {
    /// Its name, or a JSON Pointer to it.
    pub(super) name: String,
    pub(super) if_missing: Option<String>,
}

#[derive(Debug)]
pub(super) struct PathRule {
    pub(super) argument: Argument,
    pub(super) globs: Vec<paths::Pattern>,
    pub(super) except: Vec<paths::Pattern>,
    pub(super) patch: bool,
}

#[derive(Debug)]
pub(super) struct CommandRule {
    pub(super) argument: Argument,
    pub(super) argv: bool,
    pub(super) rule: commands::Rule,
}

#[derive(Debug)]
pub(super) struct UrlRule {
    pub(super) argument: Argument,
    pub(super) hosts: Vec<hosts::Pattern>,
    pub(super) schemes: Vec<String>,
}

/// A remark on an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Where the entry stands in the file.
    pub entry: String,
    /// Its line, from 1.
    pub line: u64,
    /// What is odd about it.
    pub text: String,
}

/// A call that is judged.
#[derive(Debug, Clone, Copy, Default)]
pub struct PolicyCall<'c> {
    /// The names under which the calling agent may have lists, the most specific first.
    pub agents: &'c [&'c str],
    /// The tool's name.
    pub tool: &'c str,
    /// The MCP server and the server's own name of the tool, where the recording keeps them apart.
    pub server: Option<(&'c str, &'c str)>,
    /// The arguments, as JSON text.
    pub arguments: &'c [u8],
    /// The working directory of the call.
    pub cwd: Option<&'c str>,
    /// The folder in which the session started: relative patterns are about it if the file names none.
    pub root: Option<&'c str>,
    /// The home folder.
    pub home: Option<&'c str>,
}

/// What a scope says of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is in scope, by the entry at this place of [`Policy::entries`].
    Allowed(usize),
    /// It is not.
    Overreach(Overreach),
}

/// Why a call is not in scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overreach {
    /// The kind of reason.
    pub reason: Reason,
    /// The entry that decided or came closest, as its place in [`Policy::entries`].
    pub entry: Option<usize>,
    /// The part of the call that broke it: a simple command, a path, a host, a name.
    pub part: String,
    /// A JSON Pointer to the argument that holds it; empty where the tool's name decided.
    pub pointer: String,
}

/// The kinds of reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// A deny entry holds.
    Denied,
    /// No allow entry is about such a call.
    NotListed,
    /// An entry may or may not hold: it cannot be told from the recording.
    NotProven,
    /// The file has no lists for the agent.
    AgentNotListed,
}

impl Reason {
    /// The name in reports and in the tests of a scope file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Reason::Denied => "denied",
            Reason::NotListed => "not-listed",
            Reason::NotProven => "not-proven",
            Reason::AgentNotListed => "agent-not-listed",
        }
    }
}

/// How many calls of a run each entry was about. Many threads may count at once.
#[derive(Debug, Default)]
pub struct Tally(Vec<AtomicU64>);

impl Tally {
    /// Counts for the entries of a policy, all of them zero. A default one counts nothing.
    #[must_use]
    pub fn of(policy: &Policy) -> Tally {
        Tally((0..policy.entries.len()).map(|_| AtomicU64::new(0)).collect())
    }

    fn add(&self, entry: usize) {
        if let Some(count) = self.0.get(entry) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn get(&self, entry: usize) -> u64 {
        self.0.get(entry).map_or(0, |count| count.load(Ordering::Relaxed))
    }
}

/// A policy that a run is held against, with what its entries did in it.
#[derive(Debug)]
pub struct Applied {
    /// The policy.
    pub policy: Policy,
    /// The calls that its entries were about.
    pub tally: Tally,
}

impl From<Policy> for Applied {
    fn from(policy: Policy) -> Applied {
        Applied { tally: Tally::of(&policy), policy }
    }
}

impl Policy {
    /// Reads a scope file of either version, and runs the tests that it holds.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place: what is not known would look as if it were enforced.
    pub fn read(text: &[u8]) -> Result<Policy, ScopeError> {
        read::policy(text)
    }

    /// The entries, in the order of the file.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Whether a file of version 1 lists the name whose canonical form (with its quotes) is `literal`. Counts its entry.
    #[must_use]
    pub fn lists(&self, literal: &[u8], tally: &Tally) -> bool {
        let place = self.names.get(literal);
        place.iter().for_each(|place| tally.add(**place));
        place.is_some()
    }

    /// Judges a call, and counts the entries that were about it.
    pub fn judge(&self, call: &PolicyCall<'_>, tally: &Tally) -> Verdict {
        let no = |reason, entry, (part, pointer): (String, String)| {
            Verdict::Overreach(Overreach { reason, entry, part: clip(&part, PART).into_owned(), pointer })
        };
        let Some(body) = self.body(call.agents) else {
            let agent = call.agents.first().copied().unwrap_or("");
            return no(Reason::AgentNotListed, None, (agent.to_owned(), String::new()));
        };
        let judged = Judged::new(call, self.root.as_deref());
        let mut denied = None;
        let mut doubtful = None;
        for &place in &body.deny {
            // one that was counted and would change nothing needs no second look
            if denied.is_some() && tally.get(place) > 0 {
                continue;
            }
            let entry = &self.entries[place];
            if !entry.name.fits(call.tool, call.server) {
                continue;
            }
            match judged.denies(entry) {
                Deny::Yes(part) => {
                    tally.add(place);
                    denied = denied.or(Some((place, part)));
                }
                Deny::Maybe(part) => {
                    tally.add(place);
                    doubtful = doubtful.or(Some((place, part)));
                }
                Deny::No => {}
            }
        }
        let mut allowed = None;
        let mut unproven = None;
        let mut refused = None;
        for &place in &body.allow {
            if (allowed.is_some() || denied.is_some()) && tally.get(place) > 0 {
                continue;
            }
            let entry = &self.entries[place];
            if !entry.name.fits(call.tool, call.server) {
                continue;
            }
            match judged.allows(entry) {
                Allow::Yes => {
                    tally.add(place);
                    allowed = allowed.or(Some(place));
                }
                Allow::No(part) => refused = refused.or(Some((place, part))),
                Allow::Unproven(part) => unproven = unproven.or(Some((place, part))),
            }
        }
        let pointed = |(place, part): (usize, String)| {
            let part = if part.is_empty() { call.tool.to_owned() } else { part };
            let (part, pointer) = judged.point(&self.entries[place], part);
            (Some(place), (part, pointer))
        };
        if let Some(found) = denied {
            let (entry, part) = pointed(found);
            return no(Reason::Denied, entry, part);
        }
        let (reason, found) = match (allowed, doubtful, unproven, refused) {
            (Some(place), None, ..) => return Verdict::Allowed(place),
            (Some(_), Some(found), ..) | (None, _, Some(found), _) => (Reason::NotProven, Some(found)),
            (None, _, None, found) => (Reason::NotListed, found),
        };
        match found {
            Some(found) => {
                let (entry, part) = pointed(found);
                no(reason, entry, part)
            }
            None => no(reason, None, (call.tool.to_owned(), String::new())),
        }
    }

    fn body(&self, agents: &[&str]) -> Option<&Body> {
        let named = |name: &str| self.bodies.iter().find(|body| body.agent.as_deref() == Some(name));
        match &self.bodies[..] {
            [body] if body.agent.is_none() => Some(body),
            // a body called `*` is for all others, not for an agent of that name
            _ => agents.iter().filter(|name| **name != "*").find_map(|name| named(name)).or_else(|| named("*")),
        }
    }

    /// What is odd about the file, whatever it is used for.
    #[must_use]
    pub fn pointless(&self) -> &[Remark] {
        &self.pointless
    }

    /// What is odd about the file after a run: entries that another makes pointless, and those that were about no call.
    #[must_use]
    pub fn remarks(&self, tally: &Tally) -> Vec<Remark> {
        let mut remarks = self.pointless.clone();
        for (place, entry) in self.entries.iter().enumerate() {
            if tally.get(place) == 0 && !remarks.iter().any(|remark| remark.entry == entry.place) {
                let kind = if entry.deny { "denies" } else { "allows" };
                let text = format!("'{}' {kind} nothing that was called", entry.name.shown());
                remarks.push(Remark { entry: entry.place.clone(), line: entry.line, text });
            }
        }
        remarks
    }
}

/// How much of the part that broke a rule is kept, in characters.
const PART: usize = 300;

/// A call while entries are held against it: what they need of it is made once.
struct Judged<'c> {
    arguments: OnceCell<Option<Cow<'c, [u8]>>>,
    given: &'c [u8],
    places: Places<'c>,
    /// The scripts read so far, by the text or the list of words they were read from.
    scripts: RefCell<Vec<(Vec<u8>, bool, Rc<Script>)>>,
    parsed: OnceCell<Option<serde_json::Value>>,
}

/// One value that a rule looks at.
enum Given<'v> {
    /// The argument is not there.
    Missing,
    /// It is there, and is no text.
    Other,
    Texts(Vec<Cow<'v, str>>),
}

impl<'c> Judged<'c> {
    fn new(call: &PolicyCall<'c>, root: Option<&'c str>) -> Judged<'c> {
        let places = Places { root: root.or(call.root), cwd: call.cwd, home: call.home };
        Judged {
            arguments: OnceCell::new(),
            given: call.arguments,
            places,
            scripts: RefCell::default(),
            parsed: OnceCell::new(),
        }
    }

    /// The arguments as an object; a string that holds one is decoded once. None if there is none.
    fn object(&self) -> Option<Value<'_>> {
        let text = self.arguments.get_or_init(|| {
            let value = view::only_value(self.given).ok()?;
            if value.is_object() {
                return Some(Cow::Borrowed(self.given));
            }
            if value.is_null() {
                return Some(Cow::Borrowed(b"{}"));
            }
            let inner = value.as_str()?.into_owned().into_bytes();
            // two readers must see the same object
            canonical(&inner, &mut Scratch::default()).ok()?;
            Some(Cow::Owned(inner))
        });
        view::only_value(text.as_deref()?).ok().filter(|value| value.is_object())
    }

    fn argument(&self, argument: &Argument) -> Option<Value<'_>> {
        let object = self.object()?;
        if !argument.name.starts_with('/') {
            return object.get(&argument.name);
        }
        argument.name[1..].split('/').try_fold(object, |value, part| {
            let part = part.replace("~1", "/").replace("~0", "~");
            value.get(&part)
        })
    }

    /// The texts of an argument; none if the arguments cannot be read.
    fn given<'a>(&'a self, argument: &'a Argument) -> Option<Given<'a>> {
        self.object()?;
        let missing = || match &argument.if_missing {
            Some(text) => Given::Texts(vec![Cow::Borrowed(text.as_str())]),
            None => Given::Missing,
        };
        Some(match self.argument(argument) {
            None => missing(),
            Some(value) if value.is_null() => missing(),
            Some(value) if value.is_array() => {
                let texts: Option<Vec<Cow<'_, str>>> = value.items().map(Value::as_str).collect();
                texts.map_or(Given::Other, Given::Texts)
            }
            Some(value) => value.as_str().map_or(Given::Other, |text| Given::Texts(vec![text])),
        })
    }

    fn allows(&self, entry: &Entry) -> Allow {
        let mut open = None;
        let conditions = [
            entry.path.as_ref().map(|rule| self.path_allows(rule)),
            entry.command.as_ref().map(|rule| self.command_allows(rule)),
            entry.url.as_ref().map(|rule| self.url_allows(rule)),
            entry.schema.as_ref().map(|schema| self.schema_allows(schema)),
        ];
        for condition in conditions.into_iter().flatten() {
            match condition {
                Allow::Yes => {}
                no @ Allow::No(_) => return no,
                Allow::Unproven(part) => open = open.or(Some(part)),
            }
        }
        open.map_or(Allow::Yes, Allow::Unproven)
    }

    fn denies(&self, entry: &Entry) -> Deny {
        let mut open = None;
        let mut sure = None;
        let conditions = [
            entry.path.as_ref().map(|rule| self.path_denies(rule)),
            entry.command.as_ref().map(|rule| self.command_denies(rule)),
            entry.url.as_ref().map(|rule| self.url_denies(rule)),
            entry.schema.as_ref().map(|schema| self.schema_denies(schema)),
        ];
        for condition in conditions.into_iter().flatten() {
            match condition {
                Deny::Yes(part) => sure = sure.or(Some(part)),
                Deny::Maybe(part) => open = open.or(Some(part)),
                Deny::No => return Deny::No,
            }
        }
        match open {
            Some(part) => Deny::Maybe(part),
            None => Deny::Yes(sure.unwrap_or_default()),
        }
    }

    /// Every text must be allowed.
    fn all(&self, argument: &Argument, each: impl Fn(&str) -> Allow) -> Allow {
        let missing = || Allow::Unproven(format!("no '{}'", argument.name));
        match self.given(argument) {
            None => Allow::Unproven("the arguments are no JSON object".to_owned()),
            Some(Given::Missing) => missing(),
            Some(Given::Other) => Allow::Unproven(format!("'{}' is no text", argument.name)),
            Some(Given::Texts(texts)) if texts.is_empty() => missing(),
            Some(Given::Texts(texts)) => {
                let mut open = None;
                for text in &texts {
                    match each(text) {
                        Allow::Yes => {}
                        no @ Allow::No(_) => return no,
                        Allow::Unproven(part) => open = open.or(Some(part)),
                    }
                }
                open.map_or(Allow::Yes, Allow::Unproven)
            }
        }
    }

    /// Any text may be denied.
    fn any(&self, argument: &Argument, each: impl Fn(&str) -> Deny) -> Deny {
        match self.given(argument) {
            None => Deny::Maybe("the arguments are no JSON object".to_owned()),
            Some(Given::Missing) => Deny::No,
            Some(Given::Other) => Deny::Maybe(format!("'{}' is no text", argument.name)),
            Some(Given::Texts(texts)) => {
                let mut open = None;
                for text in &texts {
                    match each(text) {
                        yes @ Deny::Yes(_) => return yes,
                        Deny::Maybe(part) => open = open.or(Some(part)),
                        Deny::No => {}
                    }
                }
                open.map_or(Deny::No, Deny::Maybe)
            }
        }
    }

    fn path_allows(&self, rule: &PathRule) -> Allow {
        if rule.patch {
            let paths = self.patch(&rule.argument);
            return match paths {
                None => Allow::Unproven("no patch that can be read".to_owned()),
                Some(paths) => {
                    let verdicts = paths.iter().map(|path| self.one_path_allows(rule, path));
                    verdicts.reduce(worse).unwrap_or(Allow::Unproven("an empty patch".to_owned()))
                }
            };
        }
        self.all(&rule.argument, |path| self.one_path_allows(rule, path))
    }

    fn one_path_allows(&self, rule: &PathRule, path: &str) -> Allow {
        let Some(known) = paths::fold(path, self.places) else { return Allow::Unproven(path.to_owned()) };
        let fits = |pattern: &paths::Pattern, folded| pattern.fits(&known, self.places, folded);
        let mut open = false;
        for pattern in &rule.except {
            match fits(pattern, true) {
                Some(true) => return Allow::No(known.shown()),
                None => open = true,
                Some(false) => {}
            }
        }
        match any(rule.globs.iter().map(|pattern| fits(pattern, false))) {
            Some(true) if !open => Allow::Yes,
            Some(false) => Allow::No(known.shown()),
            _ => Allow::Unproven(known.shown()),
        }
    }

    fn path_denies(&self, rule: &PathRule) -> Deny {
        if rule.patch {
            let texts = match self.given(&rule.argument) {
                None | Some(Given::Other) => return Deny::Maybe("no patch that can be read".to_owned()),
                Some(Given::Missing) => return Deny::No,
                Some(Given::Texts(texts)) => texts,
            };
            let lines = texts.iter().flat_map(|text| paths::patch_lines(text));
            return lines.map(|path| self.one_path_denies(rule, path)).reduce(graver).unwrap_or(Deny::No);
        }
        self.any(&rule.argument, |path| self.one_path_denies(rule, path))
    }

    fn one_path_denies(&self, rule: &PathRule, path: &str) -> Deny {
        let Some(known) = paths::fold(path, self.places) else { return Deny::Maybe(path.to_owned()) };
        let fits = |pattern: &paths::Pattern, folded| pattern.fits(&known, self.places, folded);
        // what is excepted from a deny must surely be
        if rule.except.iter().any(|pattern| fits(pattern, false) == Some(true)) {
            return Deny::No;
        }
        match any(rule.globs.iter().map(|pattern| fits(pattern, true))) {
            Some(true) => Deny::Yes(known.shown()),
            Some(false) => Deny::No,
            None => Deny::Maybe(Known::shown(&known)),
        }
    }

    /// The paths of a patch, which may be given as itself or to the program that applies it.
    fn patch(&self, argument: &Argument) -> Option<Vec<String>> {
        let Some(Given::Texts(texts)) = self.given(argument) else { return None };
        let owned = |paths: Vec<&str>| paths.into_iter().map(str::to_owned).collect();
        match &texts[..] {
            [patch] if patch.trim_start().starts_with("*** Begin Patch") => paths::patched(patch).map(owned),
            [program, patch] if program == "apply_patch" => paths::patched(patch).map(owned),
            [command] => {
                let script = shell::read(command);
                let [only] = &script.commands[..] else { return None };
                let words: Option<Vec<Cow<'_, str>>> = only.words.iter().map(shell::Word::literal).collect();
                if !script.unread.is_empty() || !only.assignments.is_empty() {
                    return None;
                }
                let words = words?;
                match (&words[..], &only.redirects[..]) {
                    ([program, patch], []) if program == "apply_patch" => paths::patched(patch).map(owned),
                    ([program], [text]) if program == "apply_patch" && text.kind == shell::RedirectKind::Text => {
                        paths::patched(&text.target.literal()?).map(owned)
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The script of an argument; none where it is given as words and is read so.
    fn command_allows(&self, rule: &CommandRule) -> Allow {
        match self.argv(rule) {
            Some(script) => rule.rule.allows(&script, self.places),
            None => self.all(&rule.argument, |command| rule.rule.allows(&self.script(command), self.places)),
        }
    }

    fn command_denies(&self, rule: &CommandRule) -> Deny {
        match self.argv(rule) {
            Some(script) => rule.rule.denies(&script),
            None => self.any(&rule.argument, |command| rule.rule.denies(&self.script(command))),
        }
    }

    /// The command that a list of words is, where the rule says that it is one.
    fn argv(&self, rule: &CommandRule) -> Option<Rc<Script>> {
        let value = self.argument(&rule.argument).filter(|value| rule.argv && value.is_array())?;
        let words: Option<Vec<String>> = value.items().map(|item| item.as_str().map(Cow::into_owned)).collect();
        let words = words.filter(|words| !words.is_empty())?;
        Some(self.cached(value.text(), true, || shell::read_words(&words)))
    }

    fn script(&self, command: &str) -> Rc<Script> {
        self.cached(command.as_bytes(), false, || shell::read(command))
    }

    /// What an entry before has read already.
    fn cached(&self, text: &[u8], words: bool, read: impl FnOnce() -> Script) -> Rc<Script> {
        let mut scripts = self.scripts.borrow_mut();
        if let Some((.., script)) = scripts.iter().find(|(own, own_words, _)| *own_words == words && own == text) {
            return Rc::clone(script);
        }
        let script = Rc::new(read());
        scripts.push((text.to_vec(), words, Rc::clone(&script)));
        script
    }

    fn url_allows(&self, rule: &UrlRule) -> Allow {
        self.all(&rule.argument, |address| match hosts::read(address) {
            None => Allow::Unproven(address.to_owned()),
            Some(target) if !rule.schemes.contains(&target.scheme) => Allow::No(format!("{}://", target.scheme)),
            Some(target) if rule.hosts.iter().any(|host| host.fits(&target, false)) => Allow::Yes,
            Some(target) => Allow::No(target.shown()),
        })
    }

    fn url_denies(&self, rule: &UrlRule) -> Deny {
        self.any(&rule.argument, |address| match hosts::read(address) {
            None => Deny::Maybe(address.to_owned()),
            Some(target) if !rule.schemes.is_empty() && !rule.schemes.contains(&target.scheme) => Deny::No,
            Some(target) if rule.hosts.iter().any(|host| host.fits(&target, true)) => Deny::Yes(target.shown()),
            Some(_) => Deny::No,
        })
    }

    fn parsed(&self) -> Option<&serde_json::Value> {
        let parsed = self.parsed.get_or_init(|| serde_json::from_slice(self.object()?.text()).ok());
        parsed.as_ref()
    }

    fn schema_allows(&self, schema: &Schema) -> Allow {
        match self.parsed() {
            None => Allow::Unproven("the arguments are no JSON object".to_owned()),
            Some(arguments) => schema.refuses(arguments).map_or(Allow::Yes, Allow::No),
        }
    }

    fn schema_denies(&self, schema: &Schema) -> Deny {
        match self.parsed() {
            None => Deny::Maybe("the arguments are no JSON object".to_owned()),
            Some(arguments) if schema.refuses(arguments).is_none() => Deny::Yes("the arguments".to_owned()),
            Some(_) => Deny::No,
        }
    }

    /// The argument that an entry is about, as a JSON Pointer, with the part that decided.
    fn point(&self, entry: &Entry, part: String) -> (String, String) {
        let argument = entry
            .path
            .as_ref()
            .map(|rule| &rule.argument)
            .or(entry.command.as_ref().map(|rule| &rule.argument))
            .or(entry.url.as_ref().map(|rule| &rule.argument));
        let pointer = match argument {
            Some(argument) if argument.name.starts_with('/') => argument.name.clone(),
            Some(argument) => format!("/{}", argument.name.replace('~', "~0").replace('/', "~1")),
            None => match (&entry.schema, part.split_once(": ")) {
                (Some(_), Some((pointer, _))) if pointer.starts_with('/') => pointer.to_owned(),
                _ => String::new(),
            },
        };
        (part, pointer)
    }
}

fn worse(one: Allow, other: Allow) -> Allow {
    match (&one, &other) {
        (Allow::No(_), _) | (Allow::Unproven(_), Allow::Yes | Allow::Unproven(_)) => one,
        _ => other,
    }
}

fn graver(one: Deny, other: Deny) -> Deny {
    match (&one, &other) {
        (Deny::Yes(_), _) | (Deny::Maybe(_), Deny::No | Deny::Maybe(_)) => one,
        _ => other,
    }
}

fn any(answers: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut open = false;
    for answer in answers {
        match answer {
            Some(true) => return Some(true),
            None => open = true,
            Some(false) => {}
        }
    }
    if open { None } else { Some(false) }
}
