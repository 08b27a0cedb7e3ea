//! What the base revision says of what is audited: seals that went or were rewritten, policies that were changed, lines
//! that are new.

use crate::base::{self, Base, Entry};
use crate::inputs::{self, Place};
use anyhow::Context as _;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use toolreplay::audit::{
    Change, Input, Outcome, Policy, Report, Visibility, policy_changed, seal_deleted, seal_kept, signature_lost,
    told_apart,
};
use toolreplay::finding::Finding;
use toolreplay::transcript::Layout;

/// Holds the sealed transcripts that the base revision has among `paths` against what became of them.
pub(crate) fn seals(base: &Base, place: &Place, paths: &[PathBuf], inputs: &[Input]) -> anyhow::Result<Vec<Change>> {
    let audited = |file: &Path| inputs::would_find(place, paths, file);
    let mut changes = Vec::new();
    let mut new = None;
    for entry in &base.entries {
        let (from, to) = match entry {
            Entry::Added(_) => continue,
            Entry::Changed(path) => (path, Some(path)),
            // the index does not know it, but there it is
            Entry::Deleted(path) => (path, place.as_seen(path).is_file().then_some(path)),
            Entry::Renamed { from, to } => (from, Some(to)),
        };
        if !audited(from) {
            continue;
        }
        let Some(old) = sealed_in(base, from)? else { continue };
        let finding = match to {
            Some(to) if audited(to) => kept(base, place, from, old, to)?,
            Some(to) => deleted(base, from, old, Some(to))?,
            None => {
                // where it may have gone without git taking it for a move, as when it grew much
                let new = match &mut new {
                    Some(new) => new,
                    none => none.insert(new_seals(base, place, inputs)?),
                };
                if went_on(base, place, from, new)? { None } else { deleted(base, from, old, None)? }
            }
        };
        let at = to.filter(|to| audited(to)).unwrap_or(from);
        changes.extend(finding.map(|finding| change(place, at, finding)));
    }
    Ok(changes)
}

/// The signatures that the base revision has beside sealed transcripts which have none now.
pub(crate) fn lost_signatures(
    base: &Base,
    place: &Place,
    inputs: &[Input],
    outcomes: &[Outcome],
) -> anyhow::Result<Vec<Change>> {
    let mut changes = Vec::new();
    for (input, outcome) in inputs.iter().zip(outcomes) {
        let Some(path) = input.path.as_deref().filter(|_| outcome.chain.is_some()) else { continue };
        for path in toolreplay::audit::beside(path) {
            if path.symlink_metadata().is_ok() {
                continue;
            }
            let Some(inside) = place.inside(&path) else { continue };
            if base.open_file(&inside)?.is_some() {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                changes.push(signature_lost(input, &name));
            }
        }
    }
    Ok(changes)
}

/// A policy as the run is judged by it, and what is to be said about its change.
pub(crate) struct Judged {
    /// Its text; `None`: the base revision has no say, so it is read from disk.
    pub(crate) text: Option<Vec<u8>>,
    pub(crate) change: Option<Change>,
}

/// The scope file or a configuration as the base revision has it.
pub(crate) fn policy(base: &Base, place: &Place, path: &Path, policy: Policy) -> anyhow::Result<Judged> {
    let Some(inside) = place.inside(path) else { return Ok(Judged { text: None, change: None }) };
    let text = base.read(&inside)?;
    Ok(Judged { change: policy_change(place, &inside, policy, text.as_deref(), true)?, text })
}

/// The change of a policy whose text in the base revision is known. `heeded`: whether the run is judged by one that the
/// base revision lacks.
fn policy_change(
    place: &Place,
    inside: &Path,
    policy: Policy,
    base: Option<&[u8]>,
    heeded: bool,
) -> anyhow::Result<Option<Change>> {
    let here = place.as_seen(inside);
    let head = match fs::read(&here) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", here.display())),
    };
    let finding = policy_changed(policy, base, head.as_deref(), heeded);
    Ok(finding.map(|finding| change(place, inside, finding)))
}

/// The configuration of a run.
#[derive(Default)]
pub(crate) struct Nearest {
    /// Where it is, or was.
    pub(crate) path: Option<PathBuf>,
    /// Its text; `None`: the base revision has none, so it is read from disk.
    pub(crate) text: Option<Vec<u8>>,
    pub(crate) changes: Vec<Change>,
}

/// The configuration among `candidates`, the nearest first, that a run is judged by: the nearest that the base revision
/// has, else the nearest there is.
pub(crate) fn nearest_config(base: &Base, place: &Place, candidates: &[PathBuf]) -> anyhow::Result<Nearest> {
    let mut new: Vec<PathBuf> = Vec::new();
    for path in candidates {
        let Some(inside) = place.inside(path) else { continue };
        if let Some(text) = base.read(&inside)? {
            let mut changes = Vec::new();
            for nearer in &new {
                changes.extend(policy_change(place, nearer, Policy::Config, None, false)?);
            }
            changes.extend(policy_change(place, &inside, Policy::Config, Some(&text), true)?);
            return Ok(Nearest { path: Some(path.clone()), text: Some(text), changes });
        }
        if path.is_file() {
            new.push(inside);
        }
    }
    let Some(inside) = new.first() else { return Ok(Nearest::default()) };
    let change = policy_change(place, inside, Policy::Config, None, true)?;
    Ok(Nearest { path: Some(place.as_seen(inside)), text: None, changes: change.into_iter().collect() })
}

/// Notes in a report which of its files and lines a review shows.
pub(crate) fn review(report: &mut Report, place: &Place, base: Option<&Base>) -> anyhow::Result<()> {
    let seen =
        |file: &toolreplay::audit::FileReport| !file.findings.is_empty() && file.review.visibility == Visibility::Shown;
    let paths: Vec<PathBuf> =
        report.files.iter().filter(|file| seen(file)).map(|file| file.from_root.clone().into()).collect();
    let tracked = base::tracked(place, &paths);
    let mut failure = None;
    report.review(|file| {
        let mut review = file.review.clone();
        if !seen(file) {
            return review;
        }
        let path = Path::new(&file.from_root);
        if tracked.as_ref().is_some_and(|tracked| !tracked.contains(path)) {
            review.visibility = Visibility::Outside;
        } else if let Some(base) = base {
            match base.changed_lines(path) {
                Ok(lines) => review.changed = lines,
                Err(error) => failure = Some(error),
            }
        }
        review
    });
    failure.map_or(Ok(()), Err)
}

fn change(place: &Place, inside: &Path, finding: Finding) -> Change {
    let here = place.as_seen(inside);
    let input = place.input(&here);
    Change { exists: here.is_file(), shown: input.shown, from_root: input.from_root, finding }
}

fn is_sealed_file(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| told_apart(file).is_ok_and(|(layout, _)| layout == Layout::Sealed))
}

/// What the base revision has at a path, if that is a sealed transcript.
fn sealed_in<'b>(base: &'b Base, path: &Path) -> anyhow::Result<Option<impl Read + Send + use<'b>>> {
    let Some(blob) = base.open_file(path)? else { return Ok(None) };
    let told = told_apart(blob).with_context(|| format!("cannot read {} of '{}'", path.display(), base.name))?;
    Ok(Some(told).filter(|(layout, _)| *layout == Layout::Sealed).map(|(_, source)| source))
}

/// Whether what the base revision has at `from` goes on at `to`.
fn kept(base: &Base, place: &Place, from: &Path, old: impl Read, to: &Path) -> anyhow::Result<Option<Finding>> {
    let here = place.as_seen(to);
    let new = File::open(&here).with_context(|| format!("cannot open {}", here.display()))?;
    seal_kept(old, new).map_err(|error| of_base(base, from, &error))
}

fn deleted(base: &Base, from: &Path, old: impl Read + Send, to: Option<&Path>) -> anyhow::Result<Option<Finding>> {
    let to = to.map(|to| to.to_string_lossy().into_owned());
    seal_deleted(old, to.as_deref()).map(Some).map_err(|error| of_base(base, from, &error))
}

/// The sealed transcripts among the inputs that the base revision does not have.
fn new_seals(base: &Base, place: &Place, inputs: &[Input]) -> anyhow::Result<Vec<PathBuf>> {
    let known = base.paths()?;
    let paths = inputs.iter().filter_map(|input| input.path.as_deref());
    let inside = paths.filter(|path| is_sealed_file(path)).filter_map(|path| place.inside(path));
    Ok(inside.filter(|path| !known.contains(path)).collect())
}

fn went_on(base: &Base, place: &Place, from: &Path, new: &[PathBuf]) -> anyhow::Result<bool> {
    for to in new {
        let Some(old) = base.open_file(from)? else { continue };
        if kept(base, place, from, old, to)?.is_none() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn of_base(base: &Base, path: &Path, error: &dyn std::fmt::Display) -> anyhow::Error {
    anyhow::anyhow!(
        "{} of '{}' is no valid sealed transcript ({error}), so nothing can be held against it",
        path.display(),
        base.name
    )
}
