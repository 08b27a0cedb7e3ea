//! Which formats there are, and which agents are known.

use super::effect::{Profile, UNKNOWN};
use super::format::{Format, From};
use super::vendors;
use std::path::{Path, PathBuf};

/// Every format besides the transcript itself.
pub static FORMATS: &[&Format] = &[
    &vendors::claude_code::CLAUDE_CODE,
    &vendors::stream_json::STREAM_JSON,
    &vendors::codex::CODEX,
    &vendors::codex_exec::CODEX_EXEC,
    &vendors::openai::OPENAI_CHAT,
    &vendors::responses::RESPONSES,
    &vendors::anthropic::ANTHROPIC,
    &vendors::atif::ATIF,
    &vendors::mcp::MCP,
    &vendors::otel::OTEL,
    &vendors::openinference::OPENINFERENCE,
    &vendors::langfuse::LANGFUSE,
    &vendors::inspect::INSPECT,
    &vendors::gemini::GEMINI,
    &vendors::copilot::COPILOT,
    &vendors::opencode::OPENCODE,
    &vendors::swe_agent::SWE_AGENT,
    &vendors::mini_swe_agent::MINI_SWE_AGENT,
    &vendors::openhands::OPENHANDS,
    &vendors::capture::CAPTURE,
];

impl From {
    /// The format with an id; `native` is that of transcripts.
    #[must_use]
    pub fn named(id: &str) -> Option<From> {
        if id == "native" {
            return Some(From::Native);
        }
        FORMATS.iter().find(|importer| importer.id == id).map(|importer| From::Format(importer))
    }
}

/// The profile with a name.
pub(crate) fn profile(name: &str) -> Option<&'static Profile> {
    if name == UNKNOWN {
        return Some(&Profile::NONE);
    }
    vendors::PROFILES.iter().copied().find(|profile| profile.name == name)
}

/// The recording that a file is a part of, by its path: it is read with that one, not by itself.
#[must_use]
pub fn part_of(path: &Path) -> Option<PathBuf> {
    vendors::claude_code::session_of(path).or_else(|| vendors::gemini::session_of(path))
}
