//! What a person sees: excerpts, tables, quiet and verbose runs, errors that say where and what to do.

use crate::audit::Project;
use crate::{record, run, run_on, toolreplay};
use serde_json::Value;
use std::fs;

const SCOPE: &str = r#"{"version":2,"agent":"a","allowed_tools":[
 {"tool":"Bash","command":{"arg":"command","prefixes":["git status"]}},"search","Write"]}"#;

/// A run in which everything is shown that an excerpt can show.
fn session(token: &str) -> String {
    [
        record(0, "search", r#"{"query":"größe","limit":5}"#, r#"{"content":"one\n12 passed\nend"}"#),
        record(1, "Bash", r#"{"command":"git status && rm -rf build"}"#, "{}"),
        record(2, "search", r#"{"query":"größe","limit":5}"#, r#"{"content":"one\n11 passed\nend"}"#),
        record(3, "Write", &format!(r#"{{"file_path":"a.txt","content":"key = {token} # keep"}}"#), "{}"),
        record(4, "Write", r#"{"file_path":"b.txt","content":"x"}"#, "{}"),
        record(5, "Write", r#"{"file_path":"b.txt","content":"x"}"#, "{}"),
    ]
    .concat()
}

fn token() -> String {
    format!("glpat-{}", "kQ7vZ2mXr9TbW4nYc8Hd")
}

#[test]
fn what_was_called_is_shown_with_a_mark() {
    let project = Project::new(&[("run.jsonl", &session(&token())), ("scope.json", SCOPE)]);
    let ran = project.run(&["run.jsonl", "--scope", "scope.json"]);
    for excerpt in [
        "   | Bash  git status && rm -rf build\n   |                     ^^^^^^^^^^^^\n",
        "   | Write  key = [secret] # keep\n   |              ^^^^^^^^\n",
        "   | search  größe\n   | the answers differ at /content, line 2:\n   | index 0  12 passed\n   | index 2  11 passed\n   |           ^\n",
        "   | Write  b.txt\n\n",
    ] {
        assert!(ran.stdout.contains(excerpt), "{excerpt}\n{}", ran.stdout);
    }
    assert!(!ran.stdout.contains("kQ7vZ2"), "{}", ran.stdout);
    assert!(ran.stdout.contains("  --> run.jsonl:2:44 (index 1)\n"), "{}", ran.stdout);
    // the same in JSON, in characters
    let report = project.json(&["run.jsonl", "--scope", "scope.json"]);
    let finding = |kind: &str| report["findings"].as_array().unwrap().iter().find(|one| one["kind"] == kind).unwrap();
    let excerpt = &finding("permission-overreach")["excerpt"];
    assert_eq!((&excerpt["text"], &excerpt["argument"]), (&"git status && rm -rf build".into(), &"/command".into()));
    assert_eq!(excerpt["mark"], serde_json::json!({"start": 14, "length": 12}));
    let difference = &finding("non-determinism")["excerpt"]["difference"];
    assert_eq!((&difference["pointer"], &difference["line"]), (&"/content".into(), &2.into()));
    assert_eq!(difference["now"], serde_json::json!({"text": "11 passed", "mark": {"start": 1, "length": 1}}));
    let help = finding("redundant-call")["help"].as_str().unwrap();
    assert!(help.ends_with("/docs/rules/redundant-call.md") && help.starts_with("https://"), "{help}");
}

/// What can be read but once is judged alike; only what changed in an answer is not shown.
#[test]
fn standard_input_and_compressed_files_have_excerpts() {
    let text = session(&token());
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, text.as_bytes()).unwrap();
    let project = Project::new(&[("run.jsonl", &text)]);
    fs::write(project.path("run.jsonl.gz"), packed.finish().unwrap()).unwrap();
    let findings = |report: &Value| -> Vec<Value> {
        let without_place = |mut finding: Value| {
            finding.as_object_mut().unwrap().remove("path");
            finding
        };
        report["findings"].as_array().unwrap().iter().cloned().map(without_place).collect()
    };
    let plain = findings(&project.json(&["run.jsonl", "--no-config"]));
    assert_eq!(plain, findings(&project.json(&["run.jsonl.gz", "--no-config"])));
    let ran = run_on(text.as_bytes(), ["audit", "--no-config", "--format", "json", "-"]);
    let piped = findings(&serde_json::from_str(&ran.stdout).unwrap());
    let mut known = plain.clone();
    for finding in &mut known {
        if let Some(excerpt) = finding.get_mut("excerpt").and_then(Value::as_object_mut) {
            excerpt.remove("difference");
        }
    }
    assert!(plain != known && piped == known, "{piped:?}");
}

/// The excerpts of a recording are those of the transcript that an import makes of it.
#[test]
fn recordings_have_the_excerpts_of_their_transcripts() {
    for sample in [
        "samples/rules/non-determinism/bad-codex.jsonl",
        "samples/rules/dangerous-call/bad-claude-code.jsonl",
        "samples/rules/redundant-call/bad-claude-code.jsonl",
    ] {
        if !crate::root().join(sample).exists() {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let transcript = folder.path().join("t.jsonl");
        run(["import", sample, "-o", transcript.to_str().unwrap()]);
        let excerpts = |path: &str| -> Vec<Value> {
            let ran = run(["audit", "--no-config", "--format", "json", path]);
            let report: Value = serde_json::from_str(&ran.stdout).unwrap();
            report["findings"].as_array().unwrap().iter().map(|finding| finding["excerpt"].clone()).collect()
        };
        let of_recording = excerpts(sample);
        assert!(!of_recording.is_empty() && of_recording[0]["text"].is_string(), "{sample}: {of_recording:?}");
        assert_eq!(of_recording, excerpts(transcript.to_str().unwrap()), "{sample}");
    }
}

/// A file of nothing but findings is not kept in memory: only the first thousand have an excerpt, and that is said.
#[test]
fn excerpts_are_bounded() {
    let text: String = (0..1_200)
        .map(|index| record(index, "Bash", &format!(r#"{{"command":"git push --force origin b{index}"}}"#), "{}"))
        .collect();
    let project = Project::new(&[("run.jsonl", &text)]);
    let report = project.json(&["run.jsonl"]);
    let with = report["findings"].as_array().unwrap().iter().filter(|finding| finding["excerpt"].is_object()).count();
    let findings = report["findings"].as_array().unwrap().len();
    assert!(findings >= 1_200 && with == 1_000, "{findings} {with}");
    assert!(
        project.run(&["run.jsonl"]).stdout.contains("\nremark: what was called is shown for the first 1000 findings")
    );
}

#[test]
fn hostile_arguments_are_shown_as_text() {
    let long = "漢".repeat(5_000);
    let text = [
        record(0, "Bash", r#"{"command":"git push --force '\u001b[31m\u202e\n##[error]x'"}"#, "{}"),
        record(1, "Bash", &format!(r#"{{"command":"git push --force {long}"}}"#), "{}"),
        record(2, "Bash", r#"{"command":"git push --force \ud83d"}"#, "{}"),
        record(3, r"\u001b]0;x\u0007", r#"{"command":"git push --force"}"#, "{}"),
    ]
    .concat();
    let project = Project::new(&[("run.jsonl", &text)]);
    for format in ["text", "concise", "json"] {
        let ran = project.run(&["run.jsonl", "--format", format]);
        let hidden =
            ran.stdout.chars().filter(|char| *char != '\n' && (char.is_control() || *char == '\u{202e}')).count();
        assert_eq!((hidden, ran.stdout.contains("##[")), (0, false), "{format}: {}", ran.stdout);
    }
    let ran = project.run(&["run.jsonl"]);
    let excerpts: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with("   | ")).collect();
    assert!(excerpts.len() >= 8 && excerpts.iter().all(|line| line.chars().count() <= 100), "{excerpts:?}");
}

#[test]
fn one_line_a_finding_and_nothing_else() {
    let project = Project::new(&[("run.jsonl", &session(&token())), ("clean.jsonl", &record(0, "t", "{}", "{}"))]);
    let ran = project.run(&["run.jsonl", "--format", "concise", "-q"]);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(lines.iter().all(|line| line.starts_with("run.jsonl:")), "{lines:?}");
    assert!(
        lines.iter().any(|line| line.starts_with("run.jsonl:6: warning[redundant-call] tool 'Write' repeats")),
        "{lines:?}"
    );
    assert!(ran.code == 1 && ran.stderr.is_empty());
    let usual = project.run(&["run.jsonl", "--format", "concise"]);
    assert!(usual.stdout.contains("\naudit: ") && usual.stdout.contains("\ncoverage: "), "{}", usual.stdout);
    // a quiet run without findings says nothing, and its exit code stays
    let clean = project.run(&["clean.jsonl", "-q"]);
    assert_eq!((clean.code, clean.stdout.as_str(), clean.stderr.as_str()), (0, "", ""));
    let quiet = project.run(&["run.jsonl", "--quiet"]);
    assert!(quiet.stdout.contains("   | Write  b.txt") && !quiet.stdout.contains("coverage: "), "{}", quiet.stdout);
    assert_eq!(project.run(&["run.jsonl", "-q", "-v"]).code, 2);
}

#[test]
fn several_sessions_end_in_a_table() {
    let repeat = |times: usize| -> String {
        (0..times).map(|at| record(at, "get_time", &format!("{{\"n\":{}}}", at / 2), "{}")).collect()
    };
    let mut files: Vec<(String, String)> =
        (0..25).map(|at| (format!("r/{at:02}.jsonl"), repeat(if at == 7 { 6 } else { 2 }))).collect();
    files.push(("r/clean.jsonl".to_owned(), record(0, "t", "{}", "{}")));
    let named: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let project = Project::new(&named);
    let text = project.run(&["r"]).stdout;
    assert!(text.starts_with("file r/00.jsonl: 2 calls; 1 warning\n\nwarning[redundant-call]"), "{text}");
    assert!(!text.contains("file r/clean.jsonl"), "{text}");
    let table = &text[text.find("sessions, the worst first:\n").unwrap()..];
    let rows: Vec<&str> = table.lines().collect();
    assert!(rows[2].ends_with("       6       0  r/07.jsonl"), "{table}");
    assert!(
        table.contains("  and 5 more with findings; --verbose shows them all\n  and 1 without findings\n"),
        "{table}"
    );
    let all = project.run(&["r", "-v"]).stdout;
    assert!(all.contains("file r/clean.jsonl: 1 call; no findings") && !all.contains("more with findings"), "{all}");
    let counted = project.run(&["r", "--statistics"]).stdout;
    assert!(
        counted.starts_with("findings by rule:\n       27  redundant-call\n\nfindings by tool:\n       27  get_time\n"),
        "{counted}"
    );
    assert!(counted.contains("findings by file:\n        3  r/07.jsonl\n") && !counted.contains("-->"), "{counted}");
}

#[test]
fn a_run_without_a_scope_says_so() {
    let project = Project::new(&[
        ("run.jsonl", &record(0, "t", "{}", "{}")),
        ("s.json", r#"{"agent":"a","allowed_tools":["t"]}"#),
    ]);
    assert!(project.run(&["run.jsonl"]).stdout.starts_with("audit: no findings; permissions not judged\n"));
    assert!(project.run(&["run.jsonl", "--scope", "s.json"]).stdout.starts_with("audit: no findings\n"));
}

/// A session in which a result has lost its call.
fn orphaned() -> String {
    let text = fs::read_to_string(crate::sample("import/claude-code/session.jsonl")).unwrap();
    let (mut cut, mut out) = (false, String::new());
    for line in text.lines() {
        if !cut && line.contains("\"tool_use\"") {
            cut = true;
            continue;
        }
        out.push_str(&format!("{line}\n"));
    }
    out
}

#[test]
fn losses_are_accepted_by_path_and_with_a_reason() {
    let project = Project::new(&[("ex/a.jsonl", &orphaned()), ("other/b.jsonl", &orphaned())]);
    let refused = project.run(&["ex"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    let said = "A result without its call is an error, because somebody may have taken the call out. To accept what is missing";
    assert_eq!(refused.stdout.matches(said).count(), 1, "{refused:?}");
    assert!(
        !refused.stderr.contains("ORPHAN_RESULT") && refused.stderr.contains("not all of the recording"),
        "{refused:?}"
    );
    let allow = |path: &str, more: &str| {
        project.write("toolreplay.toml", &format!("[[allow-loss]]\npath = \"{path}\"\nreason = \"excerpts\"\n{more}"));
    };
    allow("ex/*.jsonl", "");
    let accepted = project.run(&["ex"]);
    assert!(
        accepted.code <= 1 && accepted.stdout.contains("remark: allow-loss for 'ex/*.jsonl' (excerpts): 1 file"),
        "{accepted:?}"
    );
    assert!(accepted.stdout.contains("result without a call"), "it is counted: {accepted:?}");
    assert_eq!(project.run(&["ex", "other"]).code, 2, "the other file is not meant");
    allow("ex/*.jsonl", "expires = 2020-01-01\n");
    let expired = project.run(&["ex"]);
    assert!(expired.code == 2 && expired.stdout.contains("expired on 2020-01-01"), "{expired:?}");
    allow("nowhere/**", "");
    let unused = project.run(&["ex"]);
    assert!(unused.code == 2 && unused.stdout.contains("(excerpts) accepted nothing; remove it"), "{unused:?}");
}

#[test]
fn errors_say_where_and_what_to_do() {
    let project = Project::new(&[
        ("toolreplay.toml", "paths = [\".\"]\nfail_on = \"error\"\n"),
        ("scope.json", "{\"version\":2,\n \"deny\":[]}\n"),
        ("package.json", "{\"name\":\"x\",\"version\":\"1\"}\n"),
        ("plain.jsonl", &record(0, "t", "{}", "{}")),
    ]);
    fs::write(project.path("binary"), [0x7f, b'E', b'L', b'F', 0, 0, 1]).unwrap();
    let config = project.run(&["plain.jsonl"]).stderr;
    assert!(config.ends_with("\n   | fail_on = \"error\"\n   | ^^^^^^^\n"), "{config}");
    let scope = project.run(&["--no-config", "plain.jsonl", "--scope", "scope.json"]).stderr;
    assert!(scope.contains("\n   |  \"deny\":[]}\n   | "), "{scope}");
    let said = |args: &[&str]| {
        let ran: crate::Ran = toolreplay().current_dir(project.path("")).args(args).output().unwrap().into();
        assert_eq!(ran.code, 2, "{ran:?}");
        ran.stderr
    };
    for (args, help) in [
        (vec!["audit", "--no-config", "package.json"], "help: package.json: it is JSON about something else; name"),
        (vec!["audit", "--no-config", "binary"], "help: binary: it is no text file; name"),
        (vec!["verify", "plain.jsonl"], "help: plain.jsonl: it was never sealed; 'toolreplay seal FILE'"),
    ] {
        let text = said(&args);
        assert!(text.starts_with("error: ") && text.contains(help), "{args:?}: {text}");
    }
}

#[test]
fn options_are_there_where_they_do_something() {
    for args in [&["explain", "--threads", "2"][..], &["--threads", "2", "formats"], &["schema", "config", "-v"]] {
        let ran = run(args);
        assert!(ran.code == 2 && ran.stderr.contains("does nothing in"), "{ran:?}");
    }
    assert!(!run(["explain", "--help"]).stdout.contains("--threads"));
    assert!(run(["audit", "--help"]).stdout.contains("--threads"));
    let colored = |name: &str, value: &str, more: &[&str]| {
        let mut command = toolreplay();
        command.env_remove("CLICOLOR_FORCE").env(name, value);
        let ran: crate::Ran =
            command.args(["audit", "--no-config", "samples/session-dirty.jsonl"]).args(more).output().unwrap().into();
        ran.stdout.contains("\x1b[")
    };
    assert!(colored("CLICOLOR_FORCE", "1", &[]) && !colored("CLICOLOR_FORCE", "0", &[]) && !colored("X", "1", &[]));
    assert!(!colored("CLICOLOR_FORCE", "1", &["--color", "never"]));
    let forced: crate::Ran =
        toolreplay().env("CLICOLOR_FORCE", "1").args(["audit", "missing"]).output().unwrap().into();
    assert!(forced.stderr.starts_with("\x1b[1;31merror:\x1b[0m missing: "), "{forced:?}");
    let neither: crate::Ran = toolreplay()
        .env("CLICOLOR_FORCE", "1")
        .env("NO_COLOR", "1")
        .args(["audit", "missing"])
        .output()
        .unwrap()
        .into();
    assert!(neither.stderr.starts_with("error: "), "{neither:?}");
}

#[test]
fn completions_know_formats_and_rules() {
    for shell in ["bash", "zsh", "fish"] {
        let script = run(["completions", shell]).stdout;
        for word in ["claude-code", "redundant-call", "sarif", "concise"] {
            // what stands alone is not completed in fish
            assert!(script.contains(word) || shell == "fish" && word == "redundant-call", "{shell}: {word}");
        }
    }
}
