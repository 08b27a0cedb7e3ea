//! git, asked for objects and for nothing else.
//!
//! A repository's own configuration can name programs for git to run: watchers, hooks, filters, helpers, viewers. It may be
//! anybody's, so git is given no occasion: it resolves a revision, lists trees and prints objects. It reads no index, looks
//! at no working tree, writes nothing, speaks to nobody and fetches nothing. What could still run something is switched off
//! besides. git is run as a program with arguments, never through a shell; behind a revision, once, go only object ids and,
//! behind `--`, paths.

use anyhow::{Context as _, bail};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use toolreplay::sanitize::visible;

/// Settings that outdo those of the repository.
const SETTINGS: [&str; 7] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.sshCommand=false",
    "credential.helper=",
    "diff.external=",
    "protocol.allow=never",
];

/// git on the repository in a folder. The folder is named, so that git does not look for another one above it, and does
/// not mind whose it is.
pub(crate) fn command(root: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("--git-dir").arg(root.join(".git")).arg("--work-tree").arg(root);
    command.args(["--literal-pathspecs", "--no-pager"]).args(SETTINGS.iter().flat_map(|setting| ["-c", setting]));
    command.env("GIT_NO_REPLACE_OBJECTS", "1").env("GIT_NO_LAZY_FETCH", "1").env("GIT_OPTIONAL_LOCKS", "0");
    command.env("GIT_ALLOW_PROTOCOL", "none").env("GIT_TERMINAL_PROMPT", "0").env("GIT_GRAFT_FILE", "/dev/null/none");
    command.env("LC_ALL", "C");
    for name in ["GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS", "GIT_INDEX_FILE", "GIT_NAMESPACE", "GIT_ATTR_SOURCE"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

/// What git prints; an error with what it says where it fails.
pub(crate) fn git(root: &Path, arguments: impl IntoIterator<Item = OsString>) -> anyhow::Result<Vec<u8>> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let output = command(root).args(&arguments).output().context("cannot run git")?;
    if !output.status.success() {
        let name = arguments.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        bail!("git {name} failed: {}", said(&output.stderr));
    }
    Ok(output.stdout)
}

/// The same, with `None` where git says no without an error.
pub(crate) fn try_git(root: &Path, arguments: &[&str]) -> anyhow::Result<Option<Vec<u8>>> {
    let output = command(root).args(arguments).output().context("cannot run git")?;
    match output.status.code() {
        Some(0) => Ok(Some(output.stdout)),
        _ if output.stderr.is_empty() => Ok(None),
        // a full object id that the clone does not have is an error of its own
        _ if String::from_utf8_lossy(&output.stderr).contains("expected commit type") => Ok(None),
        _ => bail!("git {} failed: {}", arguments[0], said(&output.stderr)),
    }
}

/// The object id of the commit that a revision names, if it names one that is there.
pub(crate) fn commit(root: &Path, name: &str) -> anyhow::Result<Option<String>> {
    let Some(id) = try_git(root, &["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")])? else {
        return Ok(None);
    };
    let id = String::from_utf8(id).unwrap_or_default().trim().to_owned();
    if id.len() < 40 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        bail!("git did not resolve '{name}' to one commit");
    }
    Ok(Some(id))
}

/// Whether no branch, no tag and no checked-out revision has a single commit.
pub(crate) fn has_no_commit(root: &Path) -> anyhow::Result<bool> {
    let unborn = try_git(root, &["symbolic-ref", "--quiet", "HEAD"])?.is_some();
    Ok(unborn && git(root, ["for-each-ref", "--count=1"].map(OsString::from))?.is_empty())
}

/// The object id of the tree that has nothing in it, by the repository's kind of ids. git knows it without having it.
pub(crate) fn empty_tree(root: &Path) -> anyhow::Result<String> {
    let format = git(root, ["rev-parse", "--show-object-format"].map(OsString::from))?;
    Ok(match format.trim_ascii() {
        b"sha256" => "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
        _ => "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    }
    .to_owned())
}

fn said(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    visible(&lines.join("; ")).into_owned()
}

/// What an entry of a tree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Link,
    /// A commit of another repository, whose files stand below the path.
    Submodule,
}

/// An entry of a tree, by its path from the tree's root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) kind: Kind,
    pub(crate) id: String,
    pub(crate) path: PathBuf,
}

/// Every file, link and submodule of a revision, or those among `paths` and below them.
pub(crate) fn tree(root: &Path, id: &str, paths: &[&Path]) -> anyhow::Result<Vec<Entry>> {
    let options = ["ls-tree", "-r", "-z", "--full-tree", id, "--"].map(OsString::from);
    let listing = git(root, options.into_iter().chain(paths.iter().map(|path| as_git(path))))?;
    entries(&listing)
}

/// Attributes of a path, each with its value.
pub(crate) type Attributes = Vec<(String, String)>;

/// What the attributes in the working tree say of some paths, by name. No index is read, and nothing that an attribute
/// names is run.
pub(crate) fn attributes(root: &Path, names: &[&str], paths: &[&Path]) -> anyhow::Result<Vec<(PathBuf, Attributes)>> {
    let mut command = command(root);
    // paths are taken from where git stands
    command.current_dir(root).env("GIT_INDEX_FILE", "/nonexistent/no-index").args(["check-attr", "-z"]).args(names);
    let output = command.arg("--").args(paths.iter().map(|path| as_git(path))).output().context("cannot run git")?;
    if !output.status.success() {
        bail!("git check-attr failed: {}", said(&output.stderr));
    }
    let mut found: Vec<(PathBuf, Attributes)> = Vec::new();
    let fields: Vec<&[u8]> = output.stdout.split(|&byte| byte == 0).collect();
    for triple in fields.chunks_exact(3) {
        let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
        let (of, attribute) = (path(triple[0]), (text(triple[1]), text(triple[2])));
        match found.last_mut() {
            Some((last, attributes)) if *last == of => attributes.push(attribute),
            _ => found.push((of, vec![attribute])),
        }
    }
    Ok(found)
}

/// Whether one of some paths is a link in a revision.
pub(crate) fn links(root: &Path, id: &str, paths: &[&Path]) -> anyhow::Result<bool> {
    // without -r, what stands at each of the paths
    let options = ["ls-tree", "-z", "--full-tree", id, "--"].map(OsString::from);
    let listing = git(root, options.into_iter().chain(paths.iter().map(|path| as_git(path))))?;
    Ok(listing.split(|&byte| byte == 0).any(|field| field.starts_with(b"120000 ")))
}

/// Reads `git ls-tree -z`.
fn entries(listing: &[u8]) -> anyhow::Result<Vec<Entry>> {
    let fields = listing.split(|&byte| byte == 0).filter(|field| !field.is_empty());
    fields
        .map(|field| {
            let unknown = || format!("cannot understand what git lists: '{}'", String::from_utf8_lossy(field));
            let tab = field.iter().position(|&byte| byte == b'\t').with_context(unknown)?;
            let words = std::str::from_utf8(&field[..tab]).with_context(unknown)?;
            let kind = match words.split(' ').collect::<Vec<_>>()[..] {
                ["120000", "blob", id] => (Kind::Link, id),
                [_, "blob", id] => (Kind::File, id),
                [_, "commit", id] => (Kind::Submodule, id),
                _ => bail!(unknown()),
            };
            Ok(Entry { kind: kind.0, id: kind.1.to_owned(), path: path(&field[tab + 1..]) })
        })
        .collect()
}

#[cfg(unix)]
fn path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    OsStr::from_bytes(bytes).into()
}

#[cfg(not(unix))]
fn path(bytes: &[u8]) -> PathBuf {
    String::from_utf8_lossy(bytes).into_owned().into()
}

/// A path as git writes it: with `/` on every platform.
pub(crate) fn as_git(path: &Path) -> OsString {
    let parts: Vec<&OsStr> = path.iter().collect();
    parts.join(OsStr::new("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listings_are_read() {
        let id = "0".repeat(40);
        let listing = format!(
            "100644 blob {id}\ta b\0100755 blob {id}\t-x\nnew\0120000 blob {id}\ta\tb\0160000 commit {id}\t\u{e9}\0"
        );
        let entry = |kind, path: &str| Entry { kind, id: id.clone(), path: path.into() };
        assert_eq!(
            entries(listing.as_bytes()).unwrap(),
            [
                entry(Kind::File, "a b"),
                entry(Kind::File, "-x\nnew"),
                entry(Kind::Link, "a\tb"),
                entry(Kind::Submodule, "é"),
            ]
        );
        assert!(entries(b"100644 blob x").is_err());
        assert!(entries(b"040000 tree 00\tx\0").is_err());
    }
}
