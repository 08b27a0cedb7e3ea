//! What an agent may call: scope files of both versions, and what they say of a call.
//!
//! Version 1 is a list of names. Version 2 looks at arguments: paths, commands, addresses, and anything a JSON Schema
//! can say. One idea decides every unclear case: an allow must be proven, a deny must be disproven. Nothing here reads
//! the disk or the network; a call is judged by what the recording holds of it.

mod commands;
mod file;
mod hosts;
mod judged;
mod names;
mod paths;
mod policy;
mod read;
mod schemas;
mod v1;

#[cfg(test)]
mod rewrites;
#[cfg(test)]
mod tests;

pub use file::ScopeFile;
pub use policy::{
    Applied, Candidate, Entry, EntryUses, Overreach, Policy, PolicyCall, Reason, Remark, RemarkKind, Verdict,
};
pub use v1::{MAX_SCOPE, Scope, ScopeError};

pub use paths::is_absolute;

/// The scheme of an address, and its host as a pattern for it. None if different programs may read different hosts in
/// the address.
#[must_use]
pub fn host_of(address: &str) -> Option<(String, String)> {
    let target = hosts::read(address)?;
    Some((target.scheme.clone(), target.shown()))
}
