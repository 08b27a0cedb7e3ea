//! One transcript whose names try everything, through every renderer: nothing is forged, the formats stay valid.

use crate::{expect_file, root, run};
use serde_json::Value;
use std::fs;
use std::path::Path;
use toolreplay::report::Format;
use toolreplay::rules::call_rules;

const SAMPLE: &str = "samples/report/hostile.jsonl";
/// Names that renderers of Markdown make links, mentions or references of.
const NAMES: &str = "samples/report/names.jsonl";
const SCOPE: &str = "samples/report/hostile.scope.json";

fn report(format: &str) -> String {
    let ran = run(["audit", "--no-config", SAMPLE, "--scope", SCOPE, "--format", format]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    ran.stdout
}

/// The expected reports stand beside the sample, so that other tools can open them.
#[test]
fn reports_are_as_expected() {
    for format in Format::ALL.map(Format::name) {
        let file = match format {
            "text" => "txt",
            "junit" => "xml",
            "markdown" => "md",
            // mostly style and scripts; `tests/page` looks at what a browser makes of hostile names
            "html" => continue,
            name => name,
        };
        expect_file(Path::new(&format!("samples/report/hostile.expected.{file}")), &report(format));
    }
}

#[test]
fn no_hidden_character_and_no_foreign_command_gets_out() {
    for format in Format::ALL.map(Format::name) {
        let text = report(format);
        let hidden = text.chars().filter(|char| {
            *char != '\n'
                && (char.is_control()
                    || matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{feff}' | '\u{fffe}'))
        });
        assert_eq!(hidden.count(), 0, "{format}");
        for command in ["##[", "##vso[", "##teamcity["] {
            assert!(!text.contains(command), "{format}");
        }
        for line in text.split(['\n', '\r']) {
            let ours = [
                "::error file=",
                "::warning file=",
                "::notice file=",
                "::error title=toolreplay::",
                "::warning title=toolreplay::",
            ];
            let is_command = line.trim_start().starts_with("::");
            assert!(
                !is_command || format == "github" && ours.iter().any(|start| line.starts_with(start)),
                "{format}: {line}"
            );
        }
    }
}

#[test]
fn text_lines_start_with_our_own_words() {
    for line in report("text").lines().filter(|line| !line.is_empty()) {
        let starts = ["error[", "warning[", "note[", "  --> ", "   | ", "   = ", "audit: ", "coverage: ", "help: "];
        assert!(starts.iter().any(|start| line.starts_with(start)), "{line}");
    }
    for (args, starts) in [
        (vec!["replay", SAMPLE], ["calls: ", "divergence: ", "findings: ", "index "]),
        (vec!["scope", SAMPLE, SCOPE], ["calls: ", "divergence: ", "findings: ", "index "]),
    ] {
        for line in run(args).stdout.lines() {
            assert!(starts.iter().any(|start| line.starts_with(start)), "{line}");
        }
    }
}

#[test]
fn json_follows_its_schema() {
    let schema: Value = serde_json::from_str(&fs::read_to_string(root().join("schemas/report.json")).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for args in [
        vec!["audit", "--no-config", SAMPLE, "--scope", SCOPE],
        vec!["audit", "--no-config", "samples/rules", "--allow-empty"],
        vec!["replay", SAMPLE],
        vec!["replay", "missing.jsonl"],
        vec!["scope", SAMPLE, SCOPE],
        vec!["verify", "samples/rules/broken-link/bad-edited.jsonl", "samples/rules/broken-link/good-sealed.jsonl"],
    ] {
        let ran = run(args.iter().copied().chain(["--format", "json"]));
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        let errors: Vec<String> = validator.iter_errors(&report).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{args:?}: {errors:?}");
        assert_eq!(report["exit_code"], ran.code, "{args:?}");
    }
}

#[test]
fn sarif_is_read_back_and_holds_no_link() {
    let log: serde_sarif::sarif::Sarif = serde_json::from_str(&report("sarif")).unwrap();
    let run = &log.runs[0];
    let results = run.results.as_ref().unwrap();
    let rules = run.tool.driver.rules.as_ref().unwrap();
    assert!(results.len() > 20 && run.automation_details.is_none());
    assert!(run.invocations.as_ref().unwrap()[0].execution_successful);
    let transcript = fs::read_to_string(root().join(SAMPLE)).unwrap();
    let lines: Vec<&str> = transcript.lines().collect();
    let mut prints = std::collections::HashSet::new();
    for result in results {
        let place = result.rule_index.unwrap() as usize;
        assert_eq!(Some(&rules[place].id), result.rule_id.as_ref());
        let text = result.message.text.as_ref().unwrap();
        let unescaped = text.replace("\\\\", "").replace("\\[", "").replace("\\]", "");
        assert!(!text.is_empty() && !unescaped.contains(['[', ']']), "{text}");
        let region = result.locations.as_ref().unwrap()[0].physical_location.as_ref().unwrap().region.as_ref().unwrap();
        let line = lines[region.start_line.unwrap() as usize - 1];
        assert_eq!(region.end_line, region.start_line);
        assert_eq!(region.end_column, Some(line.encode_utf16().count() as i64 + 1));
        assert!(
            prints.insert(result.partial_fingerprints.as_ref().unwrap()["toolreplay/v1"].clone()),
            "fingerprints are unique"
        );
    }
    for rule in rules {
        let texts = [&rule.short_description, &rule.full_description, &rule.help];
        assert!(texts.iter().all(|text| text.as_ref().is_some_and(|text| (1..=20_000).contains(&text.text.len()))));
        assert!(rule.short_description.as_ref().unwrap().text.len() <= 1024);
        if let Some(severity) = rule.properties.as_ref().unwrap().additional_properties.get("security-severity") {
            let severity: f64 = severity.as_str().expect("a string").parse().unwrap();
            assert!(severity > 0.0 && severity <= 10.0);
        }
    }
}

/// Read back by a parser of XML that knows nothing of us: as many cases and failures as there are rules and findings.
#[test]
fn junit_forges_no_case() {
    let text = report("junit");
    let document = roxmltree::Document::parse(&text).unwrap();
    let json: Value = serde_json::from_str(&report("json")).unwrap();
    let findings = json["findings"].as_array().unwrap();
    let suites: Vec<_> = document.root_element().children().filter(roxmltree::Node::is_element).collect();
    assert_eq!(suites.len(), 1);
    let cases: Vec<_> = suites[0].children().filter(roxmltree::Node::is_element).collect();
    let failures: Vec<_> = cases.iter().filter(|case| case.has_children()).collect();
    assert_eq!(failures.len(), findings.len());
    assert_eq!(suites[0].attribute("tests"), Some(cases.len().to_string().as_str()));
    assert_eq!(suites[0].attribute("failures"), Some(findings.len().to_string().as_str()));
    assert_eq!(suites[0].attribute("skipped"), Some("0"));
    let passing: Vec<_> =
        cases.iter().filter(|case| !case.has_children()).map(|case| case.attribute("classname").unwrap()).collect();
    let rules = call_rules(None);
    let silent = rules.iter().map(|rule| rule.rule().id).filter(|id| !findings.iter().any(|one| one["kind"] == *id));
    assert_eq!(passing, std::iter::once("malformed-transcript").chain(silent).collect::<Vec<_>>());
    let mut names = std::collections::HashSet::new();
    for case in &cases {
        assert!(names.insert(case.attribute("name").unwrap()), "names are unique");
        let known = ["name", "classname", "time"];
        assert!(case.attributes().all(|attribute| known.contains(&attribute.name())));
    }
    for failure in failures {
        let inner: Vec<_> = failure.children().collect();
        assert_eq!(inner.len(), 1);
        assert!(
            inner[0].attribute("type").is_some() && inner[0].attribute("message").is_some() && !inner[0].has_children()
        );
    }
}

/// What stands outside of code spans, by their simplest form: one backtick opens, one closes.
fn outside_of_code(line: &str) -> String {
    let parts: Vec<&str> = line.split('`').collect();
    assert!(parts.len() % 2 == 1, "a code span is not closed: {line}");
    parts.into_iter().step_by(2).collect::<Vec<_>>().join("")
}

#[test]
fn markdown_holds_no_markup_of_theirs() {
    let names = fs::read_to_string(root().join(NAMES)).unwrap();
    let ran = run(["audit", "--no-config", NAMES, "--format", "markdown"]);
    assert_eq!(ran.code, 1);
    let mut rows = 0;
    for line in report("markdown").lines().chain(ran.stdout.lines()).filter(|line| !line.is_empty()) {
        let outside = outside_of_code(line).replace("&#96;", "").replace("&#124;", "");
        if line.starts_with("| ") && !line.contains("| ---") {
            rows += 1;
            assert_eq!(outside.matches('|').count(), 7, "{line}");
        }
        let outside = outside.strip_prefix("## ").unwrap_or(&outside);
        assert!(!outside.contains(['<', '>', '[', ']', '`', '*', '_', '!', '@', '#', '&', '\\', '~', '$']), "{line}");
        for start in ["www", "http", "mail", "xmpp", "GH"] {
            assert!(!outside.contains(start), "{line}");
        }
        let is_digest = |word: &str| word.len() > 6 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(!outside.split(|char: char| !char.is_ascii_alphanumeric()).any(is_digest), "{line}");
    }
    assert!(rows > names.lines().count() / 2, "only {rows} rows");
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    for format in Format::ALL.map(Format::name) {
        assert_eq!(report(format), report(format), "{format}");
    }
}

/// A usage error repeats what was said, and that may be the name of a file.
#[test]
fn usage_errors_hold_no_command() {
    for name in ["--##[error]x.jsonl", "--x\n::error::y", "--##vso[task.x]", "--\u{202e}x", "--\u{1b}[31m"] {
        for args in
            [&["audit", name][..], &[name], &["audit", "--format", name], &["explain", name], &["--threads", name]]
        {
            let ran = run(args.iter().copied());
            assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?}");
            assert!(
                ran.stderr.starts_with("error: ") && ran.stderr.lines().all(|line| !line.starts_with("::")),
                "{ran:?}"
            );
            assert!(!ran.stderr.contains("##[") && !ran.stderr.contains("##vso["), "{ran:?}");
            assert!(!ran.stderr.contains(['\u{202e}', '\u{1b}']), "{ran:?}");
        }
    }
}

/// A name of a megabyte is in every finding, but not whole.
#[test]
fn names_of_agents_are_cut() {
    let folder = tempfile::tempdir().unwrap();
    let (scope, transcript) = (folder.path().join("scope.json"), folder.path().join("t.jsonl"));
    let agent = "a".repeat(1 << 20);
    fs::write(&scope, format!("{{\"agent\":\"{agent}\",\"allowed_tools\":[]}}")).unwrap();
    let records: String = (0..50).map(|index| crate::record(index, &format!("t{index}"), "{}", "{}")).collect();
    fs::write(&transcript, records).unwrap();
    for format in Format::ALL.map(Format::name) {
        let args = ["audit", "--no-config", "--format", format, "--scope"].map(std::ffi::OsStr::new);
        let ran = run(args.into_iter().chain([scope.as_os_str(), transcript.as_os_str()]));
        assert_eq!(ran.code, 1);
        assert!(ran.stdout.len() < 200_000 && !ran.stdout.contains(&agent[..300]), "{format}: {}", ran.stdout.len());
    }
}
