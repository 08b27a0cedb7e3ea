//! `--baseline`: what was known does not fail, what is new does, what is gone is said, and nothing new is taken in.

use crate::audit::Project;
use serde_json::Value;

fn record(index: usize, tool: &str) -> String {
    format!("{{\"index\":{index},\"tool\":\"{tool}\",\"args\":{{}},\"response\":{{}}}}\n")
}

fn twice(tools: &[&str]) -> String {
    let calls = tools.iter().flat_map(|tool| [tool, tool]);
    calls.enumerate().map(|(index, tool)| record(index, tool)).collect()
}

#[test]
fn known_findings_count_and_do_not_fail() {
    let project = Project::new(&[("r/a.jsonl", &twice(&["x", "y"]))]);
    let written = project.run(&["r", "--write-baseline", "b.json"]);
    assert_eq!(written.code, 1, "{written:?}");
    let ran = project.run(&["r", "--baseline", "b.json"]);
    assert!(ran.code == 0 && ran.stdout.contains("2 known by the baseline"), "{ran:?}");
    project.write("r/a.jsonl", &twice(&["x", "y", "z"]));
    let ran = project.run(&["r", "--baseline", "b.json", "--format", "json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let known: Vec<bool> =
        report["findings"].as_array().unwrap().iter().map(|finding| finding["known"] == true).collect();
    assert_eq!((ran.code, known), (1, vec![true, true, false]));
    assert_eq!(report["summary"]["known"], 2);
}

#[test]
fn a_baseline_only_shrinks() {
    let project = Project::new(&[("r/a.jsonl", &twice(&["x", "y"]))]);
    project.run(&["r", "--write-baseline", "b.json"]);
    // y is gone, z is new, and as much is covered as before
    project.write("r/a.jsonl", &twice(&["x", "z"]));
    let ran = project.run(&["r", "--baseline", "b.json", "--write-baseline", "b.json"]);
    assert!(ran.code == 1 && ran.stdout.contains("1 finding of the baseline are gone"), "{ran:?}");
    let baseline: Value = serde_json::from_str(&project.read("b.json")).unwrap();
    assert_eq!(baseline["findings"].as_array().unwrap().len(), 1);
    let ran = project.run(&["r", "--baseline", "b.json"]);
    assert!(ran.code == 1 && ran.stdout.contains("'z'"), "{ran:?}");
}

#[test]
fn a_run_that_covers_less_fails_whatever_it_finds() {
    let project = Project::new(&[("r/a.jsonl", &twice(&["x"])), ("r/b.jsonl", &twice(&["y"]))]);
    project.run(&["r", "--write-baseline", "b.json"]);
    for paths in [&["r/a.jsonl"][..], &["r/b.jsonl"]] {
        let ran = project.run(&[paths, &["--baseline", "b.json"]].concat());
        assert!(ran.code == 1 && ran.stdout.contains("coverage-dropped"), "{ran:?}");
    }
    project.write("r/b.jsonl", "{\"index\":0");
    let ran = project.run(&["r", "--baseline", "b.json"]);
    assert!(ran.code == 2 && ran.stdout.contains("coverage-dropped"), "{ran:?}");
}

#[test]
fn what_is_no_baseline_is_an_error() {
    let project = Project::new(&[("r/a.jsonl", &twice(&["x"]))]);
    for text in [
        "",
        "{}",
        "[]",
        "{\"version\":2,\"coverage\":{\"files\":1,\"calls\":1,\"pairs\":1,\"unread\":0},\"findings\":[]}",
    ] {
        project.write("b.json", text);
        let ran = project.run(&["r", "--baseline", "b.json"]);
        assert!(ran.code == 2 && ran.stderr.contains("b.json") && ran.stdout.is_empty(), "{text}: {ran:?}");
    }
    let ran = project.run(&["r", "--baseline", "none.json"]);
    assert!(ran.code == 2 && ran.stderr.contains("none.json"), "{ran:?}");
    // a baseline never replaces a recording
    let ran = project.run(&["r", "--write-baseline", "r/a.jsonl"]);
    assert!(ran.code == 2 && project.read("r/a.jsonl").contains("\"tool\":\"x\""), "{ran:?}");
}
