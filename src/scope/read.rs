//! Reading scope files of version 2, and telling the versions apart. Everything that is not known is refused.

use super::commands::{self, Prefix, Rule};
use super::judge::EntryUses;
use super::names::Name;
use super::policy::{
    Argument, Body, CommandRule, Entry, PathRule, Policy, PolicyCall, Remark, RemarkKind, UrlRule, Verdict,
};
use super::schemas::Schema;
use super::v1::{Scope, ScopeError, error};
use super::{hosts, paths};
use crate::json::view::{self, Value};
use crate::json::{JsonErrorKind, Kind, Scratch, canonical};
use crate::sanitize::{clip, visible};
use sha2::{Digest as _, Sha256};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// How many entries are compared with each other for those that make others pointless.
const COMPARED: usize = 2_000;

impl Policy {
    /// Reads a scope file of either version, and runs the tests that it holds.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place: what is not known would look as if it were enforced.
    pub fn read(text: &[u8]) -> Result<Policy, ScopeError> {
        policy(text)
    }
}

fn policy(text: &[u8]) -> Result<Policy, ScopeError> {
    let sha256: [u8; 32] = Sha256::digest(text).into();
    // version 1 reads its own files, with its own words
    let mut policy = if has_version(text) { Reader { text }.file(sha256)? } else { first(text, sha256)? };
    policy.pointless = pointless(&policy);
    Ok(policy)
}

/// Whether a text is an object with a `version`. One that is no JSON is left to the reader that says so.
fn has_version(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    match view::first_value(text) {
        Ok((value, _)) => value.get("version").is_some_and(|version| version.text() != b"1"),
        Err(_) => false,
    }
}

fn first(text: &[u8], sha256: [u8; 32]) -> Result<Policy, ScopeError> {
    let scope = Scope::parse(text)?;
    let mut entries = Vec::new();
    let mut names = HashMap::new();
    let list = view::first_value(text).ok().and_then(|(file, _)| file.get("allowed_tools"));
    for (number, item) in list.into_iter().flat_map(Value::items).enumerate() {
        let at = place(text, item);
        let mut entry = entry(format!("allowed_tools[{number}]"), at, false);
        entry.name = Name::Exact(item.as_str().unwrap_or_default().into_owned());
        let mut scratch = Scratch::default();
        if let Ok(literal) = canonical(item.text(), &mut scratch) {
            names.entry(literal.get(item.text(), &scratch).to_vec().into_boxed_slice()).or_insert(number);
        }
        entries.push(entry);
    }
    let body = Body { agent: None, allow: (0..entries.len()).collect(), deny: Vec::new() };
    Ok(Policy {
        version: 1,
        agent: Some(scope.agent.to_string()),
        sha256,
        root: None,
        bodies: vec![body],
        entries,
        names,
        pointless: Vec::new(),
    })
}

fn entry(place: String, (line, column): (u64, u64), deny: bool) -> Entry {
    Entry {
        place,
        line,
        column,
        why: None,
        name: Name::Glob(String::new()),
        path: None,
        command: None,
        url: None,
        schema: None,
        deny,
    }
}

fn place(text: &[u8], value: Value<'_>) -> (u64, u64) {
    let error = error(text, offset(text, value.text()), String::new());
    (error.line, error.column)
}

/// Where a part of a text starts in it.
fn offset(text: &[u8], part: &[u8]) -> usize {
    (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize).min(text.len())
}

struct Reader<'t> {
    text: &'t [u8],
}

type Read<T> = Result<T, ScopeError>;

impl<'t> Reader<'t> {
    fn error<T>(&self, at: Value<'_>, what: impl Into<String>) -> Read<T> {
        Err(error(self.text, offset(self.text, at.text()), what.into()))
    }

    fn file(&self, sha256: [u8; 32]) -> Read<Policy> {
        let text = self.text;
        if text.starts_with(b"\xef\xbb\xbf") {
            return Err(error(
                text,
                0,
                "the file starts with a byte order mark; save it as UTF-8 without one".to_owned(),
            ));
        }
        if let Err(json) = canonical(text, &mut Scratch::default()) {
            let what = match json.kind {
                JsonErrorKind::NotAnObject(kind) => format!("a scope must be an object, found {kind}"),
                kind => visible(&kind.to_string()).into_owned(),
            };
            return Err(error(text, json.offset, what));
        }
        let Ok(file) = view::only_value(text) else {
            return Err(error(text, 0, "it is nested too deeply".to_owned()));
        };
        let names = ["version", "$schema", "agent", "root", "allowed_tools", "denied_tools", "agents", "tests"];
        let [version, schema, agent, root, allowed, denied, agents, tests] = self.fields(file, &names, "a scope")?;
        match version {
            Some(version) if version.text() == b"2" => {}
            Some(version) => {
                let shown = clip(&String::from_utf8_lossy(version.text()), 40).into_owned();
                return self.error(version, format!("version {} is not known; versions are 1 and 2", visible(&shown)));
            }
            None => return self.error(file, "missing field 'version'"),
        }
        if let Some(schema) = schema {
            self.string(schema, "$schema")?;
        }
        let agent = agent.map(|agent| self.string(agent, "agent")).transpose()?;
        let root = match root {
            Some(value) => {
                let root = self.string(value, "root")?;
                if paths::fold(&root, paths::Places::default()).is_none_or(|known| known.anchor != paths::Anchor::Top) {
                    return self.error(value, "'root' must be an absolute path");
                }
                Some(root)
            }
            None => None,
        };
        let mut policy = Policy {
            version: 2,
            agent,
            sha256,
            root,
            bodies: Vec::new(),
            entries: Vec::new(),
            names: HashMap::new(),
            pointless: Vec::new(),
        };
        match (agents, allowed, denied) {
            (Some(agents), None, None) => {
                if policy.agent.is_some() {
                    return self.error(
                        agents,
                        "'agent' names the one agent of a file without 'agents'; leave out one of the two",
                    );
                }
                self.kind(agents, Kind::Object, "agents")?;
                for (name, body) in agents.members() {
                    let name = name.name().into_owned();
                    let shown = format!("agents.{}", clip(&name, 80));
                    self.kind(body, Kind::Object, &shown)?;
                    let [allowed, denied] = self.fields(body, &["allowed_tools", "denied_tools"], &shown)?;
                    self.body(&mut policy, Some(name), body, allowed, denied, &format!("{shown}."))?;
                }
                if policy.bodies.is_empty() {
                    return self.error(agents, "'agents' is empty");
                }
            }
            (Some(agents), ..) => {
                return self.error(agents, "the lists stand in 'agents' or beside it, not in both");
            }
            (None, ..) => self.body(&mut policy, None, file, allowed, denied, "")?,
        }
        if let Some(tests) = tests {
            self.kind(tests, Kind::Array, "tests")?;
            for (number, test) in tests.items().enumerate() {
                self.test(&policy, number, test)?;
            }
        }
        Ok(policy)
    }

    /// The members of an object, all of which must have one of the names.
    fn fields<const N: usize>(&self, object: Value<'t>, names: &[&str; N], of: &str) -> Read<[Option<Value<'t>>; N]> {
        for (key, _) in object.members() {
            if !names.iter().any(|name| key.is(name)) {
                let name = visible(&clip(&key.name(), 80)).into_owned();
                let known = names.iter().filter(|name| **name != "$schema").copied().collect::<Vec<_>>().join("', '");
                return Err(error(
                    self.text,
                    offset(self.text, key.text()),
                    format!("unexpected field '{name}' in {}; it has '{known}'", visible(of)),
                ));
            }
        }
        Ok(object.fields(names))
    }

    fn kind(&self, value: Value<'t>, kind: Kind, name: &str) -> Read<()> {
        if value.kind() == kind {
            return Ok(());
        }
        self.error(value, format!("'{}' must be {kind}, found {}", visible(name), value.kind()))
    }

    fn string(&self, value: Value<'t>, name: &str) -> Read<String> {
        self.kind(value, Kind::String, name)?;
        Ok(value.as_str().unwrap_or_default().into_owned())
    }

    /// A list of strings that is not empty, each with its value.
    fn strings(&self, value: Value<'t>, name: &str) -> Read<Vec<(String, Value<'t>)>> {
        self.kind(value, Kind::Array, name)?;
        let items: Read<Vec<_>> = value
            .items()
            .enumerate()
            .map(|(number, item)| Ok((self.string(item, &format!("{name}[{number}]"))?, item)))
            .collect();
        let items = items?;
        if items.is_empty() {
            return self.error(value, format!("'{name}' is empty"));
        }
        Ok(items)
    }

    fn body(
        &self,
        policy: &mut Policy,
        agent: Option<String>,
        at: Value<'t>,
        allowed: Option<Value<'t>>,
        denied: Option<Value<'t>>,
        prefix: &str,
    ) -> Read<()> {
        let mut body = Body { agent, allow: Vec::new(), deny: Vec::new() };
        let Some(allowed) = allowed else {
            return self.error(at, format!("missing field '{}allowed_tools', which must be an array", visible(prefix)));
        };
        for (list, deny, name) in [(Some(allowed), false, "allowed_tools"), (denied, true, "denied_tools")] {
            let Some(list) = list else { continue };
            let name = format!("{prefix}{name}");
            self.kind(list, Kind::Array, &name)?;
            for (number, item) in list.items().enumerate() {
                let place = policy.entries.len();
                policy.entries.push(self.entry(item, format!("{name}[{number}]"), deny)?);
                if deny { body.deny.push(place) } else { body.allow.push(place) }
            }
        }
        if body.allow.is_empty() {
            return self
                .error(allowed, format!("'{}allowed_tools' is empty: nothing would be allowed", visible(prefix)));
        }
        policy.bodies.push(body);
        Ok(())
    }

    fn entry(&self, item: Value<'t>, shown: String, deny: bool) -> Read<Entry> {
        let mut entry = entry(shown, place(self.text, item), deny);
        let shown = entry.place.clone();
        if item.is_string() {
            entry.name = Name::Glob(self.name(item, &shown)?);
            return Ok(entry);
        }
        if !item.is_object() {
            return self
                .error(item, format!("'{}' must be a string or an object, found {}", visible(&shown), item.kind()));
        }
        let names = ["tool", "server", "path", "command", "url", "schema", "why"];
        let [tool, server, path, command, url, schema, why] = self.fields(item, &names, &shown)?;
        let Some(tool) = tool else {
            return self.error(item, format!("missing field 'tool' in {}", visible(&shown)));
        };
        let tool = self.name(tool, "tool")?;
        entry.name = match server {
            Some(server) => Name::Server(self.name(server, "server")?, tool),
            None => Name::Glob(tool),
        };
        entry.why = why.map(|why| self.string(why, "why")).transpose()?;
        entry.path = path.map(|path| self.path(path)).transpose()?;
        entry.command = command.map(|command| self.command(command, deny)).transpose()?;
        entry.url = url.map(|url| self.url(url, deny)).transpose()?;
        entry.schema = schema.map(|schema| self.schema(schema)).transpose()?;
        Ok(entry)
    }

    fn name(&self, value: Value<'t>, shown: &str) -> Read<String> {
        let name = self.string(value, shown)?;
        if name.is_empty() {
            return self.error(value, format!("'{}' is empty", visible(shown)));
        }
        Ok(name)
    }

    fn argument(&self, at: Value<'t>, argument: Option<Value<'t>>, if_missing: Option<Value<'t>>) -> Read<Argument> {
        let Some(argument) = argument else {
            return self.error(at, "missing field 'arg', the name of the argument");
        };
        let name = self.name(argument, "arg")?;
        let if_missing = if_missing.map(|text| self.string(text, "if_missing")).transpose()?;
        Ok(Argument { name, if_missing: if_missing.map(|text| Arc::from([Arc::from(text)])) })
    }

    fn patterns(&self, value: Value<'t>, name: &str) -> Read<Vec<paths::Pattern>> {
        let patterns = self.strings(value, name)?.into_iter().map(|(text, at)| {
            paths::Pattern::read(&text).or_else(|what| self.error(at, format!("the pattern {what}")))
        });
        patterns.collect()
    }

    fn path(&self, value: Value<'t>) -> Read<PathRule> {
        self.kind(value, Kind::Object, "path")?;
        let names = ["arg", "globs", "except", "if_missing", "from"];
        let [arg, globs, except, if_missing, from] = self.fields(value, &names, "'path'")?;
        let argument = self.argument(value, arg, if_missing)?;
        let Some(globs) = globs else { return self.error(value, "missing field 'globs' in 'path'") };
        let globs = self.patterns(globs, "globs")?;
        let except = except.map(|except| self.patterns(except, "except")).transpose()?.unwrap_or_default();
        let patch = match from {
            None => false,
            Some(from) if from.is("apply_patch") => true,
            Some(from) => return self.error(from, "'from' may be \"apply_patch\" alone"),
        };
        Ok(PathRule { argument, globs, except, patch })
    }

    fn command(&self, value: Value<'t>, deny: bool) -> Read<CommandRule> {
        self.kind(value, Kind::Object, "command")?;
        let names = ["arg", "prefixes", "flags_deny", "redirect_to", "if_missing", "argv"];
        let [arg, prefixes, flags, redirects, if_missing, argv] = self.fields(value, &names, "'command'")?;
        let argument = self.argument(value, arg, if_missing)?;
        let Some(prefixes) = prefixes else { return self.error(value, "missing field 'prefixes' in 'command'") };
        self.kind(prefixes, Kind::Array, "prefixes")?;
        let mut rule = Rule::default();
        for prefix in prefixes.items() {
            rule.prefixes.push(self.prefix(prefix)?);
        }
        if rule.prefixes.is_empty() {
            return self.error(prefixes, "'prefixes' is empty");
        }
        if let Some(extra) = flags.or(redirects).filter(|_| deny) {
            return self
                .error(extra, "'flags_deny' and 'redirect_to' narrow what is allowed; a deny entry has neither");
        }
        if let Some(flags) = flags {
            for (flag, at) in self.strings(flags, "flags_deny")? {
                if flag.len() < 2 || !flag.starts_with('-') || flag.contains(['=', ' ']) {
                    return self.error(at, "a flag starts with '-' and has no value: '--output'");
                }
                rule.flags_deny.push(flag);
            }
        }
        if let Some(redirects) = redirects {
            rule.redirect_to = self.patterns(redirects, "redirect_to")?;
        }
        let argv = match argv {
            None => false,
            Some(argv) => match argv.as_bool() {
                Some(argv) => argv,
                None => return self.error(argv, "'argv' must be true or false"),
            },
        };
        Ok(CommandRule { argument, argv, rule })
    }

    fn prefix(&self, value: Value<'t>) -> Read<Prefix> {
        if value.is_string() {
            let text = value.as_str().unwrap_or_default();
            if text.contains(['\'', '"', '\\', '`', '$']) {
                return self
                    .error(value, "a prefix is words without quotes; write it as a list: [\"git\", \"commit -m\"]");
            }
            let words: Vec<Vec<String>> = text.split_whitespace().map(|word| vec![word.to_owned()]).collect();
            return self.words(value, words);
        }
        self.kind(value, Kind::Array, "prefixes[…]")?;
        let words: Read<Vec<Vec<String>>> = value
            .items()
            .map(|word| {
                if word.is_array() {
                    let words = self.strings(word, "prefixes[…]")?;
                    return Ok(words.into_iter().map(|(word, _)| word).collect());
                }
                Ok(vec![self.string(word, "prefixes[…]")?])
            })
            .collect();
        self.words(value, words?)
    }

    fn words(&self, at: Value<'t>, words: Vec<Vec<String>>) -> Read<Prefix> {
        let all = || words.iter().flatten();
        if words.is_empty() || all().any(String::is_empty) {
            return self.error(at, "a prefix is empty");
        }
        if let Some(word) = all().find(|word| word.contains('*')) {
            let what = format!(
                "'{}' has a '*', which is no wildcard here: whole words are compared, and more may follow",
                visible(&clip(word, 40))
            );
            return self.error(at, what);
        }
        Ok(Prefix::new(words))
    }

    fn url(&self, value: Value<'t>, deny: bool) -> Read<UrlRule> {
        self.kind(value, Kind::Object, "url")?;
        let names = ["arg", "hosts", "schemes", "if_missing"];
        let [arg, hosts, schemes, if_missing] = self.fields(value, &names, "'url'")?;
        let argument = self.argument(value, arg, if_missing)?;
        let Some(hosts) = hosts else { return self.error(value, "missing field 'hosts' in 'url'") };
        let hosts: Read<Vec<hosts::Pattern>> = self
            .strings(hosts, "hosts")?
            .into_iter()
            .map(|(text, at)| hosts::Pattern::read(&text).or_else(|what| self.error(at, format!("the host {what}"))))
            .collect();
        let schemes = match schemes {
            Some(schemes) => {
                let mut names = Vec::new();
                for (scheme, at) in self.strings(schemes, "schemes")? {
                    if scheme.contains(|c: char| {
                        !(c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '+' | '-' | '.'))
                    }) {
                        return self.error(at, "a scheme is small letters without '://': \"https\"");
                    }
                    names.push(scheme);
                }
                names
            }
            None if deny => Vec::new(),
            None => vec!["https".to_owned(), "http".to_owned()],
        };
        Ok(UrlRule { argument, hosts: hosts?, schemes })
    }

    fn schema(&self, value: Value<'t>) -> Read<Schema> {
        let parsed: serde_json::Value = match serde_json::from_slice(value.text()) {
            Ok(parsed) => parsed,
            Err(_) => return self.error(value, "the schema cannot be read"),
        };
        Schema::read(&parsed)
            .or_else(|what| self.error(value, format!("the schema cannot be used: {}", visible(&clip(&what, 300)))))
    }

    fn test(&self, policy: &Policy, number: usize, test: Value<'t>) -> Read<()> {
        let shown = format!("tests[{number}]");
        self.kind(test, Kind::Object, &shown)?;
        let [call, expect, _why] = self.fields(test, &["call", "expect", "why"], &shown)?;
        let (Some(call), Some(expect)) = (call, expect) else {
            return self.error(test, format!("'{shown}' needs 'call' and 'expect'"));
        };
        self.kind(call, Kind::Object, "call")?;
        let call = self.fields(call, &["tool", "arguments", "agent", "cwd", "home"], "'call'")?;
        let [Some(tool), arguments, agent, cwd, home] = call else {
            return self.error(test, format!("'{shown}' needs a 'tool' in its 'call'"));
        };
        let tool = self.string(tool, "tool")?;
        let text = |value: Option<Value<'t>>, name: &str| value.map(|value| self.string(value, name)).transpose();
        let (agent, cwd, home) = (text(agent, "agent")?, text(cwd, "cwd")?, text(home, "home")?);
        let expected = self.string(expect, "expect")?;
        let agents: Vec<&str> = agent.as_deref().into_iter().collect();
        let call = PolicyCall {
            agents: &agents,
            tool: &tool,
            arguments: arguments.map_or(b"{}", Value::text),
            cwd: cwd.as_deref(),
            home: home.as_deref(),
            ..PolicyCall::default()
        };
        let verdict = policy.judge(&call, &EntryUses::default());
        let found = verdict.name();
        let holds = match &*expected {
            "allowed" | "denied" | "not-listed" | "not-proven" | "agent-not-listed" => expected == found,
            "overreach" => found != "allowed",
            _ => {
                let names = "allowed, overreach, denied, not-listed, not-proven or agent-not-listed";
                return self.error(expect, format!("'expect' must be {names}"));
            }
        };
        if holds {
            return Ok(());
        }
        let by = match &verdict {
            Verdict::Allowed(entry) => format!(" by {}", policy.entries[*entry].place),
            Verdict::Overreach(overreach) => {
                let entry =
                    overreach.entry.map_or(String::new(), |entry| format!(" by {}", policy.entries[entry].place));
                format!("{entry}: {}", overreach.part)
            }
        };
        self.error(test, format!("'{shown}' fails: expected {expected}, found {found}{}", visible(&by)))
    }
}

/// Entries that do nothing beside others.
fn pointless(policy: &Policy) -> Vec<Remark> {
    let mut remarks = Vec::new();
    if policy.version == 1 {
        for entry in &policy.entries {
            let Name::Exact(name) = &entry.name else { continue };
            if name.contains(['*', '?', '(']) {
                let text =
                    format!("'{}' looks like a pattern, but names match exactly in version 1", entry.name.shown());
                remarks.push(Remark {
                    entry: entry.place.clone(),
                    line: entry.line,
                    text,
                    kind: RemarkKind::Pointless,
                });
            }
        }
    }
    for body in &policy.bodies {
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for list in [&body.deny, &body.allow] {
            let whole: Vec<usize> =
                list.iter().copied().filter(|&place| !policy.entries[place].is_conditional()).collect();
            // only patterns cover other names; those are few even where names are many
            let wide: Vec<usize> =
                whole.iter().copied().filter(|&place| is_pattern(&policy.entries[place].name)).take(COMPARED).collect();
            let first: HashSet<usize> = whole.iter().copied().collect();
            seen.clear();
            for &place in list {
                let entry = &policy.entries[place];
                let exact = match &entry.name {
                    Name::Exact(name) | Name::Glob(name) => Some(name.as_str()),
                    Name::Server(..) => None,
                };
                let same = exact.and_then(|name| seen.get(name).copied());
                let covering = same.or_else(|| {
                    let wide = wide.iter().copied().take(if list.len() > COMPARED { 20 } else { COMPARED });
                    wide.filter(|&other| other != place).find(|&other| {
                        let other = &policy.entries[other];
                        (entry.is_conditional() || !entry.name.covers(&other.name)) && other.name.covers(&entry.name)
                    })
                });
                if first.contains(&place)
                    && let Some(name) = exact
                {
                    seen.entry(name).or_insert(place);
                }
                if let Some(other) = covering {
                    let text = format!("{} covers it", policy.entries[other].place);
                    remarks.push(Remark {
                        entry: entry.place.clone(),
                        line: entry.line,
                        text,
                        kind: RemarkKind::Pointless,
                    });
                }
            }
        }
        // a name that is denied as a whole is never allowed
        let denied: Vec<&Entry> = body
            .deny
            .iter()
            .map(|&place| &policy.entries[place])
            .filter(|entry| !entry.is_conditional())
            .take(COMPARED)
            .collect();
        for &place in body.allow.iter().take(COMPARED) {
            let entry = &policy.entries[place];
            if let Some(other) = denied.iter().find(|other| other.name.covers(&entry.name)) {
                let text = format!("{} denies all of it", other.place);
                remarks.push(Remark {
                    entry: entry.place.clone(),
                    line: entry.line,
                    text,
                    kind: RemarkKind::Pointless,
                });
            }
        }
    }
    remarks
}

fn is_pattern(name: &Name) -> bool {
    match name {
        Name::Exact(_) => false,
        Name::Glob(name) => name.contains(['*', '?']),
        Name::Server(server, tool) => server.contains(['*', '?']) || tool.contains(['*', '?']),
    }
}

impl Verdict {
    /// The name of the outcome: `allowed` or the reason.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Allowed(_) => "allowed",
            Verdict::Overreach(overreach) => overreach.reason.name(),
        }
    }
}

impl std::fmt::Display for Prefix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (place, words) in self.words().iter().enumerate() {
            f.write_str(if place > 0 { " " } else { "" })?;
            f.write_str(&commands::shown(words))?;
        }
        Ok(())
    }
}
