//! What a call would do that is hard to undo or opens a door, judged on its parsed command, its paths and its addresses.
//!
//! Text alone tells nothing: `echo "rm -rf /"` deletes nothing, `sudo env sh -c 'rm -rf /'` does.

mod ids;
mod paths;
mod commands;
mod patterns;

pub(super) use ids::patterns;

use super::call_rule::{Arguments, CallRule, Memo, Needs, Spot};
use super::permission_overreach::judged;
use crate::call::Call;
use crate::finding::{Finding, Level, Rule};
use crate::json::view::Value;
use crate::scope::{Applied, Candidate, EntryUses, Verdict};
use crate::secrets;
use crate::shell;
use ids::{PIPE_TO_SHELL, READ_CREDENTIALS, describe, is_note};
use paths::UNKNOWN;
use patterns::Around;
use std::borrow::Cow;
use std::sync::Arc;

/// A call that is hard to undo or opens a door. The finding's detail is the part of it that is.
pub static DANGEROUS_CALL: Rule = Rule {
    id: "dangerous-call",
    summary: "A call does what is hard to undo, or opens a door.",
    level: Level::Warning,
    page: include_str!("../../docs/rules/dangerous-call.md"),
    security_severity: Some("7.0"),
    suppressible: true,
    precision: "high",
    message,
};

/// The rule, with the scope whose allows silence it.
#[derive(Debug)]
pub struct DangerousCall {
    scope: Option<Arc<Applied>>,
}

impl DangerousCall {
    /// The rule. A call that a scope of version 2 surely allows is no finding; one of version 1 knows no arguments.
    #[must_use]
    pub fn new(scope: Option<Arc<Applied>>) -> DangerousCall {
        DangerousCall { scope: scope.filter(|scope| scope.policy.version > 1) }
    }

    /// The lists that do not allow a call; none: it is allowed. Empty where it does not matter which lists count.
    fn not_allowed(&self, call: &Arguments<'_>) -> Option<Vec<Candidate>> {
        let Some(scope) = &self.scope else { return Some(Vec::new()) };
        let is_refused = |verdict: &Verdict| !matches!(verdict, Verdict::Allowed(_));
        let judged = judged(scope, call);
        // the rule of the scope counts what its entries were about, not this one
        if call.agents.is_some() || !scope.policy.tells_agents_apart() {
            return is_refused(&scope.policy.judge(&judged, &EntryUses::default())).then(Vec::new);
        }
        let each = scope.policy.judge_each(&judged).into_iter();
        let refusing: Vec<Candidate> =
            each.filter(|(_, verdict)| is_refused(verdict)).map(|(candidate, _)| candidate).collect();
        (!refusing.is_empty()).then_some(refusing)
    }
}

impl CallRule for DangerousCall {
    fn rule(&self) -> &'static Rule {
        &DANGEROUS_CALL
    }

    fn needs(&self) -> Needs {
        Needs { arguments: true, ..Needs::default() }
    }

    fn inspect_arguments(&self, call: &Arguments<'_>, found: &mut Vec<Spot>) -> Option<Memo> {
        let home = self.scope.as_ref().and_then(|scope| scope.home.as_deref());
        let dangers = judge(call.tool, call.arguments, call.cwd, home);
        if dangers.is_empty() {
            return None;
        }
        let lists = self.not_allowed(call)?;
        for danger in dangers {
            let level = if is_note(danger.pattern) { Level::Note } else { Level::Warning };
            let argument = (call.locate)(&danger.pointer);
            let pattern = Some(danger.pattern);
            found.push(Spot { pattern, argument, lists: lists.clone(), ..Spot::new(level, danger.part) });
        }
        None
    }

    fn part<'s>(&self, spot: &'s Spot) -> &'s str {
        &spot.detail
    }

    /// Of a call that never ran, the agent asked and did not get it.
    fn settle(&self, spot: &Spot, call: &Call, agents: &[&str]) -> Option<Level> {
        let counts = |scope: &Arc<Applied>| spot.lists.iter().any(|lists| scope.policy.chooses(lists, agents));
        if !spot.lists.is_empty() && !self.scope.as_ref().is_some_and(counts) {
            return None;
        }
        Some(if call.ran() { spot.level } else { Level::Note })
    }
}

fn message(finding: &Finding) -> String {
    let ran = if finding.never_ran { " (attempted: the call never ran)" } else { "" };
    let what = describe(finding.pattern.unwrap_or_default());
    format!("tool '{}' {what}{ran}: {}", finding.tool_text(), finding.detail_text())
}

/// Something dangerous in a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Danger {
    /// The pattern's id.
    pub(crate) pattern: &'static str,
    /// The JSON Pointer of the argument.
    pub(crate) pointer: String,
    /// The simple command, the path or the address; clipped, and its secrets masked.
    pub(crate) part: String,
}

/// The longest part that is shown, in characters.
const SHOWN: usize = 160;

/// Arguments whose text is a command line, whatever the tool is called.
const LINES: [&str; 3] = ["command", "cmd", "shell_command"];
/// Arguments that name a file, in the order in which they are asked for.
const PATHS: [&str; 12] = [
    "file_path",
    "path",
    "filePath",
    "notebook_path",
    "absolute_path",
    "filename",
    "file",
    "target_file",
    "filepath",
    "destination",
    "output_path",
    "new_path",
];

/// What is dangerous about a call.
#[must_use]
pub(crate) fn judge(tool: &str, arguments: Value<'_>, cwd: Option<&str>, home: Option<&str>) -> Vec<Danger> {
    let mut out = Vec::new();
    let own: Option<Cow<'_, str>> =
        ["workdir", "cwd", "working_directory"].iter().find_map(|name| arguments.str_at(name));
    let cwd = own.as_deref().filter(|cwd| cwd.starts_with(['/', '~']) || cwd.get(1..2) == Some(":")).or(cwd);
    let cwd = cwd.and_then(|cwd| paths::join(None, cwd));
    let home = home.map(str::to_owned).or_else(|| cwd.as_deref().and_then(home_of));
    let around = Around { cwd: cwd.as_deref(), home: home.as_deref() };
    for name in LINES {
        let Some(value) = arguments.get(name) else { continue };
        if let Some(line) = value.as_str() {
            if may_be(&line) {
                note(&shell::read(&line), around, &format!("/{name}"), &mut out);
            }
        } else if value.is_array() {
            let words: Vec<String> = value.items().filter_map(|item| Some(item.as_str()?.into_owned())).collect();
            if words.iter().any(|word| may_be(word)) {
                note(&shell::read_words(&words), around, &format!("/{name}"), &mut out);
            }
        }
    }
    if let Some(url) = arguments.str_at("url").filter(|url| patterns::is_metadata(url)) {
        push(READ_CREDENTIALS, "/url".to_owned(), &url, &mut out);
    }
    files(tool, arguments, around, &mut out);
    out
}

/// The home folder that a folder is in.
fn home_of(cwd: &str) -> Option<String> {
    for root in ["/home/", "/Users/"] {
        if let Some(rest) = cwd.strip_prefix(root) {
            return Some(format!("{root}{}", rest.split('/').next()?));
        }
    }
    paths::is_below(cwd, "/root").then(|| "/root".to_owned())
}

/// Parts of which every dangerous command has one: most commands need no parser.
const PARTS: &[&str] = &[
    "rm ",
    "rm\t",
    "rm'",
    "rm\"",
    "-delete",
    "remove-item",
    "push",
    "filter-",
    "bfg",
    "curl",
    "wget",
    "iwr",
    "irm",
    "invoke-",
    "iex",
    "chmod",
    "commit",
    "no-verify",
    "hookspath",
    "sslverify",
    "ssl_no_verify",
    "tls_reject",
    "httpsverify",
    "strict",
    "trusted-host",
    "insecure",
    "unauthenticated",
    "dangerously",
    "yolo",
    "allow-all",
    "reset",
    "checkout",
    "restore",
    "clean",
    "/etc",
    "/usr",
    "/bin",
    "/sbin",
    "/boot",
    "/lib",
    "/system",
    "/sys",
    "/proc",
    "/dev/",
    "rc",
    "profile",
    ".zsh",
    ".bash_",
    ".ssh",
    ".aws",
    "gcloud",
    ".kube",
    ".npm",
    "pypi",
    "credentials",
    "gnupg",
    ".config",
    "launchagents",
    "docker/config",
    ".pgpass",
    ".my.cnf",
    ".vault",
    ".codex",
    ".cargo",
    ".gem",
    ".azure",
    "169.254",
    "100.100.100.200",
    "metadata",
    "mkfs",
    ".kshrc",
    ".inputrc",
    "authorized_keys",
    "windows",
    "program files",
];

fn may_be(line: &str) -> bool {
    static FINDER: std::sync::LazyLock<Option<aho_corasick::AhoCorasick>> = std::sync::LazyLock::new(|| {
        aho_corasick::AhoCorasick::builder().ascii_case_insensitive(true).build(PARTS).ok()
    });
    FINDER.as_ref().is_none_or(|finder| finder.is_match(line))
}

fn note(script: &shell::Script, around: Around<'_>, pointer: &str, out: &mut Vec<Danger>) {
    let mut found = Vec::new();
    for (place, command) in commands::resolved(script, around.cwd).iter().enumerate() {
        found.clear();
        patterns::find(command, around, &mut found);
        for pattern in &found {
            // one command line is one finding a pattern
            if out.iter().any(|danger| danger.pattern == *pattern && danger.pointer == pointer) {
                continue;
            }
            // what is downloaded stands before the pipe
            let fed: Vec<&str> = match script.commands.get(place) {
                Some(written) if *pattern == PIPE_TO_SHELL => {
                    script.commands[written.fed_by.clone()].iter().map(|before| before.part.as_str()).collect()
                }
                _ => Vec::new(),
            };
            let parts: Vec<&str> = fed.into_iter().chain([command.part.as_str()]).collect();
            push(pattern, pointer.to_owned(), &parts.join(" | "), out);
        }
    }
}

fn push(pattern: &'static str, pointer: String, text: &str, out: &mut Vec<Danger>) {
    let text = text.replace(UNKNOWN, "…");
    let part = crate::sanitize::clip(&secrets::hidden(&text), SHOWN).into_owned();
    out.push(Danger { pattern, pointer, part });
}

/// What a tool does to files, by its name.
fn files(tool: &str, arguments: Value<'_>, around: Around<'_>, out: &mut Vec<Danger>) {
    let tool = tool.rsplit("__").next().unwrap_or(tool).to_ascii_lowercase();
    let is = |words: &[&str]| words.iter().any(|word| tool.contains(word));
    let verb = arguments.str_at("command");
    let looks = verb.as_deref() == Some("view");
    let writes =
        is(&["write", "edit", "create", "replace", "patch", "delete", "move", "rename", "save", "append", "insert"])
            && !looks;
    let reads = is(&["read", "view", "cat", "open", "get_file"]) || looks;
    if writes {
        for name in ["input", "patch", "patchText"] {
            let Some(patch) = arguments.str_at(name).filter(|text| text.contains("*** ")) else { continue };
            for line in patch.lines() {
                let path = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "]
                    .iter()
                    .find_map(|start| line.strip_prefix(start));
                if let Some(path) = path {
                    file(path, &format!("/{name}"), around, out);
                }
            }
        }
    }
    if !writes && !reads {
        return;
    }
    for name in PATHS {
        let Some(path) = arguments.str_at(name) else { continue };
        if writes {
            file(&path, &format!("/{name}"), around, out);
        } else if paths::join(around.cwd, &path).is_some_and(|path| paths::is_credential(&path, around.home)) {
            push(READ_CREDENTIALS, format!("/{name}"), &path, out);
        }
    }
}

fn file(path: &str, pointer: &str, around: Around<'_>, out: &mut Vec<Danger>) {
    let Some(place) = paths::join(around.cwd, path.trim()) else { return };
    let mut found = Vec::new();
    patterns::written_path(&place, around, &mut |condition, id| found.extend(condition.then_some(id)));
    for pattern in found {
        push(pattern, pointer.to_owned(), path, out);
    }
}

#[cfg(test)]
mod tests;
