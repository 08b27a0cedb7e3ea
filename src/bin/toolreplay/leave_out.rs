//! What a search of folders leaves out on purpose: what the configuration excludes, and in a search of a whole repository
//! what git ignores.
//!
//! A revision that is judged must not be able to hide a recording. What is tracked is read whatever git ignores, and with
//! a base revision or with --strict nothing is left out because git ignores it. Whatever is left out and holds a recording
//! is counted and said.

use crate::base;
use crate::inputs::Surroundings;
use crate::unread;
use anyhow::anyhow;
use ignore::WalkBuilder;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use toolreplay::audit::{Input, Report};
use toolreplay::formats::Options;

/// Recordings that are named, with --strict.
const NAMED: usize = 100;

/// What is left out.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    exclude: Vec<glob::Pattern>,
    /// What git ignores is left out.
    pub(crate) gitignore: bool,
}

/// What was left out.
#[derive(Debug, Default)]
pub(crate) struct LeftOut {
    pub(crate) excluded: Vec<Input>,
    pub(crate) ignored: Vec<Input>,
}

impl Rules {
    /// Globs over paths from the root of the repository; those without a `/` fit a name anywhere.
    pub(crate) fn new(exclude: &[String], gitignore: bool) -> anyhow::Result<Rules> {
        let compile = |text: &String| {
            let glob = text.trim_start_matches('/').trim_end_matches('/');
            glob::Pattern::new(glob).map_err(|error| anyhow!("--exclude: '{text}' is no valid glob: {error}"))
        };
        Ok(Rules { exclude: exclude.iter().map(compile).collect::<anyhow::Result<_>>()?, gitignore })
    }

    fn excludes(&self, from_root: &str) -> bool {
        let path = Path::new(from_root);
        self.exclude.iter().any(|glob| match glob.as_str().contains('/') {
            true => path.ancestors().any(|part| glob.matches_path_with(part, GLOB)),
            false => path.iter().any(|name| glob.matches_with(&name.to_string_lossy(), GLOB)),
        })
    }

    /// Takes out of inputs what is left out of them. Files that were named stay.
    pub(crate) fn apply(&self, place: &Surroundings, paths: &[PathBuf], inputs: &mut Vec<Input>) -> LeftOut {
        let mut left_out = LeftOut::default();
        if !self.exclude.is_empty() {
            let (kept, excluded) =
                std::mem::take(inputs).into_iter().partition(|input| input.named || !self.excludes(&input.from_root));
            (*inputs, left_out.excluded) = (kept, excluded);
        }
        if self.gitignore {
            let whole: Vec<PathBuf> = paths.iter().filter(|path| is_root(place, path)).cloned().collect();
            if !whole.is_empty() {
                left_out.ignored = ignored(place, &whole, inputs);
            }
        }
        left_out
    }
}

/// `*` and `?` stop at `/`.
const GLOB: glob::MatchOptions =
    glob::MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: false };

/// Whether a path is the root of the repository: whoever names a folder in it wants what is there.
fn is_root(place: &Surroundings, path: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    place.root.as_deref().is_some_and(|root| path.is_dir() && real(root) == real(&place.folder.join(path)))
}

/// Takes out of inputs those that git ignores and does not track.
fn ignored(place: &Surroundings, folders: &[PathBuf], inputs: &mut Vec<Input>) -> Vec<Input> {
    let mut visible: HashSet<PathBuf> = HashSet::new();
    for folder in folders {
        let mut walk = WalkBuilder::new(folder);
        // the ignore files of the user and of other tools are nobody else's
        walk.standard_filters(false).git_ignore(true).git_exclude(true).parents(true);
        visible.extend(walk.build().flatten().map(|entry| entry.into_path()));
    }
    let below = |path: &Path| folders.iter().any(|folder| path.starts_with(folder));
    let hidden = |input: &Input| {
        let path = input.path.as_deref();
        !input.named && path.is_some_and(|path| below(path) && !visible.contains(path))
    };
    let inside = |input: &Input| place.inside(input.path.as_deref()?);
    let paths: Vec<PathBuf> = inputs.iter().filter(|input| hidden(input)).filter_map(inside).collect();
    if paths.is_empty() {
        return Vec::new();
    }
    // where git cannot be asked, everything is read
    let Some(tracked) = base::tracked(place, &paths) else { return Vec::new() };
    let (ignored, kept) = std::mem::take(inputs)
        .into_iter()
        .partition(|input| hidden(input) && inside(input).is_some_and(|path| !tracked.contains(&path)));
    *inputs = kept;
    ignored
}

impl LeftOut {
    /// All of it, with why.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&Input, &'static str)> {
        let excluded = self.excluded.iter().map(|input| (input, "it is excluded"));
        excluded.chain(self.ignored.iter().map(|input| (input, "git ignores it")))
    }

    /// All of it.
    pub(crate) fn inputs(&self) -> Vec<Input> {
        self.all().map(|(input, _)| input.clone()).collect()
    }

    /// Says in a report how many recordings were left out; `name`: which.
    pub(crate) fn say(&self, report: &mut Report, name: bool) {
        for (inputs, why) in [(&self.excluded, "that the configuration excludes"), (&self.ignored, "that git ignores")]
        {
            let recordings = recordings(inputs);
            if recordings > 0 {
                let noun = if recordings == 1 { "recording" } else { "recordings" };
                report.coverage.not_judged.push(format!("{recordings} {noun} {why}"));
            }
        }
        if name {
            let said = self.all().take(NAMED).map(|(input, why)| format!("{} was not read: {why}", input.shown));
            said.for_each(|what| report.say(what));
        }
    }

    /// The way out where nothing else was found.
    pub(crate) fn way_out(&self) -> Option<String> {
        let (excluded, ignored) = (recordings(&self.excluded), recordings(&self.ignored));
        match (excluded, ignored) {
            (0, 0) => None,
            (_, 0) => Some(format!("{excluded} recordings are excluded; name them, or exclude less")),
            (_, _) => Some(format!("git ignores {ignored} recordings; name their folder, or say --no-gitignore")),
        }
    }
}

fn recordings(inputs: &[Input]) -> usize {
    // together they are looked into as far as one run may unpack
    let options = Options::default();
    let is_one = |input: &&Input| input.path.as_deref().is_some_and(|path| unread::may_hold_one(path, &options));
    inputs.iter().filter(is_one).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_fit_paths_from_the_root_or_names_anywhere() {
        let rules = |globs: &[&str]| {
            let globs: Vec<String> = globs.iter().map(|glob| (*glob).to_owned()).collect();
            Rules::new(&globs, false).unwrap()
        };
        for (glob, path, expected) in [
            ("train", "data/train/x.jsonl", true),
            ("train", "data/training/x.jsonl", false),
            ("*.tmp.jsonl", "a/b.tmp.jsonl", true),
            ("data/train", "data/train/x.jsonl", true),
            ("data/train/", "data/train/x.jsonl", true),
            ("/data/*.jsonl", "data/x.jsonl", true),
            ("data/*.jsonl", "data/sub/x.jsonl", false),
            ("data/**", "data/sub/x.jsonl", true),
            ("data/train", "other/data/train/x.jsonl", false),
            ("**/train/**", "other/data/train/x.jsonl", true),
        ] {
            assert_eq!(rules(&[glob]).excludes(path), expected, "{glob} {path}");
        }
        assert!(Rules::new(&["[".to_owned()], false).is_err());
    }
}
