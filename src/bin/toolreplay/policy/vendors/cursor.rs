//! Cursor's permissions.

use super::rules::{Command, Rules, Says, call, glob, json_file, list, pattern, url, words};
use anyhow::bail;
use serde_json::json;

/// Cursor's permissions.
pub(in crate::policy) fn cursor(text: &str, rules: &mut Rules) -> anyhow::Result<()> {
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
