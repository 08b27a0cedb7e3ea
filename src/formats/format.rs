//! What a format is: how to tell it, and how to get calls and results out of one of its values.

use super::effect::Profile;
use super::normalize::Out;
use super::normalized::Event;
use super::ordering::Agents;
use crate::json::view::Value;
use crate::limits::Budget;
use std::path::{Path, PathBuf};

/// The format that the user named.
#[derive(Debug, Clone, Copy)]
pub enum From {
    /// A transcript.
    Native,
    /// One that an importer reads.
    Format(&'static Format),
}

/// What a reader of a format must know.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The format, where the user named it.
    pub from: Option<From>,
    /// Which agents' calls become records.
    pub agents: Agents,
    /// Read answers that are JSON texts as what they say.
    pub parse_json_results: bool,
    /// Lines that could not be read and answers without a call do not fail the file.
    pub allow_loss: bool,
    /// The same for files whose path from the root of the repository fits one of these.
    pub allow_loss_in: Vec<glob::Pattern>,
    /// How much is taken in, by all files together that are read with it.
    pub budget: Budget,
}

impl Options {
    /// Whether a file, by its path from the root of the repository, may lack something.
    #[must_use]
    pub fn accepts_loss(&self, from_root: &str) -> bool {
        // `*` and `?` stop at `/`, `**` does not
        let options = glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::default() };
        self.allow_loss || self.allow_loss_in.iter().any(|pattern| pattern.matches_with(from_root, options))
    }
}

/// Takes the JSON part out of a line.
pub(super) type Strip = fn(&[u8]) -> Option<&[u8]>;

/// Another file of a recording.
#[derive(Debug)]
pub(super) struct Companion {
    pub(super) path: PathBuf,
    /// The agent whose records it holds, where the records do not say so.
    pub(super) thread: Option<String>,
    /// What is said of that agent elsewhere: the call that started it, its kind.
    pub(super) told: Vec<Event>,
}

/// One format.
pub struct Format {
    /// Its name on the command line.
    pub id: &'static str,
    /// What it is, in a few words.
    pub title: &'static str,
    /// Where such files lie.
    pub found_in: &'static str,
    /// Why one value (a whole document, or one line) is of this format, if it is: words that end a sentence such as
    /// "48 of 50 lines …".
    pub(super) recognise: fn(value: Value<'_>, document: bool) -> Option<&'static str>,
    /// Hands on the calls and answers of one value.
    pub(super) extract: fn(value: Value<'_>, out: &mut Out<'_>),
    /// A document that is an array stands for its items.
    pub(super) items: bool,
    /// The JSON part of a line that a log wrote something before.
    pub(super) strip: Option<Strip>,
    /// The other files of a recording, by the path of the one that was named.
    pub(super) companions: Option<fn(&Path) -> Vec<Companion>>,
    /// Why a call without an answer has none, where the format itself is the reason.
    pub(super) unanswered: Option<&'static str>,
    pub(super) profile: &'static Profile,
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Format").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Format {
    /// Which tools change state, in words.
    #[must_use]
    pub fn tools(&self) -> String {
        self.profile.summary()
    }
}

/// Endings that recordings have and hardly anything else does.
const OWN: [&str; 4] = [".jsonl", ".ndjson", ".eval", ".traj"];
/// An ending that much else has too.
const COMMON: [&str; 1] = [".json"];
/// Endings of compressed files, which stand behind the others, also twice.
const PACKED: [&str; 2] = [".zst", ".gz"];

fn has_ending(path: &Path, endings: &[&str]) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let mut name = name.as_str();
    while let Some(inner) = PACKED.iter().find_map(|end| name.strip_suffix(end)) {
        name = inner;
    }
    endings.iter().any(|end| name.ends_with(end))
}

/// Whether a file in a folder may be a recording, by its name: others are passed over. A name proves nothing; what such
/// a file is is told by its content.
#[must_use]
pub fn may_be_recording(path: &Path) -> bool {
    has_ending(path, &OWN) || has_ending(path, &COMMON)
}

/// Whether a file has a name that hardly anything but a recording has: then one that cannot be read is a lost recording.
pub(super) fn has_own_name(path: &Path) -> bool {
    has_ending(path, &OWN)
}

/// Whether a file has a name that only JSON of one agent has.
pub(super) fn has_agents_name(path: &Path) -> bool {
    has_ending(path, &[".eval", ".traj"])
}

/// Whether a file is compressed, by its name.
pub(super) fn has_packed_name(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    PACKED.iter().any(|end| name.ends_with(end))
}
