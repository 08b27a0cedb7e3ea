//! From what the command line names to the files to read: folders, globs, paths from the root of the repository.

use anyhow::{Context as _, bail};
use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};
use toolreplay::audit::Input;
use toolreplay::import;
use walkdir::WalkDir;

/// Where the process stands.
pub(crate) struct Place {
    pub(crate) folder: PathBuf,
    /// The root of the repository the folder is in, if it is in one.
    pub(crate) root: Option<PathBuf>,
}

impl Place {
    pub(crate) fn current() -> anyhow::Result<Place> {
        #[expect(clippy::disallowed_methods, reason = "paths on the command line are relative to it")]
        let folder = std::env::current_dir().context("cannot tell the working directory")?;
        let root = folder.ancestors().find(|folder| folder.join(".git").exists()).map(Path::to_owned);
        Ok(Place { folder, root })
    }

    /// An input for one path, whether it can be read or not.
    pub(crate) fn input(&self, path: &Path) -> Input {
        if path.as_os_str() == "-" {
            let (shown, from_root) = ("<stdin>".to_owned(), "stdin".to_owned());
            return Input { path: None, shown, from_root, named: true };
        }
        let shown = path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
        Input { path: Some(path.to_owned()), from_root: self.path_from_root(path), shown, named: true }
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
            Err(_) => resolved.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/"),
        }
    }
}

/// The path without `.` and `..`, as far as names alone tell.
fn normal(path: &Path) -> PathBuf {
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

/// Finds the files behind paths, folders and globs, each once, sorted by path.
pub(crate) fn find(place: &Place, paths: &[PathBuf]) -> anyhow::Result<Found> {
    let mut found = Found::default();
    for path in paths {
        if path.is_dir() {
            folder(place, path, &mut found);
        } else if path.as_os_str() == "-" || path.symlink_metadata().is_ok() {
            found.inputs.push(place.input(path));
            found.alone = paths.len() == 1;
        } else {
            glob(place, path, &mut found)?;
        }
    }
    let mut seen = HashSet::new();
    found.inputs.retain(|input| {
        let resolved = input.path.as_ref().map(|path| path.canonicalize().unwrap_or_else(|_| path.clone()));
        seen.insert(resolved)
    });
    // an agent's own file is read with the session that started it
    let sessions: HashSet<PathBuf> = found.inputs.iter().filter_map(|input| input.path.clone()).collect();
    found.inputs.retain(|input| {
        let session = input.path.as_deref().filter(|_| !input.named).and_then(import::part_of);
        session.is_none_or(|session| !sessions.contains(&session))
    });
    found.inputs.sort_by(|a, b| a.shown.cmp(&b.shown));
    Ok(found)
}

/// Looks for transcripts in a folder and the folders in it, hidden ones left out.
fn folder(place: &Place, folder: &Path, found: &mut Found) {
    let hidden =
        |entry: &walkdir::DirEntry| entry.depth() > 0 && entry.file_name().as_encoded_bytes().first() == Some(&b'.');
    for entry in WalkDir::new(folder).sort_by_file_name().into_iter().filter_entry(|entry| !hidden(entry)) {
        match entry {
            Ok(entry) if entry.path().is_dir() => {}
            Ok(entry) if import::may_be_recording(entry.path()) => {
                found.inputs.push(Input { named: false, ..place.input(entry.path()) });
            }
            Ok(_) => found.passed_over += 1,
            // it fails again when it is opened, with the same reason, and so is in the report
            Err(error) => found.inputs.extend(error.path().map(|path| place.input(path))),
        }
    }
}

fn glob(place: &Place, path: &Path, found: &mut Found) -> anyhow::Result<()> {
    let is_glob = path.as_os_str().as_encoded_bytes().iter().any(|byte| matches!(byte, b'*' | b'?' | b'['));
    let Some(pattern) = path.to_str().filter(|_| is_glob) else {
        // it does not exist; reading it says so
        found.inputs.push(place.input(path));
        return Ok(());
    };
    let options = glob::MatchOptions {
        require_literal_separator: true,
        require_literal_leading_dot: true,
        ..glob::MatchOptions::default()
    };
    let matches = glob::glob_with(pattern, options).with_context(|| format!("'{pattern}' is no valid glob"))?;
    let before = found.inputs.len() as u64 + found.passed_over;
    for path in matches {
        match path {
            Ok(path) if path.is_dir() => folder(place, &path, found),
            Ok(path) => found.inputs.push(place.input(&path)),
            Err(error) => found.inputs.push(place.input(error.path())),
        }
    }
    if found.inputs.len() as u64 + found.passed_over == before {
        bail!("'{pattern}' matches no file");
    }
    Ok(())
}
