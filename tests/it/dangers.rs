//! `dangerous-call` and `secret-exposed` in a whole run: where they point, what silences them, what they never show.

use crate::{Ran, record, sample, toolreplay};
use std::fs;
use std::path::Path;
use toolreplay::report::Format;

fn run(folder: &Path, args: &[&str]) -> Ran {
    toolreplay().current_dir(folder).args(args).output().unwrap().into()
}

fn report(folder: &Path, args: &[&str]) -> serde_json::Value {
    let ran = run(folder, &[&["audit", "--format", "json"], args].concat());
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr))
}

fn patterns(report: &serde_json::Value) -> Vec<String> {
    let findings = report["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["pattern"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_suppression_takes_out_one_pattern() {
    let folder = tempfile::tempdir().unwrap();
    let call = record(0, "Bash", r#"{"command":"git push --force && chmod 777 x"}"#, "{}");
    fs::write(folder.path().join("a.jsonl"), call).unwrap();
    let both = ["dangerous-call/chmod-777", "dangerous-call/force-push"];
    let mut found = patterns(&report(folder.path(), &["a.jsonl"]));
    found.sort();
    assert_eq!(found, both);
    for (rule, left) in [
        ("dangerous-call/force-push", &both[..1]),
        ("dangerous-call/chmod-777", &both[1..]),
        ("dangerous-call", &[]),
        ("dangerous-call/rm-git", &both[..]),
    ] {
        let text = format!("[[suppressions]]\nreason = \"asked for\"\nrule = \"{rule}\"\n");
        fs::write(folder.path().join("toolreplay.toml"), text).unwrap();
        let mut found = patterns(&report(folder.path(), &["a.jsonl"]));
        found.sort();
        assert_eq!(found, left, "{rule}");
    }
    let text = "[[suppressions]]\nreason = \"x\"\nrule = \"dangerous-call/no-such\"\n";
    fs::write(folder.path().join("toolreplay.toml"), text).unwrap();
    let ran = run(folder.path(), &["audit", "a.jsonl"]);
    assert!(ran.code == 2 && ran.stderr.contains("no rule is called 'dangerous-call/no-such'"), "{}", ran.stderr);
}

#[test]
fn no_output_shows_a_secret() {
    let folder = tempfile::tempdir().unwrap();
    let secret = "kQ7vZ2mXr9TbW4nYc8Hd";
    let command = format!("curl -k -u ci:{secret} https://git.host.io -H 'PRIVATE-TOKEN: glpat-{secret}'");
    let args = serde_json::json!({"command": command}).to_string();
    let response = serde_json::json!({"text": format!("x\nglpat-{secret}\n")}).to_string();
    fs::write(folder.path().join("a.jsonl"), record(0, "Bash", &args, &response)).unwrap();
    for format in Format::ALL {
        let ran = run(folder.path(), &["audit", "a.jsonl", "--format", format.name()]);
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert!(!ran.stdout.contains(secret) && !ran.stderr.contains(secret), "{}: {}", format.name(), ran.stdout);
    }
    let found = patterns(&report(folder.path(), &["a.jsonl"]));
    for pattern in ["dangerous-call/tls-off", "secret-exposed/gitlab-token", "secret-exposed/assigned-secret"] {
        assert!(found.iter().any(|found| found == pattern), "{found:?}");
    }
    // and what was redacted exposes nothing
    assert_eq!(run(folder.path(), &["redact", "a.jsonl", "-o", "b.jsonl"]).code, 0);
    assert_eq!(patterns(&report(folder.path(), &["b.jsonl"])), ["dangerous-call/tls-off"]);
}

#[test]
fn findings_point_at_the_argument() {
    let folder = tempfile::tempdir().unwrap();
    for rule in ["dangerous-call", "secret-exposed"] {
        let path = sample(&format!("rules/{rule}/bad-claude-code.jsonl"));
        let report = report(folder.path(), &[path.to_str().unwrap()]);
        let first = &report["findings"][0];
        assert_eq!((&first["kind"], &first["argument"]["pointer"]), (&rule.into(), &"/command".into()), "{first}");
        let line = fs::read_to_string(&path).unwrap().lines().nth(1).unwrap().to_owned();
        let column = first["argument"]["column"].as_u64().unwrap() as usize;
        let width = first["argument"]["width"].as_u64().unwrap() as usize;
        let argument: String = line.chars().skip(column - 1).take(width).collect();
        assert!(argument.starts_with('"') && argument.ends_with('"') && line.contains(&argument), "{argument}");
        assert!(argument.contains("rm -rf") || argument.contains("curl"), "{argument}");
    }
}

/// What a scope of version 2 allows was meant; one of version 1 cannot say so.
#[test]
fn an_allow_entry_silences_it() {
    let folder = tempfile::tempdir().unwrap();
    let calls = record(0, "Bash", r#"{"command":"git push --force origin fix"}"#, "{}")
        + &record(1, "Bash", r#"{"command":"chmod -R 777 ."}"#, "{}");
    fs::write(folder.path().join("a.jsonl"), calls).unwrap();
    let left = |scope: &str| {
        fs::write(folder.path().join("scope.json"), scope).unwrap();
        let report = report(folder.path(), &["a.jsonl", "--scope", "scope.json"]);
        let found = patterns(&report);
        found.into_iter().filter(|pattern| pattern.contains('/')).collect::<Vec<_>>()
    };
    let both = ["dangerous-call/force-push", "dangerous-call/chmod-777"];
    assert_eq!(left(r#"{"agent": "a", "allowed_tools": ["Bash"]}"#), both);
    let allow = r#"{"version": 2, "allowed_tools": [{"tool": "Bash", "command": {"arg": "command", "prefixes": ["git push"]}}]}"#;
    assert_eq!(left(allow), both[1..]);
    let deny = allow.replace("]}}]}", "]}}], \"denied_tools\": [{\"tool\": \"Bash\", \"command\": {\"arg\": \"command\", \"prefixes\": [\"git push\"]}}]}");
    assert_eq!(left(&deny), both);
}

/// One secret that a tool shows again and again is one finding; what another tool shows is another one.
#[test]
fn one_secret_in_many_results_is_one_finding() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = ("glpat-kQ7vZ2mXr9TbW4nYc8Hd", "glpat-Wn4tYc8HdkQ7vZ2mXr9T");
    let mut calls = String::new();
    for index in 0..12 {
        let tool = if index == 11 { "Bash" } else { "Read" };
        // in the second result the other one comes first
        let text = if index == 1 { format!("a={other}") } else { format!("line {index}\nkey={one} and {one}") };
        let response = serde_json::json!({ "text": text }).to_string();
        calls += &record(index, tool, &format!(r#"{{"file_path":"/repo/f{index}"}}"#), &response);
    }
    calls += &record(12, "Read", &format!(r#"{{"file_path":"{one}"}}"#), &format!(r#"{{"text":"{one}"}}"#));
    fs::write(folder.path().join("a.jsonl"), calls).unwrap();
    let report = report(folder.path(), &["a.jsonl"]);
    let found: Vec<String> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["kind"] == "secret-exposed")
        .map(|finding| {
            let others: Vec<u64> = finding["others"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|place| place["index"].as_u64().unwrap())
                .collect();
            format!("{} {} {} {} {others:?}", finding["index"], finding["level"], finding["count"], finding["tool"])
        })
        .collect();
    assert_eq!(
        found,
        [
            r#"0 "warning" 11 "Read" [2, 3, 4, 5, 6, 7, 8, 9, 10, 12]"#,
            r#"1 "warning" null "Read" []"#,
            r#"11 "warning" null "Bash" []"#,
            r#"12 "error" null "Read" []"#,
        ]
    );
    let message = report["findings"][0]["message"].as_str().unwrap();
    let said = "the same one stands in 11 calls, first here, then in index 2, 3, 4, 5, 6, …";
    assert!(message.ends_with(said), "{message}");
    // nor does what is known of one hide the other
    let text = "[[suppressions]]\nreason = \"x\"\nrule = \"secret-exposed\"\ntool = \"Read\"\n";
    fs::write(folder.path().join("toolreplay.toml"), text).unwrap();
    assert_eq!(patterns(&self::report(folder.path(), &["a.jsonl"])), ["secret-exposed/gitlab-token"]);
}

/// `~` is the same folder for a scope and for a call, wherever it lies; which one it is, only the configuration says.
#[test]
fn the_home_folder_is_what_the_configuration_says() {
    let folder = tempfile::tempdir().unwrap();
    let calls = record(0, "Read", r#"{"file_path":"~/notes/a.txt"}"#, "{}")
        + &record(1, "Read", r#"{"file_path":"~/.ssh/config"}"#, "{}")
        + &record(2, "Read", r#"{"file_path":"/home/u/notes/b.txt"}"#, "{}")
        + &record(3, "Read", r#"{"file_path":"/home/u/.ssh/config"}"#, "{}")
        + &record(4, "Read", r#"{"file_path":"~/src/a.rs"}"#, "{}");
    fs::write(folder.path().join("a.jsonl"), calls).unwrap();
    let scope = r#"{"version": 2, "root": "/home/u/src", "allowed_tools": [
        {"tool": "Read", "path": {"arg": "file_path", "globs": ["~/notes/*", "*.rs"]}}],
        "denied_tools": [{"tool": "Read", "path": {"arg": "file_path", "globs": ["~/.ssh/**"]}}]}"#;
    fs::write(folder.path().join("scope.json"), scope).unwrap();
    let verdicts = |home: &str| {
        fs::write(folder.path().join("toolreplay.toml"), home).unwrap();
        let report = report(folder.path(), &["a.jsonl", "--scope", "scope.json"]);
        let findings = report["findings"].as_array().unwrap().iter();
        let of = |finding: &serde_json::Value| format!("{} {}", finding["index"], finding["pattern"].as_str().unwrap());
        findings.filter(|finding| finding["kind"] == "permission-overreach").map(of).collect::<Vec<_>>()
    };
    assert_eq!(verdicts(""), ["1 denied", "2 not-proven", "3 not-listed", "4 not-proven"]);
    assert_eq!(verdicts("home = \"/home/u\"\n"), ["1 denied", "3 denied"]);
    // a guess by the working directory would be one that the agent can choose
    assert_eq!(verdicts("home = \"/home/v\"\n"), ["1 denied", "2 not-listed", "3 not-listed", "4 not-listed"]);
}
