//! A rule has its page, a bad sample that fires it and a good one that does not; one that judges calls has a bad sample in a
//! format of an agent too. Nothing is left over without a rule.

use crate::root;
use std::collections::BTreeSet;
use std::path::Path;
use toolreplay::formats::{self, Opening, Options};
use toolreplay::rules::{PERMISSION_OVERREACH, RULES, call_rules};

const HEADINGS: [&str; 5] = ["## What it does", "## Why it is bad", "## Example", "## What to do", "## Configuration"];

/// What is missing or too much, in words that say what to add.
fn faults(ids: &[&str], of_calls: &[&str], root: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    if sorted != ids {
        faults.push("RULES in src/rules/mod.rs must be sorted by id, each id once".to_owned());
    }
    for id in ids {
        if !id.chars().all(|char| char.is_ascii_lowercase() || char == '-') {
            faults.push(format!("the id '{id}' is not kebab-case"));
        }
        let page = std::fs::read_to_string(root.join(format!("docs/rules/{id}.md"))).unwrap_or_default();
        if !page.starts_with(&format!("# {id}\n")) {
            faults.push(format!("write docs/rules/{id}.md, beginning with '# {id}'"));
        }
        let found: Vec<&str> = page.lines().filter(|line| line.starts_with("## ")).collect();
        if found != HEADINGS {
            faults.push(format!("docs/rules/{id}.md must have the headings {}", HEADINGS.join(", ")));
        }
        for kind in ["bad-", "good-"] {
            // samples.rs holds that the bad ones fire the rule and the good ones do not
            if !names(&root.join("samples/rules").join(id)).iter().any(|name| name.starts_with(kind)) {
                faults.push(format!("add samples/rules/{id}/{kind}<what>.jsonl"));
            }
        }
    }
    for id in of_calls {
        let folder = root.join("samples/rules").join(id);
        let foreign = |name: &String| {
            let path = folder.join(name);
            name.starts_with("bad-") && name.ends_with(".jsonl") && {
                let source = Box::new(std::fs::File::open(&path).unwrap());
                matches!(formats::open(source, Some(&path), &Options::default()), Ok(Opening::Foreign(_)))
            }
        };
        if !names(&folder).iter().any(foreign) {
            faults.push(format!(
                "add samples/rules/{id}/bad-<what>-<format>.jsonl: what an agent records, in one of the formats that \
                 'toolreplay formats' lists"
            ));
        }
    }
    for name in names(&root.join("docs/rules")) {
        if !ids.contains(&name.trim_end_matches(".md")) {
            faults.push(format!("docs/rules/{name} belongs to no rule"));
        }
    }
    for name in names(&root.join("samples/rules")) {
        if !ids.contains(&name.as_str()) {
            faults.push(format!("samples/rules/{name} belongs to no rule"));
        }
    }
    faults
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn every_rule_is_complete() {
    let mut of_calls: Vec<&str> = call_rules(None).iter().map(|rule| rule.rule().id).collect();
    of_calls.push(PERMISSION_OVERREACH.id);
    let faults = faults(&RULES.map(|rule| rule.id), &of_calls, root());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn an_incomplete_rule_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("docs/rules")).unwrap();
    std::fs::write(folder.path().join("docs/rules/orphan.md"), "# orphan\n").unwrap();
    // a transcript is no format of an agent
    std::fs::create_dir_all(folder.path().join("samples/rules/new-rule")).unwrap();
    std::fs::write(folder.path().join("samples/rules/new-rule/bad-x.jsonl"), crate::record(0, "t", "{}", "{}"))
        .unwrap();
    let faults = faults(&["new-rule", "newer-rule"], &["new-rule"], folder.path()).join("\n");
    for part in [
        "write docs/rules/new-rule.md",
        "add samples/rules/newer-rule/bad-",
        "add samples/rules/new-rule/bad-<what>-<format>.jsonl",
        "add samples/rules/new-rule/good-",
        "orphan.md",
    ] {
        assert!(faults.contains(part), "{faults}");
    }
}
