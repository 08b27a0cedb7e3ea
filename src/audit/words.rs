//! Words that more than one part of a report needs.

/// A count with its noun.
pub(super) fn plural(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
