//! `docs/security.md` promises nothing without a test.

use crate::root;
use std::fs;

#[test]
fn every_line_names_its_test() {
    let text = fs::read_to_string(root().join("docs/security.md")).unwrap();
    let rows: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("| ") && !line.contains("| ---") && !line.ends_with("| test |"))
        .collect();
    assert!(rows.len() > 7, "only {} lines", rows.len());
    for row in rows {
        let cell = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        let (file, test) = cell.split_once(": ").unwrap_or_else(|| panic!("no test: {row}"));
        let [file, test] = [file, test].map(|part| part.trim_matches('`'));
        let source = fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(source.contains(test), "{file} has no test '{test}'");
    }
}
