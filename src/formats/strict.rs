//! Values in canonical form, whatever a recording holds: what strict JSON cannot hold is repaired, and that is noted.

use super::repair::{self, Repairs};
use crate::json::view;
use crate::json::{self, Canonical, Scratch};

/// Working space that outlives single values.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    pub(super) scratch: Scratch,
    pub(super) repaired: Vec<u8>,
}

impl Buffers {
    pub(super) fn strict<'c>(&'c mut self, raw: &'c [u8], notes: &mut Repairs) -> Canonical<'c> {
        let (span, repaired) = match json::canonical(raw, &mut self.scratch) {
            Ok(span) => (span, false),
            Err(_) => {
                self.repaired = repair::repaired(raw, notes);
                match json::canonical(&self.repaired, &mut self.scratch) {
                    Ok(span) => (span, true),
                    Err(_) => {
                        // two members of one name: as text, so that no reader has to choose one
                        notes.duplicate = true;
                        self.repaired = repair::as_text(raw);
                        let span = json::canonical(&self.repaired, &mut self.scratch).or_else(|_| {
                            // longer than any text may be
                            self.repaired = b"null".to_vec();
                            json::canonical(&self.repaired, &mut self.scratch)
                        });
                        (span.unwrap_or_default(), true)
                    }
                }
            }
        };
        let canonical = span.get(if repaired { &self.repaired } else { raw }, &self.scratch);
        canonical.feed(|bytes| notes.surrogate |= repair::has_lone_surrogate(bytes));
        canonical
    }

    /// Gives back room that only very long values need.
    pub(super) fn tidy(&mut self) {
        self.scratch.shrink();
        if self.repaired.capacity() > 1 << 20 {
            self.repaired = Vec::new();
        }
    }
}

/// How long a text is, in characters and in UTF-16 code units.
pub(super) fn lengths(text: &[u8]) -> (u32, u32) {
    let characters = text.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
    let wide = text.iter().filter(|byte| **byte >= 0xf0).count();
    let within = |count: usize| u32::try_from(count).unwrap_or(u32::MAX - 1);
    (within(characters), within(characters + wide))
}

pub(super) fn wrap_raw(text: &[u8]) -> Vec<u8> {
    [b"{\"$raw_args\":", text, b"}"].concat()
}

/// Whether an object in canonical form has a member of a name that the importer gives.
pub(super) fn is_reserved(canonical: &[u8]) -> bool {
    memchr::memmem::find(canonical, b"\"$").is_some()
        && view::only_value(canonical)
            .is_ok_and(|object| object.members().any(|(key, _)| key.is("$import") || key.is("$raw_args")))
}

pub(super) fn reserved(body: Canonical<'_>) -> bool {
    match body.as_slice() {
        Some(slice) => is_reserved(slice),
        None => is_reserved(&body.to_vec()),
    }
}
