//! What a sample cannot show: clones that lack the base, odd names and arguments, links, several formats, seal-all.

use crate::repository::Repository;
use std::process::Command;

fn record(index: usize, tool: &str) -> String {
    format!("{{\"index\":{index},\"tool\":\"{tool}\",\"args\":{{}},\"response\":{{}}}}\n")
}

pub(crate) fn records(tools: &[&str]) -> String {
    tools.iter().enumerate().map(|(index, tool)| record(index, tool)).collect()
}

/// A repository with one transcript and its seal, committed.
pub(crate) fn sealed(tools: &[&str]) -> Repository {
    let repository = Repository::new();
    repository.write("runs/a.jsonl", records(tools));
    let ran = repository.run(&["seal-all", "runs"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    repository.commit("base");
    repository
}

#[test]
fn a_base_that_is_not_there_is_no_pass() {
    let repository = sealed(&["a", "b"]);
    repository.commit("second");
    let zeros = "0".repeat(40);
    for (base, words) in [
        ("nowhere", "is not in this clone; fetch it first"),
        (zeros.as_str(), "is not in this clone; fetch it first"),
        ("--help", "is no revision"),
        ("", "is no revision"),
        ("HEAD:runs", "git "),
    ] {
        let ran = repository.run(&["audit", "--base", base, "runs"]);
        assert!(ran.code == 2 && ran.stdout.is_empty() && ran.stderr.contains(words), "{base}: {ran:?}");
    }
    let clone = tempfile::tempdir().unwrap();
    let source = format!("file://{}", repository.path("").display());
    let target = clone.path().join("clone");
    let status = Command::new("git").args(["clone", "--quiet", "--depth=1", &source]).arg(&target).status().unwrap();
    assert!(status.success());
    let output = Command::new(env!("CARGO_BIN_EXE_toolreplay"))
        .args(["audit", "--base", "HEAD^", "runs"])
        .current_dir(&target)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("the clone is shallow") && said.contains("fetch-depth: 2"), "{said}");
}

#[test]
fn a_partial_clone_is_no_pass() {
    let repository = Repository::new();
    repository.write("runs/a.jsonl", records(&["a"]));
    repository.write("scope.json", "{\"agent\":\"x\",\"allowed_tools\":[\"a\"]}");
    repository.commit("base");
    repository.write("scope.json", "{\"agent\":\"x\",\"allowed_tools\":[\"a\",\"b\"]}");
    repository.commit("head");
    repository.git(&["config", "uploadpack.allowFilter", "true"]);
    let clone = tempfile::tempdir().unwrap();
    let target = clone.path().join("clone");
    let source = format!("file://{}", repository.path("").display());
    let status =
        Command::new("git").args(["clone", "--quiet", "--filter=blob:none", &source]).arg(&target).status().unwrap();
    assert!(status.success());
    let output = Command::new(env!("CARGO_BIN_EXE_toolreplay"))
        .args(["audit", "--base", "HEAD^", "--scope", "scope.json", "runs"])
        .current_dir(&target)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("cannot read 'scope.json' of 'HEAD^'"), "{said}");
}

#[test]
fn outside_of_a_repository_there_is_no_base() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.jsonl"), record(0, "a")).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_toolreplay"))
        .args(["audit", "--base", "HEAD", "a.jsonl"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("--base needs a git repository"));
}

#[test]
fn odd_names_are_names() {
    for name in ["-x", "a b", "$(touch pwned)", "line\nend", ":(glob)x", "größe", "\"q\"", "a\\b"] {
        let repository = Repository::new();
        let (transcript, seal) = (format!("runs/{name}.jsonl"), format!("runs/{name}.sealed.jsonl"));
        repository.write(&transcript, records(&["a", "b"]));
        assert_eq!(repository.run(&["seal-all", "runs"]).code, 0);
        repository.commit("base");
        let whole = std::fs::read_to_string(repository.path(&seal)).unwrap();
        repository.write(&seal, whole.lines().next().unwrap().to_owned() + "\n");
        repository.commit("head");
        let ran = repository.run(&["audit", "--base", "HEAD^", "--format", "outputs", "runs"]);
        assert!(ran.code == 1 && ran.stdout.contains("errors=1\n"), "{name}: {ran:?}");
        std::fs::remove_file(repository.path(&seal)).unwrap();
        let ran = repository.run(&["audit", "--base", "HEAD^", "--format", "json", "runs"]);
        assert!(ran.stdout.contains("seal-deleted"), "{name}: {ran:?}");
        assert!(!repository.path("pwned").exists());
    }
}

#[test]
fn what_paths_name_is_what_is_watched() {
    let repository = sealed(&["a", "b"]);
    std::fs::remove_file(repository.path("runs/a.sealed.jsonl")).unwrap();
    for (folder, path, code) in [
        ("", "runs", 1),
        ("", ".", 1),
        ("", "runs/*.jsonl", 1),
        ("", "ru*", 1),
        ("", "./runs/../runs/", 1),
        ("runs", ".", 1),
        ("runs", "../runs", 1),
        ("", "runs/a.jsonl", 0),
    ] {
        let ran = repository.run_in(folder, &["audit", "--base", "HEAD", path]);
        assert_eq!(ran.code, code, "{folder} {path}: {ran:?}");
    }
    // a file that is named and is gone cannot be judged, and that it is gone is said too
    let ran = repository.run(&["audit", "--base", "HEAD", "runs/a.sealed.jsonl", "--format", "json"]);
    assert!(ran.code == 2 && ran.stdout.contains("seal-deleted"), "{ran:?}");
}

#[test]
fn a_configuration_put_nearer_is_not_heeded() {
    let repository = sealed(&["a", "a"]);
    repository.write("toolreplay.toml", "fail-on = \"note\"\n");
    repository.commit("policy");
    repository.write("runs/toolreplay.toml", "min-level = \"error\"\nfail-on = \"error\"\n");
    repository.commit("head");
    let ran = repository.run_in("runs", &["audit", "--base", "HEAD^", "."]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("redundant-call") && ran.stdout.contains("--> toolreplay.toml"), "{ran:?}");
    assert!(ran.stdout.contains("was added by the revision it would judge"), "{ran:?}");
    // named outright it is in force, but it cannot hide that it is new
    repository
        .write("runs/toolreplay.toml", "min-level = \"error\"\n[[suppressions]]\npath = \"**\"\nreason = \"x\"\n");
    let ran = repository.run(&["audit", "--base", "HEAD^", "--config", "runs/toolreplay.toml", "runs"]);
    assert!(ran.code == 1 && ran.stdout.contains("was added by the revision it judges, and is in force"), "{ran:?}");
}

#[test]
fn a_scope_of_neither_revision_is_an_error() {
    let repository = sealed(&["a"]);
    let ran = repository.run(&["audit", "--base", "HEAD", "--scope", "none.json", "runs"]);
    assert!(ran.code == 2 && ran.stderr.contains("cannot open the scope file none.json"), "{ran:?}");
    // one outside of the repository is not the pull request's to change
    let outside = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(outside.path(), "{\"agent\":\"x\",\"allowed_tools\":[]}").unwrap();
    let ran = repository.run(&["audit", "--base", "HEAD", "--scope", outside.path().to_str().unwrap(), "runs"]);
    assert!(ran.code == 1 && ran.stdout.contains("permission-overreach") && !ran.stdout.contains("policy"), "{ran:?}");
}

#[test]
fn a_link_in_the_base_is_followed() {
    let repository = sealed(&["a", "b"]);
    repository.write("policies/real.json", "{\"agent\":\"x\",\"allowed_tools\":[\"a\"]}");
    std::os::unix::fs::symlink("policies/real.json", repository.path("scope.json")).unwrap();
    repository.commit("policy");
    repository.write("policies/real.json", "{\"agent\":\"x\",\"allowed_tools\":[\"a\",\"b\"]}");
    repository.commit("head");
    let ran = repository.run(&["audit", "--base", "HEAD^", "--scope", "scope.json", "runs"]);
    assert!(ran.code == 1 && ran.stdout.contains("permission-overreach") && ran.stdout.contains("policy-changed"));
}

#[test]
fn annotations_on_changed_lines_come_first() {
    let repository = Repository::new();
    let old: Vec<String> = (0..28).map(|call| format!("tool{}", call / 2)).collect();
    repository.write("runs/a.jsonl", records(&old.iter().map(String::as_str).collect::<Vec<_>>()));
    repository.write("runs/b.jsonl", record(0, "b"));
    repository.commit("base");
    repository.write("runs/b.jsonl", records(&["b", "b"]));
    repository.commit("head");
    let ran = repository.run(&["audit", "--base", "HEAD^", "--format", "github", "runs"]);
    let commands: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with("::")).collect();
    assert_eq!(commands.len(), 10, "{ran:?}");
    assert!(commands[0].starts_with("::warning file=runs/b.jsonl,line=2,endLine=2,"), "{ran:?}");
    assert!(commands[9].ends_with("::6 more findings of level warning are in the full report"), "{ran:?}");
}

#[test]
fn what_the_repository_does_not_have_is_not_annotated() {
    let repository = sealed(&["a", "b"]);
    repository.write("made.jsonl", records(&["x", "x"]));
    for arguments in [
        vec!["audit", "--format", "github", "made.jsonl"],
        vec!["audit", "--base", "HEAD", "--format", "github", "made.jsonl"],
    ] {
        let ran = repository.run(&arguments);
        assert!(ran.code == 1 && !ran.stdout.contains("::warning"), "{ran:?}");
        assert!(ran.stdout.starts_with("toolreplay: warning[redundant-call]: made.jsonl:2: "), "{ran:?}");
    }
}

#[test]
fn seal_all_extends_and_refuses() {
    let repository = sealed(&["a", "b"]);
    let seal = || std::fs::read_to_string(repository.path("runs/a.sealed.jsonl")).unwrap();
    let first = seal();
    assert_eq!(repository.run(&["seal", "runs/a.jsonl"]).stdout, first);
    repository.write("runs/a.jsonl", records(&["a", "b", "c"]));
    let ran = repository.run(&["seal-all", "runs"]);
    assert!(
        ran.code == 0 && ran.stdout.contains("chain: runs/a.sealed.jsonl: intact, 3 links, last digest "),
        "{ran:?}"
    );
    let second = seal();
    assert!(second.starts_with(&first) && second.lines().count() == 3);
    for (tools, words) in [
        (vec!["a", "x", "c"], "the call at index 1 of runs/a.jsonl is not the one a.sealed.jsonl holds"),
        (vec!["a"], "runs/a.jsonl was cut: it ends before index 1"),
    ] {
        repository.write("runs/a.jsonl", records(&tools));
        let ran = repository.run(&["seal-all", "runs"]);
        assert!(ran.code == 1 && ran.stdout.contains(words), "{ran:?}");
        assert_eq!(seal(), second);
    }
    repository.write("runs/a.jsonl", records(&["a", "b", "c"]));
    let broken = second.replacen(r#""index":1"#, r#""index":7"#, 1);
    repository.write("runs/a.sealed.jsonl", &broken);
    let ran = repository.run(&["seal-all", "runs"]);
    assert!(ran.code == 1 && ran.stdout.contains("broken-link"), "{ran:?}");
    assert_eq!(seal(), broken);
    repository.write("runs/b.jsonl", "nonsense\n");
    repository.write("runs/a.sealed.jsonl", &second);
    let ran = repository.run(&["seal-all", "runs"]);
    assert!(ran.code == 2 && ran.stderr.contains("runs/b.jsonl: line 1"), "{ran:?}");
    assert!(!repository.path("runs/b.sealed.jsonl").exists());
}

#[test]
fn seal_all_can_write_elsewhere() {
    let repository = sealed(&["a"]);
    let ran = repository.run(&["seal-all", "--into", "out/deep", "runs/a.jsonl"]);
    assert!(ran.code == 0 && repository.path("out/deep/a.sealed.jsonl").is_file(), "{ran:?}");
    repository.write("other/a.jsonl", record(0, "b"));
    let ran = repository.run(&["seal-all", "--into", "out", "runs", "other"]);
    assert!(ran.code == 2 && ran.stderr.contains("would both be sealed to"), "{ran:?}");
    let ran = repository.run(&["seal-all", "-"]);
    assert_eq!(ran.code, 2);
    std::fs::create_dir(repository.path("empty")).unwrap();
    assert_eq!(repository.run(&["seal-all", "empty"]).code, 2);
    assert_eq!(repository.run(&["seal-all", "--allow-empty", "empty"]).code, 0);
}

#[test]
fn seals_only_judges_no_call() {
    let repository = sealed(&["a", "a"]);
    let ran = repository.run(&["audit", "--seals-only", "runs"]);
    assert!(ran.code == 0 && ran.stdout.contains("chain: runs/a.sealed.jsonl: intact, 2 links"), "{ran:?}");
    assert_eq!(repository.run(&["audit", "runs"]).code, 1);
    let seal = std::fs::read_to_string(repository.path("runs/a.sealed.jsonl")).unwrap();
    repository.write("runs/a.sealed.jsonl", seal.replacen("\"tool\":\"a\"", "\"tool\":\"b\"", 1));
    let ran = repository.run(&["audit", "--seals-only", "runs"]);
    assert!(ran.code == 1 && ran.stdout.contains("broken-link") && ran.stdout.contains("seal-mismatch"), "{ran:?}");
}

#[test]
fn gitlab_fingerprints_are_unique() {
    let repository = Repository::new();
    for name in ["a", "b"] {
        repository.write(&format!("runs/{name}.jsonl"), records(&["x", "x", "y", "y"]));
    }
    let ran = repository.run(&["audit", "runs", "--format", "gitlab"]);
    let issues: Vec<serde_json::Value> = serde_json::from_str(&ran.stdout).unwrap();
    let mut prints: Vec<&str> = issues.iter().map(|issue| issue["fingerprint"].as_str().unwrap()).collect();
    prints.sort_unstable();
    prints.dedup();
    assert_eq!((issues.len(), prints.len()), (4, 4));
    assert_eq!(issues[0]["location"], serde_json::json!({"path": "runs/a.jsonl", "lines": {"begin": 2}}));
    assert_eq!(ran.stdout, repository.run(&["audit", "runs", "--format", "gitlab"]).stdout);
}

#[test]
fn gitlab_shows_so_many_and_counts_the_rest() {
    let repository = Repository::new();
    let calls: String = (0..5_200).map(|index| record(index, if index % 2 == 0 { "x" } else { "y" })).collect();
    repository.write("runs/a.jsonl", calls);
    repository.write("scope.json", "{\"agent\":\"x\",\"allowed_tools\":[\"x\",\"y\"]}");
    repository.write("strict.json", "{\"agent\":\"x\",\"allowed_tools\":[]}");
    let ran = repository.run(&["audit", "--scope", "strict.json", "--format", "gitlab", "runs"]);
    let issues: Vec<serde_json::Value> = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(issues.len(), 5_000);
    let last = issues.last().unwrap()["description"].as_str().unwrap();
    let count: u64 = last.split_once(" more findings").unwrap().0.parse().unwrap();
    assert!(count > 200 && issues[0]["severity"] == "major", "{last}");
    let fingerprints: std::collections::HashSet<&str> =
        issues.iter().map(|issue| issue["fingerprint"].as_str().unwrap()).collect();
    assert_eq!(fingerprints.len(), issues.len());
}

#[test]
fn a_seal_alone_is_held_against_its_transcript() {
    let repository = sealed(&["a", "b"]);
    assert_eq!(repository.run(&["audit", "runs/a.sealed.jsonl"]).code, 0);
    repository.write("runs/a.jsonl", records(&["a", "x"]));
    let ran = repository.run(&["audit", "runs/a.sealed.jsonl"]);
    assert!(ran.code == 1 && ran.stdout.contains("--> runs/a.sealed.jsonl:2 (index 1)"), "{ran:?}");
    // both audited: one finding, on the transcript
    let ran = repository.run(&["audit", "runs"]);
    assert_eq!(ran.stdout.matches("seal-mismatch").count(), 1, "{ran:?}");
    assert!(ran.stdout.contains("--> runs/a.jsonl:2 (index 1)"), "{ran:?}");
    repository.write("runs/a.sealed.jsonl", "{\"prev\":1}\n");
    let ran = repository.run(&["audit", "runs/a.jsonl"]);
    assert!(ran.code == 1 && ran.stdout.contains("a.sealed.jsonl is no sealed transcript: line 1"), "{ran:?}");
}

#[test]
fn a_seal_that_moved_and_grew_much_is_found_again() {
    let repository = sealed(&["a"]);
    let tools: Vec<&str> = (0..50).map(|place| if place == 0 { "a" } else { "more" }).collect();
    repository.write("runs/b.jsonl", records(&tools));
    assert_eq!(repository.run(&["seal-all", "runs/b.jsonl"]).code, 0);
    std::fs::remove_file(repository.path("runs/a.jsonl")).unwrap();
    std::fs::remove_file(repository.path("runs/a.sealed.jsonl")).unwrap();
    for committed in [false, true] {
        if committed {
            repository.commit("head");
        }
        let base = if committed { "HEAD^" } else { "HEAD" };
        let ran = repository.run(&["audit", "--base", base, "--fail-on", "error", "runs"]);
        assert!(ran.code == 0 && !ran.stdout.contains("seal-deleted"), "{ran:?}");
    }
}

#[test]
fn no_digest_forges_an_output() {
    let repository = Repository::new();
    let link =
        r#"{"index":0,"tool":"a","args":{},"response":{},"prev":"p\nverdict=clean","digest":"d\nverdict=clean"}"#;
    repository.write("runs/a.sealed.jsonl", format!("{link}\n"));
    let ran = repository.run(&["audit", "--format", "outputs", "runs"]);
    let names: Vec<&str> = ran.stdout.lines().map(|line| line.split_once('=').unwrap().0).collect();
    let expected = [
        "verdict",
        "exit_code",
        "findings",
        "errors",
        "warnings",
        "notes",
        "files",
        "calls",
        "divergence",
        "seal_digest",
    ];
    assert_eq!(names, expected, "{ran:?}");
    assert!(ran.stdout.starts_with("verdict=findings\n") && ran.stdout.ends_with("seal_digest=\n"), "{ran:?}");
}

/// A hook that compares with HEAD runs before the first commit too; nothing but that is let pass without a base.
#[test]
fn before_the_first_commit_there_was_nothing() {
    for format in ["sha1", "sha256"] {
        let repository = Repository::new();
        std::fs::remove_dir_all(repository.path(".git")).unwrap();
        repository.git(&["init", "--quiet", "--initial-branch=main", &format!("--object-format={format}")]);
        repository.write("runs/a.jsonl", records(&["a", "b"]));
        assert_eq!(repository.run(&["seal-all", "runs"]).code, 0);
        let ran = repository.run(&["audit", "--base", "HEAD", "--fail-on", "error", "runs"]);
        assert_eq!(ran.code, 0, "{format}: {ran:?}");
        for base in ["HEAD^", "main", "origin/main"] {
            assert_eq!(repository.run(&["audit", "--base", base, "runs"]).code, 2, "{format} {base}");
        }
        // a branch without a commit in a repository that has some is no beginning
        repository.commit("first");
        assert_eq!(repository.run(&["audit", "--base", "HEAD", "runs"]).code, 0);
        std::fs::remove_file(repository.path("runs/a.sealed.jsonl")).unwrap();
        let ran = repository.run(&["audit", "--base", "HEAD", "runs"]);
        assert!(ran.code == 1 && ran.stdout.contains("seal-deleted"), "{format}: {ran:?}");
        repository.git(&["symbolic-ref", "HEAD", "refs/heads/other"]);
        assert_eq!(repository.run(&["audit", "--base", "HEAD", "runs"]).code, 2, "{format}");
    }
}

/// Seals are held against where the branch began, policies against the branch it goes to.
#[test]
fn policies_are_read_from_their_own_base() {
    let scope = |tools: &str| format!("{{\"agent\":\"x\",\"allowed_tools\":[{tools}]}}");
    let repository = sealed(&["a", "b"]);
    repository.write("scope.json", scope("\"a\",\"b\""));
    repository.commit("wide");
    repository.git(&["branch", "topic"]);
    repository.write("scope.json", scope("\"a\""));
    std::fs::remove_file(repository.path("runs/a.sealed.jsonl")).unwrap();
    repository.write("toolreplay.toml", "min-level = \"note\"\n");
    repository.commit("narrow");
    repository.git(&["checkout", "--quiet", "topic"]);
    let audit = ["audit", "--base", "main^", "--policy-base", "main", "--scope", "scope.json", "runs"];
    let ran = repository.run(&audit);
    assert!(ran.code == 1 && ran.stdout.contains("permission-overreach"), "{ran:?}");
    assert!(!ran.stdout.contains("policy-changed") && !ran.stdout.contains("seal-"), "{ran:?}");
    repository.write("scope.json", scope("\"a\",\"b\",\"c\""));
    let ran = repository.run(&audit);
    assert!(ran.stdout.contains("policy-changed") && ran.stdout.contains("permission-overreach"), "{ran:?}");
    for bad in ["nowhere", "", "--help"] {
        let ran = repository.run(&["audit", "--base", "main", "--policy-base", bad, "runs"]);
        assert!(ran.code == 2 && ran.stdout.is_empty(), "{bad}: {ran:?}");
    }
    assert_eq!(repository.run(&["audit", "--policy-base", "main", "runs"]).code, 2);
}

#[test]
fn an_attestation_names_the_policy_that_was_in_force() {
    let repository = Repository::new();
    let scope = "{\"agent\":\"x\",\"allowed_tools\":[\"a\"]}";
    repository.write("runs/a.jsonl", records(&["a"]));
    repository.write("scope.json", scope);
    repository.commit("base");
    repository.write("scope.json", scope.replace("[\"a\"]", "[\"a\",\"b\"]"));
    repository.commit("head");
    let ran = repository.run(&["audit", "runs", "--base", "HEAD^", "--scope", "scope.json", "--format", "attestation"]);
    let predicate: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let digest = |name: &str| {
        let found = predicate["configuration"].as_array().unwrap().iter().find(|by| by["name"] == name).unwrap();
        found["digest"].as_object().unwrap().values().next().unwrap().as_str().unwrap().to_owned()
    };
    use sha2::Digest as _;
    assert_eq!(digest("scope.json"), hex::encode(sha2::Sha256::digest(scope)));
    assert_eq!(digest("base"), repository.git(&["rev-parse", "HEAD^"]).trim());
    assert_eq!(predicate["failedTests"], serde_json::json!(["policy-changed"]));
}

#[test]
fn a_recording_that_is_edited_or_gone_is_noticed() {
    let text = records(&["a", "b"]);
    let gzip = |repository: &Repository, name: &str| {
        let status = Command::new("gzip").arg("-n").arg(repository.path(name)).status().unwrap();
        assert!(status.success());
    };
    type Change = fn(&Repository);
    let changes: [(&str, Change, &str); 6] = [
        ("edited", |r| r.write("runs/a.jsonl", records(&["a", "x"])), "the call at index 1 is another one"),
        ("cut", |r| r.write("runs/a.jsonl", records(&["a"])), "it ends before index 1"),
        ("deleted", |r| std::fs::remove_file(r.path("runs/a.jsonl")).unwrap(), "recording is gone"),
        (
            "a folder",
            |r| {
                std::fs::remove_file(r.path("runs/a.jsonl")).unwrap();
                r.write("runs/a.jsonl/b.jsonl", records(&["x"]));
            },
            "is no regular file any more",
        ),
        (
            "moved",
            |r| {
                r.git(&["mv", "runs/a.jsonl", "elsewhere.jsonl"]);
            },
            "was moved to elsewhere.jsonl",
        ),
        ("no transcript", |r| r.write("runs/a.jsonl", "text\n"), "line 1 is another one"),
    ];
    for (what, change, words) in changes {
        let repository = Repository::new();
        repository.write("runs/a.jsonl", text.clone());
        repository.write("runs/other.jsonl", records(&["o"]));
        repository.commit("base");
        change(&repository);
        repository.commit("head");
        let ran = repository.run(&["audit", "--base", "HEAD^", "runs"]);
        assert!(ran.code != 0 && ran.stdout.contains("[recording-rewritten]"), "{what}: {ran:?}");
        assert!(ran.stdout.contains(words), "{what}: {}", ran.stdout);
        let seals = repository.run(&["audit", "--base", "HEAD^", "--seals-only", "--allow-empty", "runs"]);
        assert!(!seals.stdout.contains("recording-rewritten"), "{what}: {seals:?}");
    }
    // compressed, the same is compared
    let repository = Repository::new();
    repository.write("runs/a.jsonl", text.clone());
    gzip(&repository, "runs/a.jsonl");
    repository.commit("base");
    std::fs::remove_file(repository.path("runs/a.jsonl.gz")).unwrap();
    repository.write("runs/a.jsonl", records(&["a", "b", "c"]));
    gzip(&repository, "runs/a.jsonl");
    let grown = repository.run(&["audit", "--base", "HEAD", "runs"]);
    assert_eq!(grown.code, 0, "{grown:?}");
    std::fs::remove_file(repository.path("runs/a.jsonl.gz")).unwrap();
    repository.write("runs/a.jsonl", records(&["x", "b"]));
    gzip(&repository, "runs/a.jsonl");
    let edited = repository.run(&["audit", "--base", "HEAD", "runs"]);
    assert!(edited.code == 1 && edited.stdout.contains("the call at index 0 is another one"), "{edited:?}");
}

#[test]
fn a_seal_that_is_renamed_leaves_a_mark() {
    for (to, edited) in [("runs/A.sealed.jsonl", false), ("runs/z.jsonl", false), ("runs/b.sealed.jsonl", true)] {
        let repository = sealed(&["a", "b"]);
        repository.git(&["mv", "runs/a.sealed.jsonl", to]);
        if edited {
            repository.write("runs/a.jsonl", records(&["a", "x"]));
        }
        repository.commit("head");
        for mode in [&["audit"][..], &["audit", "--seals-only"]] {
            let ran = repository.run(&[mode, &["--base", "HEAD^", "runs"]].concat());
            assert_eq!(ran.code, 1, "{to}: {ran:?}");
            assert!(ran.stdout.contains("its seal, a.sealed.jsonl, stood beside it"), "{to}: {}", ran.stdout);
        }
        if edited {
            let ran = repository.run(&["audit", "--base", "HEAD^", "runs"]);
            assert!(ran.stdout.contains("the call at index 1 is another one"), "{}", ran.stdout);
        }
    }
    // both together is a renamed transcript
    let repository = sealed(&["a", "b"]);
    repository.git(&["mv", "runs/a.sealed.jsonl", "runs/b.sealed.jsonl"]);
    repository.git(&["mv", "runs/a.jsonl", "runs/b.jsonl"]);
    repository.commit("head");
    let ran = repository.run(&["audit", "--base", "HEAD^", "runs"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn a_key_that_was_taken_back_vouches_for_nothing() {
    let repository = Repository::new();
    repository.write("runs/a.jsonl", records(&["a"]));
    assert_eq!(repository.run(&["keygen", "ci"]).code, 0);
    repository.git(&["checkout", "--quiet", "-b", "topic"]);
    std::fs::rename(repository.path("ci.pub"), repository.path("trusted.keys")).unwrap();
    repository.commit("base");
    repository.run(&["seal-all", "runs", "--sign", "ci.key"]);
    repository.commit("head");
    let audit = |policy: &str| {
        let trust = ["--trust", "trusted.keys", "--require-signature", "runs"];
        repository.run(&[&["audit", "--base", "topic^", "--policy-base", policy][..], &trust].concat())
    };
    assert_eq!(audit("topic^").code, 0, "{:?}", audit("topic^"));
    // the target branch has no such file any more
    repository.git(&["checkout", "--quiet", "-b", "target", "topic^"]);
    repository.git(&["rm", "--quiet", "trusted.keys"]);
    repository.git(&["commit", "--quiet", "-m", "nobody is trusted"]);
    repository.git(&["checkout", "--quiet", "topic"]);
    let ran = audit("target");
    assert!(ran.code == 1 && ran.stdout.contains("no trusted key signed it"), "{ran:?}");
}
