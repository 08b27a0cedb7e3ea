//! Recorded texts on their way to a page: their secrets masked, the same one by the same mark on the whole page.

use crate::secrets::{Finder, Masker, clean};
use std::borrow::Cow;

/// Masks what a page shows.
#[derive(Debug)]
pub(super) struct Masking {
    /// Nothing, where secrets are to be shown.
    by: Option<(Finder, Masker)>,
}

impl Masking {
    pub(super) fn new(unmasked: bool) -> Masking {
        // marks are numbered: the same run gives the same page, and nobody can test a guess
        Masking { by: (!unmasked).then(|| (Finder::default(), Masker::numbered())) }
    }

    /// A JSON text, or any other.
    pub(super) fn bytes<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        let masked = self.by.as_ref().and_then(|(finder, masker)| clean(text, finder, masker));
        masked.map_or(Cow::Borrowed(text), Cow::Owned)
    }

    pub(super) fn text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.bytes(text.as_bytes())).into_owned()
    }
}
