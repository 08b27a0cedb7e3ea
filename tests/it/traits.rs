//! What a project says of tools, and what `toolreplay tools` says of recordings.

use crate::audit::Project;
use crate::{run, sample, toolreplay};

fn record(index: usize, tool: &str, args: &str, response: &str) -> String {
    format!("{{\"index\":{index},\"tool\":\"{tool}\",\"args\":{args},\"response\":{response}}}\n")
}

/// Each trait changes what is found, in the transcript and in a recording alike.
#[test]
fn traits_change_what_is_found() {
    let changed = [record(0, "now", "{}", "{\"v\":1,\"at\":5}"), record(1, "now", "{}", "{\"v\":1,\"at\":6}")].concat();
    for (config, kinds) in [
        ("", &["non-determinism", "redundant-call"][..]),
        ("[tools.now]\nvaries = true\n", &["redundant-call"]),
        ("[tools.\"n*\"]\npoll = true\n", &["redundant-call"]),
        ("[tools.now]\nignore-response = [\"/at\"]\n", &["redundant-call"]),
        ("[compare]\nignore-response = [\"/**/at\"]\n", &["redundant-call"]),
        ("[tools.now]\neffect = \"mutates\"\n", &[]),
    ] {
        let project = Project::new(&[("r.jsonl", &changed), ("toolreplay.toml", config)]);
        let report = project.json(&["r.jsonl"]);
        let found: Vec<&str> =
            report["findings"].as_array().unwrap().iter().map(|finding| finding["kind"].as_str().unwrap()).collect();
        assert_eq!(found, kinds, "{config}");
    }
}

/// Fields that make no difference are no part of a finding's fingerprint either.
#[test]
fn ignored_arguments_leave_the_fingerprint_alone() {
    let with = |nonce: usize| {
        let args = |n| format!("{{\"q\":1,\"sent\":{}}}", nonce + n);
        [record(0, "get", &args(0), "{}"), record(1, "get", &args(1), "{}")].concat()
    };
    let config = "[tools.get]\nignore-args = [\"/sent\"]\n";
    let print = |nonce| {
        let project = Project::new(&[("r.jsonl", &with(nonce)), ("toolreplay.toml", config)]);
        let report = project.json(&["r.jsonl"]);
        assert_eq!(report["findings"].as_array().unwrap().len(), 1);
        report["findings"][0]["fingerprint"].clone()
    };
    assert_eq!(print(1), print(10));
    let project = Project::new(&[("r.jsonl", &with(1))]);
    assert_eq!(project.json(&["r.jsonl"])["findings"], serde_json::json!([]));
}

/// A fault in the configuration is an error with its place, never a trait that is not there.
#[test]
fn faults_in_traits_fail_the_run() {
    let project = Project::new(&[("r.jsonl", &record(0, "a", "{}", "{}"))]);
    for (config, place) in [
        ("[tools.a]\neffect = \"reads\"\n", "line 2"),
        ("[tools.a]\nignore-args = [\"x\"]\n", "line 2"),
        ("[compare]\nignored = []\n", "line 2"),
    ] {
        project.write("toolreplay.toml", config);
        let ran = project.run(&["r.jsonl"]);
        assert!(ran.code == 2 && ran.stderr.contains(place), "{config}: {ran:?}");
    }
}

#[test]
fn tools_are_listed_with_what_is_assumed_and_why() {
    let claude = sample("import/claude-code/session.jsonl");
    let ran = run(["tools", claude.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let row = |tool: &str| ran.stdout.lines().find(|line| line.starts_with(tool)).unwrap_or_default().to_owned();
    assert!(row("Read ").contains("read-only") && row("Read ").contains("known"), "{}", ran.stdout);
    assert!(row("Bash ").contains("by the arguments"), "{}", ran.stdout);
    assert!(row("Write ").contains("mutates"), "{}", ran.stdout);
    // an unknown tool comes with the lines to paste, and pasting them is a configuration
    let project = Project::new(&[("r.jsonl", &record(0, "odd*name", "{}", "{}"))]);
    let ran: crate::Ran =
        toolreplay().current_dir(project.path("")).args(["tools", "r.jsonl"]).output().unwrap().into();
    let pasted =
        ran.stdout.split_once("# nobody").unwrap().1.split_once('\n').unwrap().1.replace("unknown", "read-only");
    project.write("toolreplay.toml", &pasted);
    let ran: crate::Ran =
        toolreplay().current_dir(project.path("")).args(["tools", "r.jsonl"]).output().unwrap().into();
    assert!(ran.stdout.contains("read-only") && ran.stdout.contains("the configuration says so"), "{ran:?}");
    // nothing to list proves nothing
    project.write("empty.jsonl", "");
    let ran: crate::Ran =
        toolreplay().current_dir(project.path("")).args(["tools", "empty.jsonl"]).output().unwrap().into();
    assert_eq!(ran.code, 2, "{ran:?}");
}

#[test]
fn explain_shows_the_lists_that_are_built_in() {
    for rule in ["non-determinism", "redundant-call", "stuck-loop"] {
        let page = run(["explain", rule]).stdout;
        for word in ["request_id", "write_file", "github", "claude-code: read only: Read"] {
            assert!(page.contains(word), "{rule}: {word}");
        }
    }
}
