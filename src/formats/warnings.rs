//! The books of an import: what came in, what became of it, and every warning with the place it was first met.

use super::event::Location;
use crate::sanitize::{clip, visible};
use std::collections::BTreeMap;
use std::fmt;

/// What an import has to say, by a code that never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// A line, or a part of one, that is not what it should be; the class says what.
    BadLine,
    /// A call without an answer.
    NoResult,
    /// An answer without a call.
    OrphanResult,
    /// More than one answer to one call.
    SecondResult,
    /// One id for different calls.
    IdReused,
    /// A call without an id.
    IdMissing,
    /// A record that is there again.
    DuplicateCopy,
    /// A file that begins with another session's history.
    ForkedHistory,
    /// Arguments whose text is no JSON.
    ArgsMalformed,
    /// Arguments that are no object.
    ArgsNotObject,
    /// A call that never ran.
    NotExecuted,
    /// An answer that is only a receipt.
    ReceiptOnly,
    /// An answer that the recorder cut.
    Truncated,
    /// Binary data, replaced by its hash.
    BinaryBody,
    /// Something the recorder blacked out.
    Redacted,
    /// What the recorder itself found missing or odd; the class is its word for it.
    CaptureIssue,
    /// A call that a model asked for and that nobody saw run.
    NotObserved,
    /// An agent whose own calls are not recorded here.
    SubagentMissing,
    /// Calls on a branch of the conversation that was given up. They ran.
    AbandonedBranch,
    /// Turns that were taken back. Their calls ran.
    RolledBack,
    /// A conversation that was compacted.
    Compacted,
    /// A call that ran at the model's provider.
    ServerSideTool,
    /// A call that makes further calls, which are not all recorded.
    CompositeCall,
    /// Records of a kind that is not known, or was not looked into.
    UnknownRecord,
    /// Records of more than one session.
    MixedSessions,
    /// Times that go back.
    TimeNotMonotonic,
    /// A number whose text changed.
    NumberChanged,
    /// The same key twice in one object.
    DuplicateKey,
    /// Not a single call.
    EmptyInput,
}

impl Code {
    /// The code as reports show it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Code::BadLine => "BAD_LINE",
            Code::NoResult => "NO_RESULT",
            Code::OrphanResult => "ORPHAN_RESULT",
            Code::SecondResult => "SECOND_RESULT",
            Code::IdReused => "ID_REUSED",
            Code::IdMissing => "ID_MISSING",
            Code::DuplicateCopy => "DUPLICATE_COPY",
            Code::ForkedHistory => "FORKED_HISTORY",
            Code::ArgsMalformed => "ARGS_MALFORMED",
            Code::ArgsNotObject => "ARGS_NOT_OBJECT",
            Code::NotExecuted => "NOT_EXECUTED",
            Code::ReceiptOnly => "RECEIPT_ONLY",
            Code::Truncated => "TRUNCATED",
            Code::BinaryBody => "BINARY_BODY",
            Code::Redacted => "REDACTED",
            Code::CaptureIssue => "CAPTURE_ISSUE",
            Code::NotObserved => "NOT_OBSERVED",
            Code::SubagentMissing => "SUBAGENT_MISSING",
            Code::AbandonedBranch => "ABANDONED_BRANCH",
            Code::RolledBack => "ROLLED_BACK",
            Code::Compacted => "COMPACTED",
            Code::ServerSideTool => "SERVER_SIDE_TOOL",
            Code::CompositeCall => "COMPOSITE_CALL",
            Code::UnknownRecord => "UNKNOWN_RECORD",
            Code::MixedSessions => "MIXED_SESSIONS",
            Code::TimeNotMonotonic => "TIME_NOT_MONOTONIC",
            Code::NumberChanged => "NUMBER_CHANGED",
            Code::DuplicateKey => "DUPLICATE_KEY",
            Code::EmptyInput => "EMPTY_INPUT",
        }
    }

    /// Whether something of the recording was lost, so that the import fails unless that is allowed.
    #[must_use]
    pub fn is_loss(self, class: &str) -> bool {
        match self {
            Code::BadLine => matches!(class, "not-json" | "not-object" | "not-event" | "truncated-stub" | "nul-run"),
            Code::Truncated => matches!(
                class,
                "dropped events"
                    | "events missing"
                    | "calls not captured"
                    | "results not captured"
                    | "reply missing"
                    | "request missing"
            ),
            Code::OrphanResult | Code::EmptyInput => true,
            _ => false,
        }
    }
}

/// One kind of warning: how often, and where first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The code.
    pub code: Code,
    /// What kind of it, or which record; may be empty.
    pub class: String,
    /// How often.
    pub count: u64,
    /// Where it was met first.
    pub first: Location,
    /// What was met first, in words, safe to print; may be empty.
    pub detail: String,
}

impl Warning {
    /// Whether something was lost.
    #[must_use]
    pub fn is_loss(&self) -> bool {
        self.code.is_loss(&self.class)
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code.name())?;
        if !self.class.is_empty() {
            write!(f, " {}", self.class)?;
        }
        if self.count > 1 {
            write!(f, " ({} times)", self.count)?;
        }
        if !self.detail.is_empty() {
            write!(f, ": {}", self.detail)?;
        }
        Ok(())
    }
}

/// The books: two equations that must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Balance {
    /// Calls that were met.
    pub calls_in: u64,
    /// Calls that became records.
    pub records: u64,
    /// Calls that were there before.
    pub call_copies: u64,
    /// Calls that an option leaves out.
    pub excluded: u64,
    /// Answers that were met.
    pub results_in: u64,
    /// Answers that belong to a call.
    pub attached: u64,
    /// Answers that were there before.
    pub result_copies: u64,
    /// Answers without a call.
    pub orphans: u64,
}

impl Balance {
    /// Whether both equations hold.
    #[must_use]
    pub fn balance(&self) -> bool {
        self.calls_in == self.records + self.call_copies + self.excluded
            && self.results_in == self.attached + self.result_copies + self.orphans
    }
}

impl fmt::Display for Balance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Balance { calls_in, records, call_copies, excluded, results_in, attached, result_copies, orphans } = self;
        writeln!(
            f,
            "calls in: {calls_in} = {records} records + {call_copies} copies dropped + {excluded} excluded by option"
        )?;
        write!(f, "results in: {results_in} = {attached} attached + {result_copies} copies dropped + {orphans} orphans")
    }
}

/// Collects warnings.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    warnings: BTreeMap<(Code, String), Warning>,
}

/// Distinct classes that are kept for one code; the rest are counted together.
const CLASSES: usize = 64;

impl Tally {
    pub(crate) fn warn(&mut self, code: Code, class: &str, at: Location, count: u64, detail: &str) {
        let mut class = visible(&clip(class, 60)).into_owned();
        let known = |class: &str| self.warnings.contains_key(&(code, class.to_owned()));
        if !known(&class) && self.warnings.keys().filter(|(other, _)| *other == code).count() >= CLASSES {
            class = "others".to_owned();
        }
        let warning = self.warnings.entry((code, class.clone())).or_insert_with(|| Warning {
            code,
            class,
            count: 0,
            first: at,
            detail: visible(&clip(detail, 200)).into_owned(),
        });
        warning.count += count;
    }

    pub(crate) fn into_warnings(self) -> Vec<Warning> {
        self.warnings.into_values().collect()
    }
}
