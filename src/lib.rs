//! Audits what an AI agent did from the recording of its tool calls.
//!
//! A module uses only modules declared above it; a test holds that.

pub mod sanitize;

pub mod json;
