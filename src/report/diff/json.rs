//! The comparison for programs. The shape is frozen: fields are only added.

use super::shown::{DiffReport, Place, Row, Side};
use crate::excerpt::Difference;
use crate::report::runs::{JsonTool, JsonUsage, SCHEMA_VERSION, millis};
use crate::sanitize::InertJson;
use crate::session::diff::Kind;
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use std::io::{self, Write};

/// Two sessions compared, as JSON.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(title = "toolreplay diff", deny_unknown_fields)]
pub struct JsonDiff<'r> {
    /// The version of this shape: 1.
    schema_version: u32,
    /// What made the report.
    tool: JsonTool,
    /// `same`, `differ`, or `inconclusive`: not a single answer could be compared.
    verdict: &'static str,
    /// The exit code: 0, 1 or 2.
    exit_code: u8,
    /// The first session.
    a: JsonSide<'r>,
    /// The second.
    b: JsonSide<'r>,
    /// How many calls became what.
    summary: JsonTally,
    /// Where they part first; null: nowhere.
    first: Option<JsonFirst<'r>>,
    /// Every difference, in order.
    differences: Vec<JsonDifference<'r>>,
}

/// One session.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonSide<'r> {
    /// The recording's path, as given.
    path: &'r str,
    /// `transcript`, `sealed`, or the id of the format.
    format: &'static str,
    /// Calls.
    calls: u64,
    /// Those that ran and failed.
    failed: u64,
    /// Those whose time is recorded.
    timed_calls: u64,
    /// How long these took together; null: no time is recorded.
    time_ms: Option<u64>,
    /// What models used; null: it is not recorded.
    usage: Option<JsonUsage>,
}

/// How many calls became what.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonTally {
    /// Made by both and answered alike.
    same: u64,
    /// Made by both; the answers could not be compared.
    not_compared: u64,
    /// Made by both and answered differently.
    answer: u64,
    /// Made by the first alone.
    only_a: u64,
    /// Made by the second alone.
    only_b: u64,
    /// Made by both, at different places among the others.
    moved: u64,
}

/// Where two sessions part first.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonFirst<'r> {
    /// The index in both.
    index: u64,
    /// `answer`: the same call was answered differently; `call`: the calls differ; `end`: one of them has no more.
    kind: &'static str,
    /// The call of the first; null: it has no more.
    a: Option<JsonCall<'r>>,
    /// The call of the second; null: it has no more.
    b: Option<JsonCall<'r>>,
    /// Where the answers part.
    answers: Option<JsonAnswers<'r>>,
}

/// One difference.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonDifference<'r> {
    /// `answer`, `only-a`, `only-b` or `moved`.
    kind: &'static str,
    /// The answers differ.
    answer_differs: bool,
    /// The call of the first; null: it made none.
    a: Option<JsonCall<'r>>,
    /// The call of the second; null: it made none.
    b: Option<JsonCall<'r>>,
    /// Where the answers part; in the first 1,000 differences.
    answers: Option<JsonAnswers<'r>>,
}

/// One call.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonCall<'r> {
    /// Its index in its session.
    index: u64,
    /// The line it stands on, from 1; null: the file as a whole.
    line: Option<u64>,
    /// The file, where that is another one than the session is named by.
    file: Option<&'r str>,
    /// The tool, with hidden characters as escapes.
    tool: &'r str,
    /// The agent; null: the main one.
    agent: Option<&'r str>,
    /// The argument that says most, on one line, secrets masked; null behind the first 1,000 differences.
    what: Option<&'r str>,
}

/// Where two answers part first, secrets masked.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonAnswers<'r> {
    /// The JSON Pointer of the place; empty: the answers as wholes.
    pointer: &'r str,
    /// The line within the text that stands there, from 1; null: it has but one.
    line: Option<u64>,
    /// What the first says there.
    a: &'r str,
    /// What the second says there.
    b: &'r str,
}

pub(super) fn write(report: &DiffReport, out: &mut dyn Write) -> io::Result<()> {
    let tally = report.tally;
    let json = JsonDiff {
        schema_version: SCHEMA_VERSION,
        tool: JsonTool::OURS,
        verdict: report.verdict.name(),
        exit_code: report.verdict.exit_code(),
        a: side(&report.a),
        b: side(&report.b),
        summary: JsonTally {
            same: tally.same,
            not_compared: tally.not_compared,
            answer: tally.answers,
            only_a: tally.only_a,
            only_b: tally.only_b,
            moved: tally.moved,
        },
        first: report.first.as_ref().map(|(divergence, a, b, difference)| JsonFirst {
            index: divergence.index as u64,
            kind: match (divergence.answer, a, b) {
                (true, ..) => "answer",
                (false, Some(_), Some(_)) => "call",
                (false, ..) => "end",
            },
            a: a.as_ref().map(call),
            b: b.as_ref().map(call),
            answers: difference.as_ref().map(answers),
        }),
        differences: report.rows.iter().map(difference).collect(),
    };
    let formatter = InertJson(PrettyFormatter::new());
    json.serialize(&mut Serializer::with_formatter(&mut *out, formatter)).map_err(io::Error::from)?;
    out.write_all(b"\n")
}

fn side(side: &Side) -> JsonSide<'_> {
    JsonSide {
        path: &side.path,
        format: side.format,
        calls: side.calls,
        failed: side.failed,
        timed_calls: side.timed,
        time_ms: (side.timed > 0).then(|| millis(side.time)),
        usage: JsonUsage::of(side.used),
    }
}

fn difference(row: &Row) -> JsonDifference<'_> {
    JsonDifference {
        kind: row.kind.name(),
        answer_differs: matches!(row.kind, Kind::Answer | Kind::Moved { answer: true }),
        a: row.a.as_ref().map(call),
        b: row.b.as_ref().map(call),
        answers: row.difference.as_ref().map(answers),
    }
}

fn call(place: &Place) -> JsonCall<'_> {
    JsonCall {
        index: place.index as u64,
        line: (place.line > 0).then_some(place.line),
        file: place.file.as_deref(),
        tool: &place.tool,
        agent: place.agent.as_deref(),
        what: (!place.what.is_empty()).then_some(&place.what),
    }
}

fn answers(difference: &Difference) -> JsonAnswers<'_> {
    JsonAnswers {
        pointer: &difference.pointer,
        line: (difference.line > 0).then_some(difference.line),
        a: &difference.before.text,
        b: &difference.now.text,
    }
}
