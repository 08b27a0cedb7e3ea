//! The base revision of what is audited, asked of git: which files differ, what they were, which lines are new.
//!
//! git is run as a program with arguments, never through a shell. A revision goes to it once, to become an object id;
//! after that only ids and, behind `--`, paths do. It may not fetch anything.

use crate::blob::{Blob, Blobs};
use crate::inputs::Place;
use anyhow::{Context as _, anyhow, bail};
use std::collections::HashSet;
use std::ffi::OsString;
use std::io::Read as _;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use toolreplay::sanitize::visible;

/// Paths that one call of git is given.
const PATHS: usize = 200;
/// The largest policy that is read, in bytes.
const POLICY: u64 = 16 << 20;

/// A file that differs from the base revision; paths are relative to the root of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    Added(PathBuf),
    Deleted(PathBuf),
    Changed(PathBuf),
    Renamed { from: PathBuf, to: PathBuf },
}

/// The base revision.
#[derive(Debug)]
pub(crate) struct Base {
    root: PathBuf,
    /// As it was named.
    pub(crate) name: String,
    /// The commit's object id.
    id: String,
    pub(crate) entries: Vec<Entry>,
    blobs: Blobs,
}

impl Base {
    /// Resolves a revision and lists what differs from it, in commits and in the working tree.
    pub(crate) fn open(place: &Place, name: &str) -> anyhow::Result<Base> {
        let Some(root) = place.root.clone() else {
            bail!("--base needs a git repository, and the working directory is in none");
        };
        if name.is_empty() || name.starts_with('-') {
            bail!("--base '{name}' is no revision; expected a commit, a branch or a tag");
        }
        let commit = format!("{name}^{{commit}}");
        let Some(id) = try_git(&root, &["rev-parse", "--verify", "--quiet", &commit])? else {
            return Err(missing(&root, name));
        };
        let id = String::from_utf8(id).unwrap_or_default().trim().to_owned();
        if id.len() < 40 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            bail!("git did not resolve '{name}' to one commit");
        }
        let listing = git(
            &root,
            ["diff", "--name-status", "-z", "--find-renames", "--no-relative", "--no-ext-diff", "--no-textconv"]
                .into_iter()
                .chain(["--no-color", "--ignore-submodules=all", &id, "--"])
                .map(OsString::from),
        )?;
        let entries = entries(&listing).with_context(|| format!("cannot understand what git says of '{name}'"))?;
        let blobs = Blobs::new(&root, &id);
        Ok(Base { root, name: name.to_owned(), id, entries, blobs })
    }

    /// Every path of the base revision.
    pub(crate) fn paths(&self) -> anyhow::Result<HashSet<PathBuf>> {
        let options = ["ls-tree", "-r", "-z", "--name-only", "--full-tree", &self.id].into_iter().map(OsString::from);
        Ok(fields(&git(&self.root, options)?).map(path).collect())
    }

    /// The bytes of a file in the base revision, if it has it.
    pub(crate) fn open_file(&self, path: &Path) -> anyhow::Result<Option<Blob<'_>>> {
        let opened = self.blobs.open(path);
        opened.with_context(|| format!("cannot read '{}' of '{}'", path.display(), self.name))
    }

    /// The whole of a small file in the base revision, if it has it.
    pub(crate) fn read(&self, path: &Path) -> anyhow::Result<Option<Vec<u8>>> {
        let Some(blob) = self.open_file(path)? else { return Ok(None) };
        let shown = format!("{} of '{}'", path.display(), self.name);
        let mut text = Vec::new();
        blob.take(POLICY + 1).read_to_end(&mut text).with_context(|| format!("cannot read {shown}"))?;
        if text.len() as u64 > POLICY {
            bail!("{shown} is larger than {} MiB", POLICY >> 20);
        }
        Ok(Some(text))
    }

    /// The lines of a file, by its path from the root, that differ from the base revision.
    pub(crate) fn changed_lines(&self, path: &Path) -> anyhow::Result<Vec<RangeInclusive<u64>>> {
        let paths: Vec<&PathBuf> = match self.entries.iter().find(|entry| entry.head() == Some(path)) {
            None => return Ok(Vec::new()),
            Some(Entry::Added(_)) => return Ok(vec![1..=u64::MAX]),
            Some(Entry::Renamed { from, to }) => vec![from, to],
            Some(Entry::Changed(path) | Entry::Deleted(path)) => vec![path],
        };
        let options = ["diff", "--unified=0", "--text", "--find-renames", "--no-relative", "--no-ext-diff"]
            .into_iter()
            .chain(["--no-textconv", "--no-color", "--diff-filter=MRT", &self.id, "--"])
            .map(OsString::from);
        Ok(hunks(&git(&self.root, options.chain(paths.into_iter().map(|path| as_git(path))))?))
    }
}

impl Entry {
    /// The path in what is audited.
    fn head(&self) -> Option<&Path> {
        match self {
            Entry::Added(path) | Entry::Changed(path) | Entry::Renamed { to: path, .. } => Some(path),
            Entry::Deleted(_) => None,
        }
    }
}

/// Which of some paths from the root git knows; `None` where that cannot be told, as outside of a repository.
pub(crate) fn tracked(place: &Place, paths: &[PathBuf]) -> Option<HashSet<PathBuf>> {
    let root = place.root.as_deref()?;
    let mut found = HashSet::new();
    for paths in paths.chunks(PATHS) {
        let options = ["ls-files", "-z", "--"].into_iter().map(OsString::from);
        let listing = git(root, options.chain(paths.iter().map(|path| as_git(path)))).ok()?;
        found.extend(fields(&listing).map(path));
    }
    Some(found)
}

/// git in the root of the repository, with a calm environment.
pub(crate) fn command(root: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(root).args(["--literal-pathspecs", "--no-pager"]).stdin(Stdio::null());
    command.env("GIT_NO_REPLACE_OBJECTS", "1").env("GIT_NO_LAZY_FETCH", "1").env("GIT_OPTIONAL_LOCKS", "0");
    command.env("LC_ALL", "C").env_remove("GIT_EXTERNAL_DIFF").env_remove("GIT_DIFF_OPTS");
    command
}

/// What git prints; an error with what it says where it fails.
fn git(root: &Path, arguments: impl Iterator<Item = OsString>) -> anyhow::Result<Vec<u8>> {
    let arguments: Vec<OsString> = arguments.collect();
    let output = command(root).args(&arguments).output().context("cannot run git")?;
    if !output.status.success() {
        let name = arguments.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        bail!("git {name} failed: {}", said(&output.stderr));
    }
    Ok(output.stdout)
}

/// The same, with `None` where git says no without an error.
fn try_git(root: &Path, arguments: &[&str]) -> anyhow::Result<Option<Vec<u8>>> {
    let output = command(root).args(arguments).output().context("cannot run git")?;
    match output.status.code() {
        Some(0) => Ok(Some(output.stdout)),
        _ if output.stderr.is_empty() => Ok(None),
        // a full object id that the clone does not have is an error of its own
        _ if String::from_utf8_lossy(&output.stderr).contains("expected commit type") => Ok(None),
        _ => bail!("git {} failed: {}", arguments[0], said(&output.stderr)),
    }
}

fn said(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    visible(&lines.join("; ")).into_owned()
}

fn missing(root: &Path, name: &str) -> anyhow::Error {
    let shallow = try_git(root, &["rev-parse", "--is-shallow-repository"]).ok().flatten();
    let how = if shallow.is_some_and(|answer| answer.starts_with(b"true")) {
        "the clone is shallow: fetch more history (actions/checkout: 'fetch-depth: 2' for the merge commit of a pull \
         request, else 'fetch-depth: 0'; GitLab: GIT_DEPTH: 0)"
    } else {
        "fetch it first (git fetch origin REVISION), or name another one"
    };
    anyhow!("the base revision '{name}' is not in this clone; {how}")
}

/// The fields of a listing, each ended by NUL.
fn fields(listing: &[u8]) -> impl Iterator<Item = &[u8]> {
    listing.split(|&byte| byte == 0).filter(|field| !field.is_empty())
}

#[cfg(unix)]
fn path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    std::ffi::OsStr::from_bytes(bytes).into()
}

#[cfg(not(unix))]
fn path(bytes: &[u8]) -> PathBuf {
    String::from_utf8_lossy(bytes).into_owned().into()
}

/// A path as git writes it: with `/` on every platform.
pub(crate) fn as_git(path: &Path) -> OsString {
    let parts: Vec<&std::ffi::OsStr> = path.iter().collect();
    parts.join(std::ffi::OsStr::new("/"))
}

/// Reads `git diff --name-status -z`.
fn entries(listing: &[u8]) -> anyhow::Result<Vec<Entry>> {
    let mut fields = fields(listing);
    let mut entries = Vec::new();
    while let Some(status) = fields.next() {
        let mut next = || fields.next().map(path).context("a path is missing");
        let entry = match status.first() {
            Some(b'A') => Entry::Added(next()?),
            Some(b'D') => Entry::Deleted(next()?),
            Some(b'R') => Entry::Renamed { from: next()?, to: next()? },
            Some(b'C') => {
                next()?;
                Entry::Added(next()?)
            }
            Some(b'M' | b'T' | b'U' | b'X') => Entry::Changed(next()?),
            _ => bail!("unknown status '{}'", String::from_utf8_lossy(status)),
        };
        // what an unmerged index lists twice is one file
        if entries.last() != Some(&entry) {
            entries.push(entry);
        }
    }
    Ok(entries)
}

/// The lines that the newer side of a diff without context has and the older has not.
fn hunks(diff: &[u8]) -> Vec<RangeInclusive<u64>> {
    let mut lines = Vec::new();
    for line in diff.split(|&byte| byte == b'\n') {
        // lines of content start with '+', '-' or '\'
        let Some(header) = line.strip_prefix(b"@@ ") else { continue };
        let header = String::from_utf8_lossy(header);
        let Some(added) = header.split(' ').find_map(|field| field.strip_prefix('+')) else { continue };
        let (start, count) = added.split_once(',').unwrap_or((added, "1"));
        if let (Ok(start), Ok(count)) = (start.parse::<u64>(), count.parse::<u64>())
            && count > 0
        {
            lines.push(start..=start + (count - 1));
        }
    }
    lines
}

/// Whether a revision names a path, also one whose content a partial clone left out.
pub(crate) fn is_listed(root: &Path, id: &str, path: &Path) -> anyhow::Result<bool> {
    let options = ["ls-tree", "-z", "--full-tree", id, "--"].map(OsString::from);
    Ok(!git(root, options.into_iter().chain([as_git(path)]))?.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listings_are_read() {
        let listing = b"M\0a b\0D\0-x\nnew\0R087\0old\0new\0C100\0one\0two\0T\0link\0U\0c\0U\0c\0A\0\xc3\xa9\0";
        let path = |name: &str| PathBuf::from(name);
        assert_eq!(
            entries(listing).unwrap(),
            [
                Entry::Changed(path("a b")),
                Entry::Deleted(path("-x\nnew")),
                Entry::Renamed { from: path("old"), to: path("new") },
                Entry::Added(path("two")),
                Entry::Changed(path("link")),
                Entry::Changed(path("c")),
                Entry::Added(path("é")),
            ]
        );
        assert!(entries(b"R100\0old\0").is_err());
        assert!(entries(b"?\0x\0").is_err());
    }

    #[test]
    fn only_headers_of_hunks_count() {
        let diff = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@ fn\n-a\n+@@ -9 +9 @@\n+b\n@@ -7,2 +8,0 @@\n-c\n-d\n@@ -9,0 +9 @@\n+e\n";
        assert_eq!(hunks(diff), [1..=2, 9..=9]);
    }
}
