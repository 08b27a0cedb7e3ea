//! `toolreplay policy explain`: which entry decides on a call.

use crate::exit::{self, Exit};
use crate::{output, scope};
use anyhow::{Context as _, anyhow, bail};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use toolreplay::rules::{Decision, MAIN_AGENT};
use toolreplay::sanitize::{InertJson, visible};
use toolreplay::scope::{EntryUses, Policy, PolicyCall, Verdict};

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The scope file
    #[arg(value_name = "SCOPE")]
    scope: PathBuf,

    /// The tool that is called
    #[arg(long, value_name = "NAME", required_unless_present = "calls")]
    tool: Option<String>,

    /// Its arguments, a JSON object
    #[arg(long, value_name = "JSON", default_value = "{}")]
    args: String,

    /// The agent that calls it [default: main, the session's own agent]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// The working directory of the call
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<String>,

    /// The home folder
    #[arg(long, value_name = "FOLDER")]
    home: Option<String>,

    /// Explain the calls of a file, one a line: {"tool", "arguments", "agent"?, "cwd"?, "home"?}. Answers one JSON object a line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["tool", "args", "agent", "cwd", "home"])]
    calls: Option<PathBuf>,

    /// How to answer
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For a person.
    Text,
    /// One JSON object.
    Json,
}

/// A line of a file of calls.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    tool: String,
    #[serde(default)]
    arguments: Option<Box<RawValue>>,
    #[serde(default)]
    agent: Option<String>,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default)]
    home: Option<String>,
}

/// What decides on a call.
#[derive(Debug, Serialize)]
struct Answer {
    verdict: &'static str,
    reason: Option<&'static str>,
    entry: Option<String>,
    why: Option<String>,
    part: Option<String>,
}

impl Answer {
    fn of(policy: &Policy, call: &PolicyCall<'_>) -> Answer {
        match policy.judge(call, &EntryUses::default()) {
            Verdict::Allowed(place) => {
                let entry = policy.entries().get(place);
                Answer {
                    verdict: "allowed",
                    reason: None,
                    entry: entry.map(|entry| entry.place.clone()),
                    why: entry.and_then(|entry| entry.why.clone()),
                    part: None,
                }
            }
            Verdict::Overreach(overreach) => {
                let decision = Decision::of(policy, &overreach);
                Answer {
                    verdict: "overreach",
                    reason: Some(overreach.reason.name()),
                    entry: decision.entry,
                    why: decision.why,
                    part: Some(decision.part),
                }
            }
        }
    }

    fn json(&self) -> anyhow::Result<Vec<u8>> {
        let mut line = Vec::new();
        self.serialize(&mut serde_json::Serializer::with_formatter(
            &mut line,
            InertJson(serde_json::ser::CompactFormatter),
        ))?;
        line.push(b'\n');
        Ok(line)
    }

    fn text(&self) -> String {
        let mut lines = vec![match self.reason {
            None => self.verdict.to_owned(),
            Some(reason) => format!("{}: {reason}", self.verdict),
        }];
        for (name, text) in [("entry", &self.entry), ("why", &self.why), ("part", &self.part)] {
            if let Some(text) = text {
                lines.push(format!("{name}: {}", visible(text)));
            }
        }
        lines.join("\n") + "\n"
    }

    fn code(&self) -> u8 {
        u8::from(self.reason.is_some())
    }
}

impl ExplainArgs {
    pub(super) fn run(self) -> Exit {
        let policy = scope::read(&self.scope)?;
        let Some(calls) = &self.calls else { return self.one(&policy) };
        let shown = calls.display().to_string();
        if !calls.metadata().with_context(|| format!("cannot read {shown}"))?.is_file() {
            bail!("cannot read {shown}: it is no regular file");
        }
        let file = BufReader::new(File::open(calls).with_context(|| format!("cannot open {shown}"))?);
        let mut answers = Vec::new();
        let mut code = exit::CLEAN;
        for (number, line) in file.lines().enumerate() {
            let line = line.with_context(|| format!("{shown}: line {}", number + 1))?;
            if line.trim().is_empty() {
                continue;
            }
            let call: Call =
                serde_json::from_str(&line).map_err(|error| anyhow!("{shown}: line {}: {error}", number + 1))?;
            let answer = call.judge(&policy);
            code = code.max(answer.code());
            answers.extend(answer.json()?);
        }
        output::to_stdout(|out| out.write_all(&answers))?;
        Ok(code)
    }

    fn one(&self, policy: &Policy) -> Exit {
        let arguments: Box<RawValue> =
            serde_json::from_str(&self.args).map_err(|error| anyhow!("--args is no JSON: {error}"))?;
        let call = Call {
            tool: self.tool.clone().unwrap_or_default(),
            arguments: Some(arguments),
            agent: self.agent.clone(),
            cwd: self.cwd.clone(),
            home: self.home.clone(),
        };
        let answer = call.judge(policy);
        match self.format {
            Format::Text => output::print(answer.text().as_bytes())?,
            Format::Json => output::print(&answer.json()?)?,
        };
        Ok(answer.code())
    }
}

impl Call {
    fn judge(&self, policy: &Policy) -> Answer {
        let agents = [self.agent.as_deref().unwrap_or(MAIN_AGENT)];
        let call = PolicyCall {
            agents: &agents,
            tool: &self.tool,
            arguments: self.arguments.as_ref().map_or(b"{}", |arguments| arguments.get().as_bytes()),
            cwd: self.cwd.as_deref(),
            home: self.home.as_deref(),
            ..PolicyCall::default()
        };
        Answer::of(policy, &call)
    }
}
