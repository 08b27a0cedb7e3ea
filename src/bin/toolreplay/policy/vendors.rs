//! The permission files of agents, rule by rule, one file an agent. What cannot be said in a scope is named, with the
//! reason; an allow is never made wider, and a deny that cannot be said as it is is made wider, or named as lost.

mod rules;
mod claude;
mod codex;
mod copilot;
mod cursor;
mod gemini;
mod opencode;

pub(super) use claude::claude;
pub(super) use codex::codex;
pub(super) use copilot::copilot;
pub(super) use cursor::cursor;
pub(super) use gemini::gemini;
pub(super) use opencode::opencode;
pub(super) use rules::Rules;
