//! Whether what is checked out is what was committed.
//!
//! Attributes in a repository can have git change a file's bytes on the way to the working tree: line ends, expanded
//! keywords, another encoding, filters. Then what is audited here is not what a reviewer sees, and not what others audit.
//! Files with such attributes are compared with what was committed. A file that somebody edited since is left alone: only
//! what the attributes alone explain, or what a filter may have done, is reported.

use crate::base::{self, Base};
use crate::git::{self, Entry};
use crate::inputs::Surroundings;
use anyhow::Context as _;
use sha2::Digest as _;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};
use toolreplay::audit::{Change, Input, Outcome, changed_in_checkout};
use toolreplay::finding::Finding;

/// Attributes that change bytes.
const ATTRIBUTES: [&str; 6] = ["ident", "text", "eol", "crlf", "filter", "working-tree-encoding"];
/// Paths that one call of git is given.
const PATHS: usize = 200;
/// Bytes of a line that are compared at once.
const LINE: u64 = 64 << 20;
/// Bytes of what an expanded keyword holds.
const KEYWORD: usize = 300;

/// The files that were read and that the checkout changed.
pub(crate) fn changes(place: &Surroundings, inputs: &[Input], outcomes: &[Outcome]) -> anyhow::Result<Vec<Change>> {
    let Some(root) = place.root.as_deref() else { return Ok(Vec::new()) };
    let own = inputs.iter().flat_map(|input| std::iter::once(input).chain(&input.more));
    let own = own.filter_map(|input| input.path.clone());
    let imported = outcomes.iter().filter_map(|outcome| outcome.import.as_ref()).flat_map(|import| &import.paths);
    let paths = own.chain(imported.map(PathBuf::from));
    let files: BTreeMap<PathBuf, PathBuf> = paths.filter_map(|path| Some((place.inside(&path)?, path))).collect();
    if !may_have_attributes(root, files.keys()) {
        return Ok(Vec::new());
    }
    let Some(head) = git::commit(root, "HEAD")? else { return Ok(Vec::new()) };
    let named: Vec<&Path> = files.keys().map(PathBuf::as_path).collect();
    let mut attributes = HashMap::new();
    for paths in named.chunks(PATHS) {
        attributes.extend(git::attributes(root, &ATTRIBUTES, paths)?);
    }
    let changing =
        |path: &&Path| attributes.get(*path).is_some_and(|attributes| !Changing::of(attributes).is_nothing());
    let named: Vec<&Path> = named.into_iter().filter(changing).collect();
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let committed = Base::open(place, &head, None)?;
    let mut changes = Vec::new();
    for paths in named.chunks(PATHS) {
        for entry in git::tree(root, &head, paths)? {
            let (Some(here), Some(attributes)) = (files.get(&entry.path), attributes.get(&entry.path)) else {
                continue;
            };
            let found = compare(&committed, &entry, here, &Changing::of(attributes));
            if let Some(finding) = found.with_context(|| format!("cannot compare {} with HEAD", here.display()))? {
                let input = place.input(here);
                changes.push(Change { shown: input.shown, from_root: input.from_root, exists: true, finding });
            }
        }
    }
    Ok(changes)
}

/// Whether some file can say anything of the attributes of these.
fn may_have_attributes<'p>(root: &Path, paths: impl Iterator<Item = &'p PathBuf>) -> bool {
    let git = root.join(".git");
    // a worktree has its own elsewhere
    if !git.is_dir() || git.join("info/attributes").symlink_metadata().is_ok() {
        return true;
    }
    let mut folders: Vec<&Path> = paths.flat_map(|path| path.ancestors().skip(1)).collect();
    folders.sort_unstable();
    folders.dedup();
    folders.iter().any(|folder| root.join(folder).join(".gitattributes").symlink_metadata().is_ok())
}

/// What the attributes of a file have git do to it.
#[derive(Default)]
struct Changing {
    keywords: bool,
    line_ends: bool,
    encoding: Option<String>,
    filter: Option<String>,
}

impl Changing {
    fn of(attributes: &[(String, String)]) -> Changing {
        let mut changing = Changing::default();
        for (name, value) in attributes.iter().filter(|(_, value)| !matches!(&**value, "unspecified" | "unset")) {
            match &**name {
                "ident" => changing.keywords = true,
                "filter" => changing.filter = Some(value.clone()),
                "working-tree-encoding" => changing.encoding = Some(value.clone()),
                _ => changing.line_ends = true,
            }
        }
        changing
    }

    fn is_nothing(&self) -> bool {
        !self.keywords && !self.line_ends && self.encoding.is_none() && self.filter.is_none()
    }
}

fn compare(committed: &Base, entry: &Entry, here: &Path, changing: &Changing) -> anyhow::Result<Option<Finding>> {
    if !here.is_file() || base::is_same(here, entry)? {
        return Ok(None);
    }
    let Some(blob) = committed.open_file(&entry.path)? else { return Ok(None) };
    if changing.filter.as_deref() == Some("lfs") && is_fetched(BufReader::new(blob), here)? {
        return Ok(None);
    }
    if let Some(filter) = &changing.filter {
        return Ok(Some(changed_in_checkout(0, &format!("its attributes name the filter '{filter}'"), false)));
    }
    if let Some(encoding) = &changing.encoding {
        let what = format!("its attributes name the encoding '{encoding}' for the working tree");
        return Ok(Some(changed_in_checkout(0, &what, false)));
    }
    let Some(blob) = committed.open_file(&entry.path)? else { return Ok(None) };
    let file = File::open(here)?;
    let found = explained(BufReader::new(blob), BufReader::new(file), changing.keywords)?;
    Ok(found.map(|(line, keyword)| match keyword {
        true => changed_in_checkout(line, "the attribute 'ident' has keywords expanded", false),
        false => changed_in_checkout(line, "its attributes have line ends converted", true),
    }))
}

/// Whether a file is what a pointer of Git LFS points to.
fn is_fetched(pointer: impl BufRead, here: &Path) -> io::Result<bool> {
    let mut text = String::new();
    // a pointer is small, and text
    if pointer.take(1024).read_to_string(&mut text).is_err() {
        return Ok(false);
    }
    let Some(id) = text.lines().find_map(|line| line.strip_prefix("oid sha256:")) else { return Ok(false) };
    let mut digest = sha2::Sha256::new();
    let (mut file, mut buffer) = (File::open(here)?, vec![0; 256 << 10]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex::encode(digest.finalize()) == id.trim()),
            read => digest.update(&buffer[..read]),
        }
    }
}

/// The first line in which two texts differ, and whether by a keyword; `None` if they also differ in what no attribute
/// explains.
fn explained(mut old: impl BufRead, mut new: impl BufRead, keywords: bool) -> io::Result<Option<(u64, bool)>> {
    let (mut number, mut first, mut first_keyword) = (0, None, None);
    loop {
        let (old_line, new_line) = (line(&mut old)?, line(&mut new)?);
        number += 1;
        let (Some(old_line), Some(new_line)) = (&old_line, &new_line) else {
            let ended = old_line.is_none() && new_line.is_none();
            let at = first_keyword.map(|line| (line, true)).or(first.map(|line| (line, false)));
            return Ok(at.filter(|_| ended));
        };
        if old_line == new_line {
            continue;
        }
        let (old_text, new_text) = (without_returns(old_line), without_returns(new_line));
        if old_text == new_text {
            first.get_or_insert(number);
        } else if keywords && without_keywords(&old_text) == without_keywords(&new_text) {
            first_keyword.get_or_insert(number);
        } else {
            return Ok(None);
        }
    }
}

fn line(source: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let read = source.take(LINE).read_until(b'\n', &mut line)?;
    Ok((read > 0).then_some(line))
}

fn without_returns(line: &[u8]) -> Vec<u8> {
    line.iter().copied().filter(|byte| *byte != b'\r').collect()
}

/// A line with `$Id: …$` as `$Id$`.
fn without_keywords(line: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = memchr::memmem::find(rest, b"$Id") {
        let behind = &rest[at + 3..];
        out.extend_from_slice(&rest[..at + 3]);
        let end = behind.iter().take(KEYWORD).position(|byte| *byte == b'$');
        rest = match end {
            Some(end) if behind.first() == Some(&b':') => &behind[end..],
            _ => behind,
        };
    }
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_attributes_explain_is_told_from_edits() {
        let found = |old: &str, new: &str, keywords| explained(old.as_bytes(), new.as_bytes(), keywords).unwrap();
        assert_eq!(found("a\nb\n", "a\r\nb\r\n", false), Some((1, false)));
        assert_eq!(found("a\n$Id$\n", "a\n$Id: 0123 $\n", true), Some((2, true)));
        assert_eq!(found("a\n$Id: x$ $Id$\n", "a\r\n$Id: 0123 $ $Id: 0123 $\r\n", true), Some((2, true)));
        // edits
        assert_eq!(found("a\n$Id$\n", "a\n$Id: 0123 $\n", false), None);
        assert_eq!(found("a\nb\n", "a\r\nc\r\n", true), None);
        assert_eq!(found("a\n", "a\r\nb\r\n", true), None);
        assert_eq!(found("a\nb\n", "a\r\n", true), None);
        assert_eq!(found("a\n", "a\n", true), None);
    }

    #[test]
    fn keywords_are_taken_back() {
        for (line, plain) in [
            ("x $Id: a b $ y $Id$", "x $Id$ y $Id$"),
            ("$Id", "$Id"),
            ("$Idea: x$", "$Idea: x$"),
            ("$Id: no end", "$Id: no end"),
        ] {
            assert_eq!(String::from_utf8(without_keywords(line.as_bytes())).unwrap(), plain);
        }
    }
}
