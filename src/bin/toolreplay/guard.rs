//! What may be written where, and how far the paths of a configuration reach.
//!
//! A checkout comes with files, links and perhaps a configuration of its own, none of which the user has asked for. What
//! is written must stay what the command line names: no input is overwritten, no recording, and nothing behind a link that
//! leads out of the repository. A configuration that was found rather than named reaches no further than its repository.

use crate::args::ReportTarget;
use crate::inputs::{self, Surroundings, resolved};
use anyhow::{Context as _, bail};
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Component, Path, PathBuf};
use toolreplay::audit::detect_layout;
use toolreplay::formats::{self, Opening, Options};
use toolreplay::report;
use toolreplay::transcript::Layout;

/// Bytes of an existing file's start and end by which a report of ours is known.
const KNOWN_BY: u64 = 64 << 10;

/// What a command writes, which is what it may replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writes {
    Report,
    Transcript,
    Sealed,
    /// A recording of any format, which replaces none.
    Redacted,
    /// A baseline, which replaces nothing but one.
    Baseline,
}

/// Refuses reports that would overwrite what is read, or evidence.
pub(crate) fn reports<'p>(
    targets: &'p [ReportTarget],
    inputs: impl IntoIterator<Item = &'p Path>,
) -> anyhow::Result<()> {
    outputs(targets.iter().filter_map(|target| Some((target.path.as_deref()?, Writes::Report))), inputs)
}

/// Refuses outputs that are inputs or each other, under whatever name; that would replace a recording which is none of
/// the kind that is written; and that a link leads out of the repository.
pub(crate) fn outputs<'p>(
    outputs: impl IntoIterator<Item = (&'p Path, Writes)>,
    inputs: impl IntoIterator<Item = &'p Path>,
) -> anyhow::Result<()> {
    let outputs: Vec<(&Path, Writes, PathBuf)> =
        outputs.into_iter().map(|(path, writes)| (path, writes, resolved(path))).collect();
    if outputs.is_empty() {
        return Ok(());
    }
    for input in inputs.into_iter().filter(|input| input.as_os_str() != "-") {
        // a device may be read and written at once
        if input.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            continue;
        }
        let input_place = resolved(input);
        if let Some((output, ..)) = outputs.iter().find(|(.., place)| *place == input_place) {
            bail!("{} is read by this very command, and would be overwritten; write to another file", output.display());
        }
    }
    let repository = Surroundings::current()?;
    for (number, (path, writes, place)) in outputs.iter().enumerate() {
        if let Some((other, ..)) = outputs[..number].iter().find(|(.., other)| other == place) {
            let also = if other == path { String::new() } else { format!(", which {} is as well", other.display()) };
            bail!("two outputs would be written to {}{also}; give each a path of its own", path.display());
        }
        inside_stays_inside(&repository, path)?;
        if let Some(what) = evidence(place, *writes).with_context(|| format!("cannot read {}", path.display()))? {
            bail!(
                "{} holds {what}, which would be overwritten; write to another file, or remove it first",
                path.display()
            );
        }
    }
    Ok(())
}

/// Refuses a path that is in the repository by its name, and elsewhere by a link that came with it.
pub(crate) fn inside_stays_inside(repository: &Surroundings, path: &Path) -> anyhow::Result<()> {
    let root = repository.bounds();
    if !inputs::normal(&repository.folder.join(path)).starts_with(root) {
        return Ok(());
    }
    let place = resolved(&repository.folder.join(path));
    if !place.starts_with(resolved(root)) {
        bail!(
            "{} leads out of the repository through a link, to {}; remove the link, or name what it leads to",
            path.display(),
            place.display()
        );
    }
    Ok(())
}

/// What a file holds that must not be replaced by what is written, in words.
fn evidence(path: &Path, writes: Writes) -> io::Result<Option<&'static str>> {
    if !path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0) || is_report(path)? {
        return Ok(None);
    }
    let recording = Some("a recording");
    let what = match formats::open(Box::new(File::open(path)?), Some(path), &Options::default()) {
        Ok(Opening::Native(source)) => match detect_layout(source)?.0 {
            Layout::Sealed => Some("a sealed transcript").filter(|_| writes != Writes::Sealed),
            Layout::Transcript if is_record(path)? => Some("a transcript").filter(|_| writes != Writes::Transcript),
            Layout::Transcript => None,
        },
        Ok(Opening::Foreign(_)) => recording,
        Ok(Opening::Unknown(..) | Opening::Other(..)) | Err(_) => None,
    };
    Ok(what)
}

/// Whether the first line with something in it is an object with the fields of a record. What is no recording at all is
/// read as a transcript too, for the sake of its message.
fn is_record(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    File::open(path)?.take(KNOWN_BY).read_to_end(&mut start)?;
    let line = start.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    let holds = |name: &[u8]| line.windows(name.len()).any(|window| window == name);
    Ok(line.trim_ascii_start().starts_with(b"{") && holds(b"\"tool\"") && holds(b"\"args\""))
}

/// Whether a file is a report that an earlier run wrote.
fn is_report(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let (mut start, mut end) = (Vec::new(), Vec::new());
    file.by_ref().take(KNOWN_BY).read_to_end(&mut start)?;
    file.seek(SeekFrom::Start(length.saturating_sub(KNOWN_BY)))?;
    file.take(KNOWN_BY).read_to_end(&mut end)?;
    Ok(report::is_one(&start, &end))
}

/// Whether a file is a page of ours.
pub(crate) fn is_page(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(KNOWN_BY).read_to_end(&mut start));
    path.is_file() && read.is_ok() && report::is_page(&start)
}

/// The paths of a configuration, which may be anybody's.
pub(crate) struct Reach<'p> {
    pub(crate) place: &'p Surroundings,
    /// The configuration as messages name it.
    pub(crate) shown: &'p str,
    /// Its folder.
    pub(crate) folder: &'p Path,
    /// It was named on the command line, so that it may say what is read.
    pub(crate) named: bool,
}

impl Reach<'_> {
    /// A file, folder or glob to read: it may not lead out of the repository.
    pub(crate) fn read(&self, key: &str, path: &str) -> anyhow::Result<PathBuf> {
        let joined = self.folder.join(path);
        let full = self.place.folder.join(&joined);
        // of a glob, the folder it starts in
        let plain: PathBuf = full.iter().take_while(|part| !part.to_string_lossy().contains(['*', '?', '['])).collect();
        let root = self.place.bounds();
        let stays = inputs::normal(&full).starts_with(root)
            && [&full, &plain].iter().all(|path| resolved(path).starts_with(resolved(root)));
        if !self.named && !stays {
            bail!(
                "{}: {key}: '{path}' leads out of the repository; name it on the command line, or the configuration with \
                 --config",
                self.shown
            );
        }
        Ok(joined)
    }

    /// A report to write: in the configuration's folder or below it, through no link, and over nothing but an earlier
    /// report. It does not matter who named the configuration, for it is not who wrote it.
    pub(crate) fn write(&self, path: &Path) -> anyhow::Result<PathBuf> {
        let refused = |why: &str| {
            format!(
                "{}: reports: '{}' {why}; what is written elsewhere must be named on the command line (--report \
                 FORMAT=PATH)",
                self.shown,
                path.display()
            )
        };
        let folder = self.place.folder.join(self.folder);
        inside_stays_inside(self.place, &folder)?;
        let mut place = folder.clone();
        for part in path.components() {
            match part {
                Component::CurDir => continue,
                Component::Normal(name) if is_git(&name.to_string_lossy()) => bail!(refused("is in a folder of git")),
                Component::Normal(name) => place.push(name),
                _ => bail!(refused("leads out of its folder")),
            }
            if place.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
                bail!(refused("goes through a link"));
            }
        }
        match fs::metadata(&place) {
            Ok(metadata) if !metadata.is_file() => bail!(refused("is no regular file")),
            Ok(metadata) if metadata.len() > 0 && !is_report(&place).with_context(|| refused("cannot be read"))? => {
                bail!(refused("is there already and no report of toolreplay; remove it"))
            }
            _ => Ok(self.folder.join(path)),
        }
    }
}

/// Whether a file system may take a name for `.git`.
fn is_git(name: &str) -> bool {
    let name = name.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']).to_ascii_lowercase();
    name == ".git" || name.starts_with("git~")
}

#[cfg(test)]
mod tests {
    use super::is_git;

    #[test]
    fn folders_of_git_are_known_by_every_name() {
        for name in [".git", ".GIT", ".git.", ".git ", "git~1", ".git::$INDEX_ALLOCATION"] {
            assert!(is_git(name), "{name}");
        }
        for name in [".gitlab", ".github", "git", "a.git"] {
            assert!(!is_git(name), "{name}");
        }
    }
}
