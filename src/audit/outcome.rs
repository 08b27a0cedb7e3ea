//! What is audited and what came of it: one file's input, outcome and failure.

use crate::engine::Judgement;
use crate::finding::{Finding, Fingerprint, SourceFile};
use crate::formats::{self, Stranger};
use crate::json::view;
use crate::limits::{Ahead, Budget, Exceeded, Start};
use crate::rules;
use crate::sanitize::visible;
use crate::seal::{Break, BrokenLink, Chain};
use crate::signature::Checked;
use crate::transcript::{Layout, ReadError, is_blank};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// What a file is read from.
pub(crate) type Source = Box<dyn Read + Send>;

/// One file to audit.
#[derive(Debug, Clone)]
pub struct Input {
    /// Where to read it; `None`: standard input.
    pub path: Option<PathBuf>,
    /// Its path as the user knows it, for messages.
    pub shown: String,
    /// Its path from the root of the repository, with `/` between segments, for annotations and SARIF.
    pub from_root: String,
    /// It was named, rather than found in a folder: then it must be a recording.
    pub named: bool,
    /// Further files of the same recording, in the order in which they are read; see [`super::sessions`].
    pub more: Vec<Input>,
}

impl Input {
    /// The file as findings name it.
    #[must_use]
    pub fn source_file(&self) -> SourceFile {
        SourceFile { shown: self.shown.clone(), from_root: self.from_root.clone() }
    }

    /// A file beside this one, as findings name it.
    #[must_use]
    pub fn beside(&self, path: &Path) -> SourceFile {
        let near = |own: &str, separator: char| {
            let folder = self.path.as_deref().and_then(Path::parent);
            let inside = folder.and_then(|folder| path.strip_prefix(folder).ok());
            let inside = inside.unwrap_or(path).to_string_lossy().into_owned();
            let inside = if separator == '/' { inside.replace('\\', "/") } else { inside };
            own.rfind(['/', '\\']).map_or(inside.clone(), |at| format!("{}{inside}", &own[..=at]))
        };
        SourceFile { shown: near(&self.shown, std::path::MAIN_SEPARATOR), from_root: near(&self.from_root, '/') }
    }

    /// Opens the file.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        Ok(match &self.path {
            Some(path) => Box::new(File::open(path)?),
            None => Box::new(io::stdin()),
        })
    }
}

/// Why a file could not be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The file, where that is another one than the input's first: a further file of the same recording.
    pub file: Option<SourceFile>,
    /// The line, from 1; 0: the file as a whole.
    pub line: u64,
    /// The column, in characters from 1; 0: the line as a whole.
    pub column: u64,
    /// What is wrong, safe to print.
    pub what: String,
    /// What to do, in words for people, safe to print; may be empty.
    pub help: String,
}

impl Failure {
    /// A failure that has no place in the file.
    #[must_use]
    pub fn of_file(what: String) -> Failure {
        Failure { file: None, line: 0, column: 0, what, help: String::new() }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.line, self.column) {
            (line, _) if self.file.is_some() => {
                let shown = self.file.as_ref().map(|file| visible(&file.shown)).unwrap_or_default();
                let line = if line > 0 { format!("{line}:") } else { String::new() };
                write!(f, "{shown}:{line} {}", self.what)
            }
            (0, _) => f.write_str(&self.what),
            (line, 0) => write!(f, "line {line}: {}", self.what),
            (line, column) => write!(f, "line {line}: column {column}: {}", self.what),
        }
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Failure {
        // a failed read is about the file: where it stopped is no place in it
        let line = if matches!(error, ReadError::Io { .. }) { 0 } else { error.line() };
        Failure { line, column: error.column(), ..Failure::of_file(error.what()) }
    }
}

/// What came of one file.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// What the rules found, also in a sealed transcript.
    pub judgement: Judgement,
    /// The chain of a sealed transcript.
    pub chain: Option<Chain>,
    /// What its signatures say, where that was asked.
    pub signature: Option<Checked>,
    /// Why nothing was judged; of an imported recording, why not all of it was.
    pub failure: Option<Failure>,
    /// How a recording in another format was imported.
    pub import: Option<Import>,
    /// It is no recording, and nobody said that it is one: what it is instead.
    pub passed_over: Option<Stranger>,
}

/// How a recording in another format was imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// The format's id.
    pub format: &'static str,
    /// How many files were read for it.
    pub files: u64,
    /// Why it was taken for that, in words.
    pub reason: String,
    /// What came in and what became of it.
    pub balance: formats::Balance,
    /// What had to be said.
    pub warnings: Vec<formats::Warning>,
    /// The paths of the files that were read, by the numbers that warnings have for them.
    pub paths: Vec<String>,
    /// Calls that could not be judged, by reason.
    pub unjudged: formats::Unjudged,
}

impl Outcome {
    /// Notes that the chain does not hold, if it does not.
    pub fn break_chain(&mut self, broken: Option<BrokenLink>) {
        if let (Some(chain), Some(broken)) = (&mut self.chain, broken) {
            self.judgement.findings.push(broken_link(&broken));
            chain.broken = Some(broken);
        }
    }
}

impl From<formats::ImportError> for Failure {
    fn from(error: formats::ImportError) -> Failure {
        match error {
            formats::ImportError::At { line, what } => Failure { line, ..Failure::of_file(what) },
            other => Failure::of_file(visible(&other.to_string()).into_owned()),
        }
    }
}

/// What a chain that does not hold is reported as.
pub(super) fn broken_link(broken: &BrokenLink) -> Finding {
    let BrokenLink { kind, index, expected, found, .. } = broken;
    let detail = match kind {
        Break::Link => format!("at index {index} expected {expected}, found {found}"),
        Break::Extends => {
            format!("it does not extend the older chain: at index {index} expected {expected}, found {found}")
        }
        Break::Head => format!("its last digest is not the expected one: expected {expected}, found {found}"),
        Break::Fork => format!("{found} goes on from {expected} as well"),
    };
    let detail = match broken.damage {
        Some(damage) => format!("{detail}: {}", damage.words()),
        None => detail,
    };
    Finding {
        level: rules::BROKEN_LINK.level,
        index: Some(*index),
        line: broken.line,
        width: broken.width,
        detail: Some(detail.into()),
        ..Finding::new(
            &rules::BROKEN_LINK,
            Fingerprint::new(&rules::BROKEN_LINK, &[expected.as_bytes(), b" ", found.as_bytes()], 1),
        )
    }
}

/// Which of the two a text is, by the fields of its first record, and the text from its start.
pub(crate) fn detect_layout<R: Read>(source: R) -> io::Result<(Layout, Ahead<R>)> {
    let mut start = Start::read(source, 64 << 10).map_err(|(_, error)| error)?;
    while !start.complete && memchr::memchr(b'\n', &start.text).is_none() {
        match start.grow(&Budget::default()) {
            // its reader meets it again, and says where
            Err(error) if Exceeded::of(&error).is_some() => break,
            grown => grown?,
        }
    }
    Ok((layout(&start.text), start.whole()))
}

fn layout(start: &[u8]) -> Layout {
    let first = start.split(|&byte| byte == b'\n').find(|line| !is_blank(line)).unwrap_or(b"");
    let sealed =
        view::only_value(first).is_ok_and(|record| record.fields(&["prev", "digest"]).iter().any(Option::is_some));
    if sealed { Layout::Sealed } else { Layout::Transcript }
}
