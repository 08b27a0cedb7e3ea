//! Audits what an AI agent did from the recording of its tool calls.

pub mod trace;
