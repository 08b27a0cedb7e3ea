//! One call, held against the entries of a scope.

use super::commands::{Allow, Commands, Deny};
use super::hosts;
use super::paths::{self, Ground, Known, Places};
use super::policy::{Argument, CommandRule, Entry, PathRule, PolicyCall, UrlRule};
use super::schemas::Schema;
use crate::json::view::{self, Value};
use crate::json::{Scratch, canonical};
use crate::shell;
use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// A call while entries are held against it: what they need of it is made once.
pub(super) struct Judged<'c> {
    arguments: OnceCell<Option<Cow<'c, [u8]>>>,
    given: &'c [u8],
    ground: Ground<'c>,
    /// The arguments that entries asked for, by their names.
    read: RefCell<HashMap<String, Option<Given>>>,
    /// The scripts read so far, by where in memory the text or the first word is that they were read from, which `read`
    /// or the entry keeps there.
    scripts: RefCell<HashMap<(*const u8, bool), Rc<Commands>>>,
    /// The paths folded so far.
    folded: RefCell<HashMap<Arc<str>, Option<Rc<Known>>>>,
    parsed: OnceCell<Option<serde_json::Value>>,
}

/// One value that a rule looks at.
#[derive(Debug, Clone)]
enum Given {
    /// The argument is not there.
    Missing,
    /// It is there, and is no text.
    Other,
    /// A text, or a list of texts alone.
    Texts { texts: Arc<[Arc<str>]>, list: bool },
}

impl<'c> Judged<'c> {
    pub(super) fn new(call: &PolicyCall<'c>, root: Option<&'c str>) -> Judged<'c> {
        let places = Places { root: root.or(call.root), cwd: call.cwd, home: call.home };
        Judged {
            arguments: OnceCell::new(),
            given: call.arguments,
            ground: Ground::from(places),
            read: RefCell::default(),
            scripts: RefCell::default(),
            folded: RefCell::default(),
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
    fn given(&self, argument: &Argument) -> Option<Given> {
        let known = self.read.borrow().get(&argument.name).cloned();
        let given = known.unwrap_or_else(|| {
            let read = self.read_argument(argument);
            self.read.borrow_mut().insert(argument.name.clone(), read.clone());
            read
        });
        Some(match (given?, &argument.if_missing) {
            (Given::Missing, Some(texts)) => Given::Texts { texts: Arc::clone(texts), list: false },
            (given, _) => given,
        })
    }

    fn read_argument(&self, argument: &Argument) -> Option<Given> {
        self.object()?;
        let text = |value: Value<'_>| value.as_str().map(Arc::<str>::from);
        let texts: Option<Arc<[Arc<str>]>> = match self.argument(argument) {
            None => return Some(Given::Missing),
            Some(value) if value.is_null() => return Some(Given::Missing),
            Some(value) if value.is_array() => {
                let texts: Option<Vec<Arc<str>>> = value.items().map(text).collect();
                return Some(texts.map_or(Given::Other, |texts| Given::Texts { texts: texts.into(), list: true }));
            }
            Some(value) => text(value).map(|text| [text].into()),
        };
        Some(texts.map_or(Given::Other, |texts| Given::Texts { texts, list: false }))
    }

    pub(super) fn allows(&self, entry: &Entry) -> Allow {
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

    pub(super) fn denies(&self, entry: &Entry) -> Deny {
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
    fn all(&self, argument: &Argument, each: impl Fn(&Arc<str>) -> Allow) -> Allow {
        let missing = || Allow::Unproven(format!("no '{}'", argument.name));
        match self.given(argument) {
            None => Allow::Unproven("the arguments are no JSON object".to_owned()),
            Some(Given::Missing) => missing(),
            Some(Given::Other) => Allow::Unproven(format!("'{}' is no text", argument.name)),
            Some(Given::Texts { texts, .. }) if texts.is_empty() => missing(),
            Some(Given::Texts { texts, .. }) => {
                let mut open = None;
                for text in &*texts {
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
    fn any(&self, argument: &Argument, each: impl Fn(&Arc<str>) -> Deny) -> Deny {
        match self.given(argument) {
            None => Deny::Maybe("the arguments are no JSON object".to_owned()),
            Some(Given::Missing) => Deny::No,
            Some(Given::Other) => Deny::Maybe(format!("'{}' is no text", argument.name)),
            Some(Given::Texts { texts, .. }) => {
                let mut open = None;
                for text in &*texts {
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
                    let verdicts = paths.iter().map(|path| self.one_path_allows(rule, &path.as_str().into()));
                    verdicts.reduce(worse).unwrap_or(Allow::Unproven("an empty patch".to_owned()))
                }
            };
        }
        self.all(&rule.argument, |path| self.one_path_allows(rule, path))
    }

    /// A path, folded once for all entries.
    fn fold(&self, path: &Arc<str>) -> Option<Rc<Known>> {
        let mut folded = self.folded.borrow_mut();
        folded.entry(Arc::clone(path)).or_insert_with(|| self.ground.fold(path).map(Rc::new)).clone()
    }

    fn one_path_allows(&self, rule: &PathRule, path: &Arc<str>) -> Allow {
        let Some(known) = self.fold(path) else { return Allow::Unproven(path.to_string()) };
        let fits = |pattern: &paths::Pattern, folded| pattern.fits(&known, &self.ground, folded);
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
                Some(Given::Texts { texts, .. }) => texts,
            };
            let lines = texts.iter().flat_map(|text| paths::patch_lines(text));
            return lines.map(|path| self.one_path_denies(rule, &path.into())).reduce(graver).unwrap_or(Deny::No);
        }
        self.any(&rule.argument, |path| self.one_path_denies(rule, path))
    }

    fn one_path_denies(&self, rule: &PathRule, path: &Arc<str>) -> Deny {
        let Some(known) = self.fold(path) else { return Deny::Maybe(path.to_string()) };
        let fits = |pattern: &paths::Pattern, folded| pattern.fits(&known, &self.ground, folded);
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
        let Some(Given::Texts { texts, .. }) = self.given(argument) else { return None };
        let owned = |paths: Vec<&str>| paths.into_iter().map(str::to_owned).collect();
        match &texts[..] {
            [patch] if patch.trim_start().starts_with("*** Begin Patch") => paths::patched(patch).map(owned),
            [program, patch] if &**program == "apply_patch" => paths::patched(patch).map(owned),
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

    fn command_allows(&self, rule: &CommandRule) -> Allow {
        match self.argv(rule) {
            Some(commands) => rule.rule.allows(&commands, &self.ground),
            None => self.all(&rule.argument, |command| rule.rule.allows(&self.script(command), &self.ground)),
        }
    }

    fn command_denies(&self, rule: &CommandRule) -> Deny {
        match self.argv(rule) {
            Some(commands) => rule.rule.denies(&commands),
            None => self.any(&rule.argument, |command| rule.rule.denies(&self.script(command))),
        }
    }

    /// The command that a list of words is, where the rule says that it is one.
    fn argv(&self, rule: &CommandRule) -> Option<Rc<Commands>> {
        if !rule.argv {
            return None;
        }
        let Given::Texts { texts, list: true } = self.given(&rule.argument)? else { return None };
        if texts.is_empty() {
            return None;
        }
        let words = || texts.iter().map(|word| word.to_string()).collect::<Vec<_>>();
        Some(self.commands((texts.as_ptr().cast(), true), || shell::read_words(&words())))
    }

    fn script(&self, command: &Arc<str>) -> Rc<Commands> {
        self.commands((command.as_ptr(), false), || shell::read(command))
    }

    /// What an entry before has read already.
    fn commands(&self, source: (*const u8, bool), read: impl FnOnce() -> shell::Script) -> Rc<Commands> {
        let mut scripts = self.scripts.borrow_mut();
        Rc::clone(scripts.entry(source).or_insert_with(|| Rc::new(Commands::from(read()))))
    }

    fn url_allows(&self, rule: &UrlRule) -> Allow {
        self.all(&rule.argument, |address| match hosts::read(address) {
            None => Allow::Unproven(address.to_string()),
            Some(target) if !rule.schemes.contains(&target.scheme) => Allow::No(format!("{}://", target.scheme)),
            Some(target) if rule.hosts.iter().any(|host| host.fits(&target, false)) => Allow::Yes,
            Some(target) => Allow::No(target.shown()),
        })
    }

    fn url_denies(&self, rule: &UrlRule) -> Deny {
        self.any(&rule.argument, |address| match hosts::read(address) {
            None => Deny::Maybe(address.to_string()),
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
    pub(super) fn point(&self, entry: &Entry, part: String) -> (String, String) {
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

#[cfg(test)]
mod tests {
    use super::super::policy::Policy;
    use super::*;

    /// However many entries there are, a call's arguments are read once, and a command is parsed once.
    #[test]
    fn a_call_is_read_once_for_all_entries() {
        let entries: Vec<serde_json::Value> = (0..10_000)
            .map(|number| match number % 3 {
                0 => serde_json::json!({"tool": "Bash", "command": {"arg": "command", "prefixes": [format!("p{number} x")]}}),
                1 => serde_json::json!({"tool": "Bash", "path": {"arg": "file", "globs": [format!("f{number}/**")]}}),
                _ => serde_json::json!({"tool": "Bash", "command": {"arg": "argv", "argv": true, "prefixes": [format!("p{number}")]}}),
            })
            .collect();
        let scope = serde_json::json!({"version": 2, "allowed_tools": ["Bash"], "denied_tools": entries});
        let policy = Policy::read(scope.to_string().as_bytes()).unwrap();
        // a command of 1 MB
        let command = format!("echo '{}'; ls", "a b; ".repeat(210_000));
        let arguments =
            serde_json::json!({"command": command, "file": ["src/a", "src/b"], "argv": ["ls", "-l"]}).to_string();
        assert!(command.len() > 1_000_000);
        let call = PolicyCall { tool: "Bash", arguments: arguments.as_bytes(), ..PolicyCall::default() };
        let judged = Judged::new(&call, Some("/repo"));
        for entry in &policy.entries {
            let _ = judged.denies(entry);
        }
        assert_eq!(judged.read.borrow().len(), 3);
        assert_eq!(judged.scripts.borrow().len(), 2);
        assert_eq!(judged.folded.borrow().len(), 2);
    }
}
