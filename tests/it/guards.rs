//! What is added must be named wherever somebody looks for it: a report format, a format of recordings, a model protocol,
//! a rule. A place that was missed fails here, by its name.

use crate::{root, run, sample};
use std::path::Path;
use toolreplay::formats::FORMATS;
use toolreplay::report::Format;
use toolreplay::rules::call_rules;
use toolreplay::trace::protocol::PROTOCOLS;

/// Files, and how each names what is called `{}`.
type Places<'p> = &'p [(&'p str, &'p str)];

const REPORTS: Places<'_> = &[
    ("README.md", "| `{}` |"),
    ("docs/cli.md", "possible values: text, "),
    ("tests/it/hostile.rs", "Format::ALL"),
    ("bindings/python/src/report.rs", "Format::ALL"),
];
const RECORDINGS: Places<'_> = &[
    ("docs/formats.md", "\n## `{}`\n"),
    // the table of versions
    ("docs/formats.md", "\n| `{}` | "),
    ("src/formats/stranger.rs", "(\"{}\", &["),
    ("bindings/python/src/audit.rs", "FORMATS"),
];
const WIRE: Places<'_> = &[
    ("docs/trace.md", "recorded as `{}`"),
    ("tests/trace/properties.rs", "PROTOCOLS"),
    ("fuzz/fuzz_targets/protocol.rs", "PROTOCOLS"),
];

/// The places that do not name what they must.
fn faults(kind: &str, names: &[&str], places: Places<'_>, root: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    for (file, how) in places {
        let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
        for name in names {
            let words = how.replace("{}", name);
            if !text.contains(&words) {
                faults.push(format!("{kind} '{name}': {file} lacks {words:?}"));
            }
        }
    }
    faults
}

fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn a_report_format_is_named_everywhere() {
    let names = Format::ALL.map(Format::name);
    let mut faults = faults("report format", &names, REPORTS, root());
    let help = run(["audit", "--help"]).stdout.replace('\n', " ");
    let help = help.split_once("FORMAT is one of").map_or("", |(_, rest)| rest.split("Where no other").next().unwrap());
    for name in names {
        if !help.split(|char: char| !char.is_ascii_alphanumeric()).any(|word| word == name) {
            faults.push(format!(
                "report format '{name}': src/bin/toolreplay/args.rs: the help of --report does not say it"
            ));
        }
    }
    assert_none(&faults);
}

#[test]
fn a_format_of_recordings_is_named_everywhere() {
    let ids: Vec<&str> = FORMATS.iter().map(|format| format.id).collect();
    assert_none(&faults("format", &ids, RECORDINGS, root()));
}

#[test]
fn a_protocol_is_named_everywhere() {
    let names: Vec<&str> = PROTOCOLS.iter().map(|protocol| protocol.name()).collect();
    let mut faults = faults("protocol", &names, WIRE, root());
    let tests: String = ["protocols.rs", "properties.rs", "forwarding.rs", "schema.rs", "streaming.rs"]
        .iter()
        .filter_map(|file| std::fs::read_to_string(root().join("tests/trace").join(file)).ok())
        .collect();
    for protocol in PROTOCOLS {
        // a path as it is called: a model in it has a name
        let paths: Vec<&str> = protocol.paths().iter().map(|path| path.split("{}").next().unwrap()).collect();
        if !paths.iter().any(|path| tests.contains(path)) {
            faults.push(format!("protocol '{}': no test in tests/trace calls one of {paths:?}", protocol.name()));
        }
    }
    assert_none(&faults);
}

/// In a file that was held against a rule and broke none, JUnit has a passing case for it.
#[test]
fn a_rule_has_its_case_in_junit() {
    let clean = sample("session-clean.jsonl");
    let xml = run(["audit".as_ref(), "--no-config".as_ref(), "--format=junit".as_ref(), clean.as_os_str()]).stdout;
    for rule in call_rules(None) {
        let id = rule.rule().id;
        assert!(xml.contains(&format!("classname=\"{id}\"")), "src/report/junit.rs: no case for {id} in\n{xml}");
    }
}

/// Whoever builds reads in the README what must be there.
#[test]
fn the_readme_names_the_programs_that_tests_run() {
    // what every Unix has
    const COMMON: [&str; 9] = ["chown", "cp", "kill", "mkfifo", "mount", "setpriv", "sh", "timeout", "umount"];
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let mut faults = Vec::new();
    for folder in ["tests/it", "tests/base", "tests/trace"] {
        for file in std::fs::read_dir(root().join(folder)).unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap_or_default();
            for (_, rest) in text.match_indices("Command::new(\"").map(|(at, start)| (at, &text[at + start.len()..])) {
                let program = rest.split('"').next().unwrap();
                if !COMMON.contains(&program) && !readme.contains(&format!("`{program}`")) {
                    faults.push(format!("README.md, section 'Install', lacks `{program}`, which {folder} runs"));
                }
            }
        }
    }
    assert_none(&faults);
}

#[test]
fn what_is_missed_is_said() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("page.md"), "| `known` |\n").unwrap();
    let places = [("page.md", "| `{}` |"), ("gone.md", "{}")];
    let found = faults("report format", &["known", "new"], &places, folder.path());
    assert_eq!(
        found,
        [
            "report format 'new': page.md lacks \"| `new` |\"",
            "report format 'known': gone.md lacks \"known\"",
            "report format 'new': gone.md lacks \"new\"",
        ]
    );
}
