//! Import: what agents really record, as transcripts.
//!
//! A format is one row of [`IMPORTERS`] and one file beside this one: how to tell it (by content, never by name), and
//! how to get calls and answers out of one of its values. Everything else is the same for all: opening and
//! decompressing (`open`), telling formats apart (`detect`), reading lines and documents side by side (`read`), values
//! that strict JSON cannot hold (`cook`, `mend`), pairing calls with answers and dropping copies (`pair`), the order
//! (`order`), the books (`ledger`), and the two things that come of it: findings (`verdict`) or records (`write`).
//!
//! Nothing is invented. What could not be imported is counted, with the place where it stands.

mod chronicle;
mod cook;
mod detect;
mod effect;
mod event;
mod ledger;
mod mend;
mod open;
mod order;
mod pair;
mod read;
mod session;
mod shell;
mod store;
mod value;
mod verdict;
mod write;
mod zip;

mod anthropic;
mod atif;
mod capture;
mod claude_code;
mod codex;
mod codex_exec;
mod copilot;
mod gemini;
mod inspect;
mod langfuse;
mod mcp;
mod mini_swe_agent;
mod openai;
mod opencode;
mod openhands;
mod openinference;
mod otel;
mod responses;
mod spans;
mod stream_json;
mod swe_agent;

pub use detect::From;
pub use event::Location;
pub use ledger::{Books, Code, Warning};
pub use order::Agents;
pub use read::{Foreign, ImportError, Opening, Recording, open};
pub use session::{InSession, in_session};

pub use verdict::{Imported, Unjudged};
pub use write::{JsonSideReport, Part};

use cook::Out;
use effect::Profile;
use std::path::{Path, PathBuf};
use value::Value;

/// What a reader of a format must know.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// The format, where the user named it.
    pub from: Option<From>,
    /// Which agents' calls become records.
    pub agents: Agents,
    /// Read answers that are JSON texts as what they say.
    pub parse_json_results: bool,
    /// Lines that could not be read and answers without a call do not fail the file.
    pub allow_loss: bool,
}

/// Takes the JSON part out of a line.
type Strip = fn(&[u8]) -> Option<&[u8]>;

/// One format.
pub struct Importer {
    /// Its name on the command line.
    pub id: &'static str,
    /// What it is, in a few words.
    pub title: &'static str,
    /// Where such files lie.
    pub lies: &'static str,
    /// Why one value (a whole document, or one line) is of this format, if it is: words that end a sentence such as
    /// "48 of 50 lines …".
    recognise: fn(value: Value<'_>, document: bool) -> Option<&'static str>,
    /// Hands on the calls and answers of one value.
    extract: fn(value: Value<'_>, out: &mut Out<'_>),
    /// A document that is an array stands for its items.
    items: bool,
    /// The JSON part of a line that a log wrote something before.
    strip: Option<Strip>,
    /// The other files of a recording, by the path of the one that was named.
    companions: Option<fn(&Path) -> Vec<PathBuf>>,
    /// Why a call without an answer has none, where the format itself is the reason.
    unanswered: Option<&'static str>,
    profile: &'static Profile,
}

impl std::fmt::Debug for Importer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Importer").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Importer {
    /// Which tools change state, in words.
    #[must_use]
    pub fn tools(&self) -> String {
        self.profile.summary()
    }
}

/// Every format besides the transcript itself.
pub static IMPORTERS: &[&Importer] = &[
    &claude_code::CLAUDE_CODE,
    &stream_json::STREAM_JSON,
    &codex::CODEX,
    &codex_exec::CODEX_EXEC,
    &openai::OPENAI_CHAT,
    &responses::RESPONSES,
    &anthropic::ANTHROPIC,
    &atif::ATIF,
    &mcp::MCP,
    &otel::OTEL,
    &openinference::OPENINFERENCE,
    &langfuse::LANGFUSE,
    &inspect::INSPECT,
    &gemini::GEMINI,
    &copilot::COPILOT,
    &opencode::OPENCODE,
    &swe_agent::SWE_AGENT,
    &mini_swe_agent::MINI_SWE_AGENT,
    &openhands::OPENHANDS,
    &capture::CAPTURE,
];

/// Whether a file in a folder may be a recording, by its name: others are passed over. A name proves nothing; what such
/// a file is is told by its content.
#[must_use]
pub fn may_be_recording(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    [".jsonl", ".ndjson", ".json", ".jsonl.zst", ".jsonl.gz", ".json.gz", ".eval", ".traj"]
        .iter()
        .any(|end| name.ends_with(end))
}

/// Whether a file of that name may as well be something else, so that it is passed over when no format fits.
#[must_use]
pub fn may_be_anything(path: &Path) -> bool {
    !path.extension().is_some_and(|extension| extension == "jsonl" || extension == "ndjson")
}

/// The recording that a file is a part of, by its path: it is read with that one, not by itself.
#[must_use]
pub fn part_of(path: &Path) -> Option<PathBuf> {
    claude_code::session_of(path)
}
