//! What is known of tools: sets of names, which match exactly and case-sensitively by their canonical form, and traits.

mod traits;

pub use traits::{Known, Pointer, ToolTraits, Traits, VOLATILE};

use crate::json::canonical_string;
use std::collections::HashSet;

/// Tools that are assumed to change state.
pub const DEFAULT_MUTATORS: [&str; 5] = ["write_file", "delete_file", "create_file", "move_file", "run_command"];

/// A set of tool names.
#[derive(Debug, Clone, Default)]
pub struct ToolSet(HashSet<Box<[u8]>>);

impl ToolSet {
    /// The default mutators.
    #[must_use]
    pub fn default_mutators() -> ToolSet {
        DEFAULT_MUTATORS.iter().copied().collect()
    }

    /// Adds a name.
    pub fn insert(&mut self, name: &str) {
        self.0.insert(canonical_string(name).into());
    }

    /// Adds a name given as a JSON string in canonical form.
    pub(crate) fn insert_canonical(&mut self, literal: &[u8]) {
        self.0.insert(literal.into());
    }

    /// Whether the set holds the name whose canonical form (with its quotes) is `literal`.
    #[must_use]
    pub fn contains(&self, literal: &[u8]) -> bool {
        self.0.contains(literal)
    }

    /// How many names there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> FromIterator<&'a str> for ToolSet {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> ToolSet {
        ToolSet(names.into_iter().map(|name| canonical_string(name).into()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_by_canonical_form() {
        let set: ToolSet = ["größe", "a\"b"].into_iter().collect();
        assert!(set.contains(br#""gr\u00f6\u00dfe""#));
        assert!(set.contains(br#""a\"b""#));
        assert!(!set.contains(br#""A\"b""#));
    }
}
