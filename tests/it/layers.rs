//! A module uses only modules declared above it in `lib.rs`.

use crate::root;
use std::path::{Path, PathBuf};

/// The source without comments, strings and character literals, whose text could look like a path.
fn code_only(source: &str) -> String {
    let (mut out, bytes, mut at) = (String::new(), source.as_bytes(), 0);
    while at < bytes.len() {
        let rest = &source[at..];
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with("r#\"") {
            rest.find("\"#").map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with('"') {
            let mut end = 1;
            while end < rest.len() && rest.as_bytes()[end] != b'"' {
                end += if rest.as_bytes()[end] == b'\\' { 2 } else { 1 };
            }
            end + 1
        } else if rest.starts_with("'\"'") || rest.starts_with("'\\''") {
            rest[1..].find('\'').map_or(1, |end| end + 2).max(if rest.starts_with("'\\''") { 4 } else { 3 })
        } else {
            0
        };
        if skipped > 0 {
            out.push(' ');
            at += skipped;
            while !source.is_char_boundary(at.min(source.len())) {
                at += 1;
            }
        } else {
            let char = rest.chars().next().unwrap();
            out.push(char);
            at += char.len_utf8();
        }
    }
    out
}

/// The top-level modules that a source names by `crate::…`, whole `use` trees included.
fn named_modules(source: &str) -> Vec<String> {
    let code = code_only(source);
    let mut modules = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        if code[..at].chars().next_back().is_some_and(|before| before.is_alphanumeric() || matches!(before, '_' | '$'))
        {
            continue;
        }
        let rest = code[at + "crate::".len()..].trim_start();
        let Some(tree) = rest.strip_prefix('{') else {
            modules.push(first_name(rest));
            continue;
        };
        let mut depth = 0;
        let mut branch = String::new();
        for char in tree.chars() {
            match char {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => modules.push(first_name(&std::mem::take(&mut branch))),
                _ => {}
            }
            if !(char == ',' && depth == 0) {
                branch.push(char);
            }
        }
        modules.push(first_name(&branch));
    }
    modules.retain(|module| !module.is_empty());
    modules
}

fn first_name(path: &str) -> String {
    path.trim_start().chars().take_while(|char| char.is_alphanumeric() || *char == '_').collect()
}

/// The modules of `lib.rs`, in order.
fn declared(lib: &str) -> Vec<String> {
    code_only(lib)
        .lines()
        .filter_map(|line| line.trim().strip_prefix("pub mod ").or(line.trim().strip_prefix("mod ")))
        .map(|name| name.trim_end_matches(';').to_owned())
        .collect()
}

/// What a source of `module` uses that is not above it.
fn upward(module: &str, order: &[String], source: &str) -> Vec<String> {
    let place = order.iter().position(|name| name == module).unwrap();
    let named = named_modules(source).into_iter();
    named.filter(|name| name != module && !order[..place].contains(name)).collect()
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

#[test]
fn no_module_looks_up() {
    let src = root().join("src");
    let order = declared(&std::fs::read_to_string(src.join("lib.rs")).unwrap());
    assert!(order.len() > 5);
    let mut faults = Vec::new();
    for path in sources(&src) {
        let relative = path.strip_prefix(&src).unwrap();
        let mut parts = relative.iter().map(|part| part.to_str().unwrap());
        let top = parts.next().unwrap();
        if top == "bin" || top == "lib.rs" {
            continue;
        }
        let module = top.trim_end_matches(".rs");
        let source = std::fs::read_to_string(&path).unwrap();
        for name in upward(module, &order, &source) {
            faults.push(format!("{}: {module} imports {name}", relative.display()));
        }
        // the root of the crate is named by `crate`, so that the paths above are all there are
        let depth = relative.iter().count() - usize::from(relative.ends_with("mod.rs"));
        if code_only(&source).contains(&"super::".repeat(depth.max(1))) && !source.contains("mod tests") {
            faults.push(format!("{}: {module} reaches the crate's root by super::", relative.display()));
        }
    }
    assert!(faults.is_empty(), "a module may use only modules declared above it in lib.rs:\n{}", faults.join("\n"));
}

#[test]
fn an_upward_import_is_seen() {
    let order = declared("//! Docs.\n\npub mod low;\n// mod none;\npub mod high;\n");
    assert_eq!(order, ["low", "high"]);
    for source in [
        "use crate::high::Thing;",
        "use crate::{\n    low::{a, b},\n    high::{\n        c,\n    },\n};",
        "fn f() -> crate::high::T { todo!() }",
    ] {
        assert_eq!(upward("low", &order, source), ["high"], "{source}");
        assert!(upward("high", &order, source).is_empty(), "{source}");
    }
    assert!(upward("low", &order, "// use crate::high::X;\nconst S: &str = \"crate::high\"; // '\"'").is_empty());
}
