//! The hash chain over a transcript: making it, and proving later that nobody edited it.
//!
//! `docs/format.md`, section 3, is normative. A seal is no signature: it says that nothing was changed since a digest
//! that somebody kept elsewhere, not who made it.

mod broken;
mod chain;
mod damage;

pub use broken::{Break, BrokenLink, Damage, END};
pub use chain::{
    Chain, ExtendsError, GENESIS, SealError, Sealed, Start, check, extends, seal, seal_from, verify, verify_from,
};
pub(crate) use chain::{SeenLinks, Verifier, shown};
pub use damage::damage;
