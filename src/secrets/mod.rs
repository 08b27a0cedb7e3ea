//! What secrets look like, in one place: for the recorder, which takes them out, for the rule that reports them, and
//! for `redact`, which masks them in a recording.
//!
//! A secret shows by its own form (`shapes`), by what stands before it (`assigned`), or by the name of the member that
//! holds it (`fields`). All of it works on any bytes, in time that grows with their length alone, and gives stretches,
//! never copies: nothing here prints a secret. Not searched: base64 content of images and files.

mod class;
mod checks;
mod examples;
mod found;
mod names;
mod view;
mod mask;
mod shapes;
mod fields;
mod assigned;
mod finder;
mod masked;
mod named;
mod recording;

#[cfg(feature = "proxy")]
pub(crate) use checks::base64;
pub use finder::{Finder, find_likely, find_shapes, hidden, may_hold};
pub use found::{Certainty, Kind, Match};
pub use mask::{MASK, Masker, is_mark, number};
pub use masked::masked;
pub use named::{NAMED, Named, describe};
pub use names::{fold, is_secret_name, is_token_name};
pub(crate) use recording::clean;
pub use recording::{Changes, RedactError, redact};

/// Whether an option's argument is a secret: by its name, by what stood before it, by what it is.
#[must_use]
pub fn takes_secret(option: &[u8], before: &[u8], value: &[u8]) -> bool {
    fields::takes_secret(option, before, value)
}

/// Whether the value of a field that is called `token` is a token: models write their words into such fields as well.
#[must_use]
pub fn is_token(value: &str) -> bool {
    fields::is_token(value.as_bytes())
}

#[cfg(test)]
mod tests;
