//! What an agent may call: scope files of both versions, and what they say of a call.
//!
//! Version 1 is a list of names. Version 2 looks at arguments: paths, commands, addresses, and anything a JSON Schema
//! can say. One idea decides every unclear case: an allow must be proven, a deny must be disproven. Nothing here reads
//! the disk or the network; a call is judged by what the recording holds of it.

mod file;
mod names;
mod paths;
mod hosts;
mod commands;
mod schemas;
mod v1;
mod policy;
mod judged;
mod judge;
mod read;

#[cfg(test)]
mod rewrites;
#[cfg(test)]
mod tests;

pub use file::ScopeFile;
pub use judge::{Applied, Candidate, EntryUses};
pub use paths::is_absolute;
pub use policy::{Entry, Overreach, Policy, PolicyCall, Reason, Remark, RemarkKind, Verdict};
pub use v1::{MAX_SCOPE, Scope, ScopeError};

/// The scheme of an address, and its host as a pattern for it. None if different programs may read different hosts in
/// the address.
#[must_use]
pub fn host_of(address: &str) -> Option<(String, String)> {
    let target = hosts::read(address)?;
    Some((target.scheme.clone(), target.shown()))
}
