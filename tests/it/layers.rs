//! A module uses only modules declared above it: in `lib.rs`, and in every folder below it and in the binary, where the
//! order of the `mod` lines is that of the layers too. A folder's own file (`mod.rs`, or the file of the folder's name)
//! either stands below all, and uses none of the folder's modules, or above all, and none of them uses what it defines;
//! what it only hands on counts as what it is. Tests inside a file are code like any other; a file of tests may use everything.

use crate::root;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

type Names = Vec<String>;

/// One file of source.
#[derive(Default)]
struct Module {
    file: PathBuf,
    code: String,
    /// The modules it declares in files of their own, in order, and whether only tests are built with them.
    children: Vec<(String, bool)>,
    /// What its `use` lines hand on of its modules, by the name it has here.
    handed_on: BTreeMap<String, Names>,
    /// Its code without `use` lines.
    own: String,
}

/// A crate's modules by their paths; the crate itself has the empty one.
type Tree = BTreeMap<Names, Module>;

/// The source without comments, strings and character literals, whose text could look like a path or a brace.
fn code_only(source: &str) -> String {
    let mut out = String::new();
    let mut at = 0;
    while let Some(char) = source[at..].chars().next() {
        let rest = &source[at..];
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if !out.ends_with(is_word)
            && let Some(raw) = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))
            && raw.trim_start_matches('#').starts_with('"')
        {
            let hashes = raw.len() - raw.trim_start_matches('#').len();
            let start = rest.len() - raw.len() + hashes + 1;
            let end = format!("\"{}", "#".repeat(hashes));
            rest[start..].find(&end).map_or(rest.len(), |found| start + found + end.len())
        } else if char == '"' {
            let mut end = 1;
            while end < rest.len() && rest.as_bytes()[end] != b'"' {
                end += if rest.as_bytes()[end] == b'\\' { 2 } else { 1 };
            }
            end + 1
        } else if char == '\'' {
            character(rest)
        } else {
            0
        };
        if skipped > 0 {
            out.push(' ');
            at += skipped;
        } else {
            out.push(char);
            at += char.len_utf8();
        }
    }
    out
}

/// The length of a character literal; of a lifetime 0.
fn character(rest: &str) -> usize {
    let mut chars = rest[1..].chars();
    match chars.next() {
        Some('\\') => rest[3..].find('\'').map_or(0, |end| end + 4),
        Some(char) if chars.next() == Some('\'') => char.len_utf8() + 2,
        _ => 0,
    }
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

fn word(text: &str) -> &str {
    &text[..text.find(|char| !is_word(char)).unwrap_or(text.len())]
}

/// The places of a word in code, but where it is a part of a longer word.
fn places<'c>(code: &'c str, name: &'c str) -> impl Iterator<Item = usize> + 'c {
    let whole = |at: &usize| !code[..*at].ends_with(is_word) && !code[at + name.len()..].starts_with(is_word);
    code.match_indices(name).map(|(at, _)| at).filter(whole)
}

/// How far a block in braces reaches that was opened just before `code`.
fn block(code: &str) -> usize {
    let mut depth = 1;
    for (at, char) in code.char_indices() {
        depth += i32::from(char == '{') - i32::from(char == '}');
        if depth == 0 {
            return at;
        }
    }
    code.len()
}

/// The paths of a `use` tree, or the one path in an expression, each with the name it gets.
fn paths(tree: &str) -> Vec<(Names, String)> {
    let mut path = Names::new();
    let mut rest = tree.trim_start();
    loop {
        if let Some(branches) = rest.strip_prefix('{') {
            let (mut found, mut start, mut depth) = (Vec::new(), 0, 0);
            let inside = &branches[..block(branches)];
            for (at, char) in inside.char_indices().chain([(inside.len(), ',')]) {
                depth += i32::from(char == '{') - i32::from(char == '}');
                if char == ',' && depth == 0 {
                    found.extend(paths(&inside[start..at]).into_iter().filter(|(_, name)| !name.is_empty()));
                    start = at + 1;
                }
            }
            let whole = |(end, name)| (path.iter().cloned().chain(end).collect(), name);
            return found.into_iter().map(whole).collect();
        }
        let name = if rest.starts_with('*') { "*" } else { word(rest) };
        path.push(name.to_owned());
        rest = &rest[name.len()..];
        match rest.strip_prefix("::") {
            Some(more) if more.starts_with(|char| is_word(char) || matches!(char, '{' | '*')) => rest = more,
            _ => break,
        }
    }
    let renamed = rest.trim_start().strip_prefix("as ").map(|rest| word(rest.trim_start()));
    let name = renamed.unwrap_or(path.last().map_or("", String::as_str)).to_owned();
    vec![(path, name)]
}

/// Reads a file and the modules that it declares.
fn load(tree: &mut Tree, path: Names, file: &Path, folder: &Path) {
    let code = code_only(&std::fs::read_to_string(file).unwrap());
    let mut module = Module { file: file.to_owned(), own: code.clone(), ..Module::default() };
    for at in places(&code, "mod") {
        let name = word(code[at + 3..].trim_start());
        if name.is_empty() || !code[at + 3..].trim_start()[name.len()..].starts_with(';') {
            continue;
        }
        let stem = file.file_stem().unwrap().to_str().unwrap();
        let beside = folder.join(format!("{name}.rs"));
        let inside = folder.join(name).join("mod.rs");
        let of_tests = file.with_file_name(format!("{stem}_{name}.rs"));
        let found = [beside, inside, of_tests].into_iter().find(|path| path.exists());
        let found = found.unwrap_or_else(|| panic!("{}: where is mod {name}?", file.display()));
        let tests = code[..at].trim_end().rsplit([';', '}']).next().unwrap().contains("#[cfg(test)]");
        module.children.push((name.to_owned(), tests));
        load(tree, [path.clone(), vec![name.to_owned()]].concat(), &found, &folder.join(name));
    }
    for at in places(&code, "use").collect::<Vec<_>>().into_iter().rev() {
        let Some(end) = code[at..].find(';') else { continue };
        for (found, name) in paths(code[at + 3..at + end].trim_start().trim_start_matches("self::")) {
            if found.len() > 1 && module.children.iter().any(|(child, _)| *child == found[0]) {
                module.handed_on.insert(name, [path.clone(), found].concat());
            }
        }
        module.own.replace_range(at..at + end, &" ".repeat(end));
    }
    module.code = code;
    tree.insert(path, module);
}

/// The paths that a file names which lead into its own crate, from the crate's root.
fn named(path: &Names, module: &Module) -> Vec<Names> {
    let code = &module.code;
    let inline: Vec<(usize, usize, &str)> = places(code, "mod")
        .filter_map(|at| {
            let rest = code[at + 3..].trim_start();
            let name = word(rest);
            let open = rest[name.len()..].trim_start().strip_prefix('{')?;
            let start = code.len() - open.len();
            Some((start, start + block(open), name))
        })
        .collect();
    let mut found = Vec::new();
    for start in ["crate", "super", "self"].into_iter().chain(module.children.iter().map(|(name, _)| name.as_str())) {
        for at in places(code, start) {
            let before = &code[..at];
            let Some(mut rest) = code[at + start.len()..].strip_prefix("::") else { continue };
            // a visibility is no use
            if before.ends_with("::") || before.ends_with('$') || before.ends_with("(in ") {
                continue;
            }
            let mut base = path.clone();
            base.extend(
                inline.iter().filter(|(from, to, _)| (*from..*to).contains(&at)).map(|(.., name)| name.to_string()),
            );
            match start {
                "crate" => base.clear(),
                "super" => {
                    base.pop();
                    while let Some(more) = rest.strip_prefix("super::") {
                        base.pop();
                        rest = more;
                    }
                }
                "self" => {}
                child => base = [path.clone(), vec![child.to_owned()]].concat(),
            }
            found.extend(paths(rest).into_iter().map(|(end, _)| [base.clone(), end].concat()));
        }
    }
    found
}

/// The module that defines what a path leads to.
fn definer(tree: &Tree, path: Names) -> Names {
    let mut path = path;
    for _ in 0..8 {
        let mut depth = 0;
        while depth < path.len() && tree.contains_key(&path[..=depth]) {
            depth += 1;
        }
        let handed_on = path.get(depth).and_then(|name| tree[&path[..depth]].handed_on.get(name));
        match handed_on {
            Some(target) => path = target.iter().chain(&path[depth + 1..]).cloned().collect(),
            None => {
                path.truncate(depth);
                return path;
            }
        }
    }
    panic!("{path:?} is handed on in a circle");
}

/// What stands against the order of the layers, each in words that say what to do.
fn faults(tree: &Tree) -> Vec<String> {
    let mut faults = BTreeSet::new();
    // by a folder's own file: who uses what it defines
    let mut grounds: BTreeMap<&Names, Vec<String>> = BTreeMap::new();
    let declares =
        |depth: usize, path: &Names| tree[&path[..depth]].children.iter().find(|(name, _)| *name == path[depth]);
    let of_tests = |path: &Names| (0..path.len()).any(|depth| declares(depth, path).is_some_and(|(_, tests)| *tests));
    for (path, module) in tree.iter().filter(|(path, _)| !of_tests(path)) {
        for named in named(path, module) {
            let target = definer(tree, named.clone());
            let common = path.iter().zip(&target).take_while(|(one, other)| one == other).count();
            let parent = &tree[&path[..common]];
            let place = |child: &String| parent.children.iter().position(|(name, _)| name == child).unwrap();
            match (path.get(common), target.get(common)) {
                (Some(user), Some(used)) if place(used) >= place(user) => {
                    faults.insert(format!(
                        "{} uses {}, which {} declares below '{user}': move what it needs further down, or the line 'mod {used};' up",
                        module.file.display(),
                        named.join("::"),
                        parent.file.display()
                    ));
                }
                (Some(_), None) => {
                    let key = tree.get_key_value(&path[..common]).unwrap().0;
                    grounds.entry(key).or_default().push(format!(
                        "{} uses {}",
                        module.file.display(),
                        named.join("::")
                    ));
                }
                _ => {}
            }
        }
    }
    for (path, users) in grounds {
        let module = &tree[path];
        let names = module.children.iter().filter(|(_, tests)| !tests).map(|(name, _)| format!("{name}::"));
        let direct = names.filter(|name| {
            places(&module.own, name.trim_end_matches(':')).any(|at| module.own[at..].starts_with(name))
        });
        let by_name = module.handed_on.keys().filter(|name| places(&module.own, name).next().is_some()).cloned();
        if let Some(used) = direct.chain(by_name).next() {
            faults.insert(format!(
                "{} uses its own '{used}', and is used itself ({}): give what is used a file of its own",
                module.file.display(),
                users.join(", ")
            ));
        }
    }
    faults.into_iter().collect()
}

fn crate_of(file: &Path) -> Tree {
    let mut tree = Tree::new();
    load(&mut tree, Names::new(), file, file.parent().unwrap());
    tree
}

fn sources(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.insert(path);
        }
    }
    found
}

#[test]
fn no_module_looks_up() {
    let src = root().join("src");
    let (library, binary) = (crate_of(&src.join("lib.rs")), crate_of(&src.join("bin/toolreplay/main.rs")));
    let read = library.values().chain(binary.values()).map(|module| module.file.clone()).collect();
    assert_eq!(sources(&src), read, "a file that no module is");
    let faults = [faults(&library), faults(&binary)].concat();
    assert!(faults.is_empty(), "a module may use only modules declared above it:\n{}", faults.join("\n"));
}

#[test]
fn a_look_upward_is_seen() {
    let faults_of = |files: &[(&str, &str)]| {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        faults(&crate_of(&folder.path().join("lib.rs"))).join("\n")
    };
    let lib = ("lib.rs", "//! Docs.\npub mod low;\n// mod none;\npub mod high;\n");
    for text in [
        "use crate::high::Thing;",
        "use crate::{\n    other::{a, b},\n    high::{\n        c,\n    },\n};",
        "fn f() -> crate::high::T { '{' }",
        "fn f() -> super::high::T {}",
        "#[cfg(test)]\nmod tests {\n    use super::super::high::T;\n}",
        "#[cfg(test)]\nmod tests {\n    use super::*;\n    fn f() -> crate::high::T {}\n}",
    ] {
        let found = faults_of(&[lib, ("low.rs", text), ("high.rs", "use crate::low::X;")]);
        assert!(found.contains("low.rs uses high::") && found.lines().count() == 1, "{text}: {found}");
    }
    let quiet = "// use crate::high::X;\nconst S: &str = \"crate::high::X\"; const Q: char = '\"'; /* crate::high::X */\n\
                 const R: &str = r#\"crate::high::\"X\"#; pub(in crate::low) fn f<'a>(x: &'a str) {}";
    assert_eq!(faults_of(&[lib, ("low.rs", quiet), ("high.rs", "use crate::low::f;")]), "");

    // within a folder, whether it is named from inside, from the root, or by what its own file hands on
    let inside = ("lib.rs", "mod room;\n");
    for (own, text) in [
        ("mod a;\nmod b;\n", "use super::b::B;"),
        ("mod a;\nmod b;\n", "use crate::room::b::{B, C};"),
        ("mod a;\nmod b;\npub use b::B;\n", "use super::B;"),
        ("mod a;\nmod b;\npub use b::{self as c, B as D};\n", "fn f() -> super::D {}"),
    ] {
        let found = faults_of(&[inside, ("room/mod.rs", own), ("room/a.rs", text), ("room/b.rs", "")]);
        assert!(found.contains("a.rs uses room::") && found.contains("'mod b;'"), "{own} {text}: {found}");
    }
    // a circle through the folder's own file
    for own in ["mod a;\npub struct Own;\nfn f() { a::g() }\n", "mod a;\nuse a::g;\npub struct Own;\nfn f() { g() }\n"]
    {
        let found = faults_of(&[inside, ("room.rs", own), ("room/a.rs", "use super::Own;\npub fn g() {}\n")]);
        assert!(found.contains("room.rs uses its own '") && found.contains("a.rs uses room::Own"), "{found}");
    }
    // but what it only hands on is no use, and tests may look at everything
    let own = "mod a;\nmod b;\n#[cfg(test)]\nmod tests;\npub use b::B;\npub struct Own;\n";
    let files =
        [inside, ("room/mod.rs", own), ("room/a.rs", "use super::Own;"), ("room/b.rs", "use super::a;\npub struct B;")];
    assert_eq!(faults_of(&[&files[..], &[("room/tests.rs", "use super::*;\nuse super::b::B;")]].concat()), "");
    // tests of one file stand beside it
    let a = "#[cfg(test)]\n#[path = \"a_tests.rs\"]\nmod tests;\n";
    let beside = [inside, ("room/mod.rs", "mod a;\nmod b;\n"), ("room/a.rs", a), ("room/b.rs", "")];
    assert_eq!(faults_of(&[&beside[..], &[("room/a_tests.rs", "use crate::room::b::B;")]].concat()), "");
}
