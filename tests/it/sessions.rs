//! Sessions that are counted and compared: every format, whatever it holds.

use crate::{expect_file, record, root, run, run_on};
use std::path::Path;

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

/// A session of Claude Code with times and tokens: two requests, three calls, one of which failed.
const TIMED: &str = concat!(
    r#"{"type":"assistant","sessionId":"s","uuid":"1","timestamp":"2026-01-01T10:00:00Z","message":{"id":"m1","role":"assistant","usage":{"input_tokens":10,"cache_read_input_tokens":90,"output_tokens":1},"content":[{"type":"tool_use","id":"a","name":"Bash","input":{"command":"make"}}]}}"#,
    "\n",
    r#"{"type":"assistant","sessionId":"s","uuid":"2","timestamp":"2026-01-01T10:00:00Z","message":{"id":"m1","role":"assistant","usage":{"input_tokens":10,"cache_read_input_tokens":90,"output_tokens":7},"content":[{"type":"tool_use","id":"b","name":"Read","input":{"file_path":"/w/a"}}]}}"#,
    "\n",
    r#"{"type":"user","sessionId":"s","uuid":"3","timestamp":"2026-01-01T10:00:02.500Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"Exit code 1","is_error":true}]}}"#,
    "\n",
    r#"{"type":"user","sessionId":"s","uuid":"4","timestamp":"2026-01-01T10:00:01Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"text"}]}}"#,
    "\n",
    r#"{"type":"assistant","sessionId":"s","uuid":"5","timestamp":"2026-01-01T10:00:03Z","message":{"id":"m2","role":"assistant","usage":{"input_tokens":5,"output_tokens":3},"content":[{"type":"tool_use","id":"c","name":"Bash","input":{"command":"make"}}]}}"#,
    "\n",
);

#[test]
fn time_and_tokens_are_counted_where_they_are_recorded() {
    let ran = run_on(TIMED.as_bytes(), ["stats", "--no-config", "--format", "json", "-"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let stats = json(&ran.stdout);
    let total = &stats["total"];
    assert_eq!(total["counts"]["calls"], 3);
    assert_eq!((&total["counts"]["failed"], &total["counts"]["without_answer"]), (&1.into(), &1.into()));
    assert_eq!((&total["counts"]["repeats"], &total["counts"]["timed_calls"]), (&1.into(), &2.into()));
    assert_eq!(total["counts"]["time_ms"], 3500);
    // two records of one message are one request, and the fuller one counts
    let usage = &total["usage"];
    assert_eq!((&usage["input_tokens"], &usage["cached_input_tokens"]), (&105.into(), &90.into()));
    assert_eq!((&usage["output_tokens"], &usage["cost_usd"]), (&10.into(), &serde_json::Value::Null));
    let session = &stats["sessions"][0];
    assert_eq!((&session["format"], &session["took_ms"]), (&"claude-code".into(), &3000.into()));
    assert_eq!(session["started"], "2026-01-01T10:00:00.000000000Z");
    assert_eq!(session["tools"][0]["counts"]["time_ms"], 2500);
}

#[test]
fn what_is_counted_is_what_is_audited() {
    for folder in std::fs::read_dir(root().join("samples/import")).unwrap() {
        for file in std::fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() || name.contains(".expected.") {
                continue;
            }
            let path = path.to_str().unwrap();
            let args = ["--no-config", "--allow-loss", "--format", "json", path];
            let audit = run(["audit"].iter().chain(&args));
            let stats = run(["stats", "--allow-empty"].iter().chain(&args));
            let audited = json(&audit.stdout);
            let failed = audited["files"].as_array().unwrap().iter().any(|file| !file["error"].is_null());
            assert_eq!(stats.code, if failed { 2 } else { 0 }, "{path}: {}", stats.stderr);
            if !failed {
                let counted = json(&stats.stdout);
                assert_eq!(audited["coverage"]["calls"], counted["total"]["counts"]["calls"], "{path}");
                let sum = |list: &serde_json::Value| -> u64 {
                    list.as_array().unwrap().iter().map(|one| one["counts"]["calls"].as_u64().unwrap()).sum()
                };
                let calls = counted["total"]["counts"]["calls"].as_u64().unwrap();
                assert_eq!(
                    (sum(&counted["tools"]), sum(&counted["agents"]), sum(&counted["sessions"])),
                    (calls, calls, calls)
                );
            }
        }
    }
}

#[test]
fn what_cannot_be_read_is_no_zero() {
    let empty = run_on(b"", ["stats", "--no-config", "-"]);
    assert_eq!(empty.code, 2);
    assert!(empty.stderr.contains("found no call to count"), "{}", empty.stderr);
    assert_eq!(run_on(b"", ["stats", "--no-config", "--allow-empty", "-"]).code, 0);
    let broken = record(0, "a", "{}", "{}") + "{\"index\":1";
    let ran = run_on(broken.as_bytes(), ["stats", "--no-config", "--allow-empty", "--format", "json", "-"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("<stdin>: line 2: "), "{}", ran.stderr);
    assert_eq!(json(&ran.stdout)["errors"][0]["line"], 2);
    // a result whose call was taken out is a loss
    let orphan = TIMED.lines().skip(1).collect::<Vec<_>>().join("\n");
    let ran = run_on(orphan.as_bytes(), ["stats", "--no-config", "-"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("ORPHAN_RESULT"), "{}", ran.stderr);
    assert_eq!(run_on(orphan.as_bytes(), ["stats", "--no-config", "--allow-loss", "-"]).code, 0);
    assert_eq!(run(["stats", "--no-config", "no-such-file"]).code, 2);
}

#[test]
fn stats_of_a_sample() {
    let ran = run(["stats", "--no-config", "samples/session-dirty.jsonl", "samples/import/claude-code/session.jsonl"]);
    expect_file(Path::new("tests/it/stats.expected.txt"), &format!("{}exit code: {}\n", ran.stdout, ran.code));
}

#[test]
fn names_from_outside_stay_names() {
    let hostile = r"a\u001b[31m\n::error::x\u202e</script>\ud83d";
    let text = record(0, hostile, "{}", "{}");
    for format in ["text", "json"] {
        let ran = run_on(text.as_bytes(), ["stats", "--no-config", "--format", format, "-"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(!ran.stdout.contains('\u{1b}') && !ran.stdout.contains('\u{202e}'), "{}", ran.stdout);
        assert!(!ran.stdout.lines().any(|line| line.starts_with("::")), "{}", ran.stdout);
    }
}
