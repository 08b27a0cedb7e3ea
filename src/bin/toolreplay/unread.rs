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
use toolreplay::audit::{self, Change, Input, Outcome};
use toolreplay::finding::Level;
use toolreplay::formats::{self, ImportError, Opening, Options, Unknown};

/// Bytes of a file that tell whether it is a recording.
const HEAD: u64 = 64 << 10;
/// Entries of a linked folder that are looked at.
const LINKED: usize = 10_000;
/// Lines of a file that tell whether it is made of JSON.
const LINES: usize = 50;

/// What was not read of `paths`, given what was. `left_out`: recordings that are not judged on purpose. `options`: how much
/// may be unpacked to find out. `strict`: it is an error.
pub(crate) fn find(
    place: &Surroundings,
    paths: &[PathBuf],
    inputs: &[Input],
    outcomes: &[Outcome],
    left_out: &[Input],
    options: &Options,
    strict: bool,
) -> Vec<Change> {
    let left_out: HashSet<PathBuf> = real_paths(left_out).collect();
    let mut found = Found { place, read: read(inputs, outcomes), left_out, options, strict, changes: Vec::new() };
    let mut folders: Vec<PathBuf> = paths.iter().filter(|path| path.is_dir()).cloned().collect();
    // what belongs to a session that was named by itself
    let beside = |input: &Input| Some(input.path.as_deref()?.with_extension("").join("subagents"));
    let named = inputs.iter().filter(|input| input.named).filter_map(beside);
    let others: Vec<PathBuf> =
        named.filter(|beside| beside.is_dir() && !folders.iter().any(|folder| beside.starts_with(folder))).collect();
    folders.extend(others);
    let mut empty_folder = false;
    for folder in &folders {
        for entry in walk(folder) {
            match entry.file_type().is_some_and(|kind| kind.is_dir()) {
                true => empty_folder |= is_empty(entry.path()),
                false if entry.depth() > 0 => found.look_at(folder, &entry),
                false => {}
            }
        }
    }
    for (input, outcome) in inputs.iter().zip(outcomes) {
        if let Some(path) =
            input.path.as_deref().filter(|_| outcome.passed_over.as_ref().is_some_and(|it| it.holds_calls))
        {
            found.say(path, "it holds what looks like calls of tools, in no format that is known");
        }
    }
    found.submodules(paths, empty_folder);
    found.changes
}

/// The files that were read, by their real paths: inputs, and what was read with them.
fn read(inputs: &[Input], outcomes: &[Outcome]) -> HashSet<PathBuf> {
    let imported = outcomes.iter().filter_map(|outcome| outcome.import.as_ref()).flat_map(|import| &import.paths);
    real_paths(inputs).chain(imported.filter_map(|path| Path::new(path).canonicalize().ok())).collect()
}

fn real_paths(inputs: &[Input]) -> impl Iterator<Item = PathBuf> {
    let all = inputs.iter().flat_map(|input| std::iter::once(input).chain(&input.more));
    all.filter_map(|input| input.path.as_deref()?.canonicalize().ok())
}

struct Found<'f> {
    place: &'f Surroundings,
    read: HashSet<PathBuf>,
    left_out: HashSet<PathBuf>,
    options: &'f Options,
    strict: bool,
    changes: Vec<Change>,
}

impl Found<'_> {
    fn say(&mut self, path: &Path, why: &str) {
        let input = self.place.input(path);
        // the path by names: a link is reported where it lies, not where it leads
        let inside = self.place.inside(path).map(|inside| git::as_git(&inside).to_string_lossy().into_owned());
        let from_root = inside.unwrap_or(input.from_root);
        let mut finding = audit::unread(&from_root, why);
        if self.strict {
            finding.level = Level::Error;
        }
        self.changes.push(Change { shown: input.shown, from_root, exists: true, finding });
    }

    fn look_at(&mut self, folder: &Path, entry: &DirEntry) {
        let path = entry.path();
        if entry.path_is_symlink() && path.is_dir() {
            if leads_to_recordings(path, &self.read, self.options) {
                self.say(path, "it is a link to a folder with recordings, and links to folders are not followed");
            }
            return;
        }
        if !path.is_file() {
            return;
        }
        let real = path.canonicalize().ok();
        if real.as_ref().is_some_and(|real| self.left_out.contains(real)) {
            return;
        }
        if real.is_some_and(|real| self.read.contains(&real)) {
            if is_pointer(path) {
                self.say(path, "it is a pointer of Git LFS, and what it points to was not fetched");
            }
            return;
        }
        let session = formats::part_of(path).and_then(|session| Some((session.canonicalize().ok()?, session)));
        if session.as_ref().is_some_and(|(real, _)| self.left_out.contains(real)) {
            return;
        }
        if let Some((_, session)) = session.filter(|(real, _)| self.read.contains(real)) {
            // what only repeats the session is no loss
            let known: Vec<PathBuf> = self.known_of(&session);
            if formats::has_calls_of_its_own(path, &known, &self.options.budget).unwrap_or(true) {
                self.say(
                    path,
                    "it stands beside a session that is read without it, and has calls which that one has not",
                );
            }
            return;
        }
        let inside = path.strip_prefix(folder).unwrap_or(path);
        let hidden = inside.iter().any(|part| part.as_encoded_bytes().first() == Some(&b'.'));
        match held(path, self.options) {
            Held::Recording if hidden => self.say(path, "it is hidden, and holds a recording"),
            Held::Recording => self.say(path, "its name is none that recordings have, and it holds one"),
            Held::Refused(why) => self.say(path, &format!("it cannot be told what it holds: {why}")),
            Held::Nothing => {}
        }
    }

    /// A session's file, and those that were read with it.
    fn known_of(&self, session: &Path) -> Vec<PathBuf> {
        let folder = session.with_extension("").canonicalize().ok();
        let parts = self.read.iter().filter(|path| folder.as_ref().is_some_and(|folder| path.starts_with(folder)));
        std::iter::once(session.to_owned()).chain(parts.cloned()).collect()
    }

    /// Submodules among the paths that the checked-out revision has and the working tree has not. They leave an empty
    /// folder, and mostly `.gitmodules` names them.
    fn submodules(&mut self, paths: &[PathBuf], empty_folder: bool) {
        let Some(root) = self.place.root.clone() else { return };
        let list = root.join(".gitmodules");
        if !empty_folder && !list.is_file() {
            return;
        }
        let tree = || {
            let Some(head) = git::commit(&root, "HEAD")? else { return Ok(Vec::new()) };
            git::tree(&root, &head, &[])
        };
        let watch = Watch::new(self.place, paths);
        match tree() {
            Ok(entries) => {
                for entry in entries {
                    let missing = !root.join(&entry.path).join(".git").exists();
                    if entry.kind == Kind::Submodule && missing && watch.reaches(&entry.path) {
                        let path = inputs::normal(&self.place.as_seen(&entry.path));
                        self.say(&path, "it is a submodule that is not checked out, and may hold recordings");
                    }
                }
            }
            Err(_) if list.is_file() => {
                self.say(
                    &self.place.as_seen(Path::new(".gitmodules")),
                    "git cannot be asked which submodules are missing",
                );
            }
            Err(_) => {}
        }
    }
}

fn is_empty(folder: &Path) -> bool {
    folder.read_dir().is_ok_and(|mut entries| entries.next().is_none())
}

/// Everything in a folder and the folders in it, hidden or not, but what git keeps there; links are not followed.
fn walk(folder: &Path) -> impl Iterator<Item = DirEntry> {
    let mut walk = WalkBuilder::new(folder);
    walk.standard_filters(false).sort_by_file_name(std::cmp::Ord::cmp);
    walk.filter_entry(|entry| entry.depth() == 0 || entry.file_name() != ".git");
    // what cannot be walked is reported where it is audited
    walk.build().flatten()
}

/// Whether a folder that a link leads to has recordings that were not read by another way.
fn leads_to_recordings(link: &Path, read: &HashSet<PathBuf>, options: &Options) -> bool {
    let Ok(folder) = link.canonicalize() else { return false };
    let files = walk(&folder).take(LINKED).filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let unread = files.filter(|entry| !read.contains(entry.path()) && formats::may_be_recording(entry.path()));
    unread.take(100).any(|entry| !matches!(held(entry.path(), options), Held::Nothing))
}

/// Whether a file may hold a recording: what cannot be read may.
pub(crate) fn may_hold_one(path: &Path, options: &Options) -> bool {
    File::open(path).is_err() || !matches!(held(path, options), Held::Nothing)
}

/// What a file holds, as far as its beginning tells.
enum Held {
    Recording,
    Nothing,
    /// It is wrapped in a way that nothing is unwrapped from.
    Refused(String),
}

fn held(path: &Path, options: &Options) -> Held {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    let wrapped = [&b"\x1f\x8b"[..], b"\x28\xb5\x2f\xfd", b"\xff\xfe", b"\xfe\xff", b"PK\x03\x04"];
    let source: Box<dyn io::Read + Send> = match () {
        () if read.is_err() => return Held::Nothing,
        () if wrapped.iter().any(|start| head.starts_with(start)) => match File::open(path) {
            Ok(file) => Box::new(file),
            Err(_) => return Held::Nothing,
        },
        () if is_json(&head) => Box::new(Cursor::new(head)),
        () => return Held::Nothing,
    };
    match formats::open(source, Some(path), options) {
        // what is in no other format is read as a transcript, for the sake of its message
        Ok(Opening::Native(source) | Opening::Unknown(Unknown { source, .. })) => match has_record(source) {
            Ok(true) => Held::Recording,
            Ok(false) | Err(_) => Held::Nothing,
        },
        Ok(Opening::Foreign(_)) => Held::Recording,
        Err(ImportError::Refused(why)) => Held::Refused(why),
        Ok(Opening::Other(_)) | Err(_) => Held::Nothing,
    }
}

/// Whether a text begins like JSON, or half of its first lines do.
fn is_json(head: &[u8]) -> bool {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let opens = |line: &[u8]| matches!(line.first(), Some(b'{' | b'['));
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()).take(LINES);
    let (all, json) = lines.fold((0, 0), |(all, json), line| (all + 1, json + usize::from(opens(line))));
    opens(text) || json > 0 && json * 2 >= all
}

/// Whether one of the first lines of a text is a record of a transcript, sealed or not.
fn has_record(source: impl io::Read) -> io::Result<bool> {
    let mut start = Vec::new();
    source.take(HEAD).read_to_end(&mut start)?;
    let is_record = |line: &[u8]| {
        let holds = |name: &[u8]| line.windows(name.len()).any(|window| window == name);
        [&b"\"index\""[..], b"\"tool\"", b"\"args\""].iter().all(|name| holds(name))
    };
    Ok(start.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).take(LINES).any(is_record))
}

fn is_pointer(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(100).read_to_end(&mut start));
    read.is_ok() && start.starts_with(b"version https://git-lfs.github.com/spec/")
}
