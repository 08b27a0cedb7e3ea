//! What sessions came to, as a table and as JSON.

use super::runs::{JsonTool, JsonUsage, SCHEMA_VERSION, Table, count, millis, money, time};
use crate::formats::rfc3339;
use crate::sanitize::{InertJson, visible};
use crate::session::stats::{Counts, SessionStats, Stats, Sum};
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Rows of a table; JSON has them all.
const ROWS: usize = 30;

/// Writes a table for people.
///
/// # Errors
/// What `out` says.
pub fn write_stats(stats: &Stats, out: &mut dyn Write) -> io::Result<()> {
    let head =
        ["session", "format", "calls", "failed", "not run", "no answer", "repeats", "took", "tokens in", "out", "cost"];
    let mut table = Table::new(&head);
    let mut sessions: Vec<&SessionStats> = stats.sessions.iter().collect();
    sessions.sort_by_key(|session| Reverse(session.sum.counts.calls));
    for session in sessions.iter().take(ROWS) {
        let took = session.took().filter(|took| *took > 0).map(time).unwrap_or_default();
        table.row(&session.path, cells(Some(session.format), session.sum, took));
    }
    let more = sessions.len().saturating_sub(ROWS);
    if stats.sessions.len() > 1 {
        table.row(&format!("all {} sessions", stats.sessions.len()), cells(Some(""), stats.sum, String::new()));
    }
    table.write(out)?;
    left_out(more, "sessions", out)?;
    writeln!(out)?;
    tools(&stats.tools, out)?;
    if stats.agents.len() > 1 {
        writeln!(out)?;
        agents(&stats.agents, out)?;
    }
    Ok(())
}

fn cells(format: Option<&str>, sum: Sum, took: String) -> Vec<String> {
    let Sum { counts, used } = sum;
    let some = |number: u64| if number > 0 { count(number) } else { String::new() };
    let mut cells: Vec<String> = format.map(str::to_owned).into_iter().collect();
    cells.extend([
        count(counts.calls),
        some(counts.failed),
        some(counts.not_run),
        some(counts.without_answer),
        some(counts.repeats),
        took,
        some(used.input),
        some(used.output),
        used.cost.map(money).unwrap_or_default(),
    ]);
    cells
}

fn tools(tools: &BTreeMap<String, Counts>, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new(&["tool", "calls", "failed", "not run", "no answer", "repeats", "time", "mean"]);
    let mut sorted: Vec<(&String, &Counts)> = tools.iter().collect();
    sorted.sort_by_key(|(name, counts)| (Reverse(counts.calls), name.as_str()));
    for (name, counts) in sorted.iter().take(ROWS) {
        let some = |number: u64| if number > 0 { count(number) } else { String::new() };
        let mean = counts.time.checked_div(counts.timed);
        table.row(
            name,
            [
                count(counts.calls),
                some(counts.failed),
                some(counts.not_run),
                some(counts.without_answer),
                some(counts.repeats),
                mean.map(|_| time(counts.time)).unwrap_or_default(),
                mean.map(time).unwrap_or_default(),
            ],
        );
    }
    table.write(out)?;
    left_out(sorted.len().saturating_sub(ROWS), "tools", out)
}

fn agents(agents: &BTreeMap<String, Sum>, out: &mut dyn Write) -> io::Result<()> {
    let head = ["agent", "calls", "failed", "not run", "no answer", "repeats", "time", "tokens in", "out", "cost"];
    let mut table = Table::new(&head);
    let mut sorted: Vec<(&String, &Sum)> = agents.iter().collect();
    sorted.sort_by_key(|(name, sum)| (Reverse(sum.counts.calls), name.as_str()));
    for (name, sum) in sorted.iter().take(ROWS) {
        let name = if name.is_empty() { "main" } else { name.as_str() };
        let time = if sum.counts.timed > 0 { time(sum.counts.time) } else { String::new() };
        table.row(name, cells(None, **sum, time));
    }
    table.write(out)?;
    left_out(sorted.len().saturating_sub(ROWS), "agents", out)
}

fn left_out(more: usize, what: &str, out: &mut dyn Write) -> io::Result<()> {
    if more == 0 { Ok(()) } else { writeln!(out, "and {more} more {what}; --format json has them all") }
}

/// What sessions came to, as JSON. The shape is frozen: fields are only added.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(title = "toolreplay stats", deny_unknown_fields)]
pub struct JsonStats {
    /// The version of this shape: 1.
    schema_version: u32,
    /// What made the report.
    tool: JsonTool,
    /// 0, or 2: a recording could not be read as a whole, or there was no call.
    exit_code: u8,
    /// All sessions together.
    total: JsonSum,
    /// By tool, over all sessions, sorted by name.
    tools: Vec<JsonNamedCounts>,
    /// By agent, over all sessions, sorted by name.
    agents: Vec<JsonNamedSum>,
    /// The sessions, in the order of the inputs.
    sessions: Vec<JsonSession>,
    /// What could not be read.
    errors: Vec<JsonFault>,
}

/// Some calls.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonCounts {
    /// Calls.
    calls: u64,
    /// Those that ran and failed.
    failed: u64,
    /// Those that never ran.
    not_run: u64,
    /// Those whose answer is not recorded as a whole.
    without_answer: u64,
    /// Those that the same agent had made before with the same arguments.
    repeats: u64,
    /// Those that change, or may change, state and ran.
    changes: u64,
    /// Those whose time is recorded.
    timed_calls: u64,
    /// How long these took together; null: no time is recorded.
    time_ms: Option<u64>,
}

/// Some calls, and what models used.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonSum {
    /// The calls.
    counts: JsonCounts,
    /// What models used; null: it is not recorded.
    usage: Option<JsonUsage>,
}

/// The calls of one tool.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonNamedCounts {
    /// The tool.
    name: String,
    /// Its calls.
    counts: JsonCounts,
}

/// The calls of one agent, and what its models used.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonNamedSum {
    /// The agent; null: the main one.
    name: Option<String>,
    /// Its calls.
    counts: JsonCounts,
    /// What its models used; null: it is not recorded.
    usage: Option<JsonUsage>,
}

/// One session.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonSession {
    /// The recording's path, as given.
    path: String,
    /// `transcript`, `sealed`, or the id of the format.
    format: &'static str,
    /// Conversations, connections or runs in it.
    conversations: u64,
    /// When the first call was made, as RFC 3339; null: it is not recorded.
    started: Option<String>,
    /// How long it was from there to the last answer.
    took_ms: Option<u64>,
    /// Its calls.
    counts: JsonCounts,
    /// What models used; null: it is not recorded.
    usage: Option<JsonUsage>,
    /// By tool, sorted by name.
    tools: Vec<JsonNamedCounts>,
    /// By agent, sorted by name.
    agents: Vec<JsonNamedSum>,
}

/// Why a recording was not read as a whole.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonFault {
    /// The recording's path, as given.
    path: String,
    /// The line, from 1; null: the file as a whole.
    line: Option<u64>,
    /// What is wrong.
    message: String,
}

/// A recording that could not be read, or not as a whole: its path, and why.
pub type Unreadable = (String, crate::audit::Failure);

/// Writes JSON. `errors`: the recordings that could not be read as wholes.
///
/// # Errors
/// What `out` says.
pub fn write_stats_json(stats: &Stats, errors: &[Unreadable], exit_code: u8, out: &mut dyn Write) -> io::Result<()> {
    let report = JsonStats {
        schema_version: SCHEMA_VERSION,
        tool: JsonTool::OURS,
        exit_code,
        total: JsonSum { counts: stats.sum.counts.into(), usage: JsonUsage::of(stats.sum.used) },
        tools: named(&stats.tools),
        agents: summed(&stats.agents),
        sessions: stats.sessions.iter().map(session).collect(),
        errors: errors
            .iter()
            .map(|(path, failure)| JsonFault {
                path: path.clone(),
                line: (failure.line > 0).then_some(failure.line),
                message: visible(&failure.what).into_owned(),
            })
            .collect(),
    };
    let formatter = InertJson(PrettyFormatter::new());
    report.serialize(&mut Serializer::with_formatter(&mut *out, formatter)).map_err(io::Error::from)?;
    out.write_all(b"\n")
}

fn session(session: &SessionStats) -> JsonSession {
    JsonSession {
        path: session.path.clone(),
        format: session.format,
        conversations: session.conversations,
        started: session.span.map(|(from, _)| rfc3339(from)),
        took_ms: session.took().map(millis),
        counts: session.sum.counts.into(),
        usage: JsonUsage::of(session.sum.used),
        tools: named(&session.tools),
        agents: summed(&session.agents),
    }
}

fn named(tools: &BTreeMap<String, Counts>) -> Vec<JsonNamedCounts> {
    tools.iter().map(|(name, counts)| JsonNamedCounts { name: name.clone(), counts: (*counts).into() }).collect()
}

fn summed(agents: &BTreeMap<String, Sum>) -> Vec<JsonNamedSum> {
    let one = |(name, sum): (&String, &Sum)| JsonNamedSum {
        name: (!name.is_empty()).then(|| name.clone()),
        counts: sum.counts.into(),
        usage: JsonUsage::of(sum.used),
    };
    agents.iter().map(one).collect()
}

impl From<Counts> for JsonCounts {
    fn from(counts: Counts) -> JsonCounts {
        JsonCounts {
            calls: counts.calls,
            failed: counts.failed,
            not_run: counts.not_run,
            without_answer: counts.without_answer,
            repeats: counts.repeats,
            changes: counts.changes,
            timed_calls: counts.timed,
            time_ms: (counts.timed > 0).then(|| millis(counts.time)),
        }
    }
}
