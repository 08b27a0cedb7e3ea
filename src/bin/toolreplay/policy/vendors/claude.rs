//! Claude Code's settings.

use super::rules::{Rules, Says, call, ignore_pattern, json_file, list, pattern, url};
use anyhow::bail;
use serde_json::{Value, json};

/// Claude Code's `settings.json`.
pub(in crate::policy) fn claude(text: &str, rules: &mut Rules) -> anyhow::Result<()> {
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
