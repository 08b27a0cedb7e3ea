//! `audit --base` in scratch git repositories.
//!
//! Every folder `samples/rules/<id>/{bad,good}-*` is one case: `head/` is what is audited, `base/`, where there is one, the
//! revision before it. `bad-*` makes its folder's rule fire, `good-*` does not, and `expected.txt` is what the audit says.
//! `SNAPSHOTS=overwrite cargo test --test base` writes the texts anew.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that fails says so by panicking, and may ask the environment"
)]

mod canaries;
mod evidence;
mod repository;
mod scenes;

#[path = "../expected/mod.rs"]
mod expected;

use repository::Repository;
use std::path::{Path, PathBuf};

fn cases() -> Vec<PathBuf> {
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/rules");
    let folders = |folder: &Path| {
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir())
    };
    let mut cases: Vec<PathBuf> = folders(&rules).flat_map(|rule| folders(&rule).collect::<Vec<_>>()).collect();
    cases.retain(|case| case.join("head").is_dir());
    cases.sort();
    cases
}

fn check(case: &Path) -> Result<(), String> {
    let repository = Repository::new();
    let has_base = case.join("base").is_dir();
    if has_base {
        repository.replace_by(&case.join("base"));
        repository.commit("base");
    }
    repository.replace_by(&case.join("head"));
    repository.commit("head");
    let mut arguments = vec!["audit", "runs"];
    if has_base {
        arguments.extend(["--base", "HEAD^"]);
    }
    if case.join("head/scope.json").exists() {
        arguments.extend(["--scope", "scope.json"]);
    }
    let ran = repository.run(&arguments);
    arguments.extend(["--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&repository.run(&arguments).stdout).unwrap();
    let rule = case.parent().unwrap().file_name().unwrap().to_str().unwrap();
    let name = case.file_name().unwrap().to_str().unwrap();
    let fires = report["findings"].as_array().unwrap().iter().any(|finding| finding["kind"] == rule);
    if fires != name.starts_with("bad-") || !(fires || name.starts_with("good-")) {
        return Err(format!("{rule} {} on {name}", if fires { "fires" } else { "does not fire" }));
    }
    let text = format!("{}{}exit code: {}\n", ran.stdout, ran.stderr, ran.code);
    expected::compare(&case.join("expected.txt"), &text)
}

#[test]
fn samples() {
    let cases = cases();
    assert!(cases.len() > 15, "only {} cases", cases.len());
    let faults: Vec<String> = cases.iter().filter_map(|case| check(case).err()).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
