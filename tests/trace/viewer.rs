//! `toolreplay trace show`.

use std::process::{Command, Output};

use serde_json::{Value, json};
use toolreplay::trace::{Options, Recorder, event::Kind};

use super::support::*;

fn show(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_toolreplay")).args(["trace", "show"]).args(arguments).output().unwrap()
}

fn json_of(path: &std::path::Path) -> Value {
    let out = show(&[path.to_str().unwrap()]);
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    serde_json::from_slice(&out.stdout).unwrap()
}

#[test]
fn a_recording_from_inside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let recorder = Recorder::new(Options { output: Some(path.clone()), ..Options::default() }).unwrap();
    let agent = recorder.span(Kind::Agent, "helper\u{1b}[31m\n::error::", json!({"task": "t"}));
    agent.child(Kind::Tool, "read", json!({"path": "a"})).end(json!("text"));
    let growing = json_of(&path);
    assert_eq!(
        (growing["capture_summary"].is_null(), growing["unfinished_spans"].as_array().unwrap().len()),
        (true, 1)
    );
    agent.fail("Timeout");
    recorder.finish();

    let shown = json_of(&path);
    assert_eq!(
        (&shown["coverage"], &shown["errors"], &shown["unfinished_spans"], &shown["orphan_spans"]),
        (&json!("instrumented_boundaries_only"), &json!([]), &json!([]), &json!([]))
    );
    let spans = shown["spans"].as_array().unwrap();
    assert_eq!(
        (spans[0]["status"].as_str(), spans[1]["status"].as_str(), &spans[1]["parent_span_id"]),
        (Some("error"), Some("ok"), &spans[0]["span_id"])
    );
    assert_eq!((&spans[1]["input"]["input"], &spans[1]["output"]["output"]), (&json!({"path": "a"}), &json!("text")));
    assert!(spans[1]["duration_ms"].is_number() && spans[1]["truncated"] == false);

    let text = String::from_utf8(show(&[path.to_str().unwrap(), "--format", "text"]).stdout).unwrap();
    assert!(text.contains("agent helper\\u001b[31m\\n::error:: error") && !text.contains('\u{1b}'), "{text}");
    assert!(text.contains("tool read ok") && text.contains("Timeout"));

    // A span whose beginning is lost.
    let lines: Vec<String> = std::fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect();
    std::fs::write(
        folder.path().join("damaged.jsonl"),
        format!("{}\ngarbage\n{}", lines[1..].join("\n"), &lines[0][..40]),
    )
    .unwrap();
    let damaged = json_of(&folder.path().join("damaged.jsonl"));
    assert_eq!(damaged["orphan_spans"], json!([spans[0]["span_id"]]));
    let wrong: Vec<u64> =
        damaged["errors"].as_array().unwrap().iter().map(|error| error["line"].as_u64().unwrap()).collect();
    assert_eq!(wrong, [1, 5, 5, 6]);
}

#[test]
fn sessions_of_a_folder() {
    let upstream = Upstream::fixed(sse(tool_stream().as_bytes()));
    let proxy = Proxy::start(&upstream, &[]);
    for session in ["one", "two", "one"] {
        proxy.capture_of(&proxy.send(&format!("{CHAT}\nx-toolreplay-trace-id: {session}"), chat_body()));
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    std::fs::write(proxy.folder.join("empty.jsonl"), "").unwrap();
    std::fs::write(proxy.folder.join("notes.txt"), "not a capture").unwrap();
    let out = show(&[proxy.folder.to_str().unwrap()]);
    assert_eq!(out.status.code(), Some(2), "an empty file is no capture");
    let shown: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert!(shown["unreadable"][0]["path"].as_str().unwrap().ends_with("empty.jsonl"), "{shown}");
    std::fs::remove_file(proxy.folder.join("empty.jsonl")).unwrap();
    let shown = json_of(&proxy.folder);
    assert_eq!(shown["unreadable"], json!([]));
    let sessions = shown["sessions"].as_array().unwrap();
    let count = |at: usize| sessions[at]["captures"].as_array().unwrap().len();
    assert_eq!((sessions.len(), count(0), count(1), shown["files"].as_u64()), (2, 2, 1, Some(3)));
    assert_eq!(shown["other_captures"].as_array().unwrap().len(), 0);

    let out = show(&[proxy.folder.to_str().unwrap(), "--format", "text"]);
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(
        text.contains("explicit_header, 2 requests")
            && text.contains("-> model asked for read_file {\"path\":\"b.md\"} call_b"),
        "{text}"
    );

    for arguments in [&["/does/not/exist"][..], &[], &["x", "--format", "xml"]] {
        let out = show(arguments);
        assert!(out.status.code() == Some(2) && out.stderr.starts_with(b"error: ") && out.stdout.is_empty(), "{out:?}");
    }
    // A reader that stops reading.
    let command = format!(
        "'{}' trace show '{}' --format text | head -c 1",
        env!("CARGO_BIN_EXE_toolreplay"),
        proxy.folder.display()
    );
    let out = Command::new("bash").args(["-c", &format!("set -o pipefail; {command}")]).output().unwrap();
    assert!(out.status.success() && out.stderr.is_empty(), "{out:?}");
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let good = folder.path().join("good.jsonl");
    let recorder = Recorder::new(Options { output: Some(good.clone()), ..Options::default() }).unwrap();
    recorder.span(Kind::Tool, "read", json!({})).end(json!("text"));
    recorder.finish();
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    std::fs::create_dir(folder.path().join(".hidden")).unwrap();
    std::fs::copy(&good, folder.path().join("sub/again.jsonl")).unwrap();
    std::fs::copy(&good, folder.path().join(".hidden/a.jsonl")).unwrap();
    std::fs::copy(&good, elsewhere.path().join("far.jsonl")).unwrap();
    let link = |to: &std::path::Path, from: std::path::PathBuf| std::os::unix::fs::symlink(to, from);
    link(&elsewhere.path().join("far.jsonl"), folder.path().join("link.jsonl")).unwrap();
    link(elsewhere.path(), folder.path().join("folder")).unwrap();
    let view = |code: i32| -> (Value, String) {
        let out = show(&[folder.path().to_str().unwrap()]);
        assert_eq!(out.status.code(), Some(code), "{out:?}");
        let text = show(&[folder.path().to_str().unwrap(), "--format", "text"]);
        assert_eq!(text.status.code(), Some(code));
        (serde_json::from_slice(&out.stdout).unwrap(), String::from_utf8(text.stdout).unwrap())
    };
    // the file, its copy below and the file behind the link, as an audit has them
    assert_eq!(view(0).0["other_captures"].as_array().unwrap().len(), 3);
    std::fs::write(folder.path().join("junk.jsonl"), "{\"a\":1}\nhello\n").unwrap();
    std::fs::write(folder.path().join("empty.jsonl"), "").unwrap();
    link(std::path::Path::new("nowhere"), folder.path().join("lost.jsonl")).unwrap();
    let (shown, text) = view(2);
    assert_eq!(shown["other_captures"].as_array().unwrap().len(), 3);
    let named = |shown: &Value| -> Vec<String> {
        let name = |one: &Value| one["path"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        shown["unreadable"].as_array().unwrap().iter().map(name).collect()
    };
    assert_eq!(named(&shown), ["lost.jsonl", "empty.jsonl", "junk.jsonl"]);
    assert!(text.contains("unreadable") && text.contains("it is empty"), "{text}");
    for file in ["junk.jsonl", "empty.jsonl", "lost.jsonl"] {
        let out = show(&[folder.path().join(file).to_str().unwrap()]);
        assert!(out.status.code() == Some(2) && out.stdout.is_empty() && out.stderr.starts_with(b"error: "), "{out:?}");
        std::fs::remove_file(folder.path().join(file)).unwrap();
    }
    // a folder that may not be entered, unless by who may do everything
    use std::os::unix::fs::PermissionsExt;
    let closed = folder.path().join("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o0)).unwrap();
    let may_enter = std::fs::read_dir(&closed).is_ok();
    let (shown, _) = view(if may_enter { 0 } else { 2 });
    assert_eq!(named(&shown), if may_enter { vec![] } else { vec!["closed".to_owned()] });
    assert_eq!(shown["other_captures"].as_array().unwrap().len(), 3);
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
}
