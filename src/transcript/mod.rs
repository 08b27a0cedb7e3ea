//! Transcripts and sealed transcripts: the strict, streaming reader.
//!
//! One record a line, as `docs/format.md` says. Nothing is repaired and nothing is guessed: a line either is a record
//! or ends the reading with an error that names line and column. Memory is bounded by the longest line.

mod lines;
mod error;
mod blocks;
mod record;
mod ordered;

pub use blocks::{Block, Blocks};
pub use error::{ReadError, RecordError};
pub use lines::{MAX_RECORDS, is_blank, utf16_width};
pub(crate) use ordered::blocks_in_order;
pub use ordered::{Preceding, ScanError, Visit, scan};
pub(crate) use record::index_value;
pub use record::{Fields, Layout, Record, Records, parse_record};
