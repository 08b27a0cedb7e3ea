//! Finding and reading `toolreplay.toml`.

use crate::exit;
use crate::guard;
use crate::inputs::Surroundings;
use anyhow::{Context as _, bail};
use std::path::{Path, PathBuf};
use toolreplay::config::{Config, FILE_NAME};

/// Where a configuration may be: from the working directory up to the root of the repository.
pub(crate) fn candidates(place: &Surroundings) -> Vec<PathBuf> {
    let folders = place.folder.ancestors().take_while(|folder| folder.starts_with(place.bounds()));
    folders.map(|folder| folder.join(FILE_NAME)).collect()
}

/// The nearest of them that is there, as what it may be: what cannot be read must not be passed over.
pub(crate) fn nearest(place: &Surroundings, candidates: Vec<PathBuf>) -> anyhow::Result<Option<PathBuf>> {
    let found = candidates.into_iter().find(|path| path.symlink_metadata().is_ok());
    if let Some(path) = &found {
        guard::inside_stays_inside(place, path)?;
    }
    Ok(found)
}

/// The text of a configuration.
pub(crate) fn text(path: &Path) -> anyhow::Result<String> {
    let shown = path.display();
    // a pipe would be waited for
    if !path.metadata().with_context(|| format!("cannot read {shown}"))?.is_file() {
        bail!("cannot read {shown}: it is no regular file");
    }
    std::fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))
}

/// The configuration that is named, else the nearest one unless there shall be `none`.
pub(crate) fn read(place: &Surroundings, named: Option<&Path>, none: bool) -> anyhow::Result<Config> {
    let path = match named {
        Some(path) => Some(path.to_owned()),
        None if none => None,
        None => nearest(place, candidates(place))?,
    };
    let Some(path) = path else { return Ok(Config::default()) };
    let text = text(&path)?;
    Config::parse(&text).map_err(|error| {
        let shown = path.display().to_string();
        exit::at(&shown, text.as_bytes(), (error.line as u64, error.column as u64), &error.what)
    })
}
