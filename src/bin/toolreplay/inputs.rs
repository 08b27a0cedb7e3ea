//! From what the command line names to the files to read: folders, globs, paths from the root of the repository.

use anyhow::Context as _;
use ignore::{DirEntry, WalkBuilder};
use std::collections::HashSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use toolreplay::audit::{self, Input};
use toolreplay::formats;

/// Where the process stands.
pub(crate) struct Surroundings {
    pub(crate) folder: PathBuf,
    /// The root of the repository the folder is in, if it is in one.
    pub(crate) root: Option<PathBuf>,
}

impl Surroundings {
    pub(crate) fn current() -> anyhow::Result<Surroundings> {
        #[expect(clippy::disallowed_methods, reason = "paths on the command line are relative to it")]
        let folder = std::env::current_dir().context("cannot tell the working directory")?;
        let root = folder.ancestors().find(|folder| folder.join(".git").exists()).map(Path::to_owned);
        Ok(Surroundings { folder, root })
    }

    /// What paths of a checkout may not lead out of: the repository, or else the folder.
    pub(crate) fn bounds(&self) -> &Path {
        self.root.as_deref().unwrap_or(&self.folder)
    }

    /// An input for one path, whether it can be read or not.
    pub(crate) fn input(&self, path: &Path) -> Input {
        if path.as_os_str() == "-" {
            let (shown, from_root) = ("<stdin>".to_owned(), "stdin".to_owned());
            return Input { path: None, shown, from_root, named: true, more: Vec::new() };
        }
        let shown = path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
        let from_root = self.path_from_root(path);
        Input { path: Some(path.to_owned()), from_root, shown, named: true, more: Vec::new() }
    }

    /// The path from the root of the repository by names alone, for what is asked of another revision: a link that this
    /// revision has put in its way must not lead elsewhere. `None`: it is outside.
    pub(crate) fn inside(&self, path: &Path) -> Option<PathBuf> {
        let root = self.root.as_deref()?;
        let full = normal(&self.folder.join(path));
        if let Ok(inside) = full.strip_prefix(root) {
            return Some(inside.to_owned());
        }
        // the same folder may have another name, through a link above the repository
        let root = root.canonicalize().ok()?;
        let above: Vec<&Path> = full.ancestors().collect();
        let found = above.into_iter().rev().find(|folder| folder.canonicalize().is_ok_and(|real| real == root))?;
        full.strip_prefix(found).ok().map(Path::to_owned)
    }

    /// The path as the user would write it, of a file given from the root of the repository.
    pub(crate) fn as_seen(&self, inside: &Path) -> PathBuf {
        let Some(root) = &self.root else { return inside.to_owned() };
        let full = root.join(inside);
        full.strip_prefix(&self.folder).map(Path::to_owned).unwrap_or(full)
    }

    /// The path from the root of the repository, or an absolute one for what is not in it.
    fn path_from_root(&self, path: &Path) -> String {
        let root = self.root.as_deref().unwrap_or(&self.folder);
        let resolved = path.canonicalize().unwrap_or_else(|_| normal(&self.folder.join(path)));
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        match resolved.strip_prefix(&root) {
            Ok(inside) => {
                let segments: Vec<_> = inside.components().map(|part| part.as_os_str().to_string_lossy()).collect();
                segments.join("/")
            }
            // a link of the repository stands where it stands: where it leads to on this machine is nobody's business
            Err(_) => match self.inside(path).filter(|inside| !inside.as_os_str().is_empty()) {
                Some(inside) => inside.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/"),
                None => resolved.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/"),
            },
        }
    }

    /// Whether a path from the root of the repository leads out of it, by a link.
    pub(crate) fn leads_out(&self, from_root: &Path) -> bool {
        let Some(root) = self.root.as_deref().and_then(|root| root.canonicalize().ok()) else { return false };
        root.join(from_root).canonicalize().is_ok_and(|real| !real.starts_with(&root))
    }
}

/// The path without `.` and `..`, as far as names alone tell.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

/// What `audit` found for the paths it was given.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) inputs: Vec<Input>,
    /// Whether exactly one file was named, so that messages need not name it.
    pub(crate) alone: bool,
    /// Files in folders that do not have the name of a transcript.
    pub(crate) passed_over: u64,
}

/// Finds the files behind paths, folders and globs, each once, sorted by path. Of folders those whose names are
/// `wanted`.
pub(crate) fn find(
    place: &Surroundings,
    paths: &[PathBuf],
    wanted: fn(&Path) -> bool,
    allow_empty: bool,
) -> anyhow::Result<Found> {
    let mut found = Found::default();
    for path in paths {
        let (pattern, there) = (pattern(path), path.symlink_metadata().is_ok());
        if path.is_dir() {
            folder(place, path, wanted, &mut found);
        }
        if let Some(pattern) = pattern {
            // a glob is a glob, also where something has that very name; then both are read
            let before = found.inputs.len() as u64 + found.passed_over;
            match pattern {
                Ok(pattern) => glob(place, &pattern, wanted, &mut found),
                Err(error) if !there => return Err(error),
                Err(_) => {}
            }
            let nothing = found.inputs.len() as u64 + found.passed_over == before && !path.is_dir();
            if there && !path.is_dir() || nothing && !allow_empty {
                // the others are audited all the same; opening it fails, which is in the report
                found.inputs.push(place.input(path));
            }
        } else if path.is_dir() {
            continue;
        } else {
            found.inputs.push(place.input(path));
            found.alone = paths.len() == 1;
        }
    }
    let resolved = |input: &Input| input.path.as_ref().map(|path| path.canonicalize().unwrap_or_else(|_| path.clone()));
    // what was named is named, also where a folder has it
    let named: HashSet<Option<PathBuf>> = found.inputs.iter().filter(|input| input.named).map(resolved).collect();
    let mut seen = HashSet::new();
    found.inputs.retain_mut(|input| {
        let resolved = resolved(input);
        input.named |= named.contains(&resolved);
        seen.insert(resolved)
    });
    // an agent's own file is read with the session that started it
    let sessions: HashSet<PathBuf> = found.inputs.iter().filter_map(|input| input.path.clone()).collect();
    found.inputs.retain(|input| {
        let session = input.path.as_deref().filter(|_| !input.named).and_then(formats::part_of);
        session.is_none_or(|session| !sessions.contains(&session))
    });
    found.inputs.sort_by(|a, b| a.shown.cmp(&b.shown));
    Ok(found)
}

/// Looks for transcripts in a folder and the folders in it, hidden ones left out.
fn folder(place: &Surroundings, folder: &Path, wanted: fn(&Path) -> bool, found: &mut Found) {
    for entry in walk(folder, false) {
        found.take(place, entry, wanted);
    }
}

/// The files in a folder and in the folders in it; links to folders are not followed, and what git ignores is found like
/// everything else: `leave_out` settles what becomes of it. Of what could not be walked the path: it fails again when it is opened, with the same reason,
/// and so is in the report.
fn walk(folder: &Path, hidden_too: bool) -> impl Iterator<Item = Result<DirEntry, PathBuf>> {
    let mut walk = WalkBuilder::new(folder);
    walk.standard_filters(false).hidden(!hidden_too).sort_by_file_name(std::cmp::Ord::cmp);
    walk.build().map(|entry| entry.map_err(|error| path_of(&error).unwrap_or(folder).to_owned()))
}

fn is_folder(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}

/// The path that could not be walked.
fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_of(err),
        ignore::Error::Loop { child, .. } => Some(child),
        ignore::Error::Partial(errors) => errors.iter().find_map(path_of),
        _ => None,
    }
}

/// The files that `paths` would find, were they there, by their paths from the root of the repository.
#[derive(Debug)]
pub(crate) struct Watch {
    /// Files and folders that are named, by name and by what links make of it.
    named: Vec<PathBuf>,
    globs: Vec<glob::Pattern>,
    /// Every file there is.
    all: bool,
}

impl Watch {
    pub(crate) fn everything() -> Watch {
        Watch { named: Vec::new(), globs: Vec::new(), all: true }
    }

    pub(crate) fn new(place: &Surroundings, paths: &[PathBuf]) -> Watch {
        let mut watch = Watch { named: Vec::new(), globs: Vec::new(), all: false };
        for path in paths {
            let named = place.inside(path);
            watch.globs.extend(named.as_deref().and_then(Path::to_str).and_then(|text| glob::Pattern::new(text).ok()));
            let real = place.folder.join(path).canonicalize().ok().and_then(|path| place.inside(&path));
            watch.named.extend([named, real].into_iter().flatten());
        }
        watch.named.dedup();
        watch
    }

    pub(crate) fn finds(&self, file: &Path) -> bool {
        let in_folder = |folder: &Path| {
            let Ok(inside) = file.strip_prefix(folder) else { return false };
            let hidden = |part: &std::ffi::OsStr| part.as_encoded_bytes().first() == Some(&b'.');
            formats::may_be_recording(file) && !inside.iter().any(hidden)
        };
        let fits = |pattern: &glob::Pattern, path: &Path| pattern.matches_path_with(path, GLOB);
        self.all
            || self.named.iter().any(|path| file == path || in_folder(path))
            || self.globs.iter().any(|pattern| {
                fits(pattern, file) || file.ancestors().skip(1).any(|folder| fits(pattern, folder) && in_folder(folder))
            })
    }

    /// Whether there may be such files below a folder.
    pub(crate) fn reaches(&self, folder: &Path) -> bool {
        let starts = |pattern: &glob::Pattern| {
            let parts = Path::new(pattern.as_str());
            let plain: PathBuf =
                parts.iter().take_while(|part| !part.to_string_lossy().contains(['*', '?', '['])).collect();
            plain.starts_with(folder) || folder.starts_with(&plain)
        };
        self.all
            || self.named.iter().any(|path| path.starts_with(folder) || folder.starts_with(path))
            || self.globs.iter().any(starts)
    }
}

/// How the globs of the command line match.
const GLOB: glob::MatchOptions =
    glob::MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };

impl Found {
    /// Takes an entry of a walk if it is a file that is wanted. What is no regular file, such as a pipe, which could
    /// wait for ever, is passed over.
    fn take(&mut self, place: &Surroundings, entry: Result<DirEntry, PathBuf>, wanted: impl Fn(&Path) -> bool) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(path) => return self.inputs.push(place.input(&path)),
        };
        if !is_folder(&entry) {
            self.take_file(place, entry.path(), wanted);
        }
    }

    fn take_file(&mut self, place: &Surroundings, path: &Path, wanted: impl Fn(&Path) -> bool) {
        match path.metadata() {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(metadata) if metadata.is_file() && wanted(path) => {
                self.inputs.push(Input { named: false, ..place.input(path) });
            }
            // a link to nothing
            Err(_) if wanted(path) => self.inputs.push(place.input(path)),
            _ if audit::stands_beside(path) => {}
            _ => self.passed_over += 1,
        }
    }
}

/// A glob: the folder where the search starts, and what a path must fit.
struct Pattern {
    start: PathBuf,
    fits: glob::Pattern,
    /// It ends in `**`: all that a folder would give.
    whole_folders: bool,
    hidden_too: bool,
}

/// The pattern that a path is, if it is one.
fn pattern(path: &Path) -> Option<anyhow::Result<Pattern>> {
    let is_pattern = |part: &str| part.contains(['*', '?', '[']);
    let text = path.to_str().filter(|text| is_pattern(text))?;
    let fits = match glob::Pattern::new(text).with_context(|| format!("'{text}' is no valid glob")) {
        Ok(fits) => fits,
        Err(error) => return Some(Err(error)),
    };
    let plain = path.iter().take_while(|part| part.to_str().is_some_and(|part| !is_pattern(part)));
    let start: PathBuf = plain.collect();
    let hidden_too = path.iter().any(|part| part.as_encoded_bytes().first() == Some(&b'.') && part.len() > 2);
    let whole_folders = path.iter().next_back().is_some_and(|part| part == "**");
    Some(Ok(Pattern { start, fits, whole_folders, hidden_too }))
}

fn glob(place: &Surroundings, pattern: &Pattern, wanted: fn(&Path) -> bool, found: &mut Found) {
    let from_here = pattern.start.as_os_str().is_empty();
    let start = if from_here { Path::new(".") } else { &pattern.start };
    let mut taken: Vec<PathBuf> = Vec::new();
    for entry in walk(start, pattern.hidden_too) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(path) => {
                found.inputs.push(place.input(&path));
                continue;
            }
        };
        // the pattern knows nothing of the `.` that the walk started at
        let path = if from_here { entry.path().strip_prefix(".").unwrap_or(entry.path()) } else { entry.path() };
        let text = path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
        let fits = entry.depth() > 0 && pattern.fits.matches_with(&text, GLOB);
        if !fits || taken.iter().any(|folder| path.starts_with(folder)) {
            continue;
        }
        if is_folder(&entry) {
            folder(place, path, wanted, found);
            taken.push(path.to_owned());
        } else {
            found.take_file(place, path, |path| !pattern.whole_folders || wanted(path));
        }
    }
}

/// The file behind a path, whether it is there yet or not: links are followed.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    // a link to nothing is written through as well; a few steps are enough for all but loops
    for _ in 0..8 {
        let Ok(link) = fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(link);
    }
    if path.is_relative() {
        path = Path::new(".").join(path);
    }
    // what is not there yet stands below what is
    let there = path.ancestors().find_map(|above| Some((fs::canonicalize(above).ok()?, above)));
    match there.and_then(|(whole, above)| Some((whole, path.strip_prefix(above).ok()?))) {
        Some((whole, rest)) if rest.as_os_str().is_empty() => whole,
        Some((whole, rest)) => normal(&whole.join(rest)),
        None => path,
    }
}
