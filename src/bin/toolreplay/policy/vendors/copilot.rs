//! The options of Copilot CLI.

use super::rules::{Command, Rules, Says, call, glob, pattern, url, words};
use anyhow::{Context as _, bail};
use serde_json::json;
use toolreplay::shell;

/// The options with which Copilot CLI is started.
pub(in crate::policy) fn copilot(text: &str, rules: &mut Rules) -> anyhow::Result<()> {
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
