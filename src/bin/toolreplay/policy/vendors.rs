//! The permission files of agents, rule by rule. What cannot be said in a scope is named, with the reason; an allow is
//! never made wider, and a deny that cannot be said as it is is made wider, or named as lost.

use super::written::Lists;
use anyhow::{Context as _, anyhow, bail};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::{Value, json};
use std::marker::PhantomData;
use toolreplay::shell;

/// What the rules of one or more files come to.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) lists: Lists,
    /// What could not be carried over, and why.
    pub(super) notes: Vec<String>,
    ask: bool,
}

/// What a rule says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    Allow,
    Ask,
    Deny,
}

/// A command pattern, as far as a prefix can say it.
enum Command {
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
    pub(super) fn new(ask: bool) -> Rules {
        Rules { lists: Lists::default(), notes: Vec::new(), ask }
    }

    fn lost(&mut self, rule: &str, why: &str) {
        self.notes.push(format!("not carried over: {rule}: {why}"));
    }

    fn note(&mut self, rule: &str, what: &str) {
        self.notes.push(format!("{rule}: {what}"));
    }

    /// Whether a rule goes to the denied ones.
    fn denies(&mut self, says: Says, rule: &str) -> bool {
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

    fn add(&mut self, says: Says, rule: &str, entry: Value) {
        let deny = self.denies(says, rule);
        self.lists.add(deny, entry);
    }

    /// A command rule for tools, each with the argument that holds the command.
    fn command(&mut self, says: Says, rule: &str, tools: &[(&str, &str, bool)], command: Command, why: Option<&str>) {
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
    fn path(
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
fn words(text: &str) -> Option<Vec<String>> {
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
fn pattern(text: &str) -> Command {
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

fn json_file(text: &str) -> anyhow::Result<Value> {
    let value: Value = serde_json::from_str(text).map_err(|error| anyhow!("no JSON: {error}"))?;
    if value.is_object() { Ok(value) } else { bail!("it must hold a JSON object") }
}

fn list<'v>(value: Option<&'v Value>, name: &str) -> anyhow::Result<Vec<&'v str>> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let items = value.as_array().with_context(|| format!("'{name}' must be an array"))?;
    items.iter().map(|item| item.as_str().with_context(|| format!("'{name}' must hold strings"))).collect()
}

/// A rule such as `Tool(what)`.
fn call(rule: &str) -> (&str, Option<&str>) {
    match rule.split_once('(') {
        Some((name, rest)) if rest.ends_with(')') => (name, Some(&rest[..rest.len() - 1])),
        _ => (rule, None),
    }
}

/// Patterns as `.gitignore` has them, relative to the project.
fn ignore_pattern(text: &str) -> Result<Vec<String>, &'static str> {
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

fn url(hosts: &str) -> Value {
    json!({"arg": "url", "hosts": [hosts]})
}

/// Claude Code's `settings.json`.
pub(super) fn claude(text: &str, rules: &mut Rules) -> anyhow::Result<()> {
    let file = json_file(text)?;
    let Some(permissions) = file.get("permissions") else { bail!("it has no 'permissions'") };
    for (name, says) in [("deny", Says::Deny), ("ask", Says::Ask), ("allow", Says::Allow)] {
        for rule in list(permissions.get(name), &format!("permissions.{name}"))? {
            claude_rule(rule, says, rules);
        }
    }
    for (name, why) in [
        ("defaultMode", "a mode changes what is asked, not what is allowed"),
        ("additionalDirectories", "name the folders in path entries"),
    ] {
        if permissions.get(name).is_some() {
            rules.lost(&format!("permissions.{name}"), why);
        }
    }
    Ok(())
}

fn claude_rule(rule: &str, says: Says, rules: &mut Rules) {
    let (tool, what) = call(rule);
    match (tool, what) {
        ("Bash", Some(what)) => {
            rules.command(says, rule, &[("Bash", "command", false)], pattern(what), None);
        }
        ("Read", Some(what)) => {
            let tools = [("Read", "file_path", None), ("Grep", "path", Some(".")), ("Glob", "path", Some("."))];
            rules.path(says, rule, &tools, ignore_pattern(what));
        }
        ("Edit", Some(what)) => {
            let tools = [
                ("Edit", "file_path", None),
                ("Write", "file_path", None),
                ("MultiEdit", "file_path", None),
                ("NotebookEdit", "notebook_path", None),
            ];
            rules.path(says, rule, &tools, ignore_pattern(what));
        }
        ("Write" | "Glob" | "Grep" | "NotebookEdit" | "MultiEdit", Some(_)) => {
            rules.lost(rule, "Claude Code itself does not apply it; path rules are those of Read and Edit");
        }
        ("WebFetch", Some(what)) => match what.strip_prefix("domain:") {
            Some("*") => rules.add(says, rule, json!("WebFetch")),
            Some(host) => rules.add(says, rule, json!({"tool": "WebFetch", "url": url(host)})),
            None => rules.lost(rule, "only 'domain:' is known"),
        },
        ("Agent" | "Task", Some(what)) => {
            for tool in ["Agent", "Task"] {
                let schema = json!({"properties": {"subagent_type": {"const": what}}, "required": ["subagent_type"]});
                rules.add(says, rule, json!({"tool": tool, "schema": schema}));
            }
        }
        (tool, Some(what)) if says != Says::Allow && what.contains(':') && !tool.contains('*') => {
            let (name, value) = what.split_once(':').unwrap_or((what, ""));
            let value: Value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
            let schema = json!({"properties": {name: {"const": value}}, "required": [name]});
            rules.add(says, rule, json!({"tool": tool, "schema": schema}));
        }
        (_, Some(_)) => rules.lost(rule, "what stands in the parentheses has no counterpart"),
        (tool, None) if tool.starts_with("mcp__") && tool.matches("__").count() == 1 => {
            rules.add(says, rule, json!(format!("{tool}__*")));
        }
        ("", None) => rules.lost(rule, "it is empty"),
        (tool, None) => rules.add(says, rule, json!(tool)),
    }
}

/// The tools with which Codex runs commands.
const CODEX: [(&str, &str, bool); 3] =
    [("shell", "command", true), ("shell_command", "command", false), ("exec_command", "cmd", false)];

/// Codex' rules: calls of `prefix_rule` with literal arguments.
pub(super) fn codex(text: &str, rules: &mut Rules) -> anyhow::Result<()> {
    let mut parser = Starlark { text, at: 0 };
    while let Some((name, line)) = parser.next_call()? {
        let arguments = parser.arguments().with_context(|| format!("line {line}"))?;
        let shown = format!("{name} in line {line}");
        if name != "prefix_rule" {
            rules.lost(&shown, "only 'prefix_rule' has a counterpart");
            continue;
        }
        let find = |wanted: &str| arguments.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
        let Some(Value::Array(pattern)) = find("pattern") else { bail!("line {line}: 'pattern' must be a list") };
        let says = match find("decision").and_then(Value::as_str) {
            None | Some("allow") => Says::Allow,
            Some("prompt") => Says::Ask,
            Some("forbidden") => Says::Deny,
            Some(other) => bail!("line {line}: the decision '{other}' is not known"),
        };
        let why = find("justification").and_then(Value::as_str);
        let deny = rules.denies(says, &shown);
        for (tool, argument, argv) in CODEX {
            let mut command = json!({"arg": argument, "prefixes": [pattern]});
            if argv {
                command["argv"] = json!(true);
            }
            rules.lists.add_commands(deny, tool, command, why);
        }
        if find("match").or(find("not_match")).is_some() {
            rules.note(&shown, "its examples are not carried over; write them as 'tests'");
        }
    }
    Ok(())
}

/// As much of Starlark as rules are written in.
struct Starlark<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Starlark<'t> {
    fn skip(&mut self) {
        loop {
            let rest = &self.text[self.at..];
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with('#') {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    fn take(&mut self, text: &str) -> bool {
        self.skip();
        let found = self.text[self.at..].starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    fn name(&mut self) -> Option<&'t str> {
        self.skip();
        let rest = &self.text[self.at..];
        let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        self.at += length;
        (length > 0).then(|| &rest[..length])
    }

    /// The name of the next call, and its line.
    fn next_call(&mut self) -> anyhow::Result<Option<(&'t str, usize)>> {
        self.skip();
        if self.at == self.text.len() {
            return Ok(None);
        }
        let line = self.text[..self.at].matches('\n').count() + 1;
        match self.name() {
            Some(name) if self.take("(") => Ok(Some((name, line))),
            _ => bail!("line {line}: only calls with literal arguments can be read"),
        }
    }

    fn arguments(&mut self) -> anyhow::Result<Vec<(String, Value)>> {
        let mut arguments = Vec::new();
        while !self.take(")") {
            let name = self.name().context("an argument without a name")?.to_owned();
            if !self.take("=") {
                bail!("'{name}' has no value");
            }
            arguments.push((name, self.value(0)?));
            if !self.take(",") && !self.text[self.at..].trim_start().starts_with(')') {
                bail!("a ',' or a ')' is missing");
            }
        }
        Ok(arguments)
    }

    fn value(&mut self, depth: usize) -> anyhow::Result<Value> {
        if depth > 8 {
            bail!("lists stand too deep in each other");
        }
        if self.take("[") {
            let mut items = Vec::new();
            while !self.take("]") {
                items.push(self.value(depth + 1)?);
                if !self.take(",") && !self.text[self.at..].trim_start().starts_with(']') {
                    bail!("a ',' or a ']' is missing");
                }
            }
            return Ok(Value::Array(items));
        }
        self.skip();
        let rest = &self.text[self.at..];
        let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
            bail!("only texts and lists of them can be read");
        };
        let mut text = String::new();
        let mut chars = rest.char_indices().skip(1);
        while let Some((at, char)) = chars.next() {
            match char {
                '\\' => text.push(match chars.next() {
                    Some((_, 'n')) => '\n',
                    Some((_, 't')) => '\t',
                    Some((_, other)) => other,
                    None => break,
                }),
                char if char == quote => {
                    self.at += at + 1;
                    return Ok(Value::String(text));
                }
                char => text.push(char),
            }
        }
        bail!("a text does not end")
    }
}

/// Gemini CLI's policies.
pub(super) fn gemini(text: &str, rules: &mut Rules) -> anyhow::Result<()> {
    let file: toml::Table = text.parse().map_err(|error| anyhow!("no TOML: {error}"))?;
    let found = file.get("rule").and_then(toml::Value::as_array).context("it has no [[rule]]")?;
    let mut found: Vec<(usize, &toml::Table)> =
        found.iter().enumerate().filter_map(|(number, rule)| Some((number + 1, rule.as_table()?))).collect();
    let priority = |rule: &toml::Table| rule.get("priority").and_then(toml::Value::as_integer).unwrap_or(0);
    found.sort_by_key(|(_, rule)| -priority(rule));
    let mut allowed_above = false;
    for (number, rule) in found {
        let shown = format!("rule {number}");
        let text = |name: &str| rule.get(name).and_then(toml::Value::as_str);
        let texts = |name: &str| -> Vec<String> {
            match rule.get(name) {
                Some(toml::Value::String(one)) => vec![one.clone()],
                Some(toml::Value::Array(many)) => {
                    many.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
                }
                _ => Vec::new(),
            }
        };
        let says = match text("decision") {
            Some("allow") => Says::Allow,
            Some("ask_user") => Says::Ask,
            Some("deny") => Says::Deny,
            other => bail!("{shown}: the decision '{}' is not known", other.unwrap_or("")),
        };
        let known = ["toolName", "commandPrefix", "mcpName", "decision", "priority", "denyMessage"];
        if let Some(other) = rule.keys().find(|name| !known.contains(&name.as_str())) {
            rules.lost(&shown, &format!("'{other}' has no counterpart"));
            continue;
        }
        if says != Says::Allow && allowed_above {
            rules.note(&shown, "a rule above it allows; in a scope a deny wins over every allow");
        }
        allowed_above |= says == Says::Allow;
        let why = text("denyMessage");
        let prefixes = texts("commandPrefix");
        if !prefixes.is_empty() {
            for prefix in prefixes {
                let command = words(&prefix).map_or(Command::Not("it is no plain words"), Command::Prefix);
                rules.command(says, &shown, &[("run_shell_command", "command", false)], command, why);
            }
            continue;
        }
        let tools = texts("toolName");
        let server = text("mcpName");
        let tools = if tools.is_empty() && server.is_some() { vec!["*".to_owned()] } else { tools };
        if tools.is_empty() {
            rules.lost(&shown, "it names no tool");
        }
        for tool in tools {
            let mut entry = match server {
                Some(server) => json!({"server": server, "tool": tool}),
                None => json!({"tool": tool}),
            };
            match (why, server) {
                (Some(why), _) => entry["why"] = json!(why),
                (None, None) => entry = json!(tool),
                (None, Some(_)) => {}
            }
            rules.add(says, &shown, entry);
        }
    }
    Ok(())
}

/// Cursor's permissions.
pub(super) fn cursor(text: &str, rules: &mut Rules) -> anyhow::Result<()> {
    let file = json_file(text)?;
    let Some(permissions) = file.get("permissions") else { bail!("it has no 'permissions'") };
    for (name, says) in [("deny", Says::Deny), ("allow", Says::Allow)] {
        for rule in list(permissions.get(name), &format!("permissions.{name}"))? {
            match call(rule) {
                ("Shell", Some(what)) => {
                    // the base of a command, and a pattern for its arguments
                    let command = match what.split_once(':') {
                        None | Some((_, "*")) => {
                            let base = what.split_once(':').map_or(what, |(base, _)| base);
                            words(base).map_or(Command::Not("it is no plain words"), Command::Prefix)
                        }
                        Some((base, arguments)) => pattern(&format!("{base} {arguments}")),
                    };
                    rules.command(
                        says,
                        rule,
                        &[("Shell", "command", false), ("run_terminal_cmd", "command", false)],
                        command,
                        None,
                    );
                }
                ("Read", Some(what)) => {
                    rules.path(says, rule, &[("Read", "path", None), ("read_file", "target_file", None)], glob(what))
                }
                ("Write", Some(what)) => {
                    let tools = [
                        ("Write", "path", None),
                        ("StrReplace", "path", None),
                        ("Delete", "path", None),
                        ("edit_file", "target_file", None),
                    ];
                    rules.path(says, rule, &tools, glob(what));
                }
                ("WebFetch", Some("*")) => rules.add(says, rule, json!("WebFetch")),
                ("WebFetch", Some(host)) => rules.add(says, rule, json!({"tool": "WebFetch", "url": url(host)})),
                ("Mcp", Some(what)) => match what.split_once(':') {
                    Some((server, tool)) => rules.add(says, rule, json!({"server": server, "tool": tool})),
                    None => rules.lost(rule, "it names no server and tool"),
                },
                _ => rules.lost(rule, "what it names is not known"),
            }
        }
    }
    Ok(())
}

fn glob(text: &str) -> Result<Vec<String>, &'static str> {
    if text.contains(['[', ']', '{', '}']) {
        return Err("its brackets or braces are no wildcards in a scope");
    }
    Ok(vec![text.to_owned()])
}

/// The options with which Copilot CLI is started.
pub(super) fn copilot(text: &str, rules: &mut Rules) -> anyhow::Result<()> {
    let script = shell::read(text);
    if let Some(unread) = script.unread.first() {
        bail!("it cannot be read as options: {}", unread.why.text());
    }
    let words: Option<Vec<String>> = script
        .commands
        .iter()
        .flat_map(|command| &command.words)
        .map(|word| word.literal().map(|text| text.into_owned()))
        .collect();
    let words = words.context("an option has a variable in it")?;
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let (option, value) = word.split_once('=').map_or((word, None), |(option, value)| (option, Some(value)));
        let says = match option {
            "--allow-tool" => Says::Allow,
            "--deny-tool" => Says::Deny,
            "--allow-all-tools" | "--allow-all" | "--yolo" => {
                rules.add(Says::Allow, option, json!("*"));
                continue;
            }
            _ if option.starts_with("--allow") || option.starts_with("--deny") => {
                rules.lost(option, "it has no counterpart");
                continue;
            }
            _ => continue,
        };
        let value = value.or_else(|| words.next()).with_context(|| format!("{option} has no value"))?;
        for rule in value.split(',') {
            match call(rule) {
                ("shell", Some(what)) => {
                    rules.command(
                        says,
                        rule,
                        &[("bash", "command", false), ("shell", "command", false)],
                        copilot_command(what),
                        None,
                    );
                }
                ("shell", None) => ["bash", "shell"].iter().for_each(|tool| rules.add(says, rule, json!(tool))),
                ("write", Some(what)) => {
                    let tools = [("edit", "path", None), ("create", "path", None)];
                    rules.path(says, rule, &tools, glob(what));
                }
                ("write", None) => ["edit", "create"].iter().for_each(|tool| rules.add(says, rule, json!(tool))),
                ("url", Some(what)) => {
                    let host = what.trim_start_matches("https://").trim_end_matches('/');
                    match host.contains('/') {
                        true => rules.lost(rule, "a scope judges hosts, not what lies below them"),
                        false => rules.add(says, rule, json!({"tool": "web_fetch", "url": url(host)})),
                    }
                }
                (server, Some(tool)) => rules.add(says, rule, json!({"server": server, "tool": tool})),
                (server, None) => rules.add(says, rule, json!({"server": server, "tool": "*"})),
            }
        }
    }
    Ok(())
}

fn copilot_command(what: &str) -> Command {
    match what.strip_suffix(":*") {
        Some(start) => words(start).map_or(Command::Not("it is no plain words"), Command::Prefix),
        None => pattern(what),
    }
}

/// Members in the order of the file, which decides here and which a map would lose.
#[derive(Debug)]
struct Pairs<V>(Vec<(String, V)>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Pairs<V> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Pairs<V>, D::Error> {
        struct Members<V>(PhantomData<V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for Members<V> {
            type Value = Pairs<V>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Pairs<V>, M::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        from.deserialize_map(Members(PhantomData))
    }
}

#[derive(Debug, Deserialize)]
struct OpencodeFile {
    permission: Permission,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Permission {
    All(String),
    Tools(Pairs<Tool>),
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Tool {
    Whole(String),
    Patterns(Pairs<String>),
}

/// opencode's permissions, of which the last that fits wins.
pub(super) fn opencode(text: &str, rules: &mut Rules) -> anyhow::Result<()> {
    let file: OpencodeFile =
        serde_json::from_str(text).map_err(|error| anyhow!("no permissions of opencode: {error}"))?;
    let tools = match file.permission {
        Permission::All(all) => {
            match says(&all)? {
                Says::Allow => rules.lists.add(false, json!("*")),
                Says::Ask | Says::Deny => rules.lost("permission", "all is asked or denied: nothing would be allowed"),
            }
            return Ok(());
        }
        Permission::Tools(tools) => tools.0,
    };
    for (tool, value) in tools {
        let patterns = match value {
            Tool::Patterns(patterns) => patterns.0,
            Tool::Whole(what) => {
                match (tool.as_str(), says(&what)?) {
                    ("*", Says::Allow) => rules.lists.add(false, json!("*")),
                    // what nothing allows is not in scope anyway
                    ("*", _) => {}
                    (_, says) => opencode_names(&tool).iter().for_each(|name| rules.add(says, &tool, json!(name))),
                }
                continue;
            }
        };
        let mut narrowed = false;
        for (place, (text, what)) in patterns.iter().enumerate() {
            let says = says(what)?;
            let rule = format!("{tool}: {text}");
            // what stands first is what no other rule fits: without an allow it is not in scope
            if place == 0 && text == "*" && says != Says::Allow {
                continue;
            }
            if says == Says::Allow && narrowed {
                rules.note(&rule, "a rule above it denies; in a scope a deny wins over every allow");
            }
            narrowed |= says != Says::Allow;
            match tool.as_str() {
                "bash" => rules.command(says, &rule, &[("bash", "command", false)], pattern(text), None),
                "read" => rules.path(says, &rule, &[("read", "filePath", None)], glob(text)),
                "edit" => {
                    let tools = [("edit", "filePath", None), ("write", "filePath", None)];
                    rules.path(says, &rule, &tools, glob(text));
                }
                _ if text == "*" => rules.add(says, &rule, json!(tool)),
                _ => rules.lost(&rule, "what its patterns are about is not known"),
            }
        }
    }
    Ok(())
}

fn opencode_names(tool: &str) -> Vec<&str> {
    match tool {
        "edit" => vec!["edit", "write", "patch"],
        other => vec![other],
    }
}

fn says(text: &str) -> anyhow::Result<Says> {
    match text {
        "allow" => Ok(Says::Allow),
        "ask" => Ok(Says::Ask),
        "deny" => Ok(Says::Deny),
        other => bail!("'{other}' is none of allow, ask and deny"),
    }
}
