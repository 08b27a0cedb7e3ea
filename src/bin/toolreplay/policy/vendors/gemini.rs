//! Gemini CLI's policies.

use super::rules::{Command, Rules, Says, words};
use anyhow::{Context as _, anyhow, bail};
use serde_json::json;

/// Gemini CLI's policies.
pub(in crate::policy) fn gemini(text: &str, rules: &mut Rules) -> anyhow::Result<()> {
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
