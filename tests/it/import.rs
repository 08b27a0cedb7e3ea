//! Recordings in other formats: what the samples under `samples/import` do not show by themselves.

use crate::{root, run};
use serde_json::{Value, json};
use std::path::Path;

/// A line of a Claude Code session.
fn line(kind: &str, number: u64, message: &str, blocks: Value) -> String {
    let record = json!({
        "type": kind, "sessionId": "s", "uuid": format!("u{number}"), "isSidechain": false,
        "timestamp": format!("2026-01-01T00:00:{number:02}Z"),
        "message": {"role": kind, "id": message, "content": blocks},
    });
    format!("{record}\n")
}

fn call(number: u64, message: &str, id: &str, tool: &str, args: Value) -> String {
    line("assistant", number, message, json!([{"type": "tool_use", "id": id, "name": tool, "input": args}]))
}

fn answer(number: u64, id: &str, text: &str) -> String {
    line("user", number, "", json!([{"type": "tool_result", "tool_use_id": id, "content": text}]))
}

fn audit(path: &Path, more: &[&str]) -> (i32, Value) {
    let path = path.to_str().unwrap();
    let ran = run([&["audit", "--no-config", "--format", "json", path][..], more].concat());
    (ran.code, serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr)))
}

fn written(folder: &tempfile::TempDir, name: &str, text: &str) -> std::path::PathBuf {
    let path = folder.path().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}

/// The place of a finding comes from the parser: the same id stands on three lines, and the blank ones count.
#[test]
fn a_finding_points_at_its_line_where_ids_are_reused() {
    let folder = tempfile::tempdir().unwrap();
    let text = [
        call(0, "m1", "same", "Read", json!({"file_path": "a"})),
        answer(1, "same", "A"),
        "\n\n".to_owned(),
        call(2, "m2", "same", "Read", json!({"file_path": "b"})),
        answer(3, "same", "B"),
        call(4, "m3", "other", "Read", json!({"file_path": "b"})),
        answer(5, "other", "B"),
    ]
    .concat();
    let (code, report) = audit(&written(&folder, "s.jsonl", &text), &[]);
    let findings = report["findings"].as_array().unwrap();
    assert_eq!((code, findings.len()), (1, 1), "{report:#}");
    assert_eq!(findings[0]["kind"], "redundant-call");
    assert_eq!((&findings[0]["line"], &findings[0]["index"]), (&json!(7), &json!(2)));
    assert_eq!(findings[0]["related"], json!({"index": 1, "line": 5}));
}

/// In a document every call has the line, and in one long line the column, of its own value.
#[test]
fn a_finding_in_a_document_points_at_its_value() {
    let folder = tempfile::tempdir().unwrap();
    let call = |id: &str| json!({"role": "assistant", "tool_calls": [{"id": id, "type": "function", "function": {"name": "get", "arguments": "{}"}}]});
    let tool = |text: &str| json!({"role": "tool", "tool_call_id": "x", "content": text});
    let messages = json!([call("x"), tool("1"), call("x"), tool("1")]);
    let text = messages.to_string();
    let (_, report) = audit(&written(&folder, "one-line.json", &text), &[]);
    let finding = &report["findings"][0];
    let second = text.match_indices("{\"function\"").nth(1).unwrap().0 + 1;
    assert_eq!((&finding["line"], &finding["column"]), (&json!(1), &json!(second)), "{report:#}");
    let pretty = serde_json::to_string_pretty(&messages).unwrap();
    let (_, report) = audit(&written(&folder, "pretty.json", &pretty), &[]);
    let at = pretty.match_indices("\"function\": {").nth(1).unwrap().0;
    let line = pretty[..at].matches('\n').count();
    assert_eq!(report["findings"][0]["line"], json!(line), "{report:#}");
}

/// A call that never ran changed nothing, is repeated by nothing, and is no more than an attempt on the scope.
#[test]
fn calls_that_never_ran_are_attempts() {
    let folder = tempfile::tempdir().unwrap();
    let rejected = line(
        "user",
        3,
        "",
        json!([{"type": "tool_result", "tool_use_id": "w", "is_error": true, "content": "The user doesn't want to proceed with this tool use."}]),
    );
    let text = [
        call(0, "m1", "r1", "Read", json!({"file_path": "a"})),
        answer(1, "r1", "A"),
        call(2, "m2", "w", "Write", json!({"file_path": "a"})),
        rejected,
        call(4, "m3", "r2", "Read", json!({"file_path": "a"})),
        answer(5, "r2", "A"),
        call(6, "m4", "w2", "Write", json!({"file_path": "a"})),
        answer(7, "w2", "done"),
    ]
    .concat();
    let session = written(&folder, "s.jsonl", &text);
    let scope = written(&folder, "scope.json", "{\"agent\":\"reader\",\"allowed_tools\":[\"Read\"]}");
    let (_, report) = audit(&session, &["--scope", scope.to_str().unwrap()]);
    let found: Vec<(&str, &str, u64)> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| (f["kind"].as_str().unwrap(), f["level"].as_str().unwrap(), f["index"].as_u64().unwrap()))
        .collect();
    let expected = [
        ("permission-overreach", "warning", 1),
        ("redundant-call", "warning", 2),
        ("permission-overreach", "error", 3),
    ];
    assert_eq!(found, expected);
    assert!(report["findings"][0]["message"].as_str().unwrap().ends_with("(attempted: the call never ran)"));
}

#[test]
fn losses_fail_a_run_unless_they_are_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let text = [
        answer(0, "gone", "what was this?"),
        call(1, "m1", "a", "Read", json!({"file_path": "a"})),
        answer(2, "a", "A"),
        call(3, "m2", "b", "Read", json!({"file_path": "a"})),
        answer(4, "b", "A"),
    ]
    .concat();
    let session = written(&folder, "s.jsonl", &text);
    let (code, report) = audit(&session, &[]);
    assert_eq!((code, &report["verdict"]), (2, &json!("failed")));
    // what could be read was judged all the same
    let kinds: Vec<&str> =
        report["findings"].as_array().unwrap().iter().map(|finding| finding["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["redundant-call", "malformed-transcript"]);
    assert_eq!(audit(&session, &["--allow-loss"]).0, 1);
    let shown = session.to_str().unwrap();
    for command in ["replay", "import", "seal"] {
        assert_eq!(run([command, shown]).code, 2, "{command}");
        assert_ne!(run([command, shown, "--allow-loss"]).code, 2, "{command}");
    }
}

/// A folder holds much that is no recording; what is named must be one.
#[test]
fn only_what_was_named_must_be_a_recording() {
    let folder = tempfile::tempdir().unwrap();
    written(&folder, "package.json", "{\"name\":\"x\",\"version\":\"1\"}");
    written(&folder, "notes/data.json", "[1,2,3]");
    written(&folder, "tsconfig.json", "// a comment\n{\n  \"compilerOptions\": {\"strict\": true},\n}\n");
    written(&folder, "train.jsonl", &"{\"text\":\"a\"}\n".repeat(100));
    written(&folder, "pairs.ndjson", &"{\"prompt\":\"a\",\"response\":\"b\",\"index\":1}\n".repeat(100));
    written(&folder, "cut.json", "{\"name\":\"x\",\"version\":");
    written(&folder, "readme.txt", "hello");
    let text = [call(0, "m1", "a", "Read", json!({"file_path": "a"})), answer(1, "a", "A")].concat();
    written(&folder, "runs/s.jsonl", &text);
    written(&folder, "runs/s/subagents/agent-1.jsonl", &text.replace("\"s\"", "\"t\"").replace(":false", ":true"));
    let (code, report) = audit(folder.path(), &[]);
    assert_eq!((code, &report["coverage"]["files"], report["files"].as_array().unwrap().len()), (0, &json!(1), 1));
    let not_judged = report["coverage"]["not_judged"].to_string();
    assert!(not_judged.contains("6 other files in folders, by their content no recordings"), "{not_judged}");
    assert!(not_judged.contains("1 other file in folders, by their names no transcripts"), "{not_judged}");
    assert_eq!(run(["audit", "--no-config", folder.path().join("package.json").to_str().unwrap()]).code, 2);
}

/// What looks like a recording, by its name or its start, and cannot be read fails the run, whatever lies beside it.
#[test]
fn a_damaged_recording_in_a_folder_is_no_file_of_another_kind() {
    let atif =
        json!({"schema_version": "ATIF-v1.2", "agent": {"name": "x"}, "steps": [{"step_id": 1, "source": "user"}]});
    let (atif, line) = (atif.to_string(), call(0, "m1", "a", "Read", json!({"file_path": "a"})));
    let packed = |text: &str| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut out, text.as_bytes()).unwrap();
        out.finish().unwrap()
    };
    let pretty = |text: &str| text.replace(":{", ":\n{");
    let (gz, text) = (packed(&line), line.as_bytes());
    let junk = "{\"text\":\"nothing\"}\n".repeat(60);
    for (name, bytes) in [
        ("cut.jsonl.gz", gz[..gz.len() - 9].to_vec()),
        ("head.jsonl.gz", [b"XX", &gz[2..]].concat()),
        ("crc.jsonl.gz", {
            let mut bad = gz.clone();
            let at = bad.len() - 6;
            bad[at] ^= 1;
            bad
        }),
        ("head.json.gz", [b"XX", &packed(&atif)[2..]].concat()),
        ("cut.json", atif.as_bytes()[..atif.len() - 10].to_vec()),
        ("lines.json", pretty(&atif).as_bytes()[..atif.len() - 10].to_vec()),
        ("first.json", [b"\x01", atif.as_bytes()].concat()),
        ("zeros.json", vec![0; 500]),
        ("cut.json.gz", packed(&atif[..atif.len() - 10])),
        ("cut.traj", b"{\"trajectory\": [{\"action\": \"ls".to_vec()),
        ("other.traj", b"{\"a\": 1}".to_vec()),
        ("other.eval", b"{\"a\": 1}".to_vec()),
        ("bytes.eval", vec![1, 2, 3]),
        ("bytes.jsonl.zst", b"\x28\xb5\x2f\xfd\x00".to_vec()),
        ("text.jsonl.zst", text[..20].to_vec()),
        ("text.jsonl", b"not JSON".to_vec()),
        ("later.jsonl", [junk.as_bytes(), text].concat()),
        ("native.jsonl", b"{\"index\":0,\"tool\":\"t\",\"args\":{}}\n".to_vec()),
    ] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(name), bytes).unwrap();
        written(&folder, "good.jsonl", &[line.clone(), answer(1, "a", "A")].concat());
        let (code, report) = audit(folder.path(), &[]);
        let findings = report["findings"].as_array().unwrap();
        assert!(code == 2 && findings.len() == 1, "{name}: {code} {report:#}");
        let file = findings[0]["file"].as_str().or(report["files"][0]["path"].as_str()).unwrap_or_default();
        assert_eq!(findings[0]["kind"], "malformed-transcript", "{name} {file}");
        let ran = run(["import", folder.path().to_str().unwrap()]);
        if name != "native.jsonl" {
            assert_eq!(ran.code, 2, "{name}: {}", ran.stderr);
        }
    }
}

/// JSON of no known format is called that, with what was near.
#[test]
fn what_is_no_recording_is_called_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    for (text, said) in [
        (
            "{\n \"name\": \"x\"\n}\n",
            "neither a transcript nor a recording: valid JSON in no known format: an object with 'name'; no format is near",
        ),
        (
            "[\n {\"type\": \"user\", \"message\": {\"a\": 1}, \"num_turns\": 3}\n]\n",
            "valid JSON in no known format: a list; nearest: claude-stream-json (it has 'type', 'message', 'num_turns', and lacks 'session_id', 'subtype'",
        ),
        ("{\"a\": 1, \"b\": 2}\n{\"a\": 1, \"b\": 2}\n", "line 1: unexpected field(s): a, b; nor is it in a format"),
        ("{\"name\": \"x\"", "line 1: column 13: not JSON: truncated"),
    ] {
        let path = written(&folder, "it.json", text);
        let path = path.to_str().unwrap();
        let (audit, import) = (run(["audit", "--no-config", path]), run(["import", path]));
        assert_eq!((audit.code, import.code), (2, 2));
        let all = audit.stdout + &audit.stderr;
        assert!(all.contains(said), "{all}");
        assert!(said.contains("line 1") || !all.contains("truncated"), "{all}");
        assert!(
            !said.contains("valid JSON") || import.stderr.contains("valid JSON in no known format"),
            "{}",
            import.stderr
        );
    }
}

#[test]
fn formats_can_be_named_and_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    // one line of either kind: nobody can tell
    let codex = json!({"timestamp": "t", "type": "response_item", "payload": {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "1"}});
    let path = written(&folder, "x.jsonl", &format!("{}{codex}\n", call(0, "m", "a", "Read", json!({}))));
    let path = path.to_str().unwrap();
    let refused = run(["import", path]);
    assert!(refused.code == 2 && refused.stderr.contains("claude-code (1)"), "{}", refused.stderr);
    let named = run(["import", path, "--from", "codex"]);
    assert!(named.code == 2 && named.stderr.contains("UNREAD_RECORD assistant"), "{}", named.stderr);
    let named = run(["import", path, "--from", "codex", "--allow-loss"]);
    assert_eq!((named.code, named.stdout.contains("\"tool\":\"f\"")), (0, true), "{}", named.stderr);
    let native = run(["replay", "--from", "native", path]);
    assert!(native.code == 2 && native.stderr.starts_with("error: line 1: "), "{}", native.stderr);
    let listed = run(["formats"]).stdout;
    for importer in toolreplay::formats::FORMATS {
        assert!(listed.contains(importer.id) && run(["formats", importer.id]).stdout.contains("tools: "));
        let page = std::fs::read_to_string(root().join("docs/formats.md")).unwrap();
        assert!(page.contains(&format!("\n## `{}`", importer.id)), "docs/formats.md lacks {}", importer.id);
        let samples = root().join("samples/import").join(importer.id);
        assert!(samples.read_dir().is_ok_and(|mut files| files.next().is_some()), "no samples of {}", importer.id);
    }
}

/// What a forked session takes over counts once in a folder, as it does where both files are named together.
#[test]
fn a_folder_counts_what_sessions_share_once() {
    let folder = tempfile::tempdir().unwrap();
    let record = |uuid: &str, id: &str, session: &str| {
        let message = json!({"id": format!("m{id}"), "role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": id}}]});
        let own = format!("{uuid}-1111-4222-8333-444455556666");
        format!("{}\n", json!({"type": "assistant", "sessionId": session, "uuid": own, "message": message}))
    };
    let shared = record("0a0a0a0a", "t1", "one");
    written(&folder, "a.jsonl", &shared);
    written(&folder, "b.jsonl", &format!("{shared}{}", record("0b0b0b0b", "t2", "two")));
    written(&folder, "c.jsonl", &record("0c0c0c0c", "t1", "three"));
    let audit = run(["audit", "--no-config", "--format", "json", folder.path().to_str().unwrap()]);
    let report: serde_json::Value = serde_json::from_str(&audit.stdout).unwrap();
    assert_eq!((&report["coverage"]["calls"], &report["coverage"]["files"]), (&json!(3), &json!(3)), "{report}");
}

/// The same of Codex, whose forks begin with the calls of the session they come from.
#[test]
fn a_folder_counts_what_forks_of_codex_share_once() {
    let folder = tempfile::tempdir().unwrap();
    let meta = |id: &str| {
        format!("{}\n", json!({"timestamp": "2026-06-01T00:00:00Z", "type": "session_meta", "payload": {"id": id}}))
    };
    let turn = |id: &str| {
        let item = |payload: Value| {
            format!("{}\n", json!({"timestamp": "2026-06-01T00:00:00Z", "type": "response_item", "payload": payload}))
        };
        item(
            json!({"type": "function_call", "name": "exec_command", "arguments": format!("{{\"cmd\":\"cat {id}\"}}"), "call_id": id}),
        ) + &item(json!({"type": "function_call_output", "call_id": id, "output": id}))
    };
    let first = turn("call_0123456789abcdef");
    written(&folder, "a.jsonl", &format!("{}{first}", meta("one")));
    written(&folder, "b.jsonl", &format!("{}{}{first}{}", meta("two"), meta("one"), turn("call_fedcba9876543210")));
    // short ids are made up, and may be anybody's
    written(&folder, "c.jsonl", &format!("{}{}", meta("three"), turn("call_1")));
    written(&folder, "d.jsonl", &format!("{}{}", meta("four"), turn("call_1")));
    let audit = run(["audit", "--no-config", "--format", "json", folder.path().to_str().unwrap()]);
    let report: serde_json::Value = serde_json::from_str(&audit.stdout).unwrap();
    assert_eq!((&report["coverage"]["calls"], &report["coverage"]["files"]), (&json!(4), &json!(4)), "{report}");
    let books = &report["files"][0]["import"];
    assert_eq!((&books["records"], &books["call_copies"]), (&json!(2), &json!(1)), "{books}");
}

/// A log of requests to the Responses API has in each all that was said before, as the client sends it back: without ids,
/// states and what the model thought.
#[test]
fn a_log_of_responses_counts_its_history_once() {
    let folder = tempfile::tempdir().unwrap();
    let call = |n: u32| json!({"type": "function_call", "id": format!("fc_{n}"), "status": "completed", "call_id": format!("c{n}"), "name": "read", "arguments": format!("{{\"n\":{n}}}")});
    let sent = |n: u32| json!({"type": "function_call", "call_id": format!("c{n}"), "name": "read", "arguments": format!("{{\"n\":{n}}}")});
    let result =
        |n: u32| json!({"type": "function_call_output", "call_id": format!("c{n}"), "output": format!("R{n}")});
    let thought = json!({"type": "reasoning", "id": "rs", "summary": []});
    let told = json!({"type": "message", "role": "assistant", "id": "m", "status": "completed", "content": [{"type": "output_text", "text": "é", "annotations": []}]});
    let user = json!({"role": "user", "content": "go"});
    let output = |items: Value| json!({"object": "response", "output": items});
    let rows = [
        json!({"input": [user], "response": output(json!([thought, told, call(1)]))}),
        json!({"request": {"input": [user, {"role": "assistant", "content": "é"}, sent(1), result(1)]}, "response": output(json!([call(2), call(3)]))}),
        json!({"request": {"input": [user, {"role": "assistant", "content": "é"}, thought, sent(1), result(1), sent(2), sent(3), result(2), result(3)]}, "response": output(json!([call(4)]))}),
    ];
    let text = |rows: &[Value]| rows.iter().map(|row| format!("{row}\n")).collect::<String>();
    let path = written(&folder, "log.jsonl", &text(&rows));
    let ran = run(["import", path.to_str().unwrap()]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (0, 4), "{}{}", ran.stdout, ran.stderr);
    for said in [
        "calls in: 8 = 4 records + 4 copies dropped",
        "results in: 4 = 3 attached + 1 copies dropped",
        "DUPLICATE_COPY history",
    ] {
        assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
    }
    // runs of one question are runs, and so is the same one twice
    let twice = written(&folder, "runs.jsonl", &text(&[rows[0].clone(), rows[0].clone()]));
    assert_eq!(run(["import", twice.to_str().unwrap()]).stdout.lines().count(), 2);
}

/// A tool without a name is no tool that anybody knows: it is said.
#[test]
fn a_tool_without_a_name_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let calls = json!([
        {"id": "a", "type": "function", "function": {"name": "", "arguments": "{}"}},
        {"id": "b", "type": "function", "function": {"arguments": "{}"}},
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}},
    ]);
    let path =
        written(&folder, "a.json", &json!({"messages": [{"role": "assistant", "tool_calls": calls}]}).to_string());
    let ran = run(["import", path.to_str().unwrap()]);
    assert!(ran.stderr.contains("NAME_MISSING"), "{}", ran.stderr);
    let (_, report) = audit(&path, &[]);
    let warnings = report["files"][0]["import"]["warnings"].as_array().unwrap();
    let counted = warnings.iter().find(|warning| warning["code"] == "NAME_MISSING").map(|warning| &warning["count"]);
    assert_eq!(counted, Some(&json!(2)), "{report}");
}

/// What a finding points at on a line of many calls: the same text by characters, by UTF-16 code units, and in words.
#[test]
fn findings_point_at_the_call_on_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let call =
        |id: &str| json!({"id": id, "type": "function", "function": {"name": "read", "arguments": "{\"p\":\"😀\"}"}});
    let row = json!({"messages": [
        {"role": "user", "content": "é😀"},
        {"role": "assistant", "tool_calls": [call("a"), call("b")]},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "b", "content": "1"},
    ]});
    let text = row.to_string();
    let path = written(&folder, "rows.jsonl", &format!("{text}\n"));
    let (_, report) = audit(&path, &[]);
    let finding = &report["findings"][0];
    let column = finding["column"].as_u64().unwrap() as usize;
    let rest: String = text.chars().skip(column - 1).collect();
    let second = call("b").to_string();
    assert!(rest.starts_with(&second), "{finding}");
    assert_eq!(finding["width"].as_u64().unwrap() as usize, second.encode_utf16().count(), "{finding}");
    let sarif = run(["audit", "--no-config", "--format", "sarif", path.to_str().unwrap()]);
    let sarif: Value = serde_json::from_str(&sarif.stdout).unwrap();
    let region = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"];
    let units: Vec<u16> = text.encode_utf16().collect();
    let span = |name: &str| region[name].as_u64().unwrap() as usize - 1;
    assert_eq!(String::from_utf16(&units[span("startColumn")..span("endColumn")]).unwrap(), second, "{region}");
    let words = run(["audit", "--no-config", path.to_str().unwrap()]);
    assert!(words.stdout.contains(&format!("rows.jsonl:1:{column} (index 1;")), "{}", words.stdout);
}

/// A line that holds several calls says at which column each stands; a line of one call needs none.
#[test]
fn calls_that_share_a_line_have_columns() {
    let folder = tempfile::tempdir().unwrap();
    let call =
        |id: usize| json!({"id": format!("c{id}"), "type": "function", "function": {"name": "é", "arguments": "{}"}});
    let calls: Vec<serde_json::Value> = (0..72).map(call).collect();
    let one = json!({"messages": [{"role": "user", "content": "u"}, {"role": "assistant", "tool_calls": [call(0)]}]})
        .to_string();
    let many =
        json!({"messages": [{"role": "user", "content": "ü"}, {"role": "assistant", "tool_calls": calls}]}).to_string();
    let path = written(&folder, "rows.jsonl", &format!("{one}\n{many}\n"));
    let report = folder.path().join("report.json");
    run(["import", path.to_str().unwrap(), "--report-losses", report.to_str().unwrap()]);
    let report: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&report).unwrap()).unwrap();
    let records = report["records"].as_array().unwrap();
    assert_eq!(records.len(), 73, "{report}");
    let columns: Vec<u64> = records.iter().map(|record| record["place"]["column"].as_u64().unwrap_or(0)).collect();
    assert_eq!(columns[0], 0, "{report}");
    for (at, column) in columns[1..].iter().enumerate() {
        let before: String = many.chars().take(*column as usize - 1).collect();
        assert!(many[before.len()..].starts_with(&call(at).to_string()), "call {at}, column {column}");
    }
}

/// The side report says of every record where it came from, and its sums are those of the import.
#[test]
fn the_side_report_follows_its_books() {
    let folder = tempfile::tempdir().unwrap();
    let (out, side) = (folder.path().join("out.jsonl"), folder.path().join("side.json"));
    let ran = run([
        "import",
        "samples/import/claude-code/agents.jsonl",
        "-o",
        out.to_str().unwrap(),
        "--report-losses",
        side.to_str().unwrap(),
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let side: Value = serde_json::from_slice(&std::fs::read(&side).unwrap()).unwrap();
    let schema: Value = serde_json::from_str(&toolreplay::schema::text("import").unwrap()).unwrap();
    let faults: Vec<String> =
        jsonschema::validator_for(&schema).unwrap().iter_errors(&side).map(|fault| fault.to_string()).collect();
    assert!(faults.is_empty(), "{faults:?}");
    let records = side["records"].as_array().unwrap();
    assert_eq!(std::fs::read_to_string(&out).unwrap().lines().count(), records.len());
    let calls = |name: &str| side["calls"][name].as_u64().unwrap();
    assert_eq!(calls("in"), calls("records") + calls("copies_dropped") + calls("excluded"));
    assert_eq!(records[3]["thread"], "agent:aaa");
    assert_eq!(
        records[3]["place"],
        json!({"file": "samples/import/claude-code/agents/subagents/agent-aaa.jsonl", "line": 1, "column": null})
    );
    assert_eq!(records[0]["time"], "2026-03-01T10:00:01.000000000Z");
}

#[test]
fn agents_can_be_left_out_or_written_apart() {
    let folder = tempfile::tempdir().unwrap();
    let sample = "samples/import/claude-code/agents.jsonl";
    let main = run(["import", sample, "--agents", "main"]);
    assert_eq!(main.stdout.lines().count(), 3);
    assert!(
        main.stderr.contains("calls in: 7 = 3 records + 1 copies dropped + 3 excluded by option"),
        "{}",
        main.stderr
    );
    let out = folder.path().join("out.jsonl");
    assert_eq!(run(["import", sample, "--agents", "separate", "-o", out.to_str().unwrap()]).code, 0);
    for (name, calls) in [("out.jsonl", 3), ("out.agent_aaa.jsonl", 2), ("out.agent_bbb.jsonl", 1)] {
        let text = std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(text.lines().count(), calls, "{name}");
        assert!(text.starts_with("{\"index\":0,"));
    }
    assert_eq!(run(["import", sample, "--agents", "separate"]).code, 2);
}

/// Copies of one session in two files are one history.
#[test]
fn several_files_of_one_session_are_united() {
    let folder = tempfile::tempdir().unwrap();
    let first = [call(0, "m1", "a", "Read", json!({"file_path": "a"})), answer(1, "a", "A")].concat();
    let resumed =
        [first.as_str(), &call(2, "m2", "b", "Read", json!({"file_path": "b"})), &answer(3, "b", "B")].concat();
    let (one, two) = (written(&folder, "1.jsonl", &first), written(&folder, "2.jsonl", &resumed));
    let ran = run(["import", one.to_str().unwrap(), two.to_str().unwrap()]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (0, 2), "{}", ran.stderr);
    assert!(ran.stderr.contains("DUPLICATE_COPY call"), "{}", ran.stderr);
}

/// The seal of a recording repeats its calls: their findings are reported once.
#[test]
fn a_sealed_recording_is_the_twin_of_its_recording() {
    let folder = tempfile::tempdir().unwrap();
    let sample = std::fs::read_to_string(root().join("samples/import/claude-code/session.jsonl")).unwrap();
    let session = written(&folder, "session.jsonl", &sample);
    let sealed = folder.path().join("session.sealed.jsonl");
    assert_eq!(run(["seal", session.to_str().unwrap(), "-o", sealed.to_str().unwrap()]).code, 0);
    let alone = audit(&session, &[]).1["findings"].as_array().unwrap().len();
    let (_, report) = audit(folder.path(), &[]);
    assert_eq!(report["findings"].as_array().unwrap().len(), alone);
    assert_eq!(report["files"][1]["repeats"], report["files"][0]["path"]);
}

/// Whatever happens to a recording on its way, reading it ends in a report or a refusal, and the books balance.
#[test]
fn damaged_recordings_are_survived() {
    use toolreplay::formats::{Opening, Options, Recording, open};
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize % n.max(1)
    };
    let (mut imported, mut refused) = (0, 0);
    let folders = std::fs::read_dir(root().join("samples/import")).unwrap();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap());
    let mut samples: Vec<_> = files.map(|file| file.unwrap().path()).filter(|path| path.is_file()).collect();
    samples.sort();
    for sample in samples.iter().filter(|path| !path.to_str().unwrap().contains(".expected.")) {
        let whole = std::fs::read(sample).unwrap();
        for round in 0..30 {
            let mut text = whole.clone();
            match round % 5 {
                0 => text.truncate(below(whole.len())),
                1 => drop(text.drain(..below(whole.len()))),
                2 => (0..3).for_each(|_| {
                    let at = below(text.len());
                    if let Some(byte) = text.get_mut(at) {
                        *byte = b"\0\"\\{}[],:\n\xff0n"[below(13)];
                    }
                }),
                3 => {
                    let (from, to) = (below(text.len()), below(text.len()));
                    let piece = text[from.min(to)..from.max(to)].to_vec();
                    let at = below(text.len());
                    text.splice(at..at, piece);
                }
                _ => {
                    let (from, len) = (below(text.len()), below(40));
                    let to = (from + len).min(text.len());
                    text.drain(from..to);
                }
            }
            let options = Options::default();
            let Ok(Opening::Foreign(foreign)) = open(Box::new(std::io::Cursor::new(text)), None, &options) else {
                refused += 1;
                continue;
            };
            let mut recording = Recording::to_write(&options);
            let file = toolreplay::finding::SourceFile { shown: "x".to_owned(), from_root: "x".to_owned() };
            let beside = |_: &Path| unreachable!("there is nothing beside it");
            if recording.add(foreign, file, &beside, 1).is_err() {
                refused += 1;
                continue;
            }
            let mut done = recording.finish().unwrap();
            assert!(done.balance.holds(), "{}: {:?}", sample.display(), done.balance);
            let mut out = Vec::new();
            for part in done.parts() {
                done.write(&part, &mut out).unwrap();
            }
            let records = out.iter().filter(|byte| **byte == b'\n').count() as u64;
            assert_eq!(records, done.balance.records);
            let checked = toolreplay::seal::check(&out[..], 1);
            assert!(checked.is_ok(), "{}: {checked:?}", sample.display());
            imported += 1;
        }
    }
    assert!(imported > 300 && refused > 50, "{imported} imported, {refused} refused");
}

/// What is parsed is told apart from what is kept.
#[test]
fn results_that_are_json_texts_are_parsed_on_request_alone() {
    let sample = "samples/import/openai-chat/messages.json";
    assert!(run(["import", sample]).stdout.contains(r#","content":"{\"seat\": 4}"}"#));
    assert!(run(["import", sample, "--parse-json-results"]).stdout.contains(r#","turn":1},"seat":4}"#));
}
