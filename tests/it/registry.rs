//! A rule has its page, a bad sample that fires it and a good one that does not; nothing lies about without a rule.

use crate::root;
use std::collections::BTreeSet;
use std::path::Path;
use toolreplay::rules::RULES;

const HEADINGS: [&str; 5] = ["## What it does", "## Why it is bad", "## Example", "## What to do", "## Configuration"];

/// What is missing or too much, in words that say what to add.
fn faults(ids: &[&str], root: &Path) -> Vec<String> {
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
    let faults = faults(&RULES.map(|rule| rule.id), root());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn an_incomplete_rule_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("docs/rules")).unwrap();
    std::fs::write(folder.path().join("docs/rules/orphan.md"), "# orphan\n").unwrap();
    let faults = faults(&["new-rule"], folder.path()).join("\n");
    for part in [
        "write docs/rules/new-rule.md",
        "add samples/rules/new-rule/bad-",
        "add samples/rules/new-rule/good-",
        "orphan.md",
    ] {
        assert!(faults.contains(part), "{faults}");
    }
}
