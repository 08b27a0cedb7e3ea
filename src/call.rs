//! One recorded call, as every rule sees it, whatever format it was recorded in.
//!
//! Readers of formats make these; rules only look. Texts are not kept: what stands for a call's arguments or for its
//! result is a print under a key drawn anew for each run.

use crate::finding::Place;
use crate::json::Canonical;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

/// The key of one run's prints. Prints of different keys must not be compared.
#[derive(Clone)]
pub struct Key([u8; 32]);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

impl Default for Key {
    fn default() -> Key {
        Key::random()
    }
}

impl Key {
    /// A key nobody can know beforehand. What a run reports does not depend on it, short of a collision.
    #[must_use]
    pub fn random() -> Key {
        let mut key = [0; 32];
        if getrandom::fill(&mut key).is_err() {
            // a system without a source of randomness: the standard library's own seeds are the best there is
            for part in key.chunks_exact_mut(8) {
                part.copy_from_slice(&RandomState::new().build_hasher().finish().to_le_bytes());
            }
        }
        Key(key)
    }

    /// The print of one or more values in canonical form.
    #[must_use]
    pub fn print(&self, values: &[Canonical<'_>]) -> Print {
        if let [value] = values
            && let Some(bytes) = value.as_slice()
        {
            return Print::of(blake3::keyed_hash(&self.0, bytes));
        }
        // over bytes that stand together one call is cheaper than an incremental hash
        match values.iter().map(Canonical::len).sum() {
            len @ 0..=96 => return self.short_print::<96>(values, len),
            len @ 97..=768 => return self.short_print::<768>(values, len),
            _ => {}
        }
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        for value in values {
            value.feed(|bytes| {
                hasher.update(bytes);
            });
        }
        Print::of(hasher.finalize())
    }

    /// The print of a text that stands in several parts.
    pub(crate) fn print_parts(&self, parts: &[&[u8]]) -> Print {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        for part in parts {
            hasher.update(part);
        }
        Print::of(hasher.finalize())
    }

    fn short_print<const ROOM: usize>(&self, values: &[Canonical<'_>], len: usize) -> Print {
        let mut together = [0; ROOM];
        let mut at = 0;
        for value in values {
            value.feed(|bytes| {
                together[at..at + bytes.len()].copy_from_slice(bytes);
                at += bytes.len();
            });
        }
        Print::of(blake3::keyed_hash(&self.0, &together[..len]))
    }
}

/// What stands for a call or a response: equal prints mean equal canonical forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Print([u8; 16]);

impl Print {
    fn of(hash: blake3::Hash) -> Print {
        let mut print = [0; 16];
        print.copy_from_slice(&hash.as_bytes()[..16]);
        Print(print)
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    pub(crate) fn most(&self) -> [u8; 12] {
        *self.0.first_chunk().unwrap_or(&[0; 12])
    }

    pub(crate) fn half(&self) -> [u8; 8] {
        *self.0.first_chunk().unwrap_or(&[0; 8])
    }

    /// Half of the print as a number, for hash tables.
    pub(crate) fn number(&self) -> u64 {
        u64::from_le_bytes(self.half())
    }

    /// A number from 0 to 15 that `number` tells nothing of.
    pub(crate) fn shard(&self) -> usize {
        usize::from(self.0[15]) % 16
    }
}

impl From<[u8; 16]> for Print {
    fn from(bytes: [u8; 16]) -> Print {
        Print(bytes)
    }
}

/// What a call does to the state that other calls see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It changes nothing.
    ReadOnly,
    /// Only the agent's own plan or notes change.
    Session,
    /// It changes state.
    Mutates,
    /// Nobody described the tool: it may have changed anything, its own answers included.
    Unknown,
    /// A transcript's own default: the tool is no declared mutator, so that its own answers should not change; but what
    /// other calls see may have.
    Undeclared,
}

impl Effect {
    /// The name in `$import`, in `toolreplay.toml` and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Effect::ReadOnly => "read-only",
            Effect::Session => "session",
            Effect::Mutates => "mutates",
            Effect::Unknown => "unknown",
            Effect::Undeclared => "undeclared",
        }
    }

    /// The effect with a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Effect> {
        [Effect::ReadOnly, Effect::Session, Effect::Mutates, Effect::Unknown].into_iter().find(|one| one.name() == name)
    }

    /// Whether the call's own answer may be another the next time, because the call itself changed something.
    #[must_use]
    pub fn changes_itself(self) -> bool {
        matches!(self, Effect::Mutates | Effect::Unknown | Effect::Session)
    }

    /// Whether what other calls see may have changed.
    #[must_use]
    pub fn may_change_others(self) -> bool {
        matches!(self, Effect::Mutates | Effect::Unknown | Effect::Undeclared)
    }

    /// Whether it is assumed to have changed what other calls see.
    #[must_use]
    pub fn mutates(self) -> bool {
        matches!(self, Effect::Mutates | Effect::Unknown)
    }
}

/// Why a call never ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum NotExecuted {
    UserRejected,
    PermissionDenied,
    SiblingError,
    ParseError,
    Cancelled,
}

impl NotExecuted {
    /// The name in `$import`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            NotExecuted::UserRejected => "user_rejected",
            NotExecuted::PermissionDenied => "permission_denied",
            NotExecuted::SiblingError => "sibling_error",
            NotExecuted::ParseError => "parse_error",
            NotExecuted::Cancelled => "cancelled",
        }
    }

    /// The one with a name.
    pub fn named(name: &str) -> Option<NotExecuted> {
        [
            NotExecuted::UserRejected,
            NotExecuted::PermissionDenied,
            NotExecuted::SiblingError,
            NotExecuted::ParseError,
            NotExecuted::Cancelled,
        ]
        .into_iter()
        .find(|one| one.name() == name)
    }
}

/// What a receipt stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Receipt {
    Background,
    AsyncAgent,
    Task,
    StillRunning,
}

impl Receipt {
    /// The name in `$import`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Receipt::Background => "background",
            Receipt::AsyncAgent => "async_agent",
            Receipt::Task => "task",
            Receipt::StillRunning => "still_running",
        }
    }

    /// The one with a name.
    pub fn named(name: &str) -> Option<Receipt> {
        [Receipt::Background, Receipt::AsyncAgent, Receipt::Task, Receipt::StillRunning]
            .into_iter()
            .find(|one| one.name() == name)
    }
}

/// What keeps an answer from being the tool's whole answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultState {
    /// The call never ran.
    NotExecuted(NotExecuted),
    /// The answer is a receipt; the result came later or elsewhere.
    Receipt(Receipt),
    /// The recorder kept only a part.
    Truncated,
    /// There is no answer. The word says why, where that is known.
    NoResult(Option<&'static str>),
}

impl ResultState {
    /// The status as transcripts and reports name it.
    pub fn status(self) -> &'static str {
        match self {
            ResultState::NotExecuted(_) => "not_executed",
            ResultState::Receipt(_) => "receipt",
            ResultState::Truncated => "truncated",
            ResultState::NoResult(_) => "no_result",
        }
    }
}

/// One call, in the order of its recording.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// Where it stands: the index of its record and its physical line.
    pub place: Place,
    /// The agent's context: one number for each agent of each conversation.
    pub context: u32,
    /// How often that context was compacted or reset before this call.
    pub epoch: u32,
    /// How many messages of a person came before this call.
    pub words: u32,
    /// Stands for the turn of the model it was made in; 0: alone.
    pub turn: u64,
    /// The print of the tool and of those arguments that make a difference.
    pub same: Print,
    /// The print of that part of the result that makes a difference; none where the tool's whole answer is not known.
    pub result: Option<Print>,
    /// The result is a sentence that says: the same as when you last asked.
    pub unchanged: bool,
    /// What keeps the result from being the tool's whole answer.
    pub state: Option<ResultState>,
    /// The tool said that the call failed.
    pub failed: bool,
    /// What the call does to the state that others see.
    pub effect: Effect,
    /// It did not change anything, whatever its tool may do: it never ran, or it failed and said so.
    pub without_effect: bool,
    /// It asks how far something is.
    pub poll: bool,
    /// Its answers are expected to differ: a clock, a random source, a network.
    pub varies: bool,
    /// Whether what it was called with is known; else it is like no other call.
    pub known: bool,
    /// Nothing is known of it but what a transcript's four fields say and which tools were declared mutators.
    pub plain: bool,
    /// Stands for the one file that it reads or changes; none: any.
    pub target: Option<u64>,
}

impl Call {
    /// Whether it ran, as far as the recording tells.
    #[must_use]
    pub fn ran(&self) -> bool {
        !matches!(self.state, Some(ResultState::NotExecuted(_)))
    }

    /// Whether it changed, or may have changed, what other calls see.
    #[must_use]
    pub fn mutates(&self) -> bool {
        self.effect.mutates() && !self.without_effect
    }
}
