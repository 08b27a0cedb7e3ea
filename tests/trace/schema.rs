//! The published schema is generated from the types, and every capture of every test here is held to it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use serde_json::{Value, json};

const PUBLISHED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/schemas/trace-event.json");

static VALIDATOR: LazyLock<jsonschema::Validator> = LazyLock::new(|| {
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(PUBLISHED).unwrap()).unwrap();
    jsonschema::validator_for(&schema).unwrap()
});

/// Checks every line of a capture.
pub(crate) fn check(capture: &str) {
    for line in capture.lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        if let Err(error) = VALIDATOR.validate(&value) {
            panic!("{}: {line}", error.to_string().chars().take(200).collect::<String>());
        }
    }
}

#[test]
fn the_schema_refuses_what_is_no_event() {
    let event = json!({
        "version": 1, "trace_id": "t", "span_id": "s", "parent_span_id": null, "sequence": 1,
        "timestamp": "2026-01-02T03:04:05.000006Z", "kind": "tool", "name": "n", "phase": "start", "status": "running",
        "duration_ms": null, "data": {}, "truncated": false, "source": "runtime_wrapper",
    });
    assert!(VALIDATOR.is_valid(&event));
    for (name, bad) in [
        ("version", json!(2)),
        ("sequence", json!(0)),
        ("timestamp", json!("yesterday")),
        ("kind", json!("dance")),
        ("phase", json!(null)),
        ("status", json!("fine")),
        ("data", json!([])),
        ("truncated", json!("no")),
        ("source", json!("rumour")),
        ("duration_ms", json!("1")),
    ] {
        let mut wrong = event.clone();
        wrong[name] = bad;
        assert!(!VALIDATOR.is_valid(&wrong), "{name}");
    }
    for name in event.as_object().unwrap().keys() {
        let mut wrong = event.clone();
        wrong.as_object_mut().unwrap().remove(name);
        assert!(!VALIDATOR.is_valid(&wrong), "without {name}");
    }
}

#[test]
fn the_page_names_every_gap() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/trace.md")).unwrap();
    let mut folders = vec![root.join("src/trace")];
    let mut codes = std::collections::BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            // Issue codes are the only literals that look like this in the places where issues are made.
            let source = std::fs::read_to_string(&path).unwrap();
            for made in
                ["issues.add(", "issues.add_named(", "lost = Some(", "issues.push(", "file.issue(", "undecoded("]
            {
                for part in source.split(made).skip(1) {
                    let stops: &[char] = if made.ends_with("named(") { &[','] } else { &[')', ';'] };
                    let end = part.find(stops).unwrap_or(part.len());
                    codes.extend(
                        part[..end].split('"').skip(1).step_by(2).filter(|code| code.contains('_')).map(str::to_owned),
                    );
                }
            }
        }
    }
    assert!(codes.len() > 30, "{codes:?}");
    let missing: Vec<_> = codes.iter().filter(|code| !page.contains(&format!("`{code}`"))).collect();
    assert!(missing.is_empty(), "docs/trace.md does not name {missing:?}");
}

/// The codes in backticks in the table below `### Gaps`.
fn documented() -> BTreeSet<String> {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/trace.md")).unwrap();
    let table = page.split("### Gaps").nth(1).unwrap().split("\n\nReplies are").next().unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    rows.flat_map(|row| row[2..].split('|').next().unwrap().split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

fn sources(folder: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            text += &sources(&path);
        } else if !name.contains("tests") {
            let source = std::fs::read_to_string(&path).unwrap();
            text += source.split("#[cfg(test)]\nmod tests").next().unwrap();
        }
    }
    text
}

#[test]
fn every_code_is_documented_and_raised() {
    let documented = documented();
    assert!(documented.len() > 50, "{documented:?}");
    let text = sources(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/trace")));
    for code in &documented {
        assert!(text.contains(&format!("\"{code}\"")), "'{code}' is documented and never raised");
    }
    for raised in ["issues.add(\"", "issues.add_named(\"", ".push(\"", "Some(\""] {
        for rest in text.split(raised).skip(1) {
            let code = rest.split('"').next().unwrap();
            let is_code = raised.starts_with("issues")
                || ["capture_", "not_a", "reply_", "lone_", "repeated_"].iter().any(|start| code.starts_with(start));
            assert!(!is_code || documented.contains(code), "'{code}' is raised and not documented");
        }
    }
}
