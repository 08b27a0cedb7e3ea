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

mod event;
mod servers;
mod effect;
mod warnings;
mod capture_gaps;
mod repair;
mod marks;
mod unread;
mod facts;
mod usage;
mod normalized;
mod strict;
mod normalize;
mod store;
mod pairing;
mod ordering;
mod lineage;
mod format;
mod vendors;
mod known;
mod stranger;
mod detect;
mod open;
mod beside;
mod archive;
mod session;
mod verdict;
mod reader;
mod native;
mod answers;
mod calls;
mod inventory;
mod write;

pub use answers::{Answers, Differences, in_transcript};
pub use beside::has_calls_of_its_own;
pub(crate) use calls::{Recorded, each_record, plain as plain_answer};
pub use event::Location;
pub use format::{Format, From, Options, may_be_recording};
pub use inventory::{Inventory, ToolSeen, Why, built_in};
pub use known::{FORMATS, part_of};
pub use native::{NativeJudge, Seen, judge};
pub(crate) use open::unpacked;
pub use ordering::Agents;
pub use reader::{Foreign, ImportError, Opening, Recording, Stranger, Unknown, open, open_found};
pub use session::{InSession, history, in_session};
pub(crate) use store::{Handle, Store};
pub use usage::Usage;
pub use verdict::{Imported, Unjudged};
pub use warnings::{Balance, Class, Code, Loss, Warning};
pub(crate) use write::shown_time as rfc3339;
pub use write::{JsonSideReport, Part};
