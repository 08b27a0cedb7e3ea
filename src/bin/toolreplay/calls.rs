//! The calls of a file that was audited, read once more for a page.

use toolreplay::audit::{Failure, Input, Plan};
use toolreplay::formats::Options;
use toolreplay::session::{self, Session};

/// The calls of a file that was audited. Standard input cannot be read again.
pub(crate) fn of(input: &Input, plan: &Plan, threads: usize) -> Option<Result<Session, Failure>> {
    let Plan::Audit(ruleset, options) = plan else { return None };
    if input.path.is_none() {
        let what = "standard input can be read only once; save it to a file".to_owned();
        return Some(Err(Failure::of_file(what)));
    }
    let options = Options { allow_loss: true, ..options.clone() };
    session::read(input, &options, ruleset, threads).transpose()
}
