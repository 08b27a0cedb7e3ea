//! Which recordings a change touches: those that are new, or another thing than in the base revision.
//!
//! Both sides are hashed; no index and no difference of git's is asked. What belongs to a session is a part of it.

use crate::base::{self, Base};
use crate::git::Entry;
use crate::inputs::{Surroundings, Watch};
use anyhow::Context as _;
use ignore::WalkBuilder;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toolreplay::audit::Input;
use toolreplay::sealed_pair;

/// Keeps the inputs that were touched, and gives back the others.
pub(crate) fn keep(base: &Base, place: &Surroundings, inputs: &mut Vec<Input>) -> anyhow::Result<Vec<Input>> {
    let listing = base.listing(&Watch::everything())?;
    let known: BTreeMap<&Path, &Entry> = listing.entries.iter().map(|entry| (entry.path.as_path(), entry)).collect();
    let same = |path: &Path| -> anyhow::Result<bool> {
        let Some(entry) = place.inside(path).and_then(|inside| known.get(inside.as_path()).copied()) else {
            return Ok(false);
        };
        // a link is another thing, whatever it leads to
        let plain = path.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
        Ok(plain && base::is_same(path, entry).with_context(|| format!("cannot read {}", path.display()))?)
    };
    let (mut kept, mut left_out) = (Vec::new(), Vec::new());
    for input in inputs.drain(..) {
        let mut unchanged = true;
        for file in std::iter::once(&input).chain(&input.more) {
            let Some(path) = file.path.as_deref() else {
                unchanged = false;
                break;
            };
            for part in parts(path) {
                unchanged = unchanged && same(&part)?;
            }
            unchanged = unchanged && !lost_a_part(place, &known, path);
        }
        match unchanged {
            true => left_out.push(input),
            false => kept.push(input),
        }
    }
    *inputs = kept;
    Ok(left_out)
}

/// A recording's file, its seals, and what stands in the folder that has its name.
fn parts(path: &Path) -> Vec<PathBuf> {
    let seals = sealed_pair::sealed_paths(path).into_iter().chain(sealed_pair::transcript_path(path));
    let mut parts: Vec<PathBuf> = seals.filter(|seal| seal.symlink_metadata().is_ok()).collect();
    parts.push(path.to_owned());
    let folder = path.with_extension("");
    if folder != path && folder.is_dir() {
        let mut walk = WalkBuilder::new(folder);
        walk.standard_filters(false);
        let files = walk.build().flatten().filter(|entry| !entry.file_type().is_some_and(|kind| kind.is_dir()));
        parts.extend(files.map(ignore::DirEntry::into_path));
    }
    parts
}

/// Whether something that belonged to a recording in the base revision is not there any more.
fn lost_a_part(place: &Surroundings, known: &BTreeMap<&Path, &Entry>, path: &Path) -> bool {
    let Some(inside) = place.inside(path) else { return true };
    let folder = inside.with_extension("");
    let gone = |path: &Path| place.as_seen(path).symlink_metadata().is_err();
    let seals = sealed_pair::sealed_paths(&inside);
    seals.iter().any(|seal| known.contains_key(seal.as_path()) && gone(seal))
        || folder != inside
            && known
                .range(folder.as_path()..)
                .take_while(|(path, _)| path.starts_with(&folder))
                .any(|(path, _)| gone(path))
}
