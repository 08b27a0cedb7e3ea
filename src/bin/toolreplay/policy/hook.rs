//! `toolreplay policy hook`: answers an agent's hook before it calls a tool, by the same scope that the audit uses.
//!
//! It fails closed: whatever keeps it from judging is answered as a deny, in the agent's own protocol.

use crate::exit::{self, Exit};
use crate::{output, scope};
use anyhow::{anyhow, bail};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::io::Read as _;
use std::path::PathBuf;
use toolreplay::rules::{Decision, agent_names};
use toolreplay::sanitize::visible;
use toolreplay::scope::{EntryUses, Policy, PolicyCall, Reason, Verdict};

/// The largest call that is read, in bytes.
const MAX_CALL: u64 = 64 << 20;

#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// The agent whose hook this is
    #[arg(value_enum)]
    agent: Agent,

    /// The scope file
    #[arg(long, value_name = "FILE")]
    scope: PathBuf,

    /// Answer nothing to what is in scope: the agent's own permissions decide on that
    #[arg(long)]
    only_deny: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Agent {
    /// Claude Code: PreToolUse
    Claude,
    /// Codex: PreToolUse
    Codex,
    /// Gemini CLI: BeforeTool
    Gemini,
    /// Copilot CLI: preToolUse
    Copilot,
    /// opencode: a plugin's tool.execute.before
    Opencode,
}

/// A call as an agent's hook tells it.
struct Told {
    tool: String,
    arguments: String,
    /// Its name or kind.
    agent: Option<String>,
    agent_id: Option<String>,
    cwd: Option<String>,
}

impl HookArgs {
    pub(super) fn run(self) -> Exit {
        match self.judge() {
            Ok(None) if self.only_deny => output::print(b"{}\n"),
            Ok(reason) => output::print(self.answer(reason.as_deref()).as_bytes()),
            Err(error) => {
                let why = format!(
                    "the scope could not be applied, so nothing is allowed: {}",
                    visible(&format!("{error:#}"))
                );
                output::print(self.answer(Some(&why)).as_bytes())?;
                exit::print_error(&why);
                // where this code blocks a call, it does so even if the answer got lost
                Ok(match self.agent {
                    Agent::Claude | Agent::Codex | Agent::Gemini => exit::FAILED,
                    Agent::Copilot | Agent::Opencode => exit::CLEAN,
                })
            }
        }
    }

    /// Why the call is denied; nothing if it is allowed.
    fn judge(&self) -> anyhow::Result<Option<String>> {
        let mut text = String::new();
        std::io::stdin().lock().take(MAX_CALL + 1).read_to_string(&mut text)?;
        if text.len() as u64 > MAX_CALL {
            bail!("the call is larger than {} MiB", MAX_CALL >> 20);
        }
        let told = self.told(&text)?;
        let policy = scope::read(&self.scope)?;
        #[allow(clippy::disallowed_methods, reason = "the home folder is what a '~' in a path stands for")]
        let home = std::env::var("HOME").ok();
        // the folder that the agent was started in, where the hook runs
        #[expect(clippy::disallowed_methods, reason = "the folder the agent runs in is where a hook is called")]
        let root = std::env::current_dir().ok().map(|folder| folder.display().to_string());
        let agents = agent_names(told.agent_id.as_deref(), told.agent.as_slice(), &[]);
        let agents: Vec<&str> = agents.iter().map(String::as_str).collect();
        let call = PolicyCall {
            agents: &agents,
            tool: &told.tool,
            arguments: told.arguments.as_bytes(),
            cwd: told.cwd.as_deref().or(root.as_deref()),
            root: root.as_deref(),
            home: home.as_deref(),
            ..PolicyCall::default()
        };
        Ok(match policy.judge(&call, &EntryUses::default()) {
            Verdict::Allowed(_) => None,
            Verdict::Overreach(overreach) => {
                let decision = Decision::of(&policy, &overreach);
                Some(reason(&policy, &told.tool, overreach.reason, &decision))
            }
        })
    }

    fn told(&self, text: &str) -> anyhow::Result<Told> {
        let call: Value =
            serde_json::from_str(text).map_err(|error| anyhow!("the hook's input is no JSON: {error}"))?;
        let names: [&[&str]; 4] = match self.agent {
            Agent::Claude | Agent::Codex | Agent::Gemini => {
                [&["tool_name"], &["tool_input"], &["agent_type"], &["cwd"]]
            }
            Agent::Copilot => [&["toolName"], &["toolArgs"], &["agentName"], &["cwd"]],
            Agent::Opencode => [&["tool"], &["args"], &["agent"], &["cwd", "directory"]],
        };
        let find = |names: &[&str]| names.iter().find_map(|name| call.get(name)).filter(|value| !value.is_null());
        let string = |names: &[&str]| find(names).and_then(Value::as_str).map(str::to_owned);
        let [tool, arguments, agent, cwd] = names;
        let Some(tool) = string(tool) else { bail!("the hook's input names no tool in '{}'", tool[0]) };
        let arguments = match find(arguments) {
            Some(arguments) => arguments.to_string(),
            None => bail!("the hook's input has no arguments in '{}'", arguments[0]),
        };
        Ok(Told { tool, arguments, agent: string(agent), agent_id: string(&["agent_id"]), cwd: string(cwd) })
    }

    /// The answer in the agent's protocol.
    fn answer(&self, reason: Option<&str>) -> String {
        let decision = if reason.is_some() { "deny" } else { "allow" };
        let said = reason.unwrap_or("in scope");
        let answer = match self.agent {
            // Codex takes a deny alone; what is not denied goes on
            Agent::Codex if reason.is_none() => json!({}),
            Agent::Claude | Agent::Codex => json!({"hookSpecificOutput": {
                "hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": said}}),
            Agent::Gemini | Agent::Opencode => json!({"decision": decision, "reason": said}),
            Agent::Copilot => json!({"permissionDecision": decision, "permissionDecisionReason": said}),
        };
        format!("{answer}\n")
    }
}

/// What the model is told, so that it can do what would be allowed.
fn reason(policy: &Policy, tool: &str, reason: Reason, decision: &Decision) -> String {
    let tool = visible(tool);
    let part = visible(&decision.part);
    let entry = decision.entry.as_deref().map_or_else(String::new, |entry| format!(" by {entry}"));
    let why = decision.why.as_deref().map_or_else(String::new, |why| format!(" ({})", visible(why)));
    let allowed = policy.allows_of(&tool);
    let instead = if allowed.is_empty() {
        format!("Nothing allows the tool '{tool}'.")
    } else {
        format!("Allowed for '{tool}': {}.", visible(&allowed.join("; ")))
    };
    match reason {
        Reason::Denied => format!("Denied{entry}{why}: {part}. {instead}"),
        Reason::NotListed => format!("Not in the scope: {part}. {instead}"),
        Reason::NotProven => format!("Cannot be shown to be in scope{entry}{why}: {part}. {instead}"),
        Reason::AgentNotListed => format!("The scope has no lists for the agent '{part}'."),
    }
}
