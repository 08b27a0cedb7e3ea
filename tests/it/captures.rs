//! From captures to an audit: requests of the proxy, one file each, read session by session.

use crate::run;
use serde_json::{Value, json};
use std::path::PathBuf;

/// A folder of captures.
struct Made {
    folder: tempfile::TempDir,
    seconds: u32,
    files: u32,
    /// Of the replies that are made from now on; they say nothing of it without one.
    http_status: Option<Value>,
}

impl Made {
    fn new() -> Made {
        Made { folder: tempfile::tempdir().unwrap(), seconds: 0, files: 0, http_status: None }
    }

    fn event(&mut self, id: &str, phase: &str, status: &str, data: &Value) -> Value {
        self.seconds += 1;
        json!({
            "version": 1, "trace_id": id, "span_id": format!("span of {id}"), "parent_span_id": null,
            "sequence": if phase == "start" { 1 } else { 2 },
            "timestamp": format!("2026-01-01T00:{:02}:{:02}.000000Z", self.seconds / 60, self.seconds % 60),
            "kind": "model", "name": "openai_chat_completions", "phase": phase, "status": status,
            "duration_ms": null, "data": data, "truncated": false, "source": "model_proxy",
        })
    }

    /// A capture of a request that reports `results` and whose reply asks for `calls`. The names of the files are in
    /// the opposite order.
    fn request(&mut self, id: &str, session: &str, parents: &[&str], results: &Value, calls: &Value) -> PathBuf {
        let start = self.event(
            id,
            "start",
            "running",
            &json!({"session_id": session, "parent_request_ids": parents, "agent_reported_tool_results": results}),
        );
        let data = json!({"model_requested_tools": calls, "capture_issues": [], "response": {}});
        let end = self.event(id, "end", "ok", &data);
        self.file(&format!("{start}\n{end}\n{}\n", summary(id, 2)))
    }

    /// A capture of a request that reports nothing, and of its reply.
    fn reply(&mut self, id: &str, status: &str, calls: &Value, issues: &Value, response: &Value) -> PathBuf {
        let start = self.event(id, "start", "running", &json!({"session_id": "A", "agent_reported_tool_results": []}));
        let mut data = json!({"model_requested_tools": calls, "capture_issues": issues, "response": response});
        if let Some(status) = &self.http_status {
            data["http_status"] = status.clone();
        }
        let end = self.event(id, "end", status, &data);
        self.file(&format!("{start}\n{end}\n{}\n", summary(id, 2)))
    }

    fn file(&mut self, text: &str) -> PathBuf {
        self.files += 1;
        let path = self.folder.path().join(format!("{:03}.jsonl", 999 - self.files));
        std::fs::write(&path, text).unwrap();
        path
    }

    fn path(&self) -> &str {
        self.folder.path().to_str().unwrap()
    }

    fn audit(&self, more: &[&str]) -> (i32, Value) {
        let ran = run([&["audit", "--no-config", "--format", "json", self.path()][..], more].concat());
        (ran.code, serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr)))
    }

    /// Each record as its arguments and what answered it, and what was said.
    fn pairs(&self) -> (Vec<String>, String) {
        let ran = run(["import", "--allow-loss", self.path()]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let record = |line: &str| {
            let record: Value = serde_json::from_str(line).unwrap();
            assert_eq!(record["response"]["$import"]["execution"], "not_observed", "{line}");
            let answer = record["response"].get("content").unwrap_or(&record["response"]["$import"]["status"]);
            format!("{} -> {answer}", record["args"]["n"])
        };
        (ran.stdout.lines().map(record).collect(), ran.stderr)
    }
}

fn summary(id: &str, events: u32) -> Value {
    json!({
        "record_type": "capture_summary", "trace_id": id, "events": events, "dropped_events": 0, "capture_errors": 0,
        "coverage": "model_protocol_only",
    })
}

fn call(id: &str, n: u32) -> Value {
    json!({"choice": 0, "index": 0, "id": id, "name": "f", "type": "function", "arguments": {"n": n}})
}

fn result(id: &str, content: &str) -> Value {
    json!({"id": id, "content": content})
}

#[test]
fn calls_meet_their_results() {
    let mut made = Made::new();
    made.request("r1", "A", &[], &json!([]), &json!([call("a", 1), call("b", 2)]));
    made.request("r2", "B", &[], &json!([]), &json!([call("a", 3)]));
    made.request("r3", "A", &["r1"], &json!([result("b", "two"), result("a", "one")]), &json!([call("c", 4)]));
    let (pairs, said) = made.pairs();
    assert_eq!(pairs, ["1 -> \"one\"", "2 -> \"two\"", "4 -> \"no_result\"", "3 -> \"no_result\""]);
    assert!(said.contains("NOT_OBSERVED (4 times)") && said.contains("2 conversations"), "{said}");
}

#[test]
fn repeated_ids_pair_by_occurrence() {
    let mut made = Made::new();
    made.request("r1", "A", &[], &json!([]), &json!([call("x", 1), call("x", 2)]));
    made.request("r2", "A", &["r1"], &json!([result("x", "one"), result("x", "two")]), &json!([call("x", 3)]));
    made.request("r3", "A", &["r2"], &json!([result("x", "three")]), &json!([]));
    assert_eq!(made.pairs().0, ["1 -> \"one\"", "2 -> \"two\"", "3 -> \"three\""]);
}

/// Two agents of one session work at once with the same ids: only the requests that a result follows tell them apart.
#[test]
fn parents_tell_equal_ids_apart() {
    let mut made = Made::new();
    made.request("r1", "A", &[], &json!([]), &json!([call("x", 1)]));
    made.request("r2", "A", &[], &json!([]), &json!([call("x", 2)]));
    made.request("r3", "A", &["r2"], &json!([result("x", "two")]), &json!([]));
    made.request("r4", "A", &["r1"], &json!([result("x", "one")]), &json!([]));
    assert_eq!(made.pairs().0, ["1 -> \"one\"", "2 -> \"two\""]);
}

#[test]
fn a_turn_sent_twice_changes_nothing_and_strangers_fail_the_run() {
    let mut made = Made::new();
    made.request("r1", "A", &[], &json!([]), &json!([call("x", 1)]));
    made.request("r2", "A", &["r1"], &json!([result("x", "one")]), &json!([call("x", 2)]));
    // the same turn again, as after a timeout: it must not answer the newer call
    made.request("r3", "A", &["r1"], &json!([result("x", "one")]), &json!([call("y", 3)]));
    assert_eq!(made.audit(&["--fail-on", "error"]).0, 0);
    made.request("r4", "A", &["r3"], &json!([result("z", "what?"), {"content": "without id"}]), &json!([]));
    let (pairs, said) = made.pairs();
    assert_eq!(pairs, ["1 -> \"one\"", "2 -> \"no_result\"", "3 -> \"no_result\""]);
    assert!(said.contains("ORPHAN_RESULT (2 times)") && said.contains("DUPLICATE_COPY result"), "{said}");
    let (code, report) = made.audit(&[]);
    assert_eq!((code, &report["verdict"]), (2, &json!("failed")));
}

#[test]
fn findings_stand_in_the_capture_of_their_call() {
    let mut made = Made::new();
    let first = made.request("r1", "A", &[], &json!([]), &json!([call("a", 1)]));
    let second = made.request("r2", "A", &["r1"], &json!([result("a", "one")]), &json!([call("b", 1)]));
    made.request("r3", "A", &["r2"], &json!([result("b", "one")]), &json!([]));
    made.request("r9", "other", &[], &json!([]), &json!([]));
    let (code, report) = made.audit(&["--fail-on", "note"]);
    assert_eq!((code, &report["coverage"]["files"], &report["coverage"]["calls"]), (1, &json!(4), &json!(2)));
    let finding = &report["findings"][0];
    assert_eq!((&finding["kind"], &finding["line"]), (&json!("redundant-call"), &json!(2)), "{report:#}");
    let is =
        |value: &Value, path: &PathBuf| value.as_str().unwrap().ends_with(path.file_name().unwrap().to_str().unwrap());
    assert!(is(&finding["path"], &second), "{finding}");
    assert_eq!(finding["related"], json!({"index": 0, "line": 2}), "in the file that stands for the session");
    let session = report["files"].as_array().unwrap().iter().find(|file| file["calls"] == 2).unwrap();
    assert!(is(&session["path"], &first), "{session:#}");
    assert_eq!((&session["import"]["files"], &session["import"]["attached"]), (&json!(3), &json!(2)));
}

/// Marks of redacted secrets have another key in every capture.
#[test]
fn secrets_are_neither_equal_nor_different() {
    let mut made = Made::new();
    made.request("r1", "A", &[], &json!([]), &json!([call("a", 1)]));
    let told = result("a", "KEY=[REDACTED:github-token:1234] [REDACTED:no mark");
    made.request("r2", "A", &["r1"], &json!([told]), &json!([call("b", 1)]));
    made.request("r3", "A", &["r2"], &json!([result("b", "KEY=[REDACTED:github-token:abcd]")]), &json!([]));
    let (code, report) = made.audit(&["--fail-on", "note"]);
    assert_eq!((code, report["findings"].as_array().unwrap().len()), (0, 0), "{report:#}");
    let left = report["coverage"]["not_judged"].to_string();
    assert!(left.contains("2 calls whose result had secrets in it") && left.contains("1 pair of which"), "{left}");
    assert_eq!(
        made.pairs().0,
        ["1 -> \"KEY=[REDACTED:github-token] [REDACTED:no mark\"", "1 -> \"KEY=[REDACTED:github-token]\""]
    );
}

#[test]
fn what_a_capture_lost_is_said() {
    let mut made = Made::new();
    let cut = json!({"id": "a", "name": "f", "type": "function", "arguments": "{\"n", "partial": true});
    let list = json!({"captured_items": [cut], "capture_omitted_items": 3});
    made.request("r1", "A", &[], &json!([]), &list);
    let (code, report) = made.audit(&[]);
    assert_eq!((code, &report["coverage"]["calls"]), (2, &json!(1)), "{report:#}");
    let error = report["files"][0]["error"].to_string();
    assert!(error.contains("TRUNCATED calls not captured"), "{error}");

    // an issue that may hide calls counts however the reply ended, unless it was none of success
    let (success, refused, none) = (Some(json!(200)), Some(json!(500)), Some(Value::Null));
    for (issue, status, http_status, code) in [
        ("response_not_json", "ok", None, 2),
        ("response_not_json", "error", None, 2),
        ("response_not_json", "error", success.clone(), 2),
        ("response_not_decoded", "cancelled", success.clone(), 2),
        ("response_not_json", "error", refused.clone(), 0),
        ("response_not_json", "cancelled", none, 0),
        ("redirected_elsewhere", "ok", Some(json!(307)), 2),
        ("of_another_version", "error", success.clone(), 2),
        ("capture_overloaded", "cancelled", success.clone(), 2),
        ("missing_stream_done", "cancelled", success, 0),
        ("finish_reason_missing", "ok", None, 0),
    ] {
        let mut made = Made::new();
        made.request("r1", "A", &[], &json!([]), &json!([call("a", 1)]));
        made.http_status = http_status;
        made.reply("r2", status, &json!([]), &json!([issue]), &json!({}));
        let (got, report) = made.audit(&[]);
        assert_eq!(got, code, "{issue} {report:#}");
        assert!(report.to_string().contains(issue), "{issue} {report:#}");
    }
}

/// A proxy that was killed leaves a request without its reply.
#[test]
fn an_unfinished_capture_is_said() {
    let mut made = Made::new();
    made.request("r1", "A", &[], &json!([]), &json!([call("a", 1)]));
    let start = made.event(
        "r2",
        "start",
        "running",
        &json!({"session_id": "A", "agent_reported_tool_results": [result("a", "x")]}),
    );
    let end = json!({"model_requested_tools": [], "capture_issues": [], "response": {}});
    let cut = made.event("r2", "end", "ok", &end).to_string();
    let path = made.file(&format!("{start}\n"));
    let (pairs, said) = made.pairs();
    assert_eq!(pairs, ["1 -> \"x\""]);
    assert!(said.contains("TRUNCATED reply missing"), "{said}");
    assert_eq!(made.audit(&[]).0, 2);
    // its last line alone is missing: nothing of the reply is
    std::fs::write(&path, format!("{start}\n{cut}\n")).unwrap();
    assert!(made.pairs().1.contains("TRUNCATED unfinished capture"));
    assert_eq!(made.audit(&[]).0, 0);
    // and a capture of which not a word was written
    let empty = path.with_file_name("01a22a8d3580214665590e7d27332709.jsonl");
    std::fs::write(&empty, "").unwrap();
    assert_eq!(made.audit(&[]).0, 2);
    assert_eq!(run(["import", made.path()]).code, 2);
    std::fs::remove_file(empty).unwrap();
    std::fs::write(path, format!("{start}\n{}", &cut[..40])).unwrap();
    let (pairs, said) = made.pairs();
    assert!(pairs.len() == 1 && said.contains("BAD_LINE truncated-tail"), "{said}");
}

#[test]
fn no_tool_evidence_is_inconclusive() {
    let mut made = Made::new();
    made.request("r1", "A", &[], &json!([]), &json!([]));
    let (code, report) = made.audit(&[]);
    assert_eq!((code, &report["verdict"]), (2, &json!("inconclusive")));
    assert_eq!(made.audit(&["--allow-empty"]).0, 0);
    let document =
        made.file("{\"answer\": 1, \"execution_trace\": {\"version\": 1, \"trace_id\": \"t\", \"events\": []}}");
    let (code, report) = made.audit(&[]);
    assert_eq!((code, &report["verdict"]), (2, &json!("inconclusive")), "{}", document.display());
}

/// Sessions are found whatever else lies in the folder, and a file that is named twice is read once.
#[test]
fn sessions_are_told_by_content_alone() {
    let mut made = Made::new();
    let first = made.request("r1", "A", &[], &json!([]), &json!([call("a", 1)]));
    made.request("r2", "A", &["r1"], &json!([result("a", "one")]), &json!([]));
    made.file("{\"index\":0,\"tool\":\"t\",\"args\":{},\"response\":{}}\n");
    let broken = made.file("{\"version\":1,\"trace_id\":");
    std::fs::rename(&first, first.with_file_name("a name of one's own.json")).unwrap();
    let link = made.folder.path().join("link.jsonl");
    #[cfg(unix)]
    std::os::unix::fs::symlink("nowhere", &link).unwrap();
    let (code, report) = made.audit(&[]);
    assert_eq!(code, 2, "the broken file and the link are in the report");
    let files = report["files"].as_array().unwrap();
    let session = files.iter().find(|file| file["import"]["files"] == 2).unwrap();
    assert_eq!((&session["calls"], &session["import"]["orphans"]), (&json!(1), &json!(0)), "{report:#}");
    // import fails as well, and passes over what may be anything
    let _ = std::fs::remove_file(link);
    assert_eq!(run(["import", made.path()]).code, 2);
    // zero bytes are what a power cut leaves
    std::fs::write(&broken, [0; 500]).unwrap();
    assert_eq!((made.audit(&[]).0, run(["import", made.path()]).code), (2, 2));
    let other = broken.with_extension("json");
    std::fs::rename(&broken, &other).unwrap();
    assert_eq!((made.audit(&[]).0, run(["import", made.path()]).code), (2, 2));
    std::fs::write(&other, "what somebody noted").unwrap();
    let ran = run(["import", made.path()]);
    assert!(ran.stdout.lines().count() == 1 && ran.stderr.contains("; passed over"), "{}", ran.stderr);
}

#[test]
fn a_session_in_one_file_is_the_same_session() {
    let mut made = Made::new();
    let files = [
        made.request("r1", "A", &[], &json!([]), &json!([call("x", 1)])),
        made.request("r2", "B", &[], &json!([]), &json!([call("x", 2)])),
        made.request("r3", "A", &["r1"], &json!([result("x", "one")]), &json!([])),
        made.request("r4", "B", &["r2"], &json!([result("x", "two")]), &json!([])),
    ];
    let apart = made.pairs().0;
    let text: String = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
    files.iter().for_each(|file| std::fs::remove_file(file).unwrap());
    made.file(&text);
    assert_eq!(made.pairs().0, apart);
    let out = made.folder.path().join("out.jsonl");
    let ran = run(["import", "--agents", "separate", "--output", out.to_str().unwrap(), made.path()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for (part, n) in [("1", 1), ("2", 2)] {
        let text = std::fs::read_to_string(out.with_file_name(format!("out.{part}.jsonl"))).unwrap();
        assert!(text.lines().count() == 1 && text.contains(&format!("\"n\":{n}")), "{text}");
    }
}

/// A call with an id that every call has takes no time by the square of their number.
#[test]
fn ids_that_are_all_the_same_take_no_square_of_time() {
    let mut made = Made::new();
    let mut text = String::new();
    for number in 0..30_000 {
        let id = format!("r{number}");
        let start = made.event(
            &id,
            "start",
            "running",
            &json!({"session_id": "A", "agent_reported_tool_results": [result("x", "y")]}),
        );
        let data = json!({"model_requested_tools": [call("x", 1)], "capture_issues": [], "response": {}});
        let end = made.event(&id, "end", "ok", &data);
        text.push_str(&format!("{start}\n{end}\n"));
    }
    made.seconds = 0;
    made.file(&text.replace("T00:", "T01:"));
    let (_, report) = made.audit(&["--allow-loss"]);
    assert_eq!(report["coverage"]["calls"], 30_000);
}

/// The tools of Claude Code are known by their names, so that a shell command that only reads lies between no two calls.
#[test]
fn tools_of_known_agents_are_known() {
    let used =
        |id: &str, tool: &str, args: Value| json!({"id": id, "name": tool, "type": "tool_use", "arguments": args});
    let read = |id: &str| used(id, "Read", json!({"file_path": "a"}));
    for (command, found) in [("ls -l", 1), ("make", 0)] {
        let mut made = Made::new();
        let bash = used("b", "Bash", json!({"command": command}));
        let files = [
            made.request("r1", "A", &[], &json!([]), &json!([read("a")])),
            made.request("r2", "A", &["r1"], &json!([result("a", "x")]), &json!([bash])),
            made.request("r3", "A", &["r2"], &json!([result("b", "done")]), &json!([read("c")])),
            made.request("r4", "A", &["r3"], &json!([result("c", "x")]), &json!([])),
        ];
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            std::fs::write(file, text.replace("openai_chat_completions", "anthropic_messages")).unwrap();
        }
        let (code, report) = made.audit(&[]);
        assert_eq!((code, report["findings"].as_array().unwrap().len()), (found, found as usize), "{report:#}");
    }
}

/// A capture that is there twice, as after a careless copy, is one.
#[test]
fn a_capture_that_is_there_twice_is_one() {
    let mut made = Made::new();
    let files = [
        made.request("r1", "A", &[], &json!([]), &json!([call("x", 1), call("x", 1), call("y", 2)])),
        made.request(
            "r2",
            "A",
            &["r1"],
            &json!([result("x", "one"), result("x", "one"), result("y", "two")]),
            &json!([]),
        ),
    ];
    let alone = made.pairs().0;
    assert_eq!(alone, ["1 -> \"one\"", "1 -> \"one\"", "2 -> \"two\""]);
    for file in files {
        std::fs::copy(&file, file.with_extension("copy.jsonl")).unwrap();
    }
    let (pairs, said) = made.pairs();
    assert_eq!(pairs, alone, "{said}");
    assert!(said.contains("6 = 3 records + 3 copies dropped") && said.contains("6 = 3 attached + 3 copies"), "{said}");
}

/// A reply whose copy was cut may have had calls; one that is only shown shorter has them all.
#[test]
fn a_reply_that_may_lack_calls_fails_the_run() {
    let one = json!([call("a", 1)]);
    for (calls, issues, response, code) in [
        (json!([]), json!(["capture_byte_limit", "tool_calls_incomplete"]), json!(null), 2),
        (json!([]), json!(["capture_byte_limit"]), json!(null), 2),
        (one.clone(), json!(["capture_byte_limit"]), json!({"truncated": true}), 0),
        (one.clone(), json!(["capture_byte_limit", "tool_calls_incomplete"]), json!({}), 2),
        (json!([]), json!(["finish_reason_mismatch"]), json!({}), 2),
        (one.clone(), json!(["finish_reason_mismatch"]), json!({}), 0),
        (json!([]), json!(["invalid_sse_chunk"]), json!({}), 2),
        (json!([]), json!(["missing_stream_done"]), json!({}), 0),
        (json!([]), json!(["missing_stream_done", "finish_reason_missing"]), json!({}), 2),
        (json!([]), json!(["a code of a later version"]), json!({}), 2),
    ] {
        let mut made = Made::new();
        made.request("r0", "A", &[], &json!([]), &one);
        made.reply("r1", "ok", &calls, &issues, &response);
        let (got, report) = made.audit(&[]);
        assert_eq!(got, code, "{issues} {report:#}");
    }
}

/// What a capture says of itself must hold.
#[test]
fn evidence_that_was_taken_out_is_missed() {
    let told = json!([result("a", "one")]);
    let lines = |made: &mut Made| {
        made.request("r0", "A", &[], &json!([]), &json!([call("z", 9)]));
        let start =
            made.event("r1", "start", "running", &json!({"session_id": "A", "agent_reported_tool_results": []}));
        let data = json!({"model_requested_tools": [call("a", 1)], "capture_issues": [], "response": {}});
        let end = made.event("r1", "end", "ok", &data);
        (start, end)
    };
    type Edit = fn(&Value, &Value) -> String;
    let edits: [(&str, Edit); 10] = [
        ("reply missing", |start, _| format!("{start}\n{}\n", summary("r1", 2))),
        ("events missing", |start, end| format!("{start}\n{end}\n{}\n", summary("r1", 5))),
        ("events missing", |_, end| format!("{end}\n{}\n", summary("r1", 2))),
        ("events missing", |_, _| format!("{}\n", summary("r1", 2))),
        ("sequence", |start, end| format!("{start}\n{end}\n{}\n", end.to_string().replace("\"n\":1", "\"n\":2"))),
        ("stands there twice", |start, end| {
            let twice = end.to_string().replace("\"data\":{", "\"data\":{\"model_requested_tools\":[],");
            format!("{start}\n{twice}\n{}\n", summary("r1", 2))
        }),
        ("expected a list of calls", |start, end| {
            let mut end = end.clone();
            end["data"]["model_requested_tools"] = json!(null);
            format!("{start}\n{end}\n{}\n", summary("r1", 2))
        }),
        ("expected an object for each", |start, end| {
            let mut end = end.clone();
            end["data"]["model_requested_tools"] = json!(["rm"]);
            format!("{start}\n{end}\n{}\n", summary("r1", 2))
        }),
        ("expected an object for each", |start, end| {
            let mut end = end.clone();
            end["data"]["model_requested_tools"] = json!([{"capture_omitted": "size"}]);
            format!("{start}\n{end}\n{}\n", summary("r1", 2))
        }),
        ("expected a list of 'capture_issues'", |start, end| {
            let mut end = end.clone();
            end["data"]["capture_issues"] = json!("capture_overloaded");
            format!("{start}\n{end}\n{}\n", summary("r1", 2))
        }),
    ];
    for (what, edit) in edits {
        let mut made = Made::new();
        let (start, end) = lines(&mut made);
        made.file(&edit(&start, &end));
        let (code, report) = made.audit(&[]);
        assert_eq!(code, 2, "{what} {report:#}");
        assert!(report.to_string().contains(what), "{what} {report:#}");
    }
    // a parent that is not there: its result belongs to no other call of that id
    let mut made = Made::new();
    made.request("r1", "A", &[], &json!([]), &json!([call("a", 1)]));
    made.request("r3", "A", &["r2"], &told, &json!([]));
    let (pairs, said) = made.pairs();
    assert_eq!(pairs, ["1 -> \"no_result\""]);
    assert!(said.contains("ORPHAN_RESULT") && said.contains("it follows the request 'r2'"), "{said}");
    assert_eq!(made.audit(&[]).0, 2);
}

/// Requests stand behind those they follow, and their calls as well, whatever the clock was set to meanwhile.
#[test]
fn clocks_that_go_back_change_nothing() {
    let mut made = Made::new();
    let files = [
        made.request("r1", "A", &[], &json!([]), &json!([call("c", 1)])),
        made.request("r2", "A", &["r1"], &json!([result("c", "one")]), &json!([call("c", 2)])),
        made.request("r3", "A", &["r2"], &json!([result("c", "two")]), &json!([])),
    ];
    for (hour, file) in (10..13).rev().zip(&files) {
        let text = std::fs::read_to_string(file).unwrap();
        std::fs::write(file, text.replace("2026-01-01T00", &format!("2026-01-01T{hour}"))).unwrap();
    }
    assert_eq!(made.pairs().0, ["1 -> \"one\"", "2 -> \"two\""]);
}

/// A capture that was compressed, or saved by an editor with a mark of its own, is in its session all the same.
#[test]
fn captures_are_in_their_session_however_they_are_stored() {
    let mut made = Made::new();
    made.request("r1", "A", &[], &json!([]), &json!([call("c", 1)]));
    let second = made.request("r2", "A", &["r1"], &json!([result("c", "one")]), &json!([]));
    let text = std::fs::read_to_string(&second).unwrap();
    std::fs::write(&second, format!("\u{feff}{}", text.replace('\n', "\r\n"))).unwrap();
    assert_eq!(made.audit(&[]).0, 0);
    assert_eq!(made.pairs().0, ["1 -> \"one\""]);
}

/// Marks of what an import itself redacts are others each time, and yet the same document is the same.
#[test]
fn a_document_with_secrets_that_is_named_twice_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let sample = crate::root().join("samples/import/toolreplay-capture/document.json");
    let text = std::fs::read_to_string(sample)
        .unwrap()
        .replace("{\n    \"kind\": \"tool\"\n   }", "")
        .replace("},\n   \n", "}\n");
    let paths = ["a.json", "b.json"].map(|name| folder.path().join(name));
    for path in &paths {
        std::fs::write(path, &text).unwrap();
    }
    let ran = run(["import", "--allow-loss", paths[0].to_str().unwrap(), paths[1].to_str().unwrap()]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (0, 4), "{}", ran.stderr);
    assert!(!ran.stdout.contains("hunter2") && !ran.stderr.contains("another event"), "{}", ran.stderr);
}
