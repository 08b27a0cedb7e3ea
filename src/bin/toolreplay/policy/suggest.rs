//! `toolreplay policy suggest`: the narrowest sensible scope that allows what recordings did.
//!
//! Commands become prefixes of their first words, paths become folders, addresses become hosts. What would need a shell
//! or an interpreter as a whole is allowed word for word instead.

use super::written::Lists;
use crate::args::Common;
use crate::exit::{self, Exit};
use crate::guard::{self, Writes};
use crate::{output, replay};
use anyhow::bail;
use clap::Args;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use toolreplay::audit::{Command, Plan};
use toolreplay::call::Call;
use toolreplay::engine::Ruleset;
use toolreplay::finding::{Level, Rule};
use toolreplay::formats::Options;
use toolreplay::rules::{Arguments, CallRule, MAIN_AGENT, Memo, Needs, PERMISSION_OVERREACH, Spot};
use toolreplay::scope::{EntryUses, Policy, PolicyCall, Verdict};
use toolreplay::shell::{self, RedirectKind, Simple};
use toolreplay::tools::ToolSet;

/// How many distinct calls are learnt from.
const MOST_CALLS: usize = 200_000;
/// The longest call that is allowed word for word, in bytes.
const LONGEST_EXACT: usize = 20_000;
/// How much is listed so together, in bytes.
const MOST_EXACT: usize = 1 << 20;

#[derive(Debug, Args)]
pub(crate) struct SuggestArgs {
    /// Recordings of what the agent may do again
    #[arg(value_name = "RECORDING", required = true)]
    files: Vec<PathBuf>,

    /// Where the scope goes [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// A call that ran.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Seen {
    tool: String,
    arguments: String,
    cwd: Option<String>,
    agent: Option<String>,
}

/// Collects calls where rules judge them.
#[derive(Debug, Default)]
struct Collector {
    seen: Mutex<BTreeSet<Seen>>,
    attempts: Mutex<u64>,
}

impl CallRule for Collector {
    fn rule(&self) -> &'static Rule {
        &PERMISSION_OVERREACH
    }

    fn needs(&self) -> Needs {
        Needs { arguments: true, ..Needs::default() }
    }

    fn inspect_arguments(&self, call: &Arguments<'_>, found: &mut Vec<Spot>) -> Option<Memo> {
        let text = |value: Option<&str>| json!(value);
        let arguments = String::from_utf8_lossy(call.arguments.text()).into_owned();
        let detail = json!([call.tool, arguments, text(call.cwd), text(call.agent)]).to_string();
        found.push(Spot::new(Level::Note, detail));
        None
    }

    /// What never ran is not what the agent did.
    fn settle(&self, spot: &Spot, call: &Call, _agents: &[&str]) -> Option<Level> {
        if !call.ran() {
            *self.attempts.lock().unwrap_or_else(PoisonError::into_inner) += 1;
            return None;
        }
        if let Ok((tool, arguments, cwd, agent)) = serde_json::from_str(&spot.detail) {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            if seen.len() < MOST_CALLS {
                seen.insert(Seen { tool, arguments, cwd, agent });
            }
        }
        None
    }
}

impl SuggestArgs {
    pub(super) fn run(self, common: &Common) -> Exit {
        let output = self.output.as_deref().filter(|path| *path != Path::new("-"));
        guard::outputs(output.map(|path| (path, Writes::Report)), self.files.iter().map(PathBuf::as_path))?;
        let collector = Arc::new(Collector::default());
        let rules = Ruleset::audit(ToolSet::default(), None)
            .only(|_| false)
            .with_rule(Arc::clone(&collector) as Arc<dyn CallRule>);
        let plan = Plan::Audit(rules, Options::default());
        let report = replay::report(Command::Audit, &replay::inputs(&self.files)?, &plan, common);
        if let Some(file) = report.files.iter().find(|file| !file.is_judged()) {
            bail!("{} cannot be read; 'toolreplay audit' says why", file.path);
        }
        let seen = collector.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let attempts = *collector.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.is_empty() {
            bail!("no call that ran was found in these recordings");
        }
        if attempts > 0 {
            exit::print_note(&format!("{attempts} calls never ran; they are not allowed for that"));
        }
        let lists = suggest(&seen);
        let text = lists.text()?;
        let policy = Policy::read(text.as_bytes())?;
        let refused = seen.iter().filter(|call| !allowed(&policy, call)).count();
        if refused > 0 {
            exit::print_warning(&format!(
                "{refused} calls are not allowed: they are too long to be listed and cannot be said in short"
            ));
        }
        match output {
            Some(path) => output::to_file(path, |out| out.write_all(text.as_bytes()))?,
            None => drop(output::print(text.as_bytes())?),
        }
        Ok(exit::CLEAN)
    }
}

fn allowed(policy: &Policy, call: &Seen) -> bool {
    let agents = [call.agent.as_deref().unwrap_or(MAIN_AGENT)];
    let call = PolicyCall {
        agents: &agents,
        tool: &call.tool,
        arguments: call.arguments.as_bytes(),
        cwd: call.cwd.as_deref(),
        ..PolicyCall::default()
    };
    matches!(policy.judge(&call, &EntryUses::default()), Verdict::Allowed(_))
}

/// Arguments that hold a command, a path, an address, in the names that tools have for them.
const COMMANDS: [&str; 3] = ["command", "cmd", "script"];
const PATHS: [&str; 9] =
    ["file_path", "notebook_path", "filePath", "path", "target_file", "absolute_path", "dir_path", "file", "directory"];
const URLS: [&str; 3] = ["url", "uri", "href"];

/// Programs of which the second word says what they do.
const SUBCOMMANDS: [&str; 34] = [
    "git",
    "npm",
    "npx",
    "pnpm",
    "yarn",
    "bun",
    "cargo",
    "go",
    "pip",
    "pip3",
    "uv",
    "poetry",
    "docker",
    "kubectl",
    "gh",
    "make",
    "just",
    "terraform",
    "helm",
    "aws",
    "gcloud",
    "az",
    "brew",
    "apt",
    "apt-get",
    "systemctl",
    "dotnet",
    "mvn",
    "gradle",
    "composer",
    "bundle",
    "rails",
    "deno",
    "rustup",
];
/// Programs that run whatever they are given: never allowed by their name.
const INTERPRETERS: [&str; 27] = [
    "sh",
    "bash",
    "zsh",
    "dash",
    "ksh",
    "fish",
    "python",
    "python2",
    "python3",
    "node",
    "ruby",
    "perl",
    "php",
    "lua",
    "awk",
    "gawk",
    "osascript",
    "pwsh",
    "powershell",
    "env",
    "sudo",
    "xargs",
    "eval",
    "exec",
    "ssh",
    "su",
    "source",
];

/// What is known of one tool.
#[derive(Default)]
struct Tool {
    calls: Vec<Seen>,
}

fn suggest(seen: &BTreeSet<Seen>) -> Lists {
    let root = root(seen);
    let mut tools: BTreeMap<&str, Tool> = BTreeMap::new();
    for call in seen {
        tools.entry(&call.tool).or_default().calls.push(call.clone());
    }
    let mut lists = Lists { root, ..Lists::default() };
    for (name, tool) in &tools {
        for entry in tool.entries(name, lists.root.as_deref()) {
            lists.add(false, entry);
        }
    }
    // what the entries do not cover is allowed word for word
    let covered = lists.text().ok().and_then(|text| Policy::read(text.as_bytes()).ok());
    let mut room = MOST_EXACT;
    for call in seen {
        let length = call.arguments.len();
        if covered.as_ref().is_some_and(|policy| allowed(policy, call)) || length > LONGEST_EXACT.min(room) {
            continue;
        }
        room -= length;
        if let Ok(arguments) = serde_json::from_str::<Value>(&call.arguments) {
            lists.add(false, json!({"tool": pattern_of(&call.tool), "schema": exact(&arguments)}));
        }
    }
    lists
}

/// A schema for one object: what it is called with, word for word, but for a description for people.
fn exact(arguments: &Value) -> Value {
    let Some(members) = arguments.as_object() else { return json!({"const": arguments}) };
    if !members.keys().any(|name| COMMANDS.contains(&name.as_str())) {
        return json!({"const": arguments});
    }
    let kept: Vec<(&String, &Value)> = members.iter().filter(|(name, _)| COMMANDS.contains(&name.as_str())).collect();
    let properties: serde_json::Map<String, Value> =
        kept.iter().map(|(name, value)| ((*name).clone(), json!({"const": value}))).collect();
    let required: Vec<&String> = kept.iter().map(|(name, _)| *name).collect();
    json!({"properties": properties, "required": required})
}

/// A name as a pattern for itself. The two wildcards match themselves as well.
fn pattern_of(name: &str) -> String {
    name.replace('*', "?")
}

/// The folder in which most calls were made, if the recordings tell.
fn root(seen: &BTreeSet<Seen>) -> Option<String> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for cwd in seen.iter().filter_map(|call| call.cwd.as_deref()) {
        *counts.entry(cwd).or_default() += 1;
    }
    // of folders inside each other the outer one
    let (most, _) = counts.iter().max_by_key(|(cwd, count)| (**count, std::cmp::Reverse(cwd.len())))?;
    let outer = counts.keys().filter(|cwd| Path::new(most).starts_with(cwd)).min_by_key(|cwd| cwd.len());
    outer.or(Some(most)).map(|cwd| (*cwd).to_owned()).filter(|cwd| cwd.starts_with('/') && cwd.len() > 1)
}

impl Tool {
    fn entries(&self, name: &str, root: Option<&str>) -> Vec<Value> {
        let arguments: Vec<Value> =
            self.calls.iter().filter_map(|call| serde_json::from_str(&call.arguments).ok()).collect();
        let has = |names: &[&'static str]| {
            names.iter().copied().find(|name| arguments.iter().any(|arguments| arguments.get(name).is_some()))
        };
        let tool = pattern_of(name);
        let mut patches = patches(&tool, &arguments, root);
        if let Some(argument) = has(&COMMANDS) {
            patches.extend(self.commands(&tool, argument, &arguments));
            return patches;
        }
        if !patches.is_empty() {
            return patches;
        }
        if let Some(argument) = has(&URLS) {
            return urls(&tool, argument, &arguments);
        }
        if let Some(argument) = has(&PATHS) {
            return self.paths(&tool, argument, &arguments, root);
        }
        // a tool that takes none of these is judged by its name; one that takes patches is not
        match arguments.iter().any(|arguments| arguments.to_string().contains(PATCH)) {
            true => Vec::new(),
            false => vec![json!(tool)],
        }
    }

    fn commands(&self, tool: &str, argument: &str, arguments: &[Value]) -> Vec<Value> {
        let mut prefixes: BTreeSet<Vec<String>> = BTreeSet::new();
        let mut targets: BTreeSet<String> = BTreeSet::new();
        let mut argv = false;
        for arguments in arguments {
            let script = match arguments.get(argument) {
                Some(Value::String(text)) => shell::read(text),
                Some(Value::Array(words)) => {
                    let words: Option<Vec<String>> =
                        words.iter().map(|word| word.as_str().map(str::to_owned)).collect();
                    let Some(words) = words else { continue };
                    argv = true;
                    shell::read_words(&words)
                }
                _ => continue,
            };
            // one part that cannot be said makes the whole one that is listed word for word
            let parts: Option<Vec<Option<Vec<String>>>> = script.commands.iter().map(prefix).collect();
            let Some(parts) = parts.filter(|_| script.unread.is_empty()) else { continue };
            let files: Option<Vec<String>> =
                script.commands.iter().flat_map(|command| &command.redirects).filter_map(target).collect();
            let Some(files) = files else { continue };
            prefixes.extend(parts.into_iter().flatten());
            targets.extend(files);
        }
        if prefixes.is_empty() {
            return Vec::new();
        }
        let mut command = json!({"arg": argument, "prefixes": prefixes});
        if !targets.is_empty() {
            command["redirect_to"] = json!(targets);
        }
        if argv {
            command["argv"] = json!(true);
        }
        vec![json!({"tool": tool, "command": command})]
    }

    fn paths(&self, tool: &str, argument: &str, arguments: &[Value], root: Option<&str>) -> Vec<Value> {
        let mut globs: BTreeSet<String> = BTreeSet::new();
        let mut missing = false;
        for arguments in arguments {
            match arguments.get(argument) {
                Some(Value::String(path)) => globs.extend(glob(path, root)),
                None | Some(Value::Null) => missing = true,
                Some(_) => {}
            }
        }
        if globs.is_empty() {
            return Vec::new();
        }
        let mut path = json!({"arg": argument, "globs": globs});
        if missing {
            path["if_missing"] = json!(".");
            globs.extend([".".to_owned()]);
            path["globs"] = json!(globs);
        }
        vec![json!({"tool": tool, "path": path})]
    }
}

/// How a patch for `apply_patch` begins.
const PATCH: &str = "*** Begin Patch";

/// Where the patches lead that a tool was given, in whichever argument.
fn patches(tool: &str, arguments: &[Value], root: Option<&str>) -> Vec<Value> {
    let mut globs: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (name, value) in arguments.iter().filter_map(Value::as_object).flatten() {
        let texts = match value {
            Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
            value => value.as_str().into_iter().collect::<Vec<_>>(),
        };
        let lines = texts.into_iter().filter(|text| text.contains(PATCH)).flat_map(str::lines);
        let marks = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
        let paths = lines.filter_map(|line| marks.iter().find_map(|mark| line.strip_prefix(mark)));
        for glob in paths.filter_map(|path| glob(path.trim(), root)) {
            globs.entry(name).or_default().insert(glob);
        }
    }
    let entry = |(name, globs)| json!({"tool": tool, "path": {"arg": name, "globs": globs, "from": "apply_patch"}});
    globs.into_iter().map(entry).collect()
}

/// The words by which a command is allowed: `Some(None)` for one without words, nothing for one that runs others.
fn prefix(command: &Simple) -> Option<Option<Vec<String>>> {
    if !command.assignments.is_empty() {
        return None;
    }
    if command.words.is_empty() {
        return Some(None);
    }
    let word = |place: usize| {
        let word = command.words.get(place)?.literal()?.into_owned();
        (!word.is_empty() && !word.contains('*')).then_some(word)
    };
    let name = word(0)?;
    let base = shell::base_name(&name).into_owned();
    // a patch is judged by where it leads
    if base == "apply_patch" {
        return None;
    }
    if INTERPRETERS.contains(&&*base) {
        // a script file is one; what stands in the command is not
        let script = word(1).filter(|script| !script.starts_with('-') && script.contains('.'))?;
        return Some(Some(vec![name, script]));
    }
    if SUBCOMMANDS.contains(&&*base) && command.words.len() > 1 {
        let verb = word(1).filter(|verb| !verb.starts_with('-'))?;
        if matches!(&*verb, "run" | "exec" | "x") || base == "npx" {
            // what is run matters more than that something is
            return match command.words.len() {
                2 => Some(Some(vec![name, verb])),
                _ => Some(Some(vec![name, verb, word(2)?])),
            };
        }
        return Some(Some(vec![name, verb]));
    }
    Some(Some(vec![name]))
}

/// The file of a redirect as a pattern: `Some(None)` where it cannot be one.
fn target(redirect: &shell::Redirect) -> Option<Option<String>> {
    if matches!(redirect.kind, RedirectKind::Text | RedirectKind::Descriptor) {
        return None;
    }
    let path = redirect.target.path();
    match path {
        Some(path) if path == "/dev/null" => None,
        Some(path) if !redirect.target.is_pattern() && !path.contains(['[', ']', '{', '}', '*', '?', '$']) => {
            Some(Some(match path.strip_prefix("/tmp/") {
                Some(_) => "/tmp/**".to_owned(),
                None => path.into_owned(),
            }))
        }
        _ => Some(None),
    }
}

fn urls(tool: &str, argument: &str, arguments: &[Value]) -> Vec<Value> {
    let mut hosts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for address in arguments.iter().filter_map(|arguments| arguments.get(argument)?.as_str()) {
        if let Some((scheme, host)) = toolreplay::scope::host_of(address) {
            hosts.entry(scheme).or_default().insert(host);
        }
    }
    hosts
        .into_iter()
        .map(|(scheme, hosts)| json!({"tool": tool, "url": {"arg": argument, "hosts": hosts, "schemes": [scheme]}}))
        .collect()
}

/// A pattern for a path: inside the root the folder below it, elsewhere the folder that it lies in.
fn glob(path: &str, root: Option<&str>) -> Option<String> {
    let path = path.replace(['[', ']', '{', '}', '*'], "?");
    if path.contains('$') || path.starts_with('~') {
        return None;
    }
    let inside = match root.and_then(|root| path.strip_prefix(root)) {
        Some("") => return Some(".".to_owned()),
        Some(rest) if rest.starts_with('/') => rest.trim_start_matches('/').to_owned(),
        _ if path.starts_with('/') => {
            let folder = path.trim_end_matches('/').rsplit_once('/').map_or("", |(folder, _)| folder);
            // the top folders are too wide
            return match folder.matches('/').count() {
                0 | 1 if folder != "/tmp" => Some(path.trim_end_matches('/').to_owned()),
                _ => Some(format!("{folder}/**")),
            };
        }
        _ => path.trim_start_matches("./").to_owned(),
    };
    if inside.is_empty() || inside == "." {
        return Some(".".to_owned());
    }
    if inside.split('/').any(|segment| segment == "..") {
        return Some(inside);
    }
    match inside.split_once('/') {
        Some((top, rest)) if !rest.is_empty() => Some(format!("{top}/**")),
        _ => Some(inside.trim_end_matches('/').to_owned()),
    }
}
