//! This project's own captures: the spans of tools, as the recorder writes them (`docs/trace.md`).
//!
//! What a proxy heard from a model is no tool call that was seen: only spans of tools count.

use super::Importer;
use super::claude_code;
use super::cook::Out;
use super::effect::Profile;
use super::event::{Answer, Args, Body, Call, Mark, To};
use super::ledger::Code;
use super::value::{self, Value, text};

/// Captures of the recorder.
pub(super) static CAPTURE: Importer = Importer {
    id: "toolreplay-capture",
    title: "toolreplay capture",
    lies: "what toolreplay's recorder writes: one trace event a line",
    recognise,
    extract,
    items: false,
    strip: None,
    companions: None,
    unanswered: None,
    profile: &Profile::NONE,
};

fn recognise(value: Value<'_>, _document: bool) -> Option<&'static str> {
    let [version, trace, span, sequence, phase, record] =
        value.fields(&["version", "trace_id", "span_id", "sequence", "phase", "record_type"]);
    let event = version.is_some() && trace.is_some() && span.is_some() && sequence.is_some() && phase.is_some();
    (event || record.is_some_and(|record| record.is("capture_summary"))).then_some("with trace events of toolreplay")
}

fn extract(record: Value<'_>, out: &mut Out<'_>) {
    let [summary, dropped, errors] = record.fields(&["record_type", "dropped_events", "capture_errors"]);
    if summary.is_some() {
        let lost = [dropped, errors].into_iter().flatten().filter_map(Value::as_i64).sum::<i64>();
        if lost > 0 {
            out.note(Code::Truncated, "dropped events", record, "the recorder reached a limit or could not write");
        }
        return;
    }
    let [kind, phase, span, name, data, status, truncated, time] =
        out.fields(record, &["kind", "phase", "span_id", "name", "data", "status", "truncated", "timestamp"]);
    if !kind.is_some_and(|kind| kind.is("tool")) {
        return;
    }
    let part = |name: &str| data.and_then(|data| data.get(name));
    let id = text(span);
    if phase.is_some_and(|phase| phase.is("start")) {
        let time = claude_code::time_of(time);
        let args = part("input").map_or(Args::Value(data), |input| Args::Value(Some(input)));
        out.call(Call { id, time, ..Call::new(record, text(name).unwrap_or_default(), args) });
        return;
    }
    let error = part("error_type");
    let body = match error {
        Some(error) => Body::Made(value::made(&[("error_type", Some(error))])),
        None => Body::Value(part("output").or(data)),
    };
    let mut answer = Answer::new(record, To::Id(id.unwrap_or_default()), body);
    answer.failed = error.is_some() || status.is_some_and(|status| status.is("error"));
    if status.is_some_and(|status| status.is("cancelled")) {
        answer.mark = Some(Mark::NoResult(Some("cancelled")));
    } else if truncated.and_then(Value::as_bool) == Some(true) {
        answer.mark = Some(Mark::Truncated);
    }
    out.answer(answer);
}
