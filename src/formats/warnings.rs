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
    /// A call whose tool has no name.
    NameMissing,
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
    /// Records of a kind that is not known, or was not looked into, and that hold no call.
    UnknownRecord,
    /// Spans that are called like tools and follow no known convention.
    SpanLeftOut,
    /// Something that was not understood and that may hold a call or a result.
    UnreadRecord,
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
            Code::NameMissing => "NAME_MISSING",
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
            Code::SpanLeftOut => "SPAN_LEFT_OUT",
            Code::UnreadRecord => "UNREAD_RECORD",
            Code::MixedSessions => "MIXED_SESSIONS",
            Code::TimeNotMonotonic => "TIME_NOT_MONOTONIC",
            Code::NumberChanged => "NUMBER_CHANGED",
            Code::DuplicateKey => "DUPLICATE_KEY",
            Code::EmptyInput => "EMPTY_INPUT",
        }
    }

    /// Whether everything of this code is a loss. A recording without calls is nothing to judge.
    const fn is_loss(self) -> bool {
        matches!(self, Code::OrphanResult | Code::UnreadRecord | Code::EmptyInput)
    }
}

/// Something of the recording that could not be taken over, so that the import fails unless that is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Loss {
    /// A line, or the rest of one, that is no JSON.
    NotJson,
    /// A line whose value is no object.
    NotObject,
    /// An event of a capture that is none.
    NotEvent,
    /// A record that breaks off before the end of the file.
    TruncatedStub,
    /// Zero bytes in place of text.
    NulRun,
    /// Events that the recorder dropped.
    DroppedEvents,
    /// Events of a capture that are not there.
    EventsMissing,
    /// Calls that the recorder did not keep.
    CallsNotCaptured,
    /// Results that the recorder did not keep.
    ResultsNotCaptured,
    /// A request without its reply.
    ReplyMissing,
    /// A reply without its request.
    RequestMissing,
}

/// What every loss is called, and the code it stands under.
const LOSSES: [(Loss, Code, &str); 11] = [
    (Loss::NotJson, Code::BadLine, "not-json"),
    (Loss::NotObject, Code::BadLine, "not-object"),
    (Loss::NotEvent, Code::BadLine, "not-event"),
    (Loss::TruncatedStub, Code::BadLine, "truncated-stub"),
    (Loss::NulRun, Code::BadLine, "nul-run"),
    (Loss::DroppedEvents, Code::Truncated, "dropped events"),
    (Loss::EventsMissing, Code::Truncated, "events missing"),
    (Loss::CallsNotCaptured, Code::Truncated, "calls not captured"),
    (Loss::ResultsNotCaptured, Code::Truncated, "results not captured"),
    (Loss::ReplyMissing, Code::Truncated, "reply missing"),
    (Loss::RequestMissing, Code::Truncated, "request missing"),
];

impl Loss {
    fn row(self) -> (Code, &'static str) {
        let row = LOSSES.iter().find(|(loss, ..)| *loss == self);
        row.map_or((Code::UnreadRecord, ""), |(_, code, name)| (*code, *name))
    }

    /// The code it stands under.
    #[must_use]
    pub fn code(self) -> Code {
        self.row().0
    }
}

/// Which of its code a warning is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// There is but one kind.
    Only,
    /// A loss.
    Loss(Loss),
    /// A word for people, also the recording's own. Nothing is decided by it.
    Word(Box<str>),
}

impl Class {
    /// The class as reports show it; may be empty.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Class::Only => "",
            Class::Loss(loss) => loss.row().1,
            Class::Word(word) => word,
        }
    }
}

impl From<&str> for Class {
    fn from(word: &str) -> Class {
        if word.is_empty() { Class::Only } else { Class::Word(word.into()) }
    }
}

impl From<Loss> for Class {
    fn from(loss: Loss) -> Class {
        Class::Loss(loss)
    }
}

/// One kind of warning: how often, and where first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The code.
    pub code: Code,
    /// What kind of it, or which record.
    pub class: Class,
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
        self.code.is_loss() || matches!(self.class, Class::Loss(_))
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code.name())?;
        if !self.class.name().is_empty() {
            write!(f, " {}", self.class.name())?;
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
    pub fn holds(&self) -> bool {
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
    warnings: BTreeMap<(Code, Class), Warning>,
}

/// Distinct classes that are kept for one code; the rest are counted together.
const CLASSES: usize = 64;

impl Tally {
    pub(crate) fn warn(&mut self, code: Code, class: impl Into<Class>, at: Location, count: u64, detail: &str) {
        let mut class = match class.into() {
            Class::Word(word) => Class::from(&*visible(&clip(&word, 60))),
            class => class,
        };
        let known = |class: &Class| self.warnings.contains_key(&(code, class.clone()));
        let words = |(other, class): &&(Code, Class)| *other == code && matches!(class, Class::Word(_));
        if matches!(class, Class::Word(_)) && !known(&class) && self.warnings.keys().filter(words).count() >= CLASSES {
            class = Class::from("others");
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

    pub(crate) fn lose(&mut self, loss: Loss, at: Location, count: u64, detail: &str) {
        self.warn(loss.code(), loss, at, count, detail);
    }

    pub(crate) fn into_warnings(self) -> Vec<Warning> {
        self.warnings.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_recording_calls_a_loss_is_none() {
        let mut tally = Tally::default();
        for (loss, code, name) in LOSSES {
            tally.lose(loss, Location::default(), 1, "");
            tally.warn(code, name, Location::default(), 1, "");
        }
        let warnings = tally.into_warnings();
        assert_eq!(warnings.len(), LOSSES.len() * 2);
        assert_eq!(warnings.iter().filter(|warning| warning.is_loss()).count(), LOSSES.len());
        assert!(warnings.iter().all(|warning| !warning.class.name().is_empty()));
    }

    #[test]
    fn a_loss_is_counted_by_itself_whatever_came_before() {
        let mut tally = Tally::default();
        for word in 0..100 {
            tally.warn(Code::BadLine, &*format!("word {word}"), Location::default(), 1, "");
        }
        tally.lose(Loss::NotJson, Location::default(), 1, "");
        assert_eq!(tally.into_warnings().iter().filter(|warning| warning.is_loss()).count(), 1);
    }
}
