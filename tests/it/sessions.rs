//! Sessions that are counted and compared: every format, whatever it holds.

use crate::{expect_file, record, root, run, run_on};
use std::path::Path;

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

/// A session of Claude Code with times and tokens: two requests, three calls, one of which failed.
const TIMED: &str = concat!(
    r#"{"type":"assistant","sessionId":"s","uuid":"1","timestamp":"2026-01-01T10:00:00Z","message":{"id":"m1","role":"assistant","usage":{"input_tokens":10,"cache_read_input_tokens":90,"output_tokens":1},"content":[{"type":"tool_use","id":"a","name":"Bash","input":{"command":"make"}}]}}"#,
    "\n",
    r#"{"type":"assistant","sessionId":"s","uuid":"2","timestamp":"2026-01-01T10:00:00Z","message":{"id":"m1","role":"assistant","usage":{"input_tokens":10,"cache_read_input_tokens":90,"output_tokens":7},"content":[{"type":"tool_use","id":"b","name":"Read","input":{"file_path":"/w/a"}}]}}"#,
    "\n",
    r#"{"type":"user","sessionId":"s","uuid":"3","timestamp":"2026-01-01T10:00:02.500Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"Exit code 1","is_error":true}]}}"#,
    "\n",
    r#"{"type":"user","sessionId":"s","uuid":"4","timestamp":"2026-01-01T10:00:01Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"text"}]}}"#,
    "\n",
    r#"{"type":"assistant","sessionId":"s","uuid":"5","timestamp":"2026-01-01T10:00:03Z","message":{"id":"m2","role":"assistant","usage":{"input_tokens":5,"output_tokens":3},"content":[{"type":"tool_use","id":"c","name":"Bash","input":{"command":"make"}}]}}"#,
    "\n",
);

#[test]
fn time_and_tokens_are_counted_where_they_are_recorded() {
    let ran = run_on(TIMED.as_bytes(), ["stats", "--no-config", "--format", "json", "-"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let stats = json(&ran.stdout);
    let total = &stats["total"];
    assert_eq!(total["counts"]["calls"], 3);
    assert_eq!((&total["counts"]["failed"], &total["counts"]["without_answer"]), (&1.into(), &1.into()));
    assert_eq!((&total["counts"]["repeats"], &total["counts"]["timed_calls"]), (&1.into(), &2.into()));
    assert_eq!(total["counts"]["time_ms"], 3500);
    // two records of one message are one request, and the fuller one counts
    let usage = &total["usage"];
    assert_eq!((&usage["input_tokens"], &usage["cached_input_tokens"]), (&105.into(), &90.into()));
    assert_eq!((&usage["output_tokens"], &usage["cost_usd"]), (&10.into(), &serde_json::Value::Null));
    let session = &stats["sessions"][0];
    assert_eq!((&session["format"], &session["took_ms"]), (&"claude-code".into(), &3000.into()));
    assert_eq!(session["started"], "2026-01-01T10:00:00.000000000Z");
    assert_eq!(session["tools"][0]["counts"]["time_ms"], 2500);
}

#[test]
fn what_is_counted_is_what_is_audited() {
    for folder in std::fs::read_dir(root().join("samples/import")).unwrap() {
        for file in std::fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() || name.contains(".expected.") {
                continue;
            }
            let path = path.to_str().unwrap();
            let args = ["--no-config", "--allow-loss", "--format", "json", path];
            let audit = run(["audit"].iter().chain(&args));
            let stats = run(["stats", "--allow-empty"].iter().chain(&args));
            let audited = json(&audit.stdout);
            let failed = audited["files"].as_array().unwrap().iter().any(|file| !file["error"].is_null());
            assert_eq!(stats.code, if failed { 2 } else { 0 }, "{path}: {}", stats.stderr);
            if !failed {
                let counted = json(&stats.stdout);
                assert_eq!(audited["coverage"]["calls"], counted["total"]["counts"]["calls"], "{path}");
                let sum = |list: &serde_json::Value| -> u64 {
                    list.as_array().unwrap().iter().map(|one| one["counts"]["calls"].as_u64().unwrap()).sum()
                };
                let calls = counted["total"]["counts"]["calls"].as_u64().unwrap();
                assert_eq!(
                    (sum(&counted["tools"]), sum(&counted["agents"]), sum(&counted["sessions"])),
                    (calls, calls, calls)
                );
            }
        }
    }
}

#[test]
fn what_cannot_be_read_is_no_zero() {
    let empty = run_on(b"", ["stats", "--no-config", "-"]);
    assert_eq!(empty.code, 2);
    assert!(empty.stderr.contains("found no call to count"), "{}", empty.stderr);
    assert_eq!(run_on(b"", ["stats", "--no-config", "--allow-empty", "-"]).code, 0);
    let broken = record(0, "a", "{}", "{}") + "{\"index\":1";
    let ran = run_on(broken.as_bytes(), ["stats", "--no-config", "--allow-empty", "--format", "json", "-"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("<stdin>: line 2: "), "{}", ran.stderr);
    assert_eq!(json(&ran.stdout)["errors"][0]["line"], 2);
    // a result whose call was taken out is a loss
    let orphan = TIMED.lines().skip(1).collect::<Vec<_>>().join("\n");
    let ran = run_on(orphan.as_bytes(), ["stats", "--no-config", "-"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("ORPHAN_RESULT"), "{}", ran.stderr);
    assert_eq!(run_on(orphan.as_bytes(), ["stats", "--no-config", "--allow-loss", "-"]).code, 0);
    assert_eq!(run(["stats", "--no-config", "no-such-file"]).code, 2);
}

#[test]
fn stats_of_a_sample() {
    let ran = run(["stats", "--no-config", "samples/session-dirty.jsonl", "samples/import/claude-code/session.jsonl"]);
    expect_file(Path::new("tests/it/stats.expected.txt"), &format!("{}exit code: {}\n", ran.stdout, ran.code));
}

#[test]
fn names_from_outside_stay_names() {
    let hostile = r"a\u001b[31m\n::error::x\u202e</script>\ud83d";
    let text = record(0, hostile, "{}", "{}");
    for format in ["text", "json"] {
        let ran = run_on(text.as_bytes(), ["stats", "--no-config", "--format", format, "-"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(!ran.stdout.contains('\u{1b}') && !ran.stdout.contains('\u{202e}'), "{}", ran.stdout);
        assert!(!ran.stdout.lines().any(|line| line.starts_with("::")), "{}", ran.stdout);
    }
}

/// Runs `diff` on two texts.
fn compared(a: &str, b: &str, more: &[&str]) -> crate::Ran {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (folder.path().join("a.jsonl"), folder.path().join("b.jsonl"));
    std::fs::write(&one, a).unwrap();
    std::fs::write(&other, b).unwrap();
    let mut command = crate::toolreplay();
    command.current_dir(folder.path()).args(["diff", "--no-config", "a.jsonl", "b.jsonl"]).args(more);
    command.output().unwrap().into()
}

fn differences(a: &str, b: &str, more: &[&str]) -> (i32, Vec<String>, serde_json::Value) {
    let ran = compared(a, b, &[more, &["--format", "json"]].concat());
    let report = json(&ran.stdout);
    assert_eq!(report["exit_code"], ran.code);
    let kinds = report["differences"].as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap().to_owned());
    (ran.code, kinds.collect(), report.clone())
}

fn calls(list: &[(&str, &str, &str)]) -> String {
    let one = |(index, (tool, args, response)): (usize, &(&str, &str, &str))| record(index, tool, args, response);
    list.iter().enumerate().map(one).collect()
}

#[test]
fn runs_are_compared_call_by_call() {
    let a = calls(&[
        ("list", "{}", r#"{"n":1}"#),
        ("read", r#"{"path":"a"}"#, r#"{"content":"one\ntwo"}"#),
        ("read", r#"{"path":"b"}"#, "{}"),
        ("test", "{}", r#"{"ok":true}"#),
        ("write", r#"{"path":"a"}"#, "{}"),
    ]);
    let b = calls(&[
        ("list", "{}", r#"{"n":1}"#),
        ("read", r#"{"path":"a"}"#, r#"{"content":"one\n2"}"#),
        ("test", "{}", r#"{"ok":true}"#),
        ("grep", r#"{"query":"x"}"#, "{}"),
        ("read", r#"{"path":"b"}"#, "{}"),
    ]);
    let (code, kinds, report) = differences(&a, &b, &[]);
    assert_eq!((code, &report["verdict"]), (1, &"differ".into()));
    assert_eq!(kinds, ["answer", "only-a", "only-b", "moved"]);
    let first = &report["first"];
    assert_eq!((&first["index"], &first["kind"]), (&1.into(), &"answer".into()));
    assert_eq!((&first["answers"]["a"], &first["answers"]["b"]), (&"two".into(), &"2".into()));
    assert_eq!(report["differences"][3]["a"]["index"], 2);
    assert_eq!(report["differences"][3]["b"]["index"], 4);
    assert_eq!(report["summary"]["same"], 2);
    for (one, other) in [(&a, &a), (&b, &b)] {
        let (code, kinds, report) = differences(one, other, &[]);
        assert_eq!((code, kinds.len(), &report["verdict"]), (0, 0, &"same".into()));
    }
    // one goes on where the other has ended
    let (code, kinds, report) =
        differences(&a, &a.lines().take(3).map(|line| format!("{line}\n")).collect::<String>(), &[]);
    assert_eq!((code, kinds), (1, vec!["only-a".to_owned(), "only-a".to_owned()]));
    assert_eq!((&report["first"]["index"], &report["first"]["kind"]), (&3.into(), &"end".into()));
}

#[test]
fn a_run_is_the_same_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let mut compared = 0;
    for format in std::fs::read_dir(root().join("samples/import")).unwrap() {
        for file in std::fs::read_dir(format.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let imported = path.with_file_name(format!("{}.expected.jsonl", name.split('.').next().unwrap()));
            if path.is_dir() || name.contains(".expected.") || !imported.is_file() {
                continue;
            }
            let args = ["diff", "--no-config", "--allow-loss", "--format", "json"];
            let ran = run(args.iter().copied().chain([path.to_str().unwrap(), imported.to_str().unwrap()]));
            let report = json(&ran.stdout);
            assert_eq!(report["differences"], serde_json::json!([]), "{}", path.display());
            // a run of which no answer is known at all is no proof
            let same = report["summary"]["same"].as_u64().unwrap();
            assert_eq!(ran.code, if same > 0 { 0 } else { 2 }, "{}: {}", path.display(), ran.stderr);
            compared += 1;
        }
    }
    assert!(compared > 20);
    drop(folder);
    // two formats that have nothing in common but the run
    let chat = r#"[{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"search","arguments":"{\"q\": \"x\"}"}}]},{"role":"tool","tool_call_id":"1","content":"{\"hits\": 3}"}]"#;
    let (code, kinds, _) = differences(chat, &calls(&[("search", r#"{"q":"x"}"#, r#"{"hits":3}"#)]), &[]);
    assert_eq!((code, kinds.len()), (0, 0));
    let (code, kinds, _) = differences(chat, &calls(&[("search", r#"{"q":"x"}"#, r#"{"hits":4}"#)]), &[]);
    assert_eq!((code, kinds), (1, vec!["answer".to_owned()]));
}

#[test]
fn what_makes_no_difference_is_left_out() {
    let a = calls(&[("get", r#"{"id":1,"session":"x"}"#, r#"{"page":1,"took":5,"serial":7}"#)]);
    let b = calls(&[("get", r#"{"id":1,"session":"y"}"#, r#"{"page":1,"took":6,"serial":8}"#)]);
    assert_eq!(differences(&a, &b, &[]).0, 1);
    assert_eq!(differences(&a, &b, &["--ignore", "/session"]).1, ["answer"]);
    assert_eq!(differences(&a, &b, &["--ignore", "/session", "--ignore", "/serial"]).0, 0);
    let other_page = b.replace("\"page\":1", "\"page\":2");
    assert_eq!(differences(&a, &other_page, &["--ignore", "/session", "--ignore", "/**"]).0, 1);
    let wrong = compared(&a, &b, &["--ignore", "took"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("expected a JSON Pointer"), "{wrong:?}");
    // the configuration says it too
    let config = "[tools.get]\nignore-args = [\"/session\"]\n[compare]\nignore-response = [\"/serial\"]\n";
    let project = crate::audit::Project::new(&[("a.jsonl", &a), ("b.jsonl", &b), ("toolreplay.toml", config)]);
    let diff = |args: &[&str]| -> crate::Ran {
        crate::toolreplay().current_dir(project.path("")).args(args).output().unwrap().into()
    };
    assert_eq!(diff(&["diff", "a.jsonl", "b.jsonl"]).code, 0);
    assert_eq!(diff(&["diff", "--no-config", "a.jsonl", "b.jsonl"]).code, 1);
}

#[test]
fn what_cannot_be_compared_is_no_sameness() {
    let call = calls(&[("a", "{}", "{}")]);
    for (one, other, said) in [
        ("", "", "not a single answer could be compared"),
        (call.as_str(), "{\"index\":", "b.jsonl: line 1: "),
        ("{\"index\":", call.as_str(), "a.jsonl: line 1: "),
    ] {
        let ran = compared(one, other, &[]);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
    assert_eq!(compared("", &call, &[]).code, 1);
    // the answer is known in one of them alone
    let open: String = TIMED.lines().take(2).map(|line| format!("{line}\n")).collect();
    let closed: String = TIMED.lines().take(4).map(|line| format!("{line}\n")).collect();
    assert_eq!(differences(&open, &closed, &[]).1, ["answer", "answer"]);
    // in neither
    let (code, kinds, report) = differences(&open, &open, &[]);
    assert_eq!((code, kinds.len(), &report["verdict"]), (2, 0, &"inconclusive".into()));
    // in some
    let (code, _, report) = differences(TIMED, TIMED, &[]);
    assert_eq!((code, &report["summary"]["not_compared"]), (0, &1.into()));
    assert!(compared(TIMED, TIMED, &[]).stdout.contains("result: the same, as far as both are recorded"));
    // an order that is another one is another run, even with the same calls
    let (one, other) = (calls(&[("a", "{}", "{}"), ("b", "{}", "{}")]), calls(&[("b", "{}", "{}"), ("a", "{}", "{}")]));
    assert_eq!(differences(&one, &other, &[]).1, ["moved"]);
    // standard input is read once
    let ran = run_on(call.as_bytes(), ["diff", "-", "-"]);
    assert!(ran.code == 2 && ran.stderr.contains("named twice"), "{ran:?}");
}

#[test]
fn hostile_text_is_text_in_every_comparison() {
    let token = format!("ghp_{}", "kQ7vZ2mXr9TbW4nYc8HdLp3sJf6gAe1uRwTy");
    let hostile = r#"</code></script><script>alert(1)</script><!--\u001b[31m\n::error::x\u202e\u0000\ud83d##[group]&amp;\" onload=\"x"#;
    let long = "n".repeat(50_000);
    let text = |answer: &str| {
        calls(&[
            (
                hostile,
                &format!(r#"{{"command":"{hostile} {token}"}}"#),
                &format!(r#"{{"content":"{hostile}{answer} {token}"}}"#),
            ),
            (&long, &format!(r#"{{"{hostile}":"{answer}"}}"#), "{}"),
        ])
    };
    let (a, b) = (text("1"), text("2"));
    for format in ["text", "json", "html"] {
        let ran = compared(&a, &b, &["--format", format]);
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        for forbidden in ["\u{1b}", "\u{202e}", "\u{0}", "<script", "##[", "kQ7vZ2", "onload=\"x"] {
            let allowed = format != "html" && forbidden.starts_with(['<', 'o']);
            assert!(allowed || !ran.stdout.contains(forbidden), "{format}: {forbidden:?} in {}", ran.stdout);
        }
        assert!(!ran.stdout.lines().any(|line| line.starts_with("::")), "{}", ran.stdout);
        assert!(ran.stdout.len() < 60_000, "{format}: {} bytes", ran.stdout.len());
    }
    let page = compared(&a, &b, &["--format", "html"]).stdout;
    // every element is one of ours, and nothing is fetched or run
    for tag in page.split('<').skip(1) {
        let name: String =
            tag.trim_start_matches('/').chars().take_while(|char| char.is_ascii_alphanumeric()).collect();
        let ours = [
            "", "html", "head", "meta", "title", "style", "body", "main", "h1", "p", "strong", "table", "caption",
            "thead", "tbody", "tr", "th", "td", "code", "bdi", "mark", "br",
        ];
        assert!(ours.contains(&name.as_str()), "<{name}");
    }
    let style = page.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
    let hash = {
        use base64::Engine as _;
        use sha2::Digest as _;
        base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(style.as_bytes()))
    };
    assert!(page.contains(&format!("default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'")));
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("url("));
}

#[test]
fn long_runs_that_share_every_call_and_no_order_are_compared() {
    let call = |index: usize, number: usize| record(index, "t", &format!("{{\"n\":{number}}}"), "{}");
    let count = 10_000;
    let a: String = (0..count).map(|index| call(index, index)).collect();
    let b: String = (0..count).map(|index| call(index, count - 1 - index)).collect();
    let (code, kinds, report) = differences(&a, &b, &[]);
    assert_eq!(code, 1);
    assert_eq!(kinds.len() as u64 + report["summary"]["same"].as_u64().unwrap(), count as u64);
    // what is shown of them is bounded, what is counted is not
    assert!(compared(&a, &b, &[]).stdout.len() < 100_000);
    assert!(compared(&a, &b, &["--format", "html"]).stdout.len() < 10_000_000);
}

#[test]
fn a_comparison_overwrites_no_recording() {
    let project = crate::audit::Project::new(&[
        ("a.jsonl", &record(0, "a", "{}", "{}")),
        ("b.jsonl", &record(0, "b", "{}", "{}")),
    ]);
    let before = project.read("b.jsonl");
    let ran: crate::Ran = crate::toolreplay()
        .current_dir(project.path(""))
        .args(["diff", "a.jsonl", "b.jsonl", "--output", "b.jsonl"])
        .output()
        .unwrap()
        .into();
    assert!(ran.code == 2 && ran.stderr.contains("would be overwritten"), "{ran:?}");
    assert_eq!(project.read("b.jsonl"), before);
}
