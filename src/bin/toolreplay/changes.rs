//! What the base revision says of what is audited: seals that went or were rewritten, policies that were changed, lines
//! that are new.

use crate::base::{self, Base, Listing};
use crate::inputs::{Surroundings, Watch};
use anyhow::{Context as _, bail};
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use toolreplay::audit::{
    Change, Input, Outcome, Policy, Report, Visibility, detect_layout, policy_changed, seal_deleted, seal_kept,
    signature_lost,
};
use toolreplay::finding::Finding;
use toolreplay::formats::{self, Opening, Options};
use toolreplay::transcript::Layout;

/// Holds the sealed transcripts that the base revision has among `paths` against what became of them.
pub(crate) fn seals(base: &Base, place: &Surroundings, paths: &[PathBuf], inputs: &[Input]) -> anyhow::Result<Changed> {
    let watch = Watch::new(place, paths);
    let listing = base.listing(&watch)?;
    let mut changed = Changed::default();
    let mut new = None;
    for entry in &listing.entries {
        let from = entry.path.as_path();
        let here = place.as_seen(from);
        // a folder, or a pipe, in its place holds no seal
        let there = here.metadata().is_ok_and(|metadata| metadata.is_file());
        if there && base::is_same(&here, entry).with_context(|| format!("cannot read {}", here.display()))? {
            continue;
        }
        let Some(old) = sealed_in(base, &listing, from)? else { continue };
        if there {
            changed.findings.extend(kept(base, from, old, &here)?.map(|finding| change(place, from, finding)));
            continue;
        }
        let new = match &mut new {
            Some(new) => new,
            none => none.insert(NewSeals::find(&listing, place, inputs)),
        };
        match new.next_of(base, &listing, from)? {
            Next::GoneOn => {}
            Next::Rewritten(to, finding) => changed.findings.push(change(place, &to, finding)),
            Next::None => {
                let moved = base.moved(&listing, entry)?.filter(|to| !watch.finds(to));
                changed.findings.extend(deleted(base, from, old, moved.as_deref())?.map(|it| change(place, from, it)));
            }
        }
    }
    changed.unknown = listing.unknown.iter().map(|path| place.as_seen(path)).collect();
    Ok(changed)
}

/// What became of the sealed transcripts of the base revision.
#[derive(Default)]
pub(crate) struct Changed {
    pub(crate) findings: Vec<Change>,
    /// Submodules whose files nothing can be held against.
    pub(crate) unknown: Vec<PathBuf>,
}

/// The signatures that the base revision has beside sealed transcripts which have none now.
pub(crate) fn lost_signatures(
    base: &Base,
    place: &Surroundings,
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
pub(crate) fn policy(base: &Base, place: &Surroundings, path: &Path, policy: Policy) -> anyhow::Result<Judged> {
    let Some(inside) = place.inside(path) else { return Ok(Judged { text: None, change: None }) };
    let text = base.read_policy(&inside)?;
    Ok(Judged { change: policy_change(base, place, &inside, policy, text.as_deref(), true)?, text })
}

/// The change of a policy whose text in the base revision is known. `heeded`: whether the run is judged by one that the
/// base revision lacks.
fn policy_change(
    base: &Base,
    place: &Surroundings,
    inside: &Path,
    policy: Policy,
    text: Option<&[u8]>,
    heeded: bool,
) -> anyhow::Result<Option<Change>> {
    let here = place.as_seen(inside);
    let head = match here.metadata() {
        // a pipe would be waited for
        Ok(metadata) if !metadata.is_file() => bail!("cannot read {}: it is no regular file", here.display()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Ok(metadata) if metadata.len() > base::POLICY => {
            bail!("{} is larger than {} MiB", here.display(), base::POLICY >> 20)
        }
        _ => Some(fs::read(&here).with_context(|| format!("cannot read {}", here.display()))?),
    };
    let finding = policy_changed(policy, text, head.as_deref(), heeded);
    // what only the other branch has changed since, this one has not
    if let Some(earlier) = base.read_earlier_policy(inside)?
        && policy_changed(policy, earlier.as_deref(), head.as_deref(), heeded).is_none()
    {
        return Ok(None);
    }
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
pub(crate) fn nearest_config(base: &Base, place: &Surroundings, candidates: &[PathBuf]) -> anyhow::Result<Nearest> {
    let mut new: Vec<PathBuf> = Vec::new();
    for path in candidates {
        let Some(inside) = place.inside(path) else { continue };
        if let Some(text) = base.read_policy(&inside)? {
            let mut changes = Vec::new();
            for nearer in &new {
                changes.extend(policy_change(base, place, nearer, Policy::Config, None, false)?);
            }
            changes.extend(policy_change(base, place, &inside, Policy::Config, Some(&text), true)?);
            return Ok(Nearest { path: Some(path.clone()), text: Some(text), changes });
        }
        if path.is_file() {
            new.push(inside);
        }
    }
    let Some(inside) = new.first() else { return Ok(Nearest::default()) };
    let change = policy_change(base, place, inside, Policy::Config, None, true)?;
    Ok(Nearest { path: Some(place.as_seen(inside)), text: None, changes: change.into_iter().collect() })
}

/// Notes in a report which of its files and lines a review shows.
pub(crate) fn review(report: &mut Report, place: &Surroundings, base: Option<&Base>) -> anyhow::Result<()> {
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
        // a review shows where a link leads, and no line of what is there
        if place.leads_out(path) || tracked.as_ref().is_some_and(|tracked| !tracked.contains(path)) {
            review.visibility = Visibility::Outside;
        } else if let Some(base) = base {
            match base.changed_lines(path, &place.as_seen(path)) {
                Ok(lines) => review.changed = lines,
                Err(error) => failure = Some(error),
            }
        }
        review
    });
    failure.map_or(Ok(()), Err)
}

fn change(place: &Surroundings, inside: &Path, finding: Finding) -> Change {
    let here = place.as_seen(inside);
    let input = place.input(&here);
    Change { exists: here.is_file(), shown: input.shown, from_root: input.from_root, finding }
}

/// The text of a sealed transcript, unpacked if it is compressed; `None`: it is none.
fn sealed(source: impl Read + Send + 'static) -> io::Result<Option<Box<dyn Read + Send>>> {
    match formats::open(Box::new(source), None, &Options::default()) {
        Ok(Opening::Native(source)) => {
            let (layout, source) = detect_layout(source)?;
            Ok((layout == Layout::Sealed).then(|| Box::new(source) as Box<dyn Read + Send>))
        }
        Err(formats::ImportError::Io(error)) => Err(error),
        Ok(_) | Err(_) => Ok(None),
    }
}

/// What the base revision has at a path, if that is a sealed transcript.
fn sealed_in(base: &Base, listing: &Listing, path: &Path) -> anyhow::Result<Option<Box<dyn Read + Send>>> {
    let Some(blob) = base.open_listed(listing, path)? else { return Ok(None) };
    sealed(blob).with_context(|| format!("cannot read {} of '{}'", path.display(), base.name))
}

/// Whether what the base revision has at `from` goes on in a file.
fn kept(base: &Base, from: &Path, old: impl Read, here: &Path) -> anyhow::Result<Option<Finding>> {
    let context = || format!("cannot open {}", here.display());
    let file = || File::open(here).with_context(context);
    match sealed(file()?).with_context(context)? {
        Some(new) => seal_kept(old, new),
        None => seal_kept(old, file()?),
    }
    .map_err(|error| of_base(base, from, &error))
}

fn deleted(base: &Base, from: &Path, old: impl Read + Send, to: Option<&Path>) -> anyhow::Result<Option<Finding>> {
    let to = to.map(|to| to.to_string_lossy().into_owned());
    seal_deleted(old, to.as_deref()).map(Some).map_err(|error| of_base(base, from, &error))
}

/// The sealed transcripts among the inputs that the base revision does not have, by their first lines: where one may have
/// gone that is no more where it was.
struct NewSeals {
    by_start: HashMap<Vec<u8>, Vec<(PathBuf, PathBuf)>>,
}

/// What became of a sealed transcript that is no more where it was.
#[allow(clippy::large_enum_variant, reason = "one lives at a time")]
enum Next {
    GoneOn,
    /// It begins like one that is new, and parts from it.
    Rewritten(PathBuf, Finding),
    None,
}

impl NewSeals {
    fn find(listing: &Listing, place: &Surroundings, inputs: &[Input]) -> NewSeals {
        let known: HashSet<&Path> = listing.entries.iter().map(|entry| entry.path.as_path()).collect();
        let mut by_start: HashMap<Vec<u8>, Vec<(PathBuf, PathBuf)>> = HashMap::new();
        for path in inputs.iter().filter_map(|input| input.path.as_deref()) {
            // what is named like a file is opened: a pipe would be waited for
            let Some(inside) = place.inside(path).filter(|inside| path.is_file() && !known.contains(inside.as_path()))
            else {
                continue;
            };
            // what cannot be read is reported where it is audited
            let start = File::open(path).and_then(|file| sealed(file)?.map(first_line).transpose());
            if let Ok(Some(start)) = start {
                by_start.entry(start).or_default().push((inside, path.to_owned()));
            }
        }
        NewSeals { by_start }
    }

    fn next_of(&self, base: &Base, listing: &Listing, from: &Path) -> anyhow::Result<Next> {
        let Some(old) = sealed_in(base, listing, from)? else { return Ok(Next::None) };
        let start = first_line(old).with_context(|| format!("cannot read {} of '{}'", from.display(), base.name))?;
        let mut next = Next::None;
        for (inside, here) in self.by_start.get(&start).into_iter().flatten() {
            let Some(old) = sealed_in(base, listing, from)? else { continue };
            match kept(base, from, old, here)? {
                None => return Ok(Next::GoneOn),
                Some(finding) => next = Next::Rewritten(inside.clone(), finding),
            }
        }
        Ok(next)
    }
}

/// The first line of a text, as far as it tells one sealed transcript from another.
fn first_line(source: impl Read) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    BufReader::new(source.take(64 << 10)).read_until(b'\n', &mut line)?;
    line.truncate(line.trim_ascii_end().len());
    Ok(line)
}

fn of_base(base: &Base, path: &Path, error: &dyn std::fmt::Display) -> anyhow::Error {
    anyhow::anyhow!(
        "{} of '{}' is no valid sealed transcript ({error}), so nothing can be held against it",
        path.display(),
        base.name
    )
}
