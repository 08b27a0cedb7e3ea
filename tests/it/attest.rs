//! What is attested: the verdict, what the files were judged by, the digests of the files.

use crate::{run, run_on, sample};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

fn digest(name: &str) -> String {
    hex::encode(Sha256::digest(std::fs::read(sample(name)).unwrap()))
}

fn predicate(args: &[&str]) -> Value {
    let ran = run(["audit", "--no-config", "--format", "attestation"].iter().chain(args));
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

#[test]
fn the_predicate_says_what_came_of_it_and_by_what() {
    let found = predicate(&["samples/session-dirty.jsonl", "--scope", "samples/scope.json"]);
    let version = env!("CARGO_PKG_VERSION");
    let expected = json!({
        "result": "FAILED",
        "configuration": [
            {"name": "toolreplay", "uri": format!("pkg:cargo/toolreplay@{version}")},
            {"name": "samples/scope.json", "digest": {"sha256": digest("scope.json")}},
        ],
        "warnedTests": ["non-determinism"],
        "failedTests": ["permission-overreach", "redundant-call"],
    });
    assert_eq!(found, expected);
    // no field is missing where there is nothing to say
    let clean = predicate(&["samples/session-clean.jsonl"]);
    assert_eq!(
        (&clean["result"], &clean["failedTests"], &clean["warnedTests"]),
        (&"PASSED".into(), &json!([]), &json!([]))
    );
}

#[test]
fn a_pass_is_earned() {
    let result = |args: &[&str]| {
        let found = predicate(args);
        (found["result"].as_str().unwrap().to_owned(), found["failedTests"].clone())
    };
    let dirty = "samples/session-dirty.jsonl";
    assert_eq!(result(&[dirty, "--fail-on", "error"]), ("WARNED".to_owned(), json!([])));
    // what is not shown was there all the same
    assert_eq!(result(&[dirty, "--fail-on", "error", "--min-level", "error"]).0, "WARNED");
    assert_eq!(result(&["samples/rules/malformed-transcript"]).0, "FAILED");
    assert_eq!(result(&["missing.jsonl"]), ("FAILED".to_owned(), json!(["malformed-transcript"])));
    let empty = run_on(b"", ["audit", "-", "--no-config", "--format", "attestation"]);
    let empty: Value = serde_json::from_str(&empty.stdout).unwrap();
    assert_eq!((&empty["result"], &empty["failedTests"]), (&"FAILED".into(), &json!(["inconclusive"])));
}

#[test]
fn subjects_are_the_digests_of_the_files() {
    let ran = run([
        "audit",
        "--no-config",
        "--format",
        "subjects",
        "samples/session-dirty.jsonl",
        "samples/session-clean.jsonl",
    ]);
    let lines: Vec<String> =
        ["session-clean.jsonl", "session-dirty.jsonl"].map(|name| format!("{}  samples/{name}\n", digest(name))).into();
    assert_eq!(ran.stdout, format!("toolreplay-subjects\n{}", lines.concat()));
    for command in ["replay", "verify"] {
        let file = if command == "verify" { "rules/broken-link/good-sealed.jsonl" } else { "session-clean.jsonl" };
        let ran = run([command, &format!("samples/{file}"), "--format", "subjects"]);
        assert_eq!(ran.stdout, format!("toolreplay-subjects\n{}  samples/{file}\n", digest(file)), "{ran:?}");
    }
    let stdin = run_on(b"", ["replay", "-", "--format", "subjects"]);
    assert_eq!(stdin.stdout, "toolreplay-subjects\n", "standard input is no file");
}
