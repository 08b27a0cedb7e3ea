//! What became of the recordings of the base revision that no seal holds.

use crate::base::{self, Base, Listing};
use crate::git::Entry;
use crate::inputs::{Surroundings, Watch};
use anyhow::Context as _;
use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use toolreplay::audit::{Change, Input, is_recording, recording_gone, recording_kept, seal_went};
use toolreplay::finding::Finding;
use toolreplay::{rules, sealed_pair};

/// Holds the recordings that the base revision has among `paths` against what became of them. `seals`: what was found about
/// its sealed transcripts. `seals_only`: asks after seals that went, and after nothing else.
pub(crate) fn changes(
    base: &Base,
    place: &Surroundings,
    paths: &[PathBuf],
    inputs: &[Input],
    seals: &[Change],
    seals_only: bool,
) -> anyhow::Result<Vec<Change>> {
    let watch = Watch::new(place, paths);
    let listing = base.listing(&watch)?;
    let known: HashSet<&Path> = listing.entries.iter().map(|entry| entry.path.as_path()).collect();
    let run = Run { base, place, listing: &listing, watch: &watch, known: &known };
    // where one may have gone that is no more where it was
    let new: Vec<&Path> = inputs
        .iter()
        .filter_map(|input| input.path.as_deref())
        .filter(|path| path.is_file() && place.inside(path).is_some_and(|inside| !known.contains(inside.as_path())))
        .collect();
    let mut changes = Vec::new();
    for entry in &listing.entries {
        let here = place.as_seen(&entry.path);
        if let Some(finding) = run.lost_seal(entry, &here, seals) {
            changes.push(run.change(&here, finding));
        }
        if seals_only {
            continue;
        }
        if let Some(finding) = run.rewritten(entry, &here, &new)? {
            changes.push(run.change(&here, finding));
        }
    }
    Ok(changes)
}

/// What one comparison knows.
struct Run<'r> {
    base: &'r Base,
    place: &'r Surroundings,
    listing: &'r Listing,
    watch: &'r Watch,
    /// The paths that the base revision has.
    known: &'r HashSet<&'r Path>,
}

impl Run<'_> {
    fn change(&self, here: &Path, finding: Finding) -> Change {
        let input = self.place.input(here);
        Change { exists: here.is_file(), shown: input.shown, from_root: input.from_root, finding }
    }

    fn rewritten(&self, entry: &Entry, here: &Path, new: &[&Path]) -> anyhow::Result<Option<Finding>> {
        let context = || format!("cannot read {} of '{}'", entry.path.display(), self.base.name);
        let there = here.metadata().is_ok_and(|metadata| metadata.is_file());
        // its seal is what it is held against, if it is none that came with the change: whoever edits a recording can seal it
        if there && self.is_held(entry, here) {
            return Ok(None);
        }
        if there && base::is_same(here, entry).with_context(|| format!("cannot read {}", here.display()))? {
            return Ok(None);
        }
        let old = || self.base.open_listed(self.listing, &entry.path);
        let Some(blob) = old()? else { return Ok(None) };
        if !is_recording(blob, &entry.path).with_context(context)? {
            return Ok(None);
        }
        let kept = |here: &Path| -> anyhow::Result<Option<Finding>> {
            let Some(blob) = old()? else { return Ok(None) };
            let file = File::open(here).with_context(|| format!("cannot open {}", here.display()))?;
            recording_kept(blob, file).with_context(context)
        };
        if there {
            return kept(here);
        }
        for path in new {
            if kept(path)?.is_none() {
                return Ok(None);
            }
        }
        let moved = self.base.moved(self.listing, entry)?.filter(|to| !self.watch.finds(to));
        let moved = moved.map(|to| to.to_string_lossy().into_owned());
        Ok(Some(recording_gone(moved.as_deref(), here.symlink_metadata().is_ok())))
    }

    /// Whether a seal that the base revision has already stands beside a recording.
    fn is_held(&self, entry: &Entry, here: &Path) -> bool {
        let paths = sealed_pair::sealed_paths(&entry.path);
        paths.iter().any(|seal| self.known.contains(seal.as_path()))
            && sealed_pair::sealed_paths(here).iter().any(|seal| seal.is_file())
    }

    /// A seal that went on elsewhere holds nothing where its transcript stayed.
    fn lost_seal(&self, entry: &Entry, here: &Path, seals: &[Change]) -> Option<Finding> {
        if !here.is_file() || sealed_pair::sealed_paths(here).iter().any(|seal| seal.is_file()) {
            return None;
        }
        let seal =
            sealed_pair::sealed_paths(&entry.path).into_iter().find(|seal| self.known.contains(seal.as_path()))?;
        let from_root = self.place.input(&self.place.as_seen(&seal)).from_root;
        // one that is gone altogether is reported where it was
        let reported =
            |change: &Change| change.finding.rule.id == rules::SEAL_DELETED.id && change.from_root == from_root;
        (!seals.iter().any(reported)).then(|| seal_went(&seal.file_name().unwrap_or_default().to_string_lossy()))
    }
}
