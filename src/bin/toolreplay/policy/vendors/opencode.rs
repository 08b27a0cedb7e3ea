//! opencode's permissions.

use super::rules::{Rules, Says, glob, pattern, says};
use anyhow::anyhow;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::json;
use std::marker::PhantomData;

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
pub(in crate::policy) fn opencode(text: &str, rules: &mut Rules) -> anyhow::Result<()> {
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
