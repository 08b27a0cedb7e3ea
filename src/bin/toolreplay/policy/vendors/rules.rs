//! What the rules of permission files come to, and how their patterns are read.

use crate::policy::written::Lists;
use anyhow::{Context as _, anyhow, bail};
use serde_json::{Value, json};
use toolreplay::shell;

/// What the rules of one or more files come to.
#[derive(Debug)]
pub(in crate::policy) struct Rules {
    pub(in crate::policy) lists: Lists,
    /// What could not be carried over, and why.
    pub(in crate::policy) notes: Vec<String>,
    ask: bool,
}

/// What a rule says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::policy) enum Says {
    Allow,
    Ask,
    Deny,
}

/// A command pattern, as far as a prefix can say it.
pub(in crate::policy) enum Command {
    /// Commands that start with these words.
    Prefix(Vec<String>),
    /// This command alone.
    Exact(String),
    /// Any command.
    Any,
    /// Less than the pattern takes: commands that start with these words, up to its first wildcard.
    Start(Vec<String>, &'static str),
    /// Nothing that words can say.
    Not(&'static str),
}

impl Rules {
    pub(in crate::policy) fn new(ask: bool) -> Rules {
        Rules { lists: Lists::default(), notes: Vec::new(), ask }
    }

    pub(in crate::policy) fn lost(&mut self, rule: &str, why: &str) {
        self.notes.push(format!("not carried over: {rule}: {why}"));
    }

    pub(in crate::policy) fn note(&mut self, rule: &str, what: &str) {
        self.notes.push(format!("{rule}: {what}"));
    }

    /// Whether a rule goes to the denied ones.
    pub(in crate::policy) fn denies(&mut self, says: Says, rule: &str) -> bool {
        match says {
            Says::Allow => false,
            Says::Deny => true,
            Says::Ask => {
                let what = if self.ask { "allowed (--ask allow)" } else { "denied (--ask deny)" };
                self.note(rule, &format!("the agent asks its user; {what}"));
                !self.ask
            }
        }
    }

    pub(in crate::policy) fn add(&mut self, says: Says, rule: &str, entry: Value) {
        let deny = self.denies(says, rule);
        self.lists.add(deny, entry);
    }

    /// A command rule for tools, each with the argument that holds the command.
    pub(in crate::policy) fn command(
        &mut self,
        says: Says,
        rule: &str,
        tools: &[(&str, &str, bool)],
        command: Command,
        why: Option<&str>,
    ) {
        let deny = self.denies(says, rule);
        let prefix = |words: &[String]| json!([words]);
        let (prefixes, exact) = match &command {
            Command::Any => (None, None),
            Command::Prefix(words) => (Some(prefix(words)), None),
            // a deny may take more than it says, an allow may not
            Command::Exact(text) if deny => match words(text) {
                Some(words) => {
                    self.note(rule, "denies what starts with it as well");
                    (Some(prefix(&words)), None)
                }
                None => return self.lost(rule, "it is no plain words"),
            },
            Command::Exact(text) => (None, Some(text.clone())),
            Command::Start(words, why) if deny && !words.is_empty() => {
                self.note(rule, &format!("{why}: it denies all that starts with '{}'", words.join(" ")));
                (Some(prefix(words)), None)
            }
            Command::Start(_, why) | Command::Not(why) => return self.lost(rule, why),
        };
        for (tool, argument, argv) in tools {
            if let Some(prefixes) = &prefixes {
                let mut command = json!({"arg": argument, "prefixes": prefixes});
                if *argv {
                    command["argv"] = json!(true);
                }
                self.lists.add_commands(deny, tool, command, why);
            } else if let Some(text) = &exact {
                let value = if *argv { json!(words(text)) } else { json!(text) };
                let schema = json!({"properties": {*argument: {"const": value}}, "required": [argument]});
                self.lists.add(deny, json!({"tool": tool, "schema": schema}));
            } else {
                self.lists.add(deny, json!(tool));
            }
        }
    }

    /// A path rule for tools, each with the argument that holds the path.
    pub(in crate::policy) fn path(
        &mut self,
        says: Says,
        rule: &str,
        tools: &[(&str, &str, Option<&str>)],
        globs: Result<Vec<String>, &'static str>,
    ) {
        match globs {
            Err(why) => self.lost(rule, why),
            Ok(globs) => {
                let deny = self.denies(says, rule);
                for (tool, argument, missing) in tools {
                    let mut path = json!({"arg": argument, "globs": globs});
                    if let Some(missing) = missing {
                        path["if_missing"] = json!(missing);
                    }
                    self.lists.add(deny, json!({"tool": tool, "path": path}));
                }
            }
        }
    }
}

/// The words of a command that is plain words.
pub(super) fn words(text: &str) -> Option<Vec<String>> {
    let script = shell::read(text);
    let [only] = &script.commands[..] else { return None };
    if !script.unread.is_empty() || !only.assignments.is_empty() || !only.redirects.is_empty() {
        return None;
    }
    let words: Option<Vec<String>> =
        only.words.iter().map(|word| word.literal().map(|text| text.into_owned())).collect();
    words.filter(|words| words.iter().all(|word| !word.is_empty() && !word.contains('*')))
}

/// A pattern in which `*` stands for anything and a trailing `:*` or ` *` for more words.
pub(super) fn pattern(text: &str) -> Command {
    if text.is_empty() || text == "*" || text == ":*" {
        return Command::Any;
    }
    let (start, open) = match text.strip_suffix(":*").or_else(|| text.strip_suffix(" *")) {
        Some(start) => (start, true),
        None => (text, false),
    };
    if let Some((before, _)) = start.split_once('*') {
        // up to the last whole word before the wildcard
        let whole = before.rsplit_once(' ').map_or("", |(whole, _)| whole);
        let words = words(whole).unwrap_or_default();
        let why =
            if start.ends_with('*') && !open && start.matches('*').count() == 1 && before.ends_with(|c: char| c != ' ')
            {
                "it ends inside a word"
            } else {
                "it has a wildcard inside"
            };
        // `rm*` starts with the word itself as well
        let words = if words.is_empty() { self::words(before).unwrap_or_default() } else { words };
        return Command::Start(words, why);
    }
    match (words(start), open) {
        (Some(words), true) => Command::Prefix(words),
        (_, false) => Command::Exact(start.to_owned()),
        (None, true) => Command::Not("it is no plain words"),
    }
}

pub(super) fn json_file(text: &str) -> anyhow::Result<Value> {
    let value: Value = serde_json::from_str(text).map_err(|error| anyhow!("no JSON: {error}"))?;
    if value.is_object() { Ok(value) } else { bail!("it must hold a JSON object") }
}

pub(super) fn list<'v>(value: Option<&'v Value>, name: &str) -> anyhow::Result<Vec<&'v str>> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let items = value.as_array().with_context(|| format!("'{name}' must be an array"))?;
    items.iter().map(|item| item.as_str().with_context(|| format!("'{name}' must hold strings"))).collect()
}

/// A rule such as `Tool(what)`.
pub(super) fn call(rule: &str) -> (&str, Option<&str>) {
    match rule.split_once('(') {
        Some((name, rest)) if rest.ends_with(')') => (name, Some(&rest[..rest.len() - 1])),
        _ => (rule, None),
    }
}

/// Patterns as `.gitignore` has them, relative to the project.
pub(super) fn ignore_pattern(text: &str) -> Result<Vec<String>, &'static str> {
    if text.contains(['[', ']', '{', '}']) {
        return Err("its brackets or braces are no wildcards in a scope");
    }
    if text.starts_with('!') {
        return Err("exceptions stand in 'except', and to what they are one is not said");
    }
    let (text, here) = text.strip_prefix("./").map_or((text, false), |text| (text, true));
    let (text, anchored) = match text.strip_prefix("//") {
        _ if here => (text.to_owned(), true),
        Some(absolute) => (format!("/{absolute}"), true),
        None if text.starts_with('/') => (text[1..].to_owned(), true),
        None => (text.to_owned(), text.starts_with('~') || text.trim_end_matches('/').contains('/')),
    };
    let folder = text.ends_with('/');
    let text = text.trim_end_matches('/').to_owned();
    if text.is_empty() {
        return Err("it is empty");
    }
    let text = if anchored || text.starts_with("**") { text } else { format!("**/{text}") };
    if text.ends_with("**") || text.ends_with("/*") {
        return Ok(vec![text]);
    }
    let below = format!("{text}/**");
    Ok(if folder { vec![below] } else { vec![text, below] })
}

pub(super) fn url(hosts: &str) -> Value {
    json!({"arg": "url", "hosts": [hosts]})
}

pub(super) fn glob(text: &str) -> Result<Vec<String>, &'static str> {
    if text.contains(['[', ']', '{', '}']) {
        return Err("its brackets or braces are no wildcards in a scope");
    }
    Ok(vec![text.to_owned()])
}

pub(super) fn says(text: &str) -> anyhow::Result<Says> {
    match text {
        "allow" => Ok(Says::Allow),
        "ask" => Ok(Says::Ask),
        "deny" => Ok(Says::Deny),
        other => bail!("'{other}' is none of allow, ask and deny"),
    }
}
