//! What a secret that was found is, and how sure that is.

use std::ops::Range;

/// How sure it is that a stretch is a secret. Whoever writes a recording takes all of them out; only what is at least
/// likely is worth telling a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// It may be one: short, cut, of no whole form, an example, an ordinary word.
    Possible,
    /// It has the form, the length and the randomness of one.
    Likely,
    /// A checksum or a structure proves it.
    Certain,
}

/// What tells a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A token of a vendor's form.
    Token,
    /// The block of a private key.
    PrivateKey,
    /// A part of an address.
    Url,
    /// A name, a header or an option before it.
    Assigned,
    /// The name of the member that holds it.
    Field,
    /// The same, and it stands there without quotes.
    Bare,
}

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// Which shape: `github-token`.
    pub id: &'static str,
    /// What told it.
    pub kind: Kind,
    /// Where it stands.
    pub range: Range<usize>,
    /// How sure that is.
    pub certainty: Certainty,
    /// How many levels of escapes are to be undone to read it.
    pub level: u8,
}

/// The same within one level.
pub(super) struct Found {
    pub(super) id: &'static str,
    pub(super) kind: Kind,
    pub(super) range: Range<usize>,
    pub(super) certainty: Certainty,
}

impl Found {
    pub(super) fn at_level(self, level: u8) -> Match {
        Match { id: self.id, kind: self.kind, range: self.range, certainty: self.certainty, level }
    }
}
