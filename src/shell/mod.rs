//! Shell commands, read by a real grammar: which simple commands a text runs, wherever in it they stand.
//!
//! [`read`] visits every simple command: in lists and pipelines, substitutions, subshells, loops, functions and
//! here-documents, and those that another command is handed (`sudo`, `xargs`, `find -exec`, `sh -c`, `eval`). What it
//! cannot read it says: a caller that allows takes that for a no, a caller that forbids takes it for a yes.
//!
//! Nothing is run and no file is opened: a script that lies in a file, and what a program does with its arguments, are
//! not seen. Depth and size are bounded.

mod escapes;
mod extents;
mod word;
mod script;
mod check;
mod runs;
mod walk;
mod effect;

#[cfg(test)]
mod tests;

pub(crate) use effect::{is_read_only, words_are_read_only};
pub use runs::base_name;
pub use script::{Assignment, MAX_COMMAND, Redirect, RedirectKind, Script, Simple, Unread, Via, Why};
pub use word::{Piece, Word};

/// Reads a command line or a whole script.
#[must_use]
pub fn read(command: &str) -> Script {
    walk::read(command)
}

/// Reads a command that is given as its words, as programs call each other. A shell that is handed a script is passed
/// over: what stands in the script is read, as if it were the command.
#[must_use]
pub fn read_words(words: &[String]) -> Script {
    walk::read_words(words)
}
