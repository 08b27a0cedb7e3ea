//! Codex' rules, which are written in Starlark.

use super::rules::{Rules, Says};
use anyhow::{Context as _, bail};
use serde_json::{Value, json};

/// The tools with which Codex runs commands.
const CODEX: [(&str, &str, bool); 3] =
    [("shell", "command", true), ("shell_command", "command", false), ("exec_command", "cmd", false)];

/// Codex' rules: calls of `prefix_rule` with literal arguments.
pub(in crate::policy) fn codex(text: &str, rules: &mut Rules) -> anyhow::Result<()> {
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
