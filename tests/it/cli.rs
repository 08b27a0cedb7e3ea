//! Commands, several files, report targets.

use crate::{record, run, run_on, sample};
use std::fs;

#[test]
fn several_files_are_headed_blocks_and_the_worst_code_wins() {
    let ran = run(["replay", "samples/session-clean.jsonl", "missing.jsonl", "samples/session-dirty.jsonl"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.starts_with("error: missing.jsonl: cannot be opened: "), "{}", ran.stderr);
    let clean = "==> samples/session-clean.jsonl <==\ncalls: 4\ndivergence: none\nfindings: 0\n";
    assert!(
        ran.stdout.starts_with(&format!("{clean}\n==> samples/session-dirty.jsonl <==\ncalls: 6\n")),
        "{}",
        ran.stdout
    );
    assert_eq!(run(["replay", "samples/session-clean.jsonl", "samples/session-dirty.jsonl"]).code, 1);
    assert_eq!(run(["replay", "samples/session-clean.jsonl", "samples/session-clean.jsonl"]).code, 0);
    let scoped = run(["scope", "samples/session-clean.jsonl", "samples/session-dirty.jsonl", "samples/scope.json"]);
    assert_eq!((scoped.code, scoped.stdout.matches("==> ").count()), (1, 2));
}

#[test]
fn a_malformed_file_among_others_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("bad.jsonl");
    fs::write(&bad, "{}\n").unwrap();
    let ran = run(["replay", bad.to_str().unwrap(), "samples/session-clean.jsonl"]);
    assert_eq!(ran.code, 2);
    assert_eq!(
        ran.stderr,
        format!("error: {}: line 1: missing field(s): args, index, response, tool\n", bad.display())
    );
}

#[test]
fn mutators_can_be_added() {
    let text =
        record(0, "get", "{}", "{\"v\":1}") + &record(1, "deploy", "{}", "{}") + &record(2, "get", "{}", "{\"v\":2}");
    let level = |args: &[&str]| {
        let ran = run_on(text.as_bytes(), ["audit", "-", "--no-config", "--format", "json"].iter().chain(args));
        let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        report["findings"][0]["level"].as_str().unwrap().to_owned()
    };
    assert_eq!(level(&[]), "warning");
    assert_eq!(level(&["--mutator", "other", "--mutator", "deploy"]), "note");
}

#[test]
fn one_run_writes_several_reports() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (sarif, junit) = (format!("--report=sarif={}", path("a.sarif")), format!("--report=junit={}", path("a.xml")));
    let ran = run(["audit", "samples/session-dirty.jsonl", &sarif, &junit]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("audit: 1 warning, 1 note"), "text still goes to standard output: {}", ran.stdout);
    assert!(fs::read_to_string(path("a.sarif")).unwrap().starts_with("{\"$schema\""));
    assert!(fs::read_to_string(path("a.xml")).unwrap().starts_with("<?xml"));
    let ran = run(["audit", "samples/session-dirty.jsonl", &sarif, "--report=json"]);
    assert!(ran.stdout.starts_with('{') && ran.stdout.ends_with("}\n"), "only JSON: {}", ran.stdout);
    let ran = run(["replay", "samples/session-dirty.jsonl", "--format", "json", "-o", &path("a.json")]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(fs::read_to_string(path("a.json")).unwrap().contains("\"command\": \"replay\""));
    for clash in [
        ["--report=json", "--report=sarif"],
        ["--report=json=x", "--report=sarif=x"],
        ["--report=json", "--format=text"],
    ] {
        let ran = run(["audit", "samples/session-dirty.jsonl"].iter().chain(&clash));
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
        assert!(ran.stderr.contains("two reports would be written to"), "{}", ran.stderr);
    }
}

#[test]
fn usage_errors_are_exit_2() {
    for args in [
        &["replay"][..],
        &["nonsense"],
        &["audit", "x", "--fail-on", "fatal"],
        &["replay", "x", "--format", "pdf"],
        &["audit", "x", "--report", "pdf=x"],
        &["verify", "x", "--expect", "abc"],
        &["scope", "only-one"],
        &["explain", "no-such-rule"],
        &["schema", "nothing"],
        &[],
    ] {
        let ran = run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?}");
    }
    // a file name in a message must not start a line
    let forged = run(["audit", "x", "--fail-on", "y\n::error::z"]);
    assert!(forged.code == 2 && forged.stderr.lines().all(|line| !line.starts_with("::")), "{}", forged.stderr);
    assert!(run(["replay", "-", "-"]).stderr.contains("standard input is named twice"));
    let missing = run(["replay", "missing.jsonl"]);
    assert_eq!((missing.code, missing.stdout.as_str()), (2, ""));
    assert!(missing.stderr.starts_with("error: missing.jsonl: cannot be opened: "), "{}", missing.stderr);
}

#[test]
fn rules_are_explained() {
    for rule in toolreplay::rules::RULES {
        assert!(run(["explain", rule.id]).stdout.starts_with(rule.page), "{}", rule.id);
        assert!(run(["explain"]).stdout.contains(rule.id));
    }
}

#[test]
fn completions_are_written() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = run(["completions", shell]);
        assert!(ran.code == 0 && ran.stdout.contains("toolreplay"), "{shell}");
    }
}

#[test]
fn colour_is_for_those_who_want_it() {
    assert!(!run(["audit", "samples/session-dirty.jsonl"]).stdout.contains('\x1b'));
    assert!(run(["audit", "samples/session-dirty.jsonl", "--color", "always"]).stdout.contains("\x1b[1;33mwarning"));
}

#[test]
fn a_chain_must_extend_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let whole = run(["seal", "samples/session-dirty.jsonl"]).stdout;
    let short: String = whole.lines().take(4).map(|line| line.to_owned() + "\n").collect();
    let dirty = fs::read_to_string(sample("session-dirty.jsonl")).unwrap();
    let resealed = run_on(dirty.replace("\"hits\": 3", "\"hits\": 9").as_bytes(), ["seal", "-"]).stdout;
    for (name, text) in [("whole", &whole), ("short", &short), ("resealed", &resealed)] {
        fs::write(path(name), text).unwrap();
    }
    let verify = |new: &str, old: &str| run(["verify", &path(new), "--extends", &path(old)]);
    assert_eq!((verify("whole", "short").code, verify("whole", "whole").code), (0, 0));
    assert_eq!(verify("whole", "short").stdout, "chain: intact\n");
    let cut = verify("short", "whole");
    let digest = "327da75f2d491267f1dbeaf5d31b4a61a2ed9e956a71a5c4cbb67a87b4720d6a";
    let text = format!("chain: broken\nfirst broken link: index 4\nexpected: {digest}\nfound: the end of the chain\n");
    assert_eq!((cut.code, cut.stdout), (1, text));
    assert_eq!(run(["verify", &path("resealed")]).code, 0, "a fresh seal holds by itself");
    let rewritten = verify("resealed", "short");
    assert_eq!(rewritten.code, 1);
    assert!(rewritten.stdout.contains("first broken link: index 3\n"), "{}", rewritten.stdout);
    // an old chain that was itself edited proves nothing
    fs::write(path("edited"), short.replace("\"hits\":3", "\"hits\":8")).unwrap();
    let edited = verify("whole", "edited");
    assert_eq!((edited.code, edited.stdout.as_str()), (2, ""));
    assert!(
        edited.stderr.ends_with("edited: the chain is broken itself, at index 3; nothing can be held against it\n"),
        "{}",
        edited.stderr
    );
    let short_head =
        run(["verify", &path("short"), "--expect", "75ccf1faad88c5ea82c68139b2ec2a02943142dd0133bb0c626ccbff28f5c711"]);
    assert_eq!(short_head.code, 1);
    assert!(
        short_head.stdout.starts_with("chain: broken\nlast link: index 3\nexpected: 75ccf1"),
        "{}",
        short_head.stdout
    );
    let malformed = run(["verify", &path("whole"), "--extends", "samples/session-clean.jsonl"]);
    assert_eq!((malformed.code, malformed.stdout.as_str()), (2, ""));
    assert_eq!(malformed.stderr, "error: samples/session-clean.jsonl: line 1: missing field(s): digest, prev\n");
    assert_eq!(run(["verify", &path("whole"), &path("short"), "--extends", &path("short")]).code, 2);
}

#[test]
fn every_kind_of_tampering_breaks_the_chain_at_its_place() {
    let whole = run(["seal", "samples/session-dirty.jsonl"]).stdout;
    let lines: Vec<&str> = whole.lines().collect();
    let join = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let mut swapped = lines.clone();
    swapped.swap(1, 2);
    let mut inserted = lines.clone();
    inserted.insert(3, lines[2]);
    let mut dropped = lines.clone();
    dropped.remove(0);
    let edit = |from: &str, to: &str| whole.replacen(from, to, 1);
    for (what, text, index) in [
        ("swapped", join(&swapped), 1),
        ("inserted", join(&inserted), 3),
        ("dropped first", join(&dropped), 0),
        ("renumbered", edit("\"index\":3", "\"index\":7"), 3),
        ("renumbered to a huge number", edit("\"index\":3", "\"index\":99999999999999999999999999"), 3),
        ("negative", edit("\"index\":0", "\"index\":-5"), 0),
        ("tool", edit("\"tool\":\"list_dir\"", "\"tool\":\"list_all\""), 0),
        ("argument", edit("install", "uninstall"), 3),
        ("digest in upper case", edit("c1bd7fb3", "C1BD7FB3"), 0),
        ("digest", edit("\"digest\":\"c1bd", "\"digest\":\"c0bd"), 0),
        ("prev", edit("\"prev\":\"c1bd", "\"prev\":\"c0bd"), 1),
        ("genesis", edit("\"prev\":\"0000", "\"prev\":\"0001"), 0),
    ] {
        for threads in ["1", "3"] {
            let ran = run_on(text.as_bytes(), ["verify", "-", "--threads", threads]);
            assert_eq!(ran.code, 1, "{what}");
            assert!(ran.stdout.contains(&format!("first broken link: index {index}\n")), "{what}: {}", ran.stdout);
            let shown: Vec<&str> = ran.stdout.lines().skip(2).map(|line| line.split(' ').nth(1).unwrap()).collect();
            assert_ne!(shown[0], shown[1], "{what}");
        }
    }
    // what changes no value changes nothing
    let spelled = edit("\"tool\":\"list_dir\"", "  \"tool\" : \"list_\\u0064ir\"");
    assert_eq!(run_on(spelled.as_bytes(), ["verify", "-"]).code, 0);
    assert_eq!(run_on(b"", ["verify", "-"]).stdout, "chain: intact\n");
}
