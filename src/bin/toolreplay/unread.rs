//! What looks like a recording in the folders that are audited, and was not read.
//!
//! A folder is searched by the names that recordings have. Whoever puts one where the search does not go must not thereby
//! keep it from being judged unnoticed, so what is left out is looked into.

use crate::git::{self, Kind};
use crate::inputs::{self, Surroundings, Watch};
use ignore::{DirEntry, WalkBuilder};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Cursor, Read as _};
use std::path::{Path, PathBuf};
use toolreplay::audit::{self, Change, Input};
use toolreplay::formats::{self, Opening, Options};

/// Bytes of a file that tell whether it is a recording.
const HEAD: u64 = 64 << 10;
/// Entries of a linked folder that are looked at.
const LINKED: usize = 10_000;

/// What was not read of `paths`, given what was. `left_out`: recordings that are not judged on purpose.
pub(crate) fn find(place: &Surroundings, paths: &[PathBuf], inputs: &[Input], left_out: &[Input]) -> Vec<Change> {
    let all = inputs.iter().chain(left_out).flat_map(|input| std::iter::once(input).chain(&input.more));
    let read: HashSet<PathBuf> = all.filter_map(|input| input.path.as_deref()?.canonicalize().ok()).collect();
    let mut changes = Vec::new();
    let mut say = |path: &Path, why: &str| {
        let input = place.input(path);
        // the path by names: a link is reported where it lies, not where it leads
        let inside = place.inside(path).map(|inside| git::as_git(&inside).to_string_lossy().into_owned());
        let from_root = inside.unwrap_or(input.from_root);
        let finding = audit::unread(&from_root, why);
        changes.push(Change { shown: input.shown, from_root, exists: true, finding });
    };
    for folder in paths.iter().filter(|path| path.is_dir()) {
        for entry in walk(folder) {
            let path = entry.path();
            if entry.depth() == 0 || entry.file_type().is_some_and(|kind| kind.is_dir()) {
                continue;
            }
            if entry.path_is_symlink() && path.is_dir() {
                if leads_to_recordings(path, &read) {
                    say(path, "it is a link to a folder with recordings, and links to folders are not followed");
                }
                continue;
            }
            let known = path.canonicalize().is_ok_and(|real| read.contains(&real)) || is_part(path, &read);
            if !path.is_file() || known {
                if known && is_pointer(path) {
                    say(path, "it is a pointer of Git LFS, and what it points to was not fetched");
                }
                continue;
            }
            let inside = path.strip_prefix(folder).unwrap_or(path);
            let hidden = inside.iter().any(|part| part.as_encoded_bytes().first() == Some(&b'.'));
            if is_recording(path).unwrap_or(false) {
                say(
                    path,
                    match hidden {
                        true => "it is hidden, and holds a recording",
                        false => "its name is none that recordings have, and it holds one",
                    },
                );
            }
        }
    }
    for submodule in submodules(place, paths) {
        say(&submodule, "it is a submodule that is not checked out, and may hold recordings");
    }
    changes
}

/// Everything in a folder and the folders in it, hidden or not, but what git keeps there; links are not followed.
fn walk(folder: &Path) -> impl Iterator<Item = DirEntry> {
    let mut walk = WalkBuilder::new(folder);
    walk.standard_filters(false).sort_by_file_name(std::cmp::Ord::cmp);
    walk.filter_entry(|entry| entry.depth() == 0 || entry.file_name() != ".git");
    // what cannot be walked is reported where it is audited
    walk.build().flatten()
}

/// Whether a file is read with the recording that it is a part of.
fn is_part(path: &Path, read: &HashSet<PathBuf>) -> bool {
    let session = formats::part_of(path).and_then(|session| session.canonicalize().ok());
    session.is_some_and(|session| read.contains(&session))
}

/// Whether a folder that a link leads to has recordings that were not read by another way.
fn leads_to_recordings(link: &Path, read: &HashSet<PathBuf>) -> bool {
    let Ok(folder) = link.canonicalize() else { return false };
    let files = walk(&folder).take(LINKED).filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let unread = files.filter(|entry| !read.contains(entry.path()) && formats::may_be_recording(entry.path()));
    unread.take(100).any(|entry| is_recording(entry.path()).unwrap_or(false))
}

/// Whether a file holds a recording, as far as its beginning tells.
pub(crate) fn is_recording(path: &Path) -> io::Result<bool> {
    let mut head = Vec::new();
    File::open(path)?.take(HEAD).read_to_end(&mut head)?;
    let packed = head.starts_with(&[0x1f, 0x8b]) || head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head).trim_ascii_start();
    let source: Box<dyn io::Read + Send> = match () {
        () if packed => Box::new(File::open(path)?),
        () if matches!(text.first(), Some(b'{' | b'[')) => Box::new(Cursor::new(head)),
        () => return Ok(false),
    };
    Ok(match formats::open(source, None, &Options::default()) {
        // what is in no other format is read as a transcript, for the sake of its message
        Ok(Opening::Native(source)) => is_record(source)?,
        Ok(Opening::Foreign(_)) => true,
        Ok(_) | Err(_) => false,
    })
}

/// Whether a text begins with a record of a transcript, sealed or not.
fn is_record(source: impl io::Read) -> io::Result<bool> {
    let mut start = Vec::new();
    source.take(HEAD).read_to_end(&mut start)?;
    let line = start.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    let holds = |name: &[u8]| line.windows(name.len()).any(|window| window == name);
    Ok([&b"\"index\""[..], b"\"tool\"", b"\"args\""].iter().all(|name| holds(name)))
}

fn is_pointer(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(100).read_to_end(&mut start));
    read.is_ok() && start.starts_with(b"version https://git-lfs.github.com/spec/")
}

/// Submodules among the paths that the checked-out revision has and the working tree has not.
fn submodules(place: &Surroundings, paths: &[PathBuf]) -> Vec<PathBuf> {
    let Some(root) = place.root.as_deref().filter(|root| root.join(".gitmodules").is_file()) else { return Vec::new() };
    let watch = Watch::new(place, paths);
    let tree = git::commit(root, "HEAD").ok().flatten().and_then(|head| git::tree(root, &head, &[]).ok());
    let entries =
        tree.into_iter().flatten().filter(|entry| entry.kind == Kind::Submodule && watch.reaches(&entry.path));
    let missing = entries.filter(|entry| !root.join(&entry.path).join(".git").exists());
    missing.map(|entry| inputs::normal(&place.as_seen(&entry.path))).collect()
}
