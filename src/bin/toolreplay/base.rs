//! The base revision of what is audited: what it has, and what of it is another thing now.
//!
//! Both sides are read: objects from git, files from the working tree. No index is asked what has changed, since it can be
//! told to say nothing.

use crate::blob::{Blob, Blobs};
use crate::git::{self, Entry, Kind};
use crate::inputs::{Surroundings, Watch};
use anyhow::{Context as _, anyhow, bail};
use sha1::Digest as _;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, BufRead, BufReader, Read as _};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Paths that one call of git is given.
const PATHS: usize = 200;
/// The largest policy that is read, in bytes.
pub(crate) const POLICY: u64 = 16 << 20;
/// Lines of a file that are remembered for comparison with another one.
const LINES: usize = 1 << 20;
/// Bytes of a line that count in such a comparison.
const LINE: u64 = 1 << 20;

/// The base revision.
#[derive(Debug)]
pub(crate) struct Base {
    root: PathBuf,
    /// As it was named.
    pub(crate) name: String,
    blobs: Arc<Blobs>,
    /// The revision that policies are read from, if that is another one.
    policy: Option<(String, Arc<Blobs>)>,
}

/// What the base revision has among the paths that are audited.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// Paths are from the root of the repository, also those in submodules.
    pub(crate) entries: Vec<Entry>,
    /// Where the files of submodules are found: their folders from the root.
    submodules: Vec<(PathBuf, Arc<Blobs>)>,
    /// Submodules whose files of the base revision are not in the clone.
    pub(crate) unknown: Vec<PathBuf>,
}

impl Base {
    /// Resolves a revision, and the one that policies are read from.
    pub(crate) fn open(place: &Surroundings, name: &str, policy: Option<&str>) -> anyhow::Result<Base> {
        let Some(root) = place.root.clone() else {
            bail!("--base needs a git repository, and the working directory is in none");
        };
        let resolved = |option: &str, name: &str| {
            if name.is_empty() || name.starts_with('-') {
                bail!("{option} '{name}' is no revision; expected a commit, a branch or a tag");
            }
            let id = match git::commit(&root, name)? {
                Some(id) => id,
                // before the first commit there was nothing, and a hook that runs before it asks for that
                None if name == "HEAD" && git::has_no_commit(&root)? => git::empty_tree(&root)?,
                None => return Err(missing(&root, name)),
            };
            Ok(Arc::new(Blobs::new(&root, &id)))
        };
        let blobs = resolved("--base", name)?;
        let policy = policy.map(|name| Ok::<_, anyhow::Error>((name.to_owned(), resolved("--policy-base", name)?)));
        let policy = policy.transpose()?;
        Ok(Base { name: name.to_owned(), blobs, policy, root })
    }

    /// The commit's object id.
    pub(crate) fn id(&self) -> &str {
        &self.blobs.id
    }

    /// Lists what is watched, submodules with their own files.
    pub(crate) fn listing(&self, watch: &Watch) -> anyhow::Result<Listing> {
        let mut listing = Listing::default();
        let mut waiting = vec![(PathBuf::new(), self.blobs.clone())];
        while let Some((folder, blobs)) = waiting.pop() {
            for entry in git::tree(&blobs.root, &blobs.id, &[])? {
                let entry = Entry { path: folder.join(&entry.path), ..entry };
                if entry.kind != Kind::Submodule {
                    listing.entries.extend(Some(entry).filter(|entry| watch.finds(&entry.path)));
                } else if watch.reaches(&entry.path) {
                    let root = self.root.join(&entry.path);
                    let there = root.join(".git").exists();
                    // its own commit must be there, not only some repository
                    match there && git::commit(&root, &entry.id).is_ok_and(|id| id.as_ref() == Some(&entry.id)) {
                        true => waiting.push((entry.path, Arc::new(Blobs::new(&root, &entry.id)))),
                        false => listing.unknown.push(entry.path),
                    }
                }
            }
            if !folder.as_os_str().is_empty() {
                listing.submodules.push((folder, blobs));
            }
        }
        Ok(listing)
    }

    /// The bytes of a file in the base revision, if it has it.
    pub(crate) fn open_file(&self, path: &Path) -> anyhow::Result<Option<Blob>> {
        self.open_in(&self.blobs, path, path)
    }

    /// The same of what was listed, in a submodule or not.
    pub(crate) fn open_listed(&self, listing: &Listing, path: &Path) -> anyhow::Result<Option<Blob>> {
        let inside =
            |(folder, blobs): &(PathBuf, Arc<Blobs>)| Some((blobs.clone(), path.strip_prefix(folder).ok()?.to_owned()));
        match listing.submodules.iter().filter_map(inside).min_by_key(|(_, rest)| rest.as_os_str().len()) {
            Some((blobs, rest)) => self.open_in(&blobs, &rest, path),
            None => self.open_file(path),
        }
    }

    fn open_in(&self, blobs: &Arc<Blobs>, path: &Path, shown: &Path) -> anyhow::Result<Option<Blob>> {
        blobs.open(path).with_context(|| format!("cannot read '{}' of '{}'", shown.display(), self.name))
    }

    /// A policy as the revision has it that policies are read from, if it has it.
    pub(crate) fn read_policy(&self, path: &Path) -> anyhow::Result<Option<Vec<u8>>> {
        match &self.policy {
            Some((name, blobs)) => read(blobs, name, path),
            None => read(&self.blobs, &self.name, path),
        }
    }

    /// The name of that revision.
    pub(crate) fn policy_name(&self) -> &str {
        self.policy.as_ref().map_or(&self.name, |(name, _)| name)
    }

    /// A policy as it was when the change began, where policies are read from another revision than that.
    pub(crate) fn read_earlier_policy(&self, path: &Path) -> anyhow::Result<Option<Option<Vec<u8>>>> {
        self.policy.as_ref().map(|_| read(&self.blobs, &self.name, path)).transpose()
    }

    /// The lines of a file that the base revision has not, given its path from the root and where it is now.
    pub(crate) fn changed_lines(&self, path: &Path, here: &Path) -> anyhow::Result<Vec<RangeInclusive<u64>>> {
        if !here.is_file() {
            return Ok(Vec::new());
        }
        let Some(blob) = self.open_file(path)? else { return Ok(vec![1..=u64::MAX]) };
        let opened = File::open(here).and_then(|head| new_lines(BufReader::new(blob), BufReader::new(head)));
        opened.with_context(|| format!("cannot compare {} with '{}'", here.display(), self.name))
    }

    /// Where the revision that is checked out has a file of that content under another name, if anywhere.
    pub(crate) fn moved(&self, listing: &Listing, entry: &Entry) -> anyhow::Result<Option<PathBuf>> {
        let Some(head) = git::commit(&self.root, "HEAD")? else { return Ok(None) };
        let known: HashSet<&Path> = listing.entries.iter().map(|entry| entry.path.as_path()).collect();
        let same = |other: &Entry| other.id == entry.id && !known.contains(other.path.as_path());
        let found = git::tree(&self.root, &head, &[])?.into_iter().find(same);
        Ok(found.map(|entry| entry.path).filter(|path| self.root.join(path).is_file()))
    }
}

/// The whole of a small file in a revision, if it has it.
fn read(blobs: &Arc<Blobs>, name: &str, path: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    let shown = format!("{} of '{name}'", path.display());
    let opened = blobs.open(path).with_context(|| format!("cannot read '{}' of '{name}'", path.display()))?;
    let Some(blob) = opened else { return Ok(None) };
    let mut text = Vec::new();
    blob.take(POLICY + 1).read_to_end(&mut text).with_context(|| format!("cannot read {shown}"))?;
    if text.len() as u64 > POLICY {
        bail!("{shown} is larger than {} MiB", POLICY >> 20);
    }
    Ok(Some(text))
}

/// Whether a file has the content that an object of git has.
pub(crate) fn is_same(here: &Path, entry: &Entry) -> io::Result<bool> {
    if entry.kind != Kind::File {
        return Ok(false);
    }
    let file = File::open(here)?;
    let start = format!("blob {}\0", file.metadata()?.len());
    let id = match entry.id.len() {
        40 => hashed(sha1::Sha1::new(), &start, file)?,
        _ => hashed(sha2::Sha256::new(), &start, file)?,
    };
    Ok(id == entry.id)
}

fn hashed<D: sha1::Digest>(mut digest: D, start: &str, mut file: File) -> io::Result<String> {
    digest.update(start.as_bytes());
    let mut buffer = vec![0; 256 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex::encode(digest.finalize())),
            read => digest.update(&buffer[..read]),
        }
    }
}

/// Which of some paths from the root the checked-out revision has; `None` where that cannot be told, as outside of a
/// repository.
pub(crate) fn tracked(place: &Surroundings, paths: &[PathBuf]) -> Option<HashSet<PathBuf>> {
    let root = place.root.as_deref()?;
    let head = git::commit(root, "HEAD").ok()??;
    let mut found = HashSet::new();
    for paths in paths.chunks(PATHS) {
        let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        found.extend(git::tree(root, &head, &paths).ok()?.into_iter().map(|entry| entry.path));
    }
    Some(found)
}

fn missing(root: &Path, name: &str) -> anyhow::Error {
    let shallow = git::try_git(root, &["rev-parse", "--is-shallow-repository"]).ok().flatten();
    let how = if shallow.is_some_and(|answer| answer.starts_with(b"true")) {
        "the clone is shallow: fetch more history (actions/checkout: 'fetch-depth: 2' for the merge commit of a pull \
         request, else 'fetch-depth: 0'; GitLab: GIT_DEPTH: 0)"
    } else {
        "fetch it first (git fetch origin REVISION), or name another one"
    };
    anyhow!("the base revision '{name}' is not in this clone; {how}")
}

/// The lines of `head` that `base` has not, or not as often. Of what follows the first difference in a very long file, no
/// more lines are known than fit in memory; the others count as new.
fn new_lines(mut base: impl BufRead, mut head: impl BufRead) -> io::Result<Vec<RangeInclusive<u64>>> {
    let hasher = RandomState::new();
    let next = |source: &mut dyn BufRead| line(source, &hasher);
    let mut number = 0;
    let (mut old, mut new);
    loop {
        (old, new) = (next(&mut base)?, next(&mut head)?);
        if old != new || new.is_none() {
            break;
        }
        number += 1;
    }
    let mut known: HashMap<u64, u32> = HashMap::new();
    while let Some(hash) = old {
        *known.entry(hash).or_default() += 1;
        old = if known.len() < LINES { next(&mut base)? } else { None };
    }
    let mut lines: Vec<RangeInclusive<u64>> = Vec::new();
    while let Some(hash) = new {
        number += 1;
        match known.get_mut(&hash) {
            Some(count @ 1..) => *count -= 1,
            _ => match lines.last_mut().filter(|last| *last.end() + 1 == number) {
                Some(last) => *last = *last.start()..=number,
                None => lines.push(number..=number),
            },
        }
        new = next(&mut head)?;
    }
    Ok(lines)
}

/// The hash of the next line, of which the beginning counts.
fn line(source: &mut dyn BufRead, hasher: &RandomState) -> io::Result<Option<u64>> {
    let mut text = Vec::new();
    if source.take(LINE).read_until(b'\n', &mut text)? == 0 {
        return Ok(None);
    }
    if text.len() as u64 == LINE && !text.ends_with(b"\n") {
        source.skip_until(b'\n')?;
    }
    // the last line may lack its end on either side
    let text = text.strip_suffix(b"\n").unwrap_or(&text);
    Ok(Some(hasher.hash_one(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_lines_are_those_that_the_base_has_not() {
        for (base, head, lines) in [
            ("a\nb\n", "a\nb\n", vec![]),
            ("a\nb", "a\nb\n", vec![]),
            ("", "a\n", vec![1..=1]),
            ("a\n", "", vec![]),
            ("a\nb\nc\n", "a\nx\ny\nc\nz\n", vec![2..=3, 5..=5]),
            ("a\na\n", "a\na\na\n", vec![3..=3]),
            ("a\nb\n", "b\na\n", vec![]),
        ] {
            assert_eq!(new_lines(base.as_bytes(), head.as_bytes()).unwrap(), lines, "{base:?} {head:?}");
        }
        let long = "x".repeat(LINE as usize + 5);
        assert_eq!(new_lines(format!("{long}\nb\n").as_bytes(), format!("{long}\nc\n").as_bytes()).unwrap(), [2..=2]);
    }
}
