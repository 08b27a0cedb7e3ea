//! A scope file that is written: an entry a line.

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use toolreplay::scope::Policy;

/// Lists in the making. No entry stands there twice.
#[derive(Debug, Default)]
pub(super) struct Lists {
    pub(super) root: Option<String>,
    pub(super) allow: Vec<Value>,
    pub(super) deny: Vec<Value>,
}

impl Lists {
    pub(super) fn add(&mut self, deny: bool, entry: Value) {
        let list = if deny { &mut self.deny } else { &mut self.allow };
        if !list.contains(&entry) {
            list.push(entry);
        }
    }

    /// Adds an entry about commands to one about the same tool: each part of a command may be allowed by another prefix,
    /// but one entry must allow them all. A reason is kept for what is denied.
    pub(super) fn add_commands(&mut self, deny: bool, tool: &str, command: Value, why: Option<&str>) {
        let list = if deny { &mut self.deny } else { &mut self.allow };
        let why = why.filter(|_| deny);
        let same = list.iter_mut().find(|entry| {
            let own = &entry["command"];
            entry["tool"] == tool
                && entry["why"].as_str() == why
                && own.is_object()
                && own["arg"] == command["arg"]
                && own["argv"] == command["argv"]
        });
        match (same, command["prefixes"].as_array()) {
            (Some(entry), Some(prefixes)) => {
                if let Some(own) = entry["command"]["prefixes"].as_array_mut() {
                    prefixes.iter().for_each(|prefix| {
                        if !own.contains(prefix) {
                            own.push(prefix.clone());
                        }
                    });
                }
            }
            _ => {
                let mut entry = json!({"tool": tool, "command": command});
                if let Some(why) = why {
                    entry["why"] = json!(why);
                }
                list.push(entry);
            }
        }
    }

    /// The text of the file, which is read once before anybody gets it.
    pub(super) fn text(&self) -> anyhow::Result<String> {
        if self.allow.is_empty() {
            bail!("nothing would be allowed, and a scope must allow something");
        }
        let list = |name: &str, entries: &[Value]| {
            let lines: Vec<String> = entries.iter().map(|entry| format!("    {entry}")).collect();
            format!(",\n  \"{name}\": [\n{}\n  ]", lines.join(",\n"))
        };
        let mut text = "{\n  \"version\": 2".to_owned();
        if let Some(root) = &self.root {
            text.push_str(&format!(",\n  \"root\": {}", Value::from(root.as_str())));
        }
        text.push_str(&list("allowed_tools", &self.allow));
        if !self.deny.is_empty() {
            text.push_str(&list("denied_tools", &self.deny));
        }
        text.push_str("\n}\n");
        Policy::read(text.as_bytes()).context("the scope that was made cannot be read")?;
        Ok(text)
    }
}
