//! The shapes of scope files, for their JSON Schema. Reading goes through the strict reader instead.
#![allow(dead_code, unreachable_pub, reason = "describes the files to schemars")]

use schemars::JsonSchema;
use std::collections::BTreeMap;

/// What an agent may call: a file of version 1 or 2.
#[derive(Debug, JsonSchema)]
#[schemars(title = "toolreplay scope", untagged)]
pub enum ScopeFile {
    /// Version 2.
    Second(Second),
    /// Version 1: a list of names.
    First(First),
}

/// A list of names, which match exactly.
#[derive(Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct First {
    /// Address of a JSON Schema, for editors.
    #[schemars(rename = "$schema")]
    schema: Option<String>,
    /// Name of the agent the scope is declared for.
    agent: String,
    /// Names of the tools the agent may call; they match exactly and case-sensitively.
    allowed_tools: Vec<String>,
}

/// Lists that look at arguments.
#[derive(Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Second {
    /// Address of a JSON Schema, for editors.
    #[schemars(rename = "$schema")]
    schema: Option<String>,
    /// 2
    #[schemars(range(min = 2, max = 2))]
    version: u8,
    /// Name of the agent the scope is declared for.
    agent: Option<String>,
    /// The absolute path of the folder that relative patterns are about.
    root: Option<String>,
    /// What may be called: one entry must surely hold.
    #[schemars(length(min = 1))]
    allowed_tools: Option<Vec<Entry>>,
    /// What may not be called, whatever is allowed.
    denied_tools: Option<Vec<Entry>>,
    /// Lists for each agent, in place of the two; `*` is for all others, `main` the session's own agent.
    agents: Option<BTreeMap<String, Lists>>,
    /// Calls and what the file must say of them. They run whenever it is read.
    tests: Option<Vec<Test>>,
}

/// The lists of one agent.
#[derive(Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Lists {
    /// What may be called.
    #[schemars(length(min = 1))]
    allowed_tools: Vec<Entry>,
    /// What may not be called.
    denied_tools: Option<Vec<Entry>>,
}

/// A name with `*` and `?`, or a name with conditions, all of which must hold.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
#[allow(clippy::large_enum_variant, reason = "a scope has few entries, and most have conditions")]
pub enum Entry {
    /// Any call of these tools.
    Name(String),
    /// Calls with certain arguments.
    Conditions(Conditions),
}

/// A name with conditions.
#[derive(Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Conditions {
    /// The tool's name, with `*` and `?`.
    #[schemars(length(min = 1))]
    tool: String,
    /// The MCP server; `tool` is then the server's own name of the tool.
    #[schemars(length(min = 1))]
    server: Option<String>,
    /// Where a path may lie.
    path: Option<PathCondition>,
    /// What a command may run.
    command: Option<CommandCondition>,
    /// Where an address may lead.
    url: Option<UrlCondition>,
    /// A JSON Schema (2020-12) for all arguments.
    schema: Option<serde_json::Value>,
    /// Why the entry is there; shown where it decides.
    why: Option<String>,
}

/// Where a path may lie.
#[derive(Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PathCondition {
    /// The argument, by its name or a JSON Pointer.
    arg: String,
    /// Patterns: `*` and `?` within a segment, `**` across segments.
    #[schemars(length(min = 1))]
    globs: Vec<String>,
    /// Exceptions.
    #[schemars(length(min = 1))]
    except: Option<Vec<String>>,
    /// What the tool takes where the argument is missing.
    if_missing: Option<String>,
    /// The argument is a patch, whose paths count.
    from: Option<PatchFormat>,
}

/// Forms of patches.
#[derive(Debug, JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub enum PatchFormat {
    /// That of the tool `apply_patch`.
    ApplyPatch,
}

/// What a command may run.
#[derive(Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct CommandCondition {
    /// The argument, by its name or a JSON Pointer.
    arg: String,
    /// The words that commands start with.
    #[schemars(length(min = 1))]
    prefixes: Vec<CommandPrefix>,
    /// Flags that no command may have; for what is allowed only.
    #[schemars(length(min = 1))]
    flags_deny: Option<Vec<String>>,
    /// Patterns for the files of redirects; for what is allowed only.
    #[schemars(length(min = 1))]
    redirect_to: Option<Vec<String>>,
    /// What the tool takes where the argument is missing.
    if_missing: Option<String>,
    /// The argument is a list of words that are one command.
    argv: Option<bool>,
}

/// The words that a command starts with.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
pub enum CommandPrefix {
    /// Words with spaces between them.
    Text(String),
    /// Words, each of which may be one of several.
    Words(Vec<PrefixWord>),
}

/// A word, or several of which one must stand there.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
pub enum PrefixWord {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

/// Where an address may lead.
#[derive(Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct UrlCondition {
    /// The argument, by its name or a JSON Pointer.
    arg: String,
    /// `docs.rs`, `*.example.com`, `localhost:3000`, `host:*`, `*`.
    #[schemars(length(min = 1))]
    hosts: Vec<String>,
    /// `https` and the like; http and https where none is named.
    #[schemars(length(min = 1))]
    schemes: Option<Vec<String>>,
    /// What the tool takes where the argument is missing.
    if_missing: Option<String>,
}

/// A call and what the file must say of it.
#[derive(Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Test {
    /// The call.
    call: TestCall,
    /// What the file must say.
    expect: Expectation,
    /// Why.
    why: Option<String>,
}

/// What a file may say of a call.
#[derive(Debug, JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the names say it")]
pub enum Expectation {
    Allowed,
    Overreach,
    Denied,
    NotListed,
    NotProven,
    AgentNotListed,
}

/// A call of a test.
#[derive(Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct TestCall {
    /// The tool.
    tool: String,
    /// What it is called with: an object, or a text that holds one.
    arguments: Option<serde_json::Value>,
    /// The agent.
    agent: Option<String>,
    /// The working directory.
    cwd: Option<String>,
    /// The home folder.
    home: Option<String>,
}
