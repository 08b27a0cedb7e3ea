//! What reading a command gives: simple commands with their words and redirects, and what could not be read.

use super::word::Word;
use std::ops::Range;

/// The longest command that is read, in bytes. A longer one is not read at all.
pub const MAX_COMMAND: usize = 2 << 20;

/// What a command runs.
#[derive(Debug, Clone, Default)]
pub struct Script {
    /// Every simple command, in the order in which they stand; those that a command runs behind it.
    pub commands: Vec<Simple>,
    /// What could not be read.
    pub unread: Vec<Unread>,
}

/// A simple command: assignments, words, redirects. There may be no words: an assignment alone, or the redirects of a
/// loop or a subshell.
#[derive(Debug, Clone)]
pub struct Simple {
    /// What stands in front of the name.
    pub assignments: Vec<Assignment>,
    /// The name and its arguments.
    pub words: Vec<Word>,
    /// Where its input comes from and its output goes.
    pub redirects: Vec<Redirect>,
    /// The command as it was written.
    pub part: String,
    /// Where that stands, in bytes of the text that was read. For what is run by another command, or is written another
    /// way than it is run, where the whole of that stands.
    pub span: Range<usize>,
    /// How it comes to run.
    pub via: Via,
    /// The commands whose output it reads, as places in [`Script::commands`].
    pub fed_by: Range<usize>,
    /// Whether it is left running.
    pub background: bool,
}

/// How a command comes to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// It stands in a list or a pipeline of the text itself.
    Listed,
    /// It stands in a subshell, a loop, a condition or a function.
    Compound,
    /// It stands in a substitution.
    Substituted,
    /// The command at this place runs it.
    RunBy(usize),
}

/// A variable that is set.
#[derive(Debug, Clone)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// Its value; none for a list.
    pub value: Option<Word>,
}

/// A redirect.
#[derive(Debug, Clone)]
pub struct Redirect {
    /// What it does.
    pub kind: RedirectKind,
    /// The file, or the text of a here-document or here-string.
    pub target: Word,
}

/// What a redirect does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectKind {
    /// Reads a file.
    Read,
    /// Writes a file anew.
    Write,
    /// Writes behind what a file holds.
    Append,
    /// Opens a file for both.
    ReadWrite,
    /// Reads text that stands in the command.
    Text,
    /// Joins or closes descriptors; touches no file.
    Descriptor,
}

/// Something that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// Why.
    pub why: Why,
    /// The text, as far as it is worth showing.
    pub part: String,
    /// Where it stands, in bytes of the text that was read.
    pub span: Range<usize>,
}

/// Why something could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It is no shell command: a quote or a parenthesis is missing, or words stand where none can.
    Broken,
    /// There is nothing in it.
    Empty,
    /// It is too long.
    TooLong,
    /// It is nested too deeply, or holds thousands of substitutions.
    TooDeep,
    /// A script that is made when it runs: `sh -c "$x"`, `eval "$x"`.
    MadeScript,
    /// A script that a shell reads from its input.
    PipedScript,
    /// Which command is run depends on something that is not known.
    MadeCommand,
}

impl Why {
    /// In words.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Why::Broken => "it is no complete shell command",
            Why::Empty => "there is no command in it",
            Why::TooLong => "it is too long",
            Why::TooDeep => "it is nested too deeply, or holds too many substitutions",
            Why::MadeScript => "the script is made when it runs",
            Why::PipedScript => "a shell reads its script from its input",
            Why::MadeCommand => "which command runs is only known when it runs",
        }
    }
}
