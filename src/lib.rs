//! Audits what an AI agent did from the recording of its tool calls.
//!
//! A module uses only modules declared above it; a test holds that.

pub mod sanitize;

pub mod json;

pub mod transcript;

pub mod finding;

pub mod tools;

pub mod scope;

pub mod rules;

pub mod judge;

pub mod seal;

pub mod import;

pub mod config;

pub mod audit;

pub mod report;

pub mod schema;
