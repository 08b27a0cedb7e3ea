//! Formats: what agents really record, as calls and their results.
//!
//! A format is one row of [`FORMATS`] and one file in `vendors`: how to tell it (by content, never by name), and how to
//! get calls and results out of one of its values. Everything else is the same for all: opening and decompressing
//! (`open`, `archive`), telling formats apart (`detect`), reading lines and documents side by side (`reader`), values that
//! strict JSON cannot hold (`normalize`, `repair`), pairing calls with results and dropping copies (`pairing`), the order
//! (`ordering`), what must be said (`warnings`), and the two things that come of it: findings (`verdict`) or records
//! (`write`).
//!
//! Nothing is invented. What could not be imported is counted, with the place where it stands.

mod archive;
mod capture_gaps;
mod detect;
mod effect;
mod event;
mod facts;
mod format;
mod inventory;
mod lineage;
mod marks;
mod native;
mod normalize;
mod open;
mod ordering;
mod pairing;
mod reader;
mod repair;
mod servers;
mod session;
mod store;
mod stranger;
mod unread;
mod vendors;
mod verdict;
mod warnings;
mod write;

pub use detect::From;
pub use event::Location;
pub use format::{Format, Options, may_be_recording, part_of};
pub use inventory::{Inventory, ToolSeen, Why, built_in};
pub use native::{NativeJudge, Seen, judge};
pub(crate) use open::unpacked;
pub use ordering::Agents;
pub use reader::{Foreign, ImportError, Opening, Recording, Unknown, open, open_found};
pub use session::{InSession, history, in_session};
pub use verdict::{Imported, Unjudged};
pub use warnings::{Balance, Class, Code, Loss, Warning};
pub use write::{JsonSideReport, Part};

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
