//! `audit`: what it finds, levels, configuration, suppressions, coverage.

use crate::{Ran, record, root, sample, toolreplay};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A folder that is the root of a repository, to run in.
pub(crate) struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    pub(crate) fn new(files: &[(&str, &str)]) -> Project {
        let project = Project { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(project.path(".git")).unwrap();
        for (name, text) in files {
            fs::create_dir_all(project.path(name).parent().unwrap()).unwrap();
            fs::write(project.path(name), text).unwrap();
        }
        project
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run_in(&self, folder: &str, args: &[&str]) -> Ran {
        toolreplay().current_dir(self.path(folder)).arg("audit").args(args).output().unwrap().into()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.run_in("", args)
    }

    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let ran = self.run(&[args, &["--format", "json"]].concat());
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
    }
}

fn dirty() -> String {
    fs::read_to_string(sample("session-dirty.jsonl")).unwrap()
}

fn clean() -> String {
    fs::read_to_string(sample("session-clean.jsonl")).unwrap()
}

fn sealed(text: &str) -> String {
    crate::run_on(text.as_bytes(), ["seal", "-"]).stdout
}

fn paths(report: &Value) -> Vec<&str> {
    report["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect()
}

#[test]
fn folders_and_globs_are_searched() {
    let project = Project::new(&[
        ("runs/b.jsonl", &clean()),
        ("runs/a/deep.ndjson", &clean()),
        ("runs/.hidden/x.jsonl", "{"),
        ("runs/.hidden.jsonl", "{"),
        ("runs/README.md", "words"),
        ("other/c.jsonl", &clean()),
    ]);
    let report = project.json(&["runs"]);
    assert_eq!(paths(&report), ["runs/a/deep.ndjson", "runs/b.jsonl"]);
    assert!(report["coverage"]["not_judged"].to_string().contains("1 other file in folders"));
    assert_eq!(paths(&project.json(&["**/*.jsonl"])), ["other/c.jsonl", "runs/b.jsonl"]);
    assert_eq!(
        paths(&project.json(&["runs/b.jsonl", "./runs/b.jsonl", "runs"])),
        ["runs/a/deep.ndjson", "runs/b.jsonl"]
    );
    assert_eq!(
        paths(&project.json(&["runs/**"])),
        ["runs/a/deep.ndjson", "runs/b.jsonl"],
        "all that the folder would give"
    );
    assert_eq!(paths(&project.json(&["r*"])), ["runs/a/deep.ndjson", "runs/b.jsonl"]);
    assert_eq!(paths(&project.json(&["runs/.hidden/*.jsonl"])), ["runs/.hidden/x.jsonl"]);
    let nothing = project.run(&["*.nothing", "runs"]);
    assert_eq!(nothing.code, 2);
    assert!(nothing.stderr.starts_with("error: *.nothing: cannot be opened: "), "{}", nothing.stderr);
    assert!(nothing.stdout.contains("8 calls"), "the rest is audited: {}", nothing.stdout);
    assert_eq!(project.run(&["*.nothing", "--allow-empty"]).code, 0);
    assert_eq!(project.run(&["[z-a]"]).stderr.lines().count(), 1);
}

#[test]
fn a_run_that_audits_nothing_is_no_pass() {
    let project = Project::new(&[("runs/README.md", "words"), ("empty.jsonl", "\n")]);
    for path in ["runs", "empty.jsonl"] {
        let ran = project.run(&[path]);
        assert_eq!(ran.code, 2, "{path}");
        assert!(ran.stderr.contains("found no call to audit"), "{}", ran.stderr);
        assert_eq!(project.run(&[path, "--allow-empty"]).code, 0, "{path}");
        assert_eq!(project.json(&[path])["verdict"], "inconclusive");
    }
    let ran = project.run(&[]);
    assert!(ran.code == 2 && ran.stderr.starts_with("error: nothing to audit is named"), "{}", ran.stderr);
}

#[test]
fn levels_decide_the_exit_code_and_what_is_shown() {
    let note =
        record(0, "get", "{}", "{}") + &record(1, "write_file", "{}", "{}") + &record(2, "get", "{}", "{\"v\":1}");
    let project = Project::new(&[
        ("note.jsonl", &note),
        ("dirty.jsonl", &dirty()),
        ("scope.json", "{\"agent\":\"a\",\"allowed_tools\":[]}"),
    ]);
    assert_eq!(project.run(&["note.jsonl"]).code, 0);
    assert_eq!(project.run(&["note.jsonl", "--fail-on", "note"]).code, 1);
    assert_eq!(project.run(&["dirty.jsonl"]).code, 1);
    assert_eq!(project.run(&["dirty.jsonl", "--fail-on", "error"]).code, 0);
    assert_eq!(project.run(&["dirty.jsonl", "--fail-on", "error", "--scope", "scope.json"]).code, 1);
    let report = project.json(&["dirty.jsonl", "--min-level", "warning"]);
    assert_eq!(report["findings"].as_array().unwrap().len(), 1);
    assert_eq!(report["summary"]["below_min_level"], 1);
    assert!(project.run(&["dirty.jsonl", "--min-level", "warning"]).stdout.contains("1 below the lowest level shown"));
}

#[test]
fn sealed_transcripts_are_told_by_their_fields() {
    let broken = sealed(&clean()).replace("1730", "1731");
    let project = Project::new(&[
        ("plain.sealed.jsonl", &clean()),
        ("s/seal.jsonl", &sealed(&dirty())),
        ("s/broken.jsonl", &broken),
    ]);
    let report = project.json(&["."]);
    assert_eq!(paths(&report), ["./plain.sealed.jsonl", "./s/broken.jsonl", "./s/seal.jsonl"]);
    let chains: Vec<&Value> = report["files"].as_array().unwrap().iter().map(|file| &file["chain"]["intact"]).collect();
    assert_eq!(chains, [&Value::Null, &Value::Bool(false), &Value::Bool(true)]);
    // the calls of a sealed transcript are judged as well
    let kinds: Vec<&str> = report["findings"].as_array().unwrap().iter().map(|f| f["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["broken-link", "redundant-call", "non-determinism"]);
}

#[test]
fn a_sealed_twin_is_not_reported_twice() {
    let project = Project::new(&[("run.jsonl", &dirty()), ("run.sealed.jsonl", &sealed(&dirty()))]);
    let report = project.json(&["."]);
    assert_eq!(report["findings"].as_array().unwrap().len(), 2);
    assert_eq!(report["files"][1]["repeats"], "./run.jsonl");
    assert_eq!(report["coverage"]["calls"], 6);
}

#[test]
fn a_malformed_file_fails_the_run_and_the_others_are_judged() {
    let project = Project::new(&[("bad.jsonl", "{\"index\":0}\n"), ("dirty.jsonl", &dirty())]);
    let ran = project.run(&["."]);
    assert_eq!(ran.code, 2);
    assert_eq!(ran.stderr, "error: ./bad.jsonl: line 1: missing field(s): args, response, tool\n");
    assert!(
        ran.stdout.contains("error[malformed-transcript]") && ran.stdout.contains("warning[redundant-call]"),
        "{}",
        ran.stdout
    );
    let report = project.json(&["."]);
    assert_eq!((&report["verdict"], &report["exit_code"]), (&Value::from("failed"), &Value::from(2)));
    assert_eq!(report["files"][0]["error"]["line"], 1);
    let alone = project.run(&["bad.jsonl"]);
    assert_eq!((alone.code, alone.stdout.as_str()), (2, ""));
    assert_eq!(alone.stderr, "error: line 1: missing field(s): args, response, tool\n");
}

#[test]
fn the_configuration_is_found_and_the_command_line_wins() {
    let config = "paths = [\"runs/*.jsonl\"]\nscope = \"policy/scope.json\"\nfail-on = \"error\"\nreports = [\"json=out.json\"]\n";
    let project = Project::new(&[
        ("toolreplay.toml", config),
        (
            "policy/scope.json",
            "{\"agent\":\"a\",\"allowed_tools\":[\"list_dir\",\"read_file\",\"search\",\"write_file\"]}",
        ),
        ("runs/dirty.jsonl", &dirty()),
        ("sub/deeper/x", ""),
        ("other.toml", "min-level = \"error\"\n"),
    ]);
    let ran = project.run(&[]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(!ran.stdout.contains("no scope was given"), "{}", ran.stdout);
    assert!(fs::read_to_string(project.path("out.json")).unwrap().contains("\"redundant-call\""));
    assert_eq!(project.run_in("sub/deeper", &[]).code, 0, "found upward to the root of the repository");
    assert_eq!(project.run(&["--fail-on", "warning"]).code, 1);
    assert_eq!(project.run(&["--no-config"]).code, 2);
    assert!(
        project.run(&["--config", "other.toml", "runs/dirty.jsonl"]).stdout.contains("2 below the lowest level shown")
    );
    fs::remove_dir(project.path(".git")).unwrap();
    fs::create_dir(project.path("sub/.git")).unwrap();
    assert_eq!(project.run_in("sub/deeper", &[]).code, 2, "not found beyond the root");
}

#[test]
fn faults_of_the_configuration_have_their_line() {
    let project =
        Project::new(&[("toolreplay.toml", "paths = [\".\"]\n\nfailon = \"error\"\n"), ("a.jsonl", &clean())]);
    let ran = project.run(&[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("toolreplay.toml: line 3: column 1: unknown field `failon`"), "{}", ran.stderr);
    fs::write(project.path("toolreplay.toml"), "reports = [\"pdf\"]\n").unwrap();
    assert!(project.run(&["a.jsonl"]).stderr.contains("no format is called 'pdf'"));
}

#[test]
fn suppressions_need_a_match() {
    let suppress = |body: &str| format!("[[suppressions]]\nreason = \"known\"\n{body}\n");
    let project = Project::new(&[("runs/dirty.jsonl", &dirty()), ("toolreplay.toml", "")]);
    let kinds = |project: &Project| {
        let report = project.json(&["runs"]);
        let findings = report["findings"].as_array().unwrap().clone();
        let kinds: Vec<String> = findings.iter().map(|f| f["kind"].as_str().unwrap().to_owned()).collect();
        (kinds, report["summary"]["suppressed"].as_u64().unwrap(), report["remarks"].as_array().unwrap().len())
    };
    let fingerprint = project.json(&["runs"])["findings"][0]["fingerprint"].as_str().unwrap().to_owned();
    for (body, left, suppressed, remarks) in [
        ("rule = \"redundant-call\"".to_owned(), vec!["non-determinism"], 1, 0),
        ("path = \"runs/*.jsonl\"".to_owned(), vec![], 2, 0),
        ("path = \"**/dirty.jsonl\"\ntool = \"search\"".to_owned(), vec!["redundant-call"], 1, 0),
        (format!("fingerprint = \"{fingerprint}\""), vec!["non-determinism"], 1, 0),
        ("path = \"*.jsonl\"".to_owned(), vec!["redundant-call", "non-determinism"], 0, 1),
        ("rule = \"redundant-call\"\nexpires = 2020-01-01".to_owned(), vec!["redundant-call", "non-determinism"], 0, 1),
        ("rule = \"redundant-call\"\nexpires = 2999-01-01".to_owned(), vec!["non-determinism"], 1, 0),
    ] {
        fs::write(project.path("toolreplay.toml"), suppress(&body)).unwrap();
        assert_eq!(
            kinds(&project),
            (left.iter().map(|kind| (*kind).to_owned()).collect(), suppressed, remarks),
            "{body}"
        );
    }
    fs::write(project.path("toolreplay.toml"), suppress("tool = \"nobody\"")).unwrap();
    let said = "the suppression of tool 'nobody' (known) matched nothing; remove it\n";
    let ran = project.run(&["runs"]);
    // once: what a report says to people is not said again
    assert!(ran.stdout.contains(&format!("remark: {said}")) && ran.stderr.is_empty(), "{ran:?}");
    let ran = project.run(&["runs", "--format", "json"]);
    assert_eq!(ran.stderr, format!("warning: {said}"));
    // many are counted where people read, and named where programs do
    let many: String = (0..40).map(|at| suppress(&format!("tool = \"nobody{at}\""))).collect();
    fs::write(project.path("toolreplay.toml"), many).unwrap();
    let ran = project.run(&["runs"]);
    assert_eq!(ran.stdout.matches("\nremark: ").count(), 4, "{}", ran.stdout);
    assert!(ran.stdout.contains("remark: 37 more suppressions did nothing; the JSON report names them all\n"));
    assert_eq!(project.json(&["runs"])["remarks"].as_array().unwrap().len(), 40);
}

/// Neither evidence that cannot be read nor evidence that was edited can be silenced, and a tool's name selects that tool.
#[test]
fn suppressions_reach_no_further_than_they_say() {
    let long = "n".repeat(300);
    let names = [long.clone() + "a", long.clone() + "b", "\\ud83d".to_owned()];
    let calls: String = names
        .iter()
        .enumerate()
        .map(|(index, name)| record(2 * index, name, "{}", "{}") + &record(2 * index + 1, name, "{}", "{}"))
        .collect();
    let project = Project::new(&[
        ("cut.jsonl", "{"),
        ("broken.jsonl", &sealed(&clean()).replace("1730", "1731")),
        ("names/a.jsonl", &calls),
        ("toolreplay.toml", "[[suppressions]]\nreason = \"all\"\npath = \"**\"\n"),
    ]);
    for (file, kind) in [("cut.jsonl", "malformed-transcript"), ("broken.jsonl", "broken-link")] {
        let report = project.json(&[file]);
        assert_eq!(report["findings"][0]["kind"], kind);
        assert_eq!(report["remarks"].as_array().unwrap().len(), 1, "it matched nothing");
    }
    let left = |name: &str| {
        let suppression = format!("[[suppressions]]\nreason = \"r\"\ntool = '{name}'\n");
        fs::write(project.path("toolreplay.toml"), suppression).unwrap();
        project.json(&["names"])["findings"].as_array().unwrap().len()
    };
    assert_eq!(left(&names[0]), 2);
    assert_eq!(left(&format!("{}…", "n".repeat(199))), 3, "not what messages show");
    assert_eq!(left("\\ud83d"), 3, "six characters are no lone surrogate");
    fs::write(project.path("toolreplay.toml"), "[[suppressions]]\nreason = \"r\"\npath = \"./names/*\"\n").unwrap();
    assert_eq!(project.json(&["names"])["summary"]["suppressed"], 3);
}

/// What the command reads it must not overwrite, under whatever name.
#[test]
fn an_output_that_is_an_input_is_refused() {
    let project = Project::new(&[
        ("a.jsonl", &dirty()),
        ("r/b.jsonl", &dirty()),
        ("scope.json", "{\"agent\":\"a\",\"allowed_tools\":[]}"),
        ("toolreplay.toml", ""),
        ("s.jsonl", &sealed(&dirty())),
    ]);
    #[cfg(unix)]
    std::os::unix::fs::symlink("a.jsonl", project.path("link.jsonl")).unwrap();
    let run = |args: &[&str]| -> Ran { toolreplay().current_dir(project.path("")).args(args).output().unwrap().into() };
    for args in [
        &["audit", "a.jsonl", "-o", "a.jsonl"][..],
        &["audit", "r", "--report", "json=r/b.jsonl"],
        &["audit", "a.jsonl", "-o", "r/../a.jsonl"],
        #[cfg(unix)]
        &["audit", "a.jsonl", "-o", "link.jsonl"],
        &["audit", "a.jsonl", "--scope", "scope.json", "-o", "scope.json"],
        &["audit", "a.jsonl", "-o", "toolreplay.toml"],
        &["replay", "a.jsonl", "-o", "a.jsonl"],
        &["scope", "a.jsonl", "scope.json", "-o", "scope.json"],
        &["verify", "s.jsonl", "--extends", "s.jsonl", "-o", "s.jsonl"],
        &["seal", "a.jsonl", "-o", "a.jsonl"],
    ] {
        let ran = run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?}");
        assert!(ran.stderr.contains("is read by this very command"), "{args:?} {}", ran.stderr);
    }
    assert_eq!(fs::read_to_string(project.path("a.jsonl")).unwrap(), dirty());
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("new.json", project.path("alias.json")).unwrap();
        let ran = run(&["audit", "a.jsonl", "--report=json=new.json", "--report=sarif=alias.json"]);
        assert!(ran.stderr.contains("two reports would be written to"), "{}", ran.stderr);
    }
}

/// One report that cannot be written keeps no other back.
#[cfg(target_os = "linux")]
#[test]
fn a_report_that_cannot_be_written_is_an_error_of_its_own() {
    let project = Project::new(&[("a.jsonl", &dirty())]);
    let ran = project.run(&["a.jsonl", "--report=json=/dev/full", "--report=junit=ok.xml"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("/dev/full") && ran.stdout.contains("audit: 1 warning"), "{ran:?}");
    assert!(fs::read_to_string(project.path("ok.xml")).unwrap().contains("redundant-call"));
}

/// Names that try to stop, mislead or detain a run that looks for files.
#[cfg(unix)]
#[test]
fn odd_things_in_folders() {
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::symlink;
    let project = Project::new(&[("r/x.jsonl", &clean()), ("elsewhere/y.jsonl", &clean())]);
    symlink(".", project.path("r/a")).unwrap();
    symlink(".", project.path("r/b")).unwrap();
    symlink("../elsewhere", project.path("r/c")).unwrap();
    symlink("../elsewhere/y.jsonl", project.path("r/link.jsonl")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(project.path("r/pipe.jsonl")).status().unwrap().success());
    let odd = project.path("r").join(std::ffi::OsStr::from_bytes(b"lat\xe9.jsonl"));
    let odd_names = fs::write(&odd, clean()).is_ok();
    for path in ["r", "r/**", "r/**/*.jsonl", "r/[lx]*"] {
        let report = project.json(&[path]);
        assert_eq!(report["exit_code"], 0, "{path}: {report}");
        let found = paths(&report).iter().filter(|path| path.starts_with("r/")).count();
        assert_eq!(found, if odd_names { 3 } else { 2 }, "{path}: {:?}", paths(&report));
    }
    symlink("missing", project.path("r/dead.jsonl")).unwrap();
    let ran = project.run(&["r"]);
    assert!(ran.code == 2 && ran.stderr.starts_with("error: r/dead.jsonl: cannot be opened: "), "{}", ran.stderr);
    // a policy that is there but cannot be read is not no policy
    symlink("missing.toml", project.path("toolreplay.toml")).unwrap();
    let ran = project.run(&["r/x.jsonl"]);
    assert!(ran.code == 2 && ran.stderr.contains("toolreplay.toml"), "{}", ran.stderr);
}

#[test]
fn a_run_over_nothing_is_green_in_no_report() {
    let project = Project::new(&[("empty.jsonl", "")]);
    let sarif: Value = serde_json::from_str(&project.run(&["empty.jsonl", "--format", "sarif"]).stdout).unwrap();
    assert_eq!(sarif["runs"][0]["invocations"][0]["executionSuccessful"], false);
    assert!(project.run(&["empty.jsonl", "--format", "junit"]).stdout.contains("<error type=\"inconclusive\""));
    assert!(project.run(&["empty.jsonl", "--format", "markdown"]).stdout.contains("is inconclusive"));
}

#[test]
fn annotations_name_files_from_the_root_of_the_repository() {
    let project = Project::new(&[("sub/a folder/d%rty.jsonl", &dirty())]);
    let ran = project.run_in("sub", &["a folder", "--format", "github"]);
    assert!(ran.stdout.starts_with("::warning file=sub/a folder/d%25rty.jsonl,line=3,endLine=3,"), "{}", ran.stdout);
    let ran = project.run_in("sub", &["a folder", "--format", "sarif"]);
    let log: Value = serde_json::from_str(&ran.stdout).unwrap();
    let location = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(location["artifactLocation"]["uri"], "sub/a%20folder/d%25rty.jsonl");
    assert_eq!(location["region"]["startLine"], 3);
}

/// Columns, the records that belong to a finding, and the way from one answer to the other.
#[test]
fn results_say_where_exactly_and_how_it_came_to_it() {
    let project = Project::new(&[("dirty.jsonl", &dirty())]);
    let ran = project.run(&["dirty.jsonl", "--format", "sarif"]);
    let log: Value = serde_json::from_str(&ran.stdout).unwrap();
    let run = &log["runs"][0];
    for rule in run["tool"]["driver"]["rules"].as_array().unwrap() {
        let uri = rule["helpUri"].as_str().unwrap();
        assert!(
            uri.starts_with("https://") && uri.ends_with(&format!("/{}.md", rule["id"].as_str().unwrap())),
            "{uri}"
        );
    }
    let results = run["results"].as_array().unwrap();
    let changed = results.iter().find(|result| result["ruleId"] == "non-determinism").unwrap();
    let steps = changed["codeFlows"][0]["threadFlows"][0]["locations"].as_array().unwrap();
    let line = |location: &Value| location["physicalLocation"]["region"]["startLine"].as_u64().unwrap();
    assert_eq!(steps.len(), 2);
    assert_eq!(line(&steps[1]["location"]), line(&changed["locations"][0]));
    assert_eq!(line(&steps[0]["location"]), line(&changed["relatedLocations"][0]));
    for result in results {
        let region = &result["locations"][0]["physicalLocation"]["region"];
        assert!(region["startColumn"].as_u64() < region["endColumn"].as_u64(), "{result}");
        for related in result["relatedLocations"].as_array().into_iter().flatten() {
            assert!(related["message"]["text"].as_str().is_some_and(|text| text.contains("index")), "{result}");
        }
    }
    // the argument that a scope forbids has columns of its own
    let scope =
        r#"{"version": 2, "allowed_tools": [{"tool": "Bash", "command": {"arg": "command", "prefixes": ["ls"]}}]}"#;
    let call = record(0, "Bash", r#"{"command":"touch x"}"#, "{}");
    let project = Project::new(&[("a.jsonl", &call), ("scope.json", scope)]);
    let ran = project.run(&["a.jsonl", "--scope", "scope.json", "--format", "sarif"]);
    let log: Value = serde_json::from_str(&ran.stdout).unwrap();
    let region = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"];
    let start = call.find("\"touch x\"").unwrap() as u64 + 1;
    assert_eq!(
        (region["startColumn"].as_u64(), region["endColumn"].as_u64()),
        (Some(start), Some(start + 9)),
        "{region}"
    );
    let ran = project.run(&["a.jsonl", "--scope", "scope.json", "--format", "github"]);
    assert!(ran.stdout.contains(&format!(",line=1,endLine=1,col={start},endColumn={},", start + 9)), "{}", ran.stdout);
}

/// One absolute address would make code scanning refuse the whole upload.
#[test]
fn files_outside_the_repository_have_a_relative_address() {
    let project = Project::new(&[("x", "")]);
    let outside = tempfile::tempdir().unwrap();
    let path = outside.path().join("dirty.jsonl");
    fs::write(&path, dirty()).unwrap();
    let ran = project.run(&[path.to_str().unwrap(), "--format", "sarif"]);
    let log: Value = serde_json::from_str(&ran.stdout).unwrap();
    let location = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"];
    let uri = location["uri"].as_str().unwrap();
    assert!(uri.starts_with("outside-the-repository/") && uri.ends_with("/dirty.jsonl"), "{location}");
    assert_eq!(location["uriBaseId"], "%SRCROOT%");
    let folder = outside.path().file_name().unwrap().to_str().unwrap();
    assert!(!ran.stdout.contains(folder), "{}", ran.stdout);
    // and a link of the repository stands where it stands
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&path, project.path("link.jsonl")).unwrap();
        for format in ["sarif", "json", "gitlab"] {
            let ran = project.run(&["link.jsonl", "--format", format]);
            assert!(ran.stdout.contains("link.jsonl") && !ran.stdout.contains(folder), "{format}: {}", ran.stdout);
        }
    }
}

#[test]
fn the_order_of_files_and_threads_changes_no_byte() {
    let mut files: Vec<(String, String)> = (0..40).map(|n| (format!("r/{n:02}.jsonl"), dirty())).collect();
    let mut large = String::new();
    for index in 0..60_000 {
        large.push_str(&record(
            index,
            "get",
            &format!("{{\"n\":{}}}", index % 1_000),
            &format!("{{\"v\":{}}}", index / 1_000),
        ));
    }
    files.push(("r/large.jsonl".to_owned(), large));
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let project = Project::new(&files);
    let expected = project.run(&["r", "--format", "json", "--threads", "1"]);
    assert_eq!(expected.code, 1);
    assert!(expected.stdout.len() > 1_000_000);
    for threads in ["2", "5"] {
        assert!(project.run(&["r", "--format", "json", "--threads", threads]).stdout == expected.stdout);
    }
    // limits of the formats for many findings
    let annotations = project.run(&["r/large.jsonl", "--format", "github"]).stdout;
    let warnings: Vec<&str> = annotations.lines().filter(|line| line.starts_with("::warning ")).collect();
    assert_eq!(warnings.len(), 10);
    assert!(warnings[9].ends_with("::58991 more findings of level warning are in the full report"), "{}", warnings[9]);
    let sarif = project.run(&["r/large.jsonl", "--format", "sarif"]).stdout;
    let log: Value = serde_json::from_str(&sarif).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 5_000);
    assert_eq!(results[4_999]["message"]["text"], "54061 more findings were left out; the ones shown are the gravest.");
    assert!(project.run(&["r/large.jsonl", "--format", "markdown"]).stdout.len() < 1 << 20);
}

#[test]
fn the_readme_command_works_from_the_root_of_the_package() {
    assert!(Path::new(root()).join("samples/scope.json").exists());
    let ran = crate::run(["audit", "samples/session-dirty.jsonl", "--scope", "samples/scope.json"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("error[permission-overreach]"));
}
