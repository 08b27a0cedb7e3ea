//! Evidence that a change may not take away: twins under every name, seals that came with an edit, bytes that the checkout
//! changed, submodules that are not there.

use crate::repository::Repository;
use crate::scenes::{records, sealed};
use std::fs;
use std::process::Command;

fn gzip(repository: &Repository, name: &str) {
    assert!(Command::new("gzip").arg("-n").arg(repository.path(name)).status().unwrap().success());
}

/// Whoever edits a recording can seal the edited one.
#[test]
fn a_seal_that_came_with_an_edit_holds_nothing() {
    let repository = Repository::new();
    repository.write("runs/a.jsonl", records(&["a", "b"]));
    repository.commit("base");
    repository.write("runs/a.jsonl", records(&["a", "x"]));
    assert_eq!(repository.run(&["seal-all", "runs"]).code, 0);
    repository.commit("head");
    let ran = repository.run(&["audit", "--base", "HEAD^", "runs"]);
    assert!(ran.code == 1 && ran.stdout.contains("[recording-rewritten]"), "{ran:?}");
    // to seal what stayed is no edit
    repository.write("runs/a.jsonl", records(&["a", "b"]));
    fs::remove_file(repository.path("runs/a.sealed.jsonl")).unwrap();
    assert_eq!(repository.run(&["seal-all", "runs"]).code, 0);
    assert_eq!(repository.run(&["audit", "--base", "HEAD^", "runs"]).code, 0);
}

#[test]
fn a_compressed_twin_is_a_twin() {
    for packed in ["runs/a.sealed.jsonl", "runs/a.jsonl"] {
        let edited = |head: bool| {
            let repository = sealed(&["a", "b"]);
            let write_edited = |repository: &Repository| repository.write("runs/a.jsonl", records(&["a", "x"]));
            if !head {
                write_edited(&repository);
            }
            gzip(&repository, packed);
            repository.commit("packed");
            repository
        };
        let ran = edited(true).run(&["audit", "runs"]);
        assert_eq!(ran.code, 0, "{packed}: {ran:?}");
        let ran = edited(false).run(&["audit", "runs"]);
        assert!(ran.code == 1 && ran.stdout.contains("[seal-mismatch]"), "{packed}: {ran:?}");
    }
    // its seal goes elsewhere, or away, and comes back under another name
    for (to, code) in [("runs/z.jsonl.gz", 1), ("elsewhere/a.sealed.jsonl.gz", 1), ("runs/a.sealed.jsonl.gz", 0)] {
        let repository = sealed(&["a", "b"]);
        gzip(&repository, "runs/a.sealed.jsonl");
        repository.commit("packed");
        fs::create_dir_all(repository.path("elsewhere")).unwrap();
        fs::rename(repository.path("runs/a.sealed.jsonl.gz"), repository.path("moving")).unwrap();
        fs::rename(repository.path("moving"), repository.path(to)).unwrap();
        repository.commit("head");
        for mode in [&["audit"][..], &["audit", "--seals-only"]] {
            let ran = repository.run(&[mode, &["--base", "HEAD^", "runs"]].concat());
            assert_eq!(ran.code, code, "{to}: {ran:?}");
        }
    }
}

/// A recording whose text is now something else altogether is not passed over with it.
#[test]
fn a_recording_that_became_another_file_is_noticed() {
    let chat = "{\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"1\",\"type\":\"function\",\"function\":{\"name\":\"rm\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"x\"}]}\n";
    for text in ["{\"name\":\"x\",\n\"version\":1}\n", "[]\n", "words\n"] {
        let repository = Repository::new();
        repository.write("runs/a.json", chat);
        repository.write("runs/b.jsonl", records(&["b"]));
        repository.commit("base");
        repository.write("runs/a.json", text);
        repository.commit("head");
        let ran = repository.run(&["audit", "--base", "HEAD^", "runs"]);
        assert!(ran.code != 0 && ran.stdout.contains("[recording-rewritten]"), "{text}: {ran:?}");
    }
}

/// The same repository as a checkout with attributes makes it.
fn checked_out(attributes: &str, transcript: &str) -> Repository {
    let repository = Repository::new();
    repository.write("runs/a.jsonl", transcript);
    repository.commit("transcript");
    repository.write(".gitattributes", attributes);
    repository.commit("attributes");
    fs::remove_file(repository.path("runs/a.jsonl")).unwrap();
    repository.git(&["checkout", "--force", "HEAD", "--", "."]);
    repository
}

#[test]
fn bytes_that_the_checkout_changed_are_told() {
    let keyword = "{\"index\":0,\"tool\":\"a\",\"args\":{\"q\":\"$Id$\"},\"response\":{}}\n";
    let plain = records(&["a", "b"]);
    for (attributes, text, level, words) in [
        ("*.jsonl ident\n", keyword, "warning", "the attribute 'ident'"),
        ("*.jsonl text eol=crlf\n", plain.as_str(), "note", "line ends converted"),
        ("[attr]odd eol=crlf\n*.jsonl odd\n", &plain, "note", "line ends converted"),
        ("*.jsonl ident eol=crlf\n", keyword, "warning", "the attribute 'ident'"),
    ] {
        let repository = checked_out(attributes, text);
        for options in [&["runs"][..], &["runs/a.jsonl"], &["--base", "HEAD", "."]] {
            let ran = repository.run(&[&["audit"], options].concat());
            let expected = format!("{level}[recording-rewritten]: what is checked out is not what was committed: ");
            assert!(ran.stdout.contains(&expected) && ran.stdout.contains(words), "{attributes}: {ran:?}");
        }
    }
    // another encoding is a fault of the transcript as well
    let repository = checked_out("*.jsonl working-tree-encoding=UTF-16LE-BOM\n", &plain);
    let ran = repository.run(&["audit", "--format", "json", "runs"]);
    assert!(ran.code == 2 && ran.stdout.contains("name the encoding 'UTF-16LE-BOM'"), "{ran:?}");
    // a filter that this machine has
    let repository = Repository::new();
    repository.git(&["config", "filter.e.smudge", "sed s/aa/bb/"]);
    repository.write("runs/a.jsonl", records(&["aa"]));
    repository.write(".gitattributes", "*.jsonl filter=e\n");
    repository.commit("head");
    assert_eq!(repository.run(&["audit", "runs"]).code, 0);
    fs::remove_file(repository.path("runs/a.jsonl")).unwrap();
    repository.git(&["checkout", "--force", "HEAD", "--", "."]);
    let ran = repository.run(&["audit", "runs"]);
    assert!(ran.code == 1 && ran.stdout.contains("the filter 'e'"), "{ran:?}");
}

#[test]
fn attributes_that_change_nothing_and_edits_are_no_finding() {
    let plain = records(&["a", "b"]);
    for attributes in ["* text=auto\n", "*.jsonl text eol=lf ident\n", "*.jsonl -text\n", "*.md filter=e eol=crlf\n"] {
        let repository = checked_out(attributes, &plain);
        let ran = repository.run(&["audit", "runs"]);
        assert!(ran.code == 0 && !ran.stdout.contains("recording-rewritten"), "{attributes}: {ran:?}");
        // somebody works on it
        repository.write("runs/a.jsonl", records(&["a", "b", "c"]));
        let ran = repository.run(&["audit", "runs"]);
        assert!(ran.code == 0 && !ran.stdout.contains("recording-rewritten"), "{attributes}: {ran:?}");
    }
    // what Git LFS fetched is what its pointer says
    let repository = Repository::new();
    let digest = {
        use sha2::Digest as _;
        hex::encode(sha2::Sha256::digest(&plain))
    };
    let pointer = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {}\n", plain.len());
    repository.write("runs/a.jsonl", pointer);
    repository.commit("pointer");
    repository.write(".gitattributes", "*.jsonl filter=lfs diff=lfs merge=lfs -text\n");
    repository.commit("attributes");
    repository.write("runs/a.jsonl", &plain);
    assert_eq!(repository.run(&["audit", "runs"]).code, 0);
    repository.write("runs/a.jsonl", records(&["a", "x"]));
    assert_eq!(repository.run(&["audit", "runs"]).code, 1);
}

/// A submodule is found missing also where nothing names it any more.
#[test]
fn a_submodule_that_is_not_there_is_told() {
    let inner = sealed(&["a"]);
    let source = inner.path("").display().to_string();
    for forget in [false, true] {
        let outer = Repository::new();
        outer.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &source, "runs/sub"]);
        outer.write("runs/x.jsonl", records(&["x"]));
        if forget {
            fs::remove_file(outer.path(".gitmodules")).unwrap();
        }
        outer.commit("head");
        assert_eq!(outer.run(&["audit", "runs"]).code, 0);
        fs::remove_dir_all(outer.path("runs/sub")).unwrap();
        fs::create_dir(outer.path("runs/sub")).unwrap();
        let ran = outer.run(&["audit", "runs"]);
        assert!(ran.code == 1 && ran.stdout.contains("it is a submodule that is not checked out"), "{forget}: {ran:?}");
        assert_eq!(outer.run(&["audit", "runs/x.jsonl"]).code, 0);
        let ran = outer.run(&["audit", "--strict", "--fail-on", "error", "runs"]);
        assert!(ran.code == 1 && ran.stdout.contains("error[unread-recording]"), "{forget}: {ran:?}");
    }
}

/// What the base has as it is, is left out and counted; a touched part of a session is a touched session.
#[test]
fn only_what_is_touched_is_judged() {
    let repeated = records(&["write_file", "a", "a"]);
    let session = |text: &str| {
        format!(
            "{{\"type\":\"assistant\",\"sessionId\":\"s\",\"uuid\":\"{text}\",\"parentUuid\":null,\"isSidechain\":false,\
             \"version\":\"2.1.0\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"message\":{{\"role\":\"assistant\",\"id\":\"{text}\",\
             \"content\":[{{\"type\":\"tool_use\",\"id\":\"{text}\",\"name\":\"Read\",\"input\":{{\"file_path\":\"{text}\"}}}}]}}}}\n"
        )
    };
    type Change = fn(&Repository);
    let changes: [(&str, Change, u64, u64); 5] = [
        ("nothing", |_| {}, 0, 3),
        ("a new file", |r| r.write("runs/new.jsonl", records(&["a"])), 1, 3),
        ("the seal", |r| r.write("runs/b.sealed.jsonl", "{}\n"), 2, 2),
        ("an agent's file", |r| r.write("runs/s/subagents/agent-1.meta.json", "{\"toolUseId\":\"y\"}"), 1, 2),
        ("a file that is gone", |r| fs::remove_file(r.path("runs/s/subagents/agent-1.meta.json")).unwrap(), 1, 2),
    ];
    for (what, change, files, left_out) in changes {
        let repository = Repository::new();
        repository.write("runs/a.jsonl", &repeated);
        repository.write("runs/s.jsonl", session("one"));
        repository.write("runs/s/subagents/agent-1.jsonl", session("two"));
        repository.write("runs/s/subagents/agent-1.meta.json", "{\"toolUseId\":\"x\"}");
        repository.write("runs/b.jsonl", records(&["b"]));
        repository.commit("base");
        if what == "the seal" {
            assert_eq!(repository.run(&["seal-all", "runs/b.jsonl"]).code, 0);
            repository.commit("sealed");
        }
        change(&repository);
        let ran = repository.run(&["audit", "--base", "HEAD", "--changed-only", "--format", "json", "runs"]);
        let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{what}: {ran:?}"));
        let judged = report["files"].as_array().unwrap().len() as u64;
        let words = format!("{left_out} recording{} that the base", if left_out == 1 { "" } else { "s" });
        assert_eq!(judged, files, "{what}: {report}");
        assert!(report["coverage"].to_string().contains(&words), "{what}: {report}");
        let passes = matches!(what, "nothing" | "a new file");
        assert!(!passes || ran.code == 0, "{what}: {ran:?}");
    }
    let repository = sealed(&["a"]);
    assert_eq!(repository.run(&["audit", "--changed-only", "runs"]).code, 2);
    repository.write("toolreplay.toml", "baseline = \"known.json\"\n");
    repository.write("known.json", "{}");
    repository.commit("baseline");
    assert_eq!(repository.run(&["audit", "--base", "HEAD", "--changed-only", "runs"]).code, 2);
    // and nothing is no recording
    fs::remove_dir_all(repository.path("runs")).unwrap();
    repository.write("runs/README", "x");
    let ran = repository.run(&["audit", "--no-config", "--base", "HEAD", "--changed-only", "--seals-only", "runs"]);
    assert_ne!(ran.code, 0, "{ran:?}");
}
