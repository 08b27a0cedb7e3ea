//! Recordings that are counted, compared or looked at rather than judged: finding them, their configuration, reading them.

use crate::args::{Common, Importing, Mutators};
use crate::exit;
use crate::inputs::{self, Surroundings};
use crate::progress;
use anyhow::bail;
use std::path::PathBuf;
use toolreplay::audit::{Failure, Input, sessions};
use toolreplay::config::Config;
use toolreplay::engine::Ruleset;
use toolreplay::formats;
use toolreplay::session::{self, Session};
use toolreplay::tools::{ToolSet, Traits};

/// What is assumed of tools.
pub(crate) fn ruleset(config: &Config, mutators: &Mutators, traits: Traits) -> Ruleset {
    let mut known = ToolSet::default_mutators();
    config.mutators.iter().chain(&mutators.names).for_each(|name| known.insert(name));
    session::ruleset(traits, known)
}

/// The recordings behind paths, each with all its files, and how many files were left out.
pub(crate) fn find(place: &Surroundings, paths: &[PathBuf], common: &Common) -> anyhow::Result<(Vec<Input>, u64)> {
    if paths.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
        bail!("standard input is named twice, and can be read only once");
    }
    let found = inputs::find(place, paths, formats::may_be_recording, false)?;
    Ok((sessions(found.inputs, common.threads()), found.passed_over))
}

/// Reads recordings one after the other, and hands on what each came to. `take` gets the place of the input.
pub(crate) fn each(
    inputs: &[Input],
    importing: Importing,
    ruleset: &Ruleset,
    common: &Common,
    what: &str,
    mut take: impl FnMut(usize, Result<Option<Session>, Failure>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let options = importing.options();
    progress::tracked(what, inputs.len(), |tracker| {
        for (at, input) in inputs.iter().enumerate() {
            let opened = input.open().map_err(|error| Failure::of_file(format!("cannot be opened: {error}")));
            let read = opened.and_then(|source| {
                session::read_source(input, tracker.counting(source), &options, ruleset, common.threads())
            });
            take(at, read)?;
            tracker.one_more();
        }
        Ok(())
    })
}

/// Says what keeps a recording from being read as a whole.
pub(crate) fn say_failure(input: &Input, failure: &Failure) {
    let named = failure.file.is_none();
    exit::print_error(&if named { format!("{}: {failure}", input.shown) } else { failure.to_string() });
}
