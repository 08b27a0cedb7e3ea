//! One file a format: how to tell it, and what its values hold. Formats of one family share what they share by name.

pub(in crate::formats) mod claude_code;
pub(in crate::formats) mod messages;
pub(in crate::formats) mod anthropic;
pub(in crate::formats) mod mini_swe_agent;
pub(in crate::formats) mod openai;
pub(in crate::formats) mod responses;
pub(in crate::formats) mod codex;
pub(in crate::formats) mod codex_exec;
pub(in crate::formats) mod stream_json;
pub(in crate::formats) mod copilot;
pub(in crate::formats) mod gemini;
pub(in crate::formats) mod inspect;
pub(in crate::formats) mod mcp;
pub(in crate::formats) mod opencode;
pub(in crate::formats) mod openhands;
pub(in crate::formats) mod spans;
pub(in crate::formats) mod langfuse;
pub(in crate::formats) mod openinference;
pub(in crate::formats) mod otel;
pub(in crate::formats) mod swe_agent;
pub(in crate::formats) mod atif;
pub(in crate::formats) mod capture;

use super::effect::Profile;

/// The tools of every agent that is known, by the name that `$import` gives them.
pub(in crate::formats) static PROFILES: [&Profile; 12] = [
    &anthropic::PROFILE,
    &atif::TERMINUS,
    &capture::OWN,
    &claude_code::PROFILE,
    &codex::PROFILE,
    &copilot::PROFILE,
    &gemini::PROFILE,
    &inspect::PROFILE,
    &mini_swe_agent::PROFILE,
    &opencode::PROFILE,
    &openhands::PROFILE,
    &swe_agent::PROFILE,
];
