//! Audits what an AI agent did from the recording of its tool calls. It never runs a tool.
//!
//! ```
//! use toolreplay::engine::Ruleset;
//! use toolreplay::formats::judge;
//! use toolreplay::seal::{seal, verify};
//! use toolreplay::tools::ToolSet;
//!
//! let transcript = br#"{"index": 0, "tool": "get_time", "args": {}, "response": {"now": "10:00"}}
//! {"index": 1, "tool": "get_time", "args": {}, "response": {"now": "10:01"}}
//! "#;
//! let judgement = judge(&transcript[..], &Ruleset::replay(ToolSet::default_mutators()), 1)?;
//! assert_eq!(judgement.divergence, Some(1));
//! assert_eq!(judgement.findings[0].rule.id, "non-determinism");
//!
//! let mut sealed = Vec::new();
//! let made = seal(&transcript[..], 1, &mut sealed)?;
//! let chain = verify(&sealed[..], 1)?;
//! assert!(chain.broken.is_none());
//! assert_eq!(chain.head, made.head);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! From bytes to a report: [`json`] validates and canonicalises, [`transcript`] reads records, [`formats`] makes calls
//! of every kind of recording, [`engine`] and [`seal`] hold them against [`rules`] and hash chain, [`audit`] does so for many files and makes one [`audit::Report`], which
//! [`report`] writes in every format.
//!
//! The order of the modules below is that of the layers: a module uses only modules declared above it, and a test holds
//! that.

pub mod sanitize;

pub mod json;

pub mod limits;

pub mod secrets;

pub mod excerpt;

pub mod transcript;

pub mod finding;

pub mod call;

pub mod tools;

pub mod shell;

pub mod scope;

pub mod rules;

pub mod engine;

pub mod seal;

pub mod signature;

pub mod trace;

pub mod formats;

pub mod sealed_pair;

pub mod config;

pub mod audit;

pub mod session;

pub mod report;

pub mod schema;
