//! `redact`: the same recording without its secrets.

use crate::{Ran, record, toolreplay};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

fn token() -> String {
    format!("glpat-{}", "kQ7vZ2mXr9TbW4nYc8Hd")
}

fn run(folder: &Path, args: &[&str]) -> Ran {
    toolreplay().current_dir(folder).args(args).output().unwrap().into()
}

/// A session of Claude Code in which a token is used twice, once in a nested text, and a password once.
fn session() -> String {
    let call = |n: u32, command: &str| serde_json::json!({"type": "assistant", "uuid": format!("u{n}"), "sessionId": "s", "timestamp": "2026-11-01T10:00:00Z", "message": {"role": "assistant", "content": [{"type": "tool_use", "id": format!("toolu_{n}"), "name": "Bash", "input": {"command": command}}]}});
    let result = |n: u32, text: &str| serde_json::json!({"type": "user", "uuid": format!("r{n}"), "sessionId": "s", "timestamp": "2026-11-01T10:00:01Z", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": format!("toolu_{n}"), "content": text}]}});
    [
        call(1, &format!("curl -H 'PRIVATE-TOKEN: {}' https://git.host.io/api", token())),
        result(1, &serde_json::json!({"user": {"password": "opaque"}, "echo": token()}).to_string()),
        call(2, "echo done"),
        result(2, "done"),
    ]
    .map(|line| format!("{line}\r\n"))
    .concat()
}

#[test]
fn a_recording_stays_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("s.jsonl"), session()).unwrap();
    let ran = run(folder.path(), &["redact", "s.jsonl", "--output", "clean.jsonl"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let clean = fs::read_to_string(folder.path().join("clean.jsonl")).unwrap();
    assert!(!clean.contains(&token()) && !clean.contains("opaque"), "{clean}");
    assert!(
        ran.stdout.starts_with("s.jsonl: 3 values masked on 2 lines, 2 different, in clean.jsonl\n"),
        "{}",
        ran.stdout
    );
    let mark = clean.split_once("[REDACTED:gitlab-token:").unwrap().1.split(']').next().unwrap();
    let mark = format!("[REDACTED:gitlab-token:{mark}]");
    assert!(ran.stdout.contains(&format!("  {mark}: a GitLab token, 2 times, first on line 1\n")), "{}", ran.stdout);
    assert!(!ran.stdout.contains(&token()) && !ran.stderr.contains(&token()));
    // the rest is the same to the byte
    let field = clean.split_once("[REDACTED:field:").unwrap().1.split(']').next().unwrap();
    assert_eq!(clean.replace(&mark, &token()).replace(&format!("[REDACTED:field:{field}]"), "opaque"), session());
    let audit =
        |name: &str| run(folder.path(), &["audit", name, "--format", "json"]).stdout.replace("clean.jsonl", "s.jsonl");
    assert!(audit("clean.jsonl").contains("\"calls\": 2"), "{}", audit("clean.jsonl"));
    // once more there is nothing to do; another run has another key
    let again = run(folder.path(), &["redact", "clean.jsonl", "-o", "-"]);
    assert_eq!((again.code, again.stdout), (0, clean.clone()));
    assert_eq!(again.stderr, "note: clean.jsonl: no secret found\n");
    let other = toolreplay().current_dir(folder.path()).args(["redact", "s.jsonl", "-o", "-"]).output().unwrap();
    assert_ne!(String::from_utf8(other.stdout).unwrap(), clean);
}

#[test]
fn evidence_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("s.jsonl"), session()).unwrap();
    symlink("s.jsonl", path("link.jsonl")).unwrap();
    fs::hard_link(path("s.jsonl"), path("hard.jsonl")).unwrap();
    fs::write(path("t.jsonl"), record(0, "a", "{}", "{}")).unwrap();
    for output in ["s.jsonl", "./s.jsonl", "link.jsonl", "hard.jsonl", "t.jsonl"] {
        let ran = run(folder.path(), &["redact", "s.jsonl", "--output", output]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{output}");
        assert!(ran.stderr.contains("would be overwritten"), "{output}: {}", ran.stderr);
        assert_eq!(fs::read_to_string(path("s.jsonl")).unwrap(), session());
    }
    assert_eq!(run(folder.path(), &["redact", "s.jsonl"]).code, 2);
}

#[test]
fn what_is_sealed_or_packed_is_refused_with_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("t.jsonl"), record(0, "a", "{\"password\": \"opaque\"}", "{}")).unwrap();
    assert_eq!(run(folder.path(), &["seal", "t.jsonl", "-o", "t.sealed.jsonl"]).code, 0);
    fs::write(path("t.gz"), b"\x1f\x8b\x08\0").unwrap();
    for (name, says) in [
        (
            "t.sealed.jsonl",
            "line 1 is sealed, and a mask would break its chain; redact the transcript it was made from, then seal the result",
        ),
        ("t.gz", "gzip data was found, expected text; unpack or convert it"),
        ("none.jsonl", "none.jsonl: cannot be opened"),
    ] {
        let ran = run(folder.path(), &["redact", name, "--output", "out.jsonl"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{name}");
        assert!(ran.stderr.contains(says), "{}", ran.stderr);
        assert!(!path("out.jsonl").exists());
    }
    // the way out
    assert_eq!(run(folder.path(), &["redact", "t.jsonl", "--output", "clean.jsonl"]).code, 0);
    assert_eq!(run(folder.path(), &["seal", "clean.jsonl", "-o", "clean.sealed.jsonl"]).code, 0);
    assert_eq!(run(folder.path(), &["verify", "clean.sealed.jsonl"]).code, 0);
}
