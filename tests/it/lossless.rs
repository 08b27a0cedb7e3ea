//! Nothing gets lost: sessions of every format are made up, then lines are deleted, duplicated, moved and cut. Whatever
//! call still stands there whole becomes a record, the books balance, and what does not is named.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::io::Cursor;
use std::path::Path;
use toolreplay::finding::SourceFile;
use toolreplay::formats::{self, Code, From, Imported, Opening, Options, Recording};

/// One line, or one item of a document.
#[derive(Debug, Clone)]
struct Unit {
    text: String,
    /// The calls it brings.
    calls: Vec<u32>,
    /// The call it answers, where that stands elsewhere.
    answers: Option<u32>,
}

/// How a format writes sessions.
struct Writer {
    id: &'static str,
    /// What stands for one call with its result.
    units: fn(u32) -> Vec<Unit>,
    /// A document around the items; none: a line each.
    document: Option<(&'static str, &'static str)>,
    /// A line that all files begin with.
    head: &'static str,
    /// Whether a call that is there twice is one.
    once: bool,
}

fn call(number: u32, text: String) -> Unit {
    Unit { text, calls: vec![number], answers: None }
}

fn result(number: u32, text: String) -> Unit {
    Unit { text, calls: Vec::new(), answers: Some(number) }
}

/// Fills in the number of the call.
fn fill(template: &str, number: u32) -> String {
    template.replace('§', &format!("n{number}x"))
}

macro_rules! pair {
    ($call:literal, $result:literal) => {
        |number| vec![call(number, fill($call, number)), result(number, fill($result, number))]
    };
}

macro_rules! whole {
    ($call:literal) => {
        |number| vec![call(number, fill($call, number))]
    };
}

const LINES: Option<(&str, &str)> = None;

static WRITERS: &[Writer] = &[
    Writer {
        id: "claude-code",
        units: pair!(
            r#"{"type":"assistant","sessionId":"s","uuid":"a§","message":{"id":"m§","role":"assistant","content":[{"type":"tool_use","id":"t§","name":"Read","input":{"file_path":"§"}}]}}"#,
            r#"{"type":"user","sessionId":"s","uuid":"r§","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t§","content":"R§"}]}}"#
        ),
        document: LINES,
        head: "",
        once: true,
    },
    Writer {
        id: "claude-stream-json",
        units: pair!(
            r#"{"type":"assistant","session_id":"s","message":{"id":"m§","role":"assistant","content":[{"type":"tool_use","id":"t§","name":"Read","input":{"file_path":"§"}}]}}"#,
            r#"{"type":"user","session_id":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t§","content":"R§"}]}}"#
        ),
        document: LINES,
        head: r#"{"type":"system","subtype":"init","session_id":"s"}"#,
        once: true,
    },
    Writer {
        id: "codex",
        units: pair!(
            r#"{"timestamp":"2026-06-01T00:00:00Z","type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"cat §\"}","call_id":"c§"}}"#,
            r#"{"timestamp":"2026-06-01T00:00:00Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c§","output":"R§"}}"#
        ),
        document: LINES,
        head: r#"{"timestamp":"2026-06-01T00:00:00Z","type":"session_meta","payload":{"id":"s"}}"#,
        once: true,
    },
    Writer {
        id: "codex-exec",
        units: |number| {
            let started = r#"{"type":"item.started","item":{"id":"i§","type":"command_execution","command":"cat §","status":"in_progress"}}"#;
            let done = r#"{"type":"item.completed","item":{"id":"i§","type":"command_execution","command":"cat §","aggregated_output":"R§","exit_code":0,"status":"completed"}}"#;
            [started, done].map(|template| call(number, fill(template, number))).to_vec()
        },
        document: LINES,
        head: r#"{"type":"thread.started","thread_id":"s"}"#,
        once: true,
    },
    Writer {
        id: "copilot-cli",
        units: pair!(
            r#"{"type":"tool.execution_start","data":{"toolCallId":"t§","toolName":"view","arguments":{"path":"§"}}}"#,
            r#"{"type":"tool.execution_complete","data":{"toolCallId":"t§","success":true,"result":{"content":"R§"}}}"#
        ),
        document: LINES,
        head: r#"{"type":"session.start","data":{"sessionId":"s"}}"#,
        once: true,
    },
    Writer {
        id: "gemini-cli",
        units: whole!(
            r#"{"id":"m§","timestamp":"2026-06-01T00:00:00Z","type":"gemini","toolCalls":[{"id":"c§","name":"read_file","args":{"path":"§"},"status":"success","result":[{"functionResponse":{"id":"c§","response":{"output":"R§"}}}]}]}"#
        ),
        document: LINES,
        head: r#"{"sessionId":"s","projectHash":"p","kind":"main"}"#,
        once: true,
    },
    Writer {
        id: "gemini-cli",
        units: pair!(
            r#"{"type":"tool_use","tool_name":"read_file","tool_id":"c§","parameters":{"path":"§"}}"#,
            r#"{"type":"tool_result","tool_id":"c§","status":"success","output":"R§"}"#
        ),
        document: LINES,
        head: "",
        once: true,
    },
    Writer {
        id: "opencode",
        units: whole!(
            r#"{"type":"tool_use","part":{"id":"p§","messageID":"m","sessionID":"s","type":"tool","callID":"c","tool":"read","state":{"status":"completed","input":{"filePath":"§"},"output":"R§"}}}"#
        ),
        document: LINES,
        head: "",
        once: true,
    },
    Writer {
        id: "mcp",
        units: pair!(
            r#"{"jsonrpc":"2.0","id":"§","method":"tools/call","params":{"name":"read","arguments":{"p":"§"}}}"#,
            r#"{"jsonrpc":"2.0","id":"§","result":{"content":[{"type":"text","text":"R§"}]}}"#
        ),
        document: LINES,
        head: "",
        once: true,
    },
    Writer {
        id: "openhands",
        units: pair!(
            r#"{"kind":"ActionEvent","id":"e§","source":"agent","tool_name":"terminal","tool_call_id":"c§","action":{"command":"cat §"},"llm_response_id":"m§"}"#,
            r#"{"kind":"ObservationEvent","id":"o§","source":"environment","tool_name":"terminal","tool_call_id":"c§","observation":{"content":"R§"}}"#
        ),
        document: LINES,
        head: "",
        once: true,
    },
    Writer {
        id: "openhands",
        units: whole!(
            r#"{"instance_id":"i§","history":[{"id":1,"source":"agent","action":"run","args":{"command":"cat §"}},{"id":2,"source":"agent","cause":1,"observation":"run","content":"R§","extras":{}}]}"#
        ),
        document: LINES,
        head: "",
        once: false,
    },
    Writer {
        id: "openai-chat",
        units: whole!(
            r#"{"messages":[{"role":"user","content":"u"},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"read","arguments":"{\"p\":\"§\"}"}}]},{"role":"tool","tool_call_id":"c","content":"R§"}]}"#
        ),
        document: LINES,
        head: "",
        once: false,
    },
    Writer {
        id: "openai-chat",
        units: |number| {
            let turn = [
                r#"{"role":"assistant","tool_calls":[{"id":"c§","type":"function","function":{"name":"read","arguments":"{\"p\":\"§\"}"}}]}"#,
                r#"{"role":"tool","tool_call_id":"c§","content":"R§"}"#,
            ];
            vec![call(number, fill(turn[0], number)), result(number, fill(turn[1], number))]
        },
        document: Some((r#"{"messages":[{"role":"user","content":"u"}"#, "]}")),
        head: "",
        once: false,
    },
    Writer {
        id: "anthropic-messages",
        units: pair!(
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"c§","name":"read","input":{"p":"§"}}]}"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c§","content":"R§"}]}"#
        ),
        document: Some((r#"{"messages":[{"role":"user","content":"u"}"#, "]}")),
        head: "",
        once: false,
    },
    Writer {
        id: "openai-responses",
        units: pair!(
            r#"{"type":"function_call","call_id":"c§","name":"read","arguments":"{\"p\":\"§\"}"}"#,
            r#"{"type":"function_call_output","call_id":"c§","output":"R§"}"#
        ),
        document: Some((r#"{"object":"response","output":[{"type":"reasoning"}"#, "]}")),
        head: "",
        once: false,
    },
    Writer {
        id: "atif",
        units: whole!(
            r#"{"step_id":"§","source":"agent","tool_calls":[{"tool_call_id":"c§","function_name":"read","arguments":{"p":"§"}}],"observation":{"results":[{"source_call_id":"c§","content":"R§"}]}}"#
        ),
        document: Some((
            r#"{"schema_version":"ATIF-v1.6","session_id":"s","agent":{"name":"own"},"steps":[{"step_id":0}"#,
            "]}",
        )),
        head: "",
        once: false,
    },
    Writer {
        id: "inspect-ai",
        units: whole!(r#"{"event":"tool","id":"c§","function":"bash","arguments":{"cmd":"cat §"},"result":"R§"}"#),
        document: Some((
            r#"{"version":2,"eval":{},"samples":[{"id":1,"epoch":1,"messages":[],"events":[{"event":"info"}"#,
            "]}]}",
        )),
        head: "",
        once: true,
    },
    Writer {
        id: "swe-agent",
        units: whole!(r#"{"action":"cat §","observation":"R§"}"#),
        document: Some((r#"{"info":{},"history":[],"trajectory":[{"action":"ls","observation":"a"}"#, "]}")),
        head: "",
        once: false,
    },
    Writer {
        id: "mini-swe-agent",
        units: pair!(
            r#"{"role":"assistant","content":"do\n```bash\ncat §\n```"}"#,
            r#"{"role":"user","content":"<returncode>0</returncode>\n<output>\nR§</output>"}"#
        ),
        document: Some((
            r#"{"trajectory_format":"mini-swe-agent-1","messages":[{"role":"system","content":"s"}"#,
            "]}",
        )),
        head: "",
        once: false,
    },
    Writer {
        id: "otel",
        units: whole!(
            r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"t","spanId":"s§","name":"execute_tool read","startTimeUnixNano":"1","attributes":[{"key":"gen_ai.tool.name","value":{"stringValue":"read"}},{"key":"gen_ai.tool.call.arguments","value":{"stringValue":"{\"p\":\"§\"}"}},{"key":"gen_ai.tool.call.result","value":{"stringValue":"R§"}}]}]}]}]}"#
        ),
        document: LINES,
        head: "",
        once: true,
    },
    Writer {
        id: "openinference",
        units: whole!(
            r#"{"name":"read","context":{"trace_id":"t","span_id":"s§"},"span_kind":"TOOL","start_time":"2026-06-01T00:00:00Z","attributes":{"input":{"value":"{\"p\":\"§\"}"},"output":{"value":"R§"}}}"#
        ),
        document: LINES,
        head: "",
        once: true,
    },
    Writer {
        id: "langfuse",
        units: whole!(
            r#"{"id":"o§","traceId":"t","type":"TOOL","name":"read","startTime":"2026-06-01T00:00:00Z","parentObservationId":null,"level":"DEFAULT","input":{"p":"§"},"output":"R§"}"#
        ),
        document: LINES,
        head: "",
        once: true,
    },
    Writer {
        id: "toolreplay-capture",
        units: |number| {
            let event = |phase: &str, sequence: u32, data: &str| {
                let status = if phase == "start" { "running" } else { "ok" };
                format!(
                    r#"{{"version":1,"trace_id":"t","span_id":"s{number}","parent_span_id":null,"sequence":{sequence},"timestamp":"2026-06-01T00:00:00Z","kind":"tool","name":"read","phase":"{phase}","status":"{status}","duration_ms":null,"data":{{{data}}},"truncated":false,"source":"runtime_wrapper"}}"#
                )
            };
            let start = event("start", 2 * number + 1, &fill(r#""input":{"p":"§"}"#, number));
            let end = event("end", 2 * number + 2, &fill(r#""output":"R§""#, number));
            vec![call(number, start), result(number, end)]
        },
        document: LINES,
        head: "",
        once: true,
    },
];

/// What happens to a session.
#[derive(Debug, Clone)]
enum Change {
    Delete(prop::sample::Index),
    Duplicate(prop::sample::Index, prop::sample::Index),
    Move(prop::sample::Index, prop::sample::Index),
    Cut(prop::sample::Index, prop::sample::Index),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let any = any::<prop::sample::Index>;
    let change = prop_oneof![
        any().prop_map(Change::Delete),
        (any(), any()).prop_map(|(from, to)| Change::Duplicate(from, to)),
        (any(), any()).prop_map(|(from, to)| Change::Move(from, to)),
        (any(), any()).prop_map(|(at, end)| Change::Cut(at, end)),
    ];
    prop::collection::vec(change, 0..5)
}

/// The units that stay, and how many of them were cut.
fn changed(mut units: Vec<Unit>, changes: &[Change], may_cut: bool) -> (Vec<Unit>, Vec<usize>) {
    let mut cut: Vec<String> = Vec::new();
    for change in changes.iter().filter(|_| !units.is_empty()).cloned().collect::<Vec<_>>() {
        if units.is_empty() {
            break;
        }
        let len = units.len();
        match change {
            Change::Delete(at) => drop(units.remove(at.index(len))),
            Change::Duplicate(from, to) => {
                let copy = units[from.index(len)].clone();
                units.insert(to.index(len + 1), copy);
            }
            Change::Move(from, to) => {
                let moved = units.remove(from.index(len));
                units.insert(to.index(len), moved);
            }
            Change::Cut(at, end) if may_cut && units[at.index(len)].text.len() > 1 => {
                let unit = &mut units[at.index(len)];
                // at least one byte stays, at least one goes
                let end = 1 + end.index(unit.text.len() - 1);
                let end = (1..=end).rev().find(|end| unit.text.is_char_boundary(*end)).unwrap_or(1);
                unit.text.truncate(end);
                unit.calls.clear();
                unit.answers = None;
                cut.push(unit.text.clone());
            }
            Change::Cut(..) => {}
        }
    }
    let places = (0..units.len()).filter(|at| cut.contains(&units[*at].text)).collect();
    (units, places)
}

fn import(writer: &Writer, text: String) -> Imported {
    let options = Options { from: From::named(writer.id), ..Options::default() };
    let opened = formats::open(Box::new(Cursor::new(text.into_bytes())), None, &options).expect("it is text");
    let Opening::Foreign(foreign) = opened else { panic!("{}: the format was named", writer.id) };
    let file = SourceFile { shown: "file".to_owned(), from_root: "file".to_owned() };
    let mut recording = Recording::to_write(&options);
    recording.add(foreign, file, &|_: &Path| unreachable!("no file, no companions"), 1).expect("it can be read");
    recording.finish().expect("no temporary file is needed")
}

fn check(writer: &Writer, calls: u32, changes: &[Change]) {
    let units: Vec<Unit> = (0..calls).flat_map(writer.units).collect();
    let (units, cut) = changed(units, changes, writer.document.is_none());
    let texts: Vec<&str> = units.iter().map(|unit| &*unit.text).collect();
    let text = match writer.document {
        Some((before, after)) => {
            let items: String = texts.iter().map(|item| format!(",\n{item}")).collect();
            format!("{before}{items}{after}")
        }
        None => {
            let head = Some(writer.head).filter(|head| !head.is_empty());
            head.into_iter().chain(texts.iter().copied()).map(|line| format!("{line}\n")).collect()
        }
    };
    let mut imported = import(writer, text.clone());
    let balance = imported.balance;
    let context = || format!("{}: {:?}\n{text}", writer.id, imported.warnings);
    assert!(balance.holds(), "{}", context());
    // a call that stands there whole is a record
    let mut there: Vec<u32> = units.iter().flat_map(|unit| unit.calls.clone()).collect();
    there.sort_unstable();
    let lines = there.len();
    there.dedup();
    // what lacks no more than its last bracket may be read all the same, and is said to be cut
    let most = |least: usize| least as u64..=(least + cut.len()) as u64;
    if writer.once {
        assert!(most(there.len()).contains(&balance.records), "{}", context());
    } else if writer.id != "swe-agent" {
        assert!(most(lines).contains(&balance.records), "{}", context());
    }
    // what was cut is named, and fails the run unless it is the end of the file
    let lost = imported.loss().is_some();
    let named = imported.warnings.iter().any(|warning| warning.code == Code::BadLine);
    assert!(cut.is_empty() || named, "{}", context());
    assert!(!cut.iter().any(|at| at + 1 < units.len()) || lost, "{}", context());
    // and so is a result whose call is gone
    let alone = units.iter().filter_map(|unit| unit.answers).any(|call| !there.contains(&call));
    assert!(!alone || lost || writer.id == "mini-swe-agent", "{}", context());
    let written = imported.parts().iter().fold(Vec::new(), |mut all, part| {
        imported.write(part, &mut all).unwrap();
        all
    });
    let written = String::from_utf8(written).unwrap();
    for call in there {
        assert!(written.contains(&fill("§", call)), "{} lost call {call}:\n{text}", writer.id);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(20_261_201), ..ProptestConfig::with_cases(64) })]

    #[test]
    fn what_stands_in_a_session_is_a_record_or_named(calls in 1_u32..6, changes in changes()) {
        for writer in WRITERS {
            check(writer, calls, &changes);
        }
    }
}

/// The property is asked of every format.
#[test]
fn every_format_has_a_writer() {
    for format in formats::FORMATS {
        assert!(WRITERS.iter().any(|writer| writer.id == format.id), "{} has none", format.id);
    }
}
