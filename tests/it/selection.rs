//! Rules that are turned off: what is not looked for is said, and nothing passes by it that should not.

use crate::audit::Project;
use crate::{record, run_on, sample};
use std::fs;

fn dirty() -> String {
    fs::read_to_string(sample("session-dirty.jsonl")).unwrap()
}

fn kinds(project: &Project, args: &[&str]) -> (i64, Vec<String>) {
    let report = project.json(args);
    let kinds = report["findings"].as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap().to_owned());
    (report["exit_code"].as_i64().unwrap(), kinds.collect())
}

#[test]
fn rules_are_selected_and_ignored() {
    let project = Project::new(&[("runs/a.jsonl", &dirty())]);
    let both = ["redundant-call", "non-determinism"];
    let of = |args: &[&str]| kinds(&project, &[&["runs"], args].concat());
    let named = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<String>>();
    assert_eq!(of(&[]), (1, named(&both)));
    assert_eq!(of(&["--select", "redundant-call"]), (1, named(&both[..1])));
    assert_eq!(of(&["--select", "redundant-call,non-determinism"]), (1, named(&both)));
    assert_eq!(of(&["--ignore", "redundant-call"]), (0, named(&both[1..])));
    assert_eq!(of(&["--ignore", "redundant-call", "--ignore", "non-determinism"]), (0, Vec::new()));
    let report = project.json(&["runs", "--ignore", "redundant-call"]);
    assert_eq!(report["rules_off"], serde_json::json!(["redundant-call"]));
    let said = report["coverage"]["not_judged"].to_string();
    assert!(said.contains("what is turned off: redundant-call"), "{said}");
}

#[test]
fn the_configuration_says_it_too_and_the_command_line_wins() {
    let config = "ignore = [\"redundant-call\", \"non-determinism\"]\n";
    let project = Project::new(&[("runs/a.jsonl", &dirty()), ("toolreplay.toml", config)]);
    assert_eq!(kinds(&project, &["runs"]), (0, Vec::new()));
    assert_eq!(kinds(&project, &["runs", "--ignore", "stuck-loop"]).1.len(), 2);
    project.write("toolreplay.toml", "select = [\"stuck-loop\"]\n");
    assert_eq!(kinds(&project, &["runs"]), (0, Vec::new()));
    assert_eq!(kinds(&project, &["runs", "--select", "non-determinism"]).1, ["non-determinism"]);
}

#[test]
fn patterns_of_a_rule_are_turned_off_alone() {
    let calls = record(0, "Bash", r#"{"command":"git push --force"}"#, "{}")
        + &record(1, "Bash", r#"{"command":"chmod 777 x"}"#, "{}");
    let project = Project::new(&[("a.jsonl", &calls)]);
    let patterns = |args: &[&str]| -> Vec<String> {
        let report = project.json(&[&["a.jsonl"], args].concat());
        let found = report["findings"].as_array().unwrap().iter();
        found.filter_map(|one| one["pattern"].as_str()).map(str::to_owned).collect()
    };
    let all = patterns(&[]);
    assert!(all.len() >= 2, "{all:?}");
    let one = all[0].as_str();
    assert!(!patterns(&["--ignore", one]).contains(&all[0]));
    assert_eq!(patterns(&["--select", one]), [one]);
}

#[test]
fn what_says_that_evidence_is_broken_stays_on() {
    let project = Project::new(&[("a.jsonl", &dirty())]);
    for id in ["broken-link", "malformed-transcript", "policy-changed", "bad-signature", "coverage-dropped"] {
        let ran = project.run(&["a.jsonl", "--ignore", id]);
        assert_eq!(ran.code, 2);
        assert!(ran.stderr.contains("cannot be turned off"), "{}", ran.stderr);
    }
    let sealed = run_on(dirty().as_bytes(), ["seal", "-"]).stdout.replace("\"hits\":3", "\"hits\":4");
    let broken = Project::new(&[("a.sealed.jsonl", &sealed), ("b.jsonl", "{\"index\":0}\n")]);
    let report = broken.json(&[".", "--select", "stuck-loop"]);
    let found = report["findings"].to_string();
    assert!(found.contains("broken-link") && found.contains("malformed-transcript"), "{found}");
    assert_eq!(report["exit_code"], 2);
}

#[test]
fn nothing_left_to_judge_by_is_no_pass() {
    let project = Project::new(&[("a.jsonl", &fs::read_to_string(sample("session-clean.jsonl")).unwrap())]);
    let every = "dangerous-call,non-determinism,permission-overreach,recording-rewritten,redundant-call,seal-deleted,\
                 seal-mismatch,seal-rewritten,secret-exposed,stuck-loop,unread-recording,unsigned-seal";
    for (args, said) in [
        (vec!["--ignore", every], "no rule is left to judge by"),
        (vec!["--select", "stuck-loop", "--ignore", "stuck-loop"], "'stuck-loop' is selected and ignored"),
        (vec!["--select", "permission-overreach"], "needs a scope"),
        (vec!["--select", "no-such-rule"], "no rule is called 'no-such-rule'; there are bad-signature, "),
        (vec!["--ignore", "dangerous-call/no-such"], "no rule is called"),
        // seals alone would be judged, and there are none
        (vec!["--select", "broken-link"], "nothing of the calls was judged"),
    ] {
        let ran = project.run(&[&["a.jsonl"], &args[..]].concat());
        assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(said), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn a_baseline_keeps_what_was_not_looked_for() {
    let project = Project::new(&[("a.jsonl", &dirty())]);
    assert_eq!(project.run(&["a.jsonl", "--write-baseline", "known.json"]).code, 1);
    let known = project.read("known.json");
    let args = ["a.jsonl", "--baseline", "known.json", "--write-baseline", "known.json", "--ignore", "redundant-call"];
    let ran = project.run(&args);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!ran.stderr.contains("are gone"), "{}", ran.stderr);
    assert_eq!(project.read("known.json"), known);
}
