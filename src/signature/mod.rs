//! Who sealed a transcript: signatures over a seal, made and checked.
//!
//! A chain says that nothing was changed; a signature says who vouches for it. What is signed is a [`Statement`]: how
//! many links there are, the last digest, the digest of the file's bytes, and whether the recording had ended. It stands
//! in a C2SP signed note ([`Note`]) beside the sealed file. Signatures that `ssh-keygen -Y sign` makes ([`ssh`]) are read
//! and written as well. `docs/format.md`, section 6, is normative.
//!
//! Nothing here asks the clock, the environment or for randomness; keys and times come from the caller.

mod encoding;
mod key;
mod note;
pub mod ssh;
mod statement;
mod trust;
mod check;

pub use check::{
    Beside, Checked, Facts, Fault, Known, Signature, SignatureKind, Standing, UNSIGNED, check, digests, facts, unsigned,
};
pub use key::{KeyError, PublicKey, SigningKey, check_key_name};
pub use note::{Note, NoteError, NoteSignature};
pub use statement::{NAMESPACE, State, Statement};
pub use trust::{Time, Trust, TrustError};
