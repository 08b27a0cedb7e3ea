//! What importers produce: calls and answers where they stand, before anything is paired, ordered or flattened.
//!
//! An importer is a function from one value of a file to events. It keeps no state between values: what must be
//! remembered (which ids are open, which records were copied, which thread comes first) is the pairing's business (`pair`),
//! so that the values of a large file can be read side by side.

pub(crate) use crate::call::{Effect, NotExecuted as Reason, Receipt, ResultState as Mark};
use crate::json::view::Value;
use crate::trace::clock::unix_days;
use std::borrow::Cow;

/// Where something stands in the files that were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Location {
    /// The place of the file among those of the recording.
    pub file: u32,
    /// The physical line, from 1; 0: the file as a whole.
    pub line: u64,
    /// The column in characters, from 1; 0: the whole line.
    pub column: u32,
    /// The column in UTF-16 code units, from 1; 0: the whole line.
    pub start: u32,
    /// How long it is there, up to the end of the line, in UTF-16 code units; 0: unknown.
    pub width: u32,
}

impl Location {
    /// The line as a whole.
    pub(crate) fn widen(&mut self) {
        (self.column, self.start, self.width) = (0, 0, 0);
    }
}

/// What a call was called with.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Args<'a> {
    /// A value, which should be an object.
    Value(Option<Value<'a>>),
    /// A string that should hold the text of an object.
    Text(Option<Value<'a>>),
    /// Free text, or another value, which becomes the one member of this name.
    Free(&'static str, Value<'a>),
    /// The text of an object that the importer put together.
    Made(&'a str),
    /// Nothing, in a format that says so by leaving it out.
    Nothing,
}

/// One recorded call.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    /// The value it stands in, for its place in the file.
    pub(crate) at: Value<'a>,
    /// The id that answers name.
    pub(crate) id: Option<Cow<'a, str>>,
    /// The agent that made it; none: the main one.
    pub(crate) thread: Option<Cow<'a, str>>,
    /// Nanoseconds since 1970.
    pub(crate) time: Option<i64>,
    /// What calls that were made at once have in common; empty: all calls up to the next answer were.
    pub(crate) turn: Option<Cow<'a, str>>,
    pub(crate) tool: Cow<'a, str>,
    pub(crate) args: Args<'a>,
    /// Flags that the importer sets.
    pub(crate) flags: Flags,
}

impl<'a> Call<'a> {
    /// A call of the main agent, with nothing known besides.
    pub(crate) fn new(at: Value<'a>, tool: impl Into<Cow<'a, str>>, args: Args<'a>) -> Call<'a> {
        Call { at, id: None, thread: None, time: None, turn: None, tool: tool.into(), args, flags: Flags::default() }
    }
}

/// A call that was noted in the same value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Noted(pub(crate) u32);

/// ResultOwner answer it is.
#[derive(Debug, Clone)]
pub(crate) enum To<'a> {
    /// That of the call with this id.
    Id(Cow<'a, str>),
    /// That of a call noted in the same value.
    Call(Noted),
    /// That of the last open call to a tool, in formats without ids.
    Tool(Cow<'a, str>),
}

/// What was answered.
#[derive(Debug, Clone)]
pub(crate) enum Body<'a> {
    /// A value of the file; none: the answer is there but empty.
    Value(Option<Value<'a>>),
    /// JSON text that the importer put together.
    Made(String),
}

/// One recorded answer.
#[derive(Debug)]
pub(crate) struct ToolResult<'a> {
    pub(crate) at: Value<'a>,
    pub(crate) to: To<'a>,
    pub(crate) body: Body<'a>,
    /// The format's own error flag, if it has one and it is there.
    pub(crate) error: Option<bool>,
    /// Whether the answer says that the call failed, by whatever means.
    pub(crate) failed: bool,
    /// Whether it says that the failed call changed nothing.
    pub(crate) no_effect: bool,
    pub(crate) mark: Option<Mark>,
    /// Less than another answer to the same call, which goes first wherever it stands.
    pub(crate) secondary: bool,
    /// Whether a later answer to the same call replaces it.
    pub(crate) last_wins: bool,
    /// It may be the answer to something else than a call: without a call that waits for it, it is none.
    pub(crate) optional: bool,
    /// Secrets were taken out of it in a way that tells nothing of whether two of them are equal.
    pub(crate) redacted: bool,
    /// It is what the agent said that the tool answered: nobody saw the call run.
    pub(crate) unobserved: bool,
    /// The turns one of whose calls it answers, where they are known.
    pub(crate) turns: Vec<Cow<'a, str>>,
}

impl<'a> ToolResult<'a> {
    pub(crate) fn new(at: Value<'a>, to: To<'a>, body: Body<'a>) -> ToolResult<'a> {
        ToolResult {
            at,
            to,
            body,
            error: None,
            failed: false,
            no_effect: false,
            mark: None,
            secondary: false,
            last_wins: false,
            optional: false,
            redacted: false,
            unobserved: false,
            turns: Vec::new(),
        }
    }
}

/// Facts about one call, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Flags(pub(crate) u16);

impl Flags {
    pub(crate) const ANSWERED: Flags = Flags(1);
    pub(crate) const FAILED: Flags = Flags(1 << 1);
    pub(crate) const NO_EFFECT: Flags = Flags(1 << 2);
    pub(crate) const SERVER_SIDE: Flags = Flags(1 << 3);
    pub(crate) const COMPOSITE: Flags = Flags(1 << 4);
    pub(crate) const POLL: Flags = Flags(1 << 5);
    pub(crate) const MORE_RESULTS: Flags = Flags(1 << 6);
    pub(crate) const SECONDARY_RESULT: Flags = Flags(1 << 7);
    pub(crate) const ARGS_KEPT_RAW: Flags = Flags(1 << 8);
    /// The call starts an agent of its own.
    pub(crate) const SPAWNS: Flags = Flags(1 << 9);
    /// The call is only what the model asked for: a record of its start may follow.
    pub(crate) const INTENT: Flags = Flags(1 << 10);
    /// Never the same call as another one with its id.
    pub(crate) const NO_COPY: Flags = Flags(1 << 11);
    /// What it was called with was not recorded: it is like no other call.
    pub(crate) const ARGS_UNKNOWN: Flags = Flags(1 << 12);
    /// The model asked for it; nobody saw it run.
    pub(crate) const UNOBSERVED: Flags = Flags(1 << 13);
    /// Its answer lacks secrets, so that it cannot be told whether it is equal to another.
    pub(crate) const REDACTED: Flags = Flags(1 << 14);
    /// It may stand in two records, one of which has no id.
    pub(crate) const TWICE: Flags = Flags(1 << 15);

    pub(crate) fn has(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) fn set(&mut self, other: Flags) {
        self.0 |= other.0;
    }

    pub(crate) fn clear(&mut self, other: Flags) {
        self.0 &= !other.0;
    }

    /// The names of those that a side report shows.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        const NAMES: [(Flags, &str); 10] = [
            (Flags::FAILED, "failed"),
            (Flags::NO_EFFECT, "no_effect"),
            (Flags::SERVER_SIDE, "server_side"),
            (Flags::COMPOSITE, "composite"),
            (Flags::POLL, "poll"),
            (Flags::MORE_RESULTS, "more_results"),
            (Flags::ARGS_KEPT_RAW, "args_kept_raw"),
            (Flags::ARGS_UNKNOWN, "args_not_recorded"),
            (Flags::UNOBSERVED, "execution_not_observed"),
            (Flags::REDACTED, "redacted"),
        ];
        NAMES.into_iter().filter(move |(flag, _)| self.has(*flag)).map(|(_, name)| name)
    }
}

/// The texts of RFC 3339 times (and close relatives) as nanoseconds since 1970. A time without a zone counts as UTC.
pub(crate) fn time(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = bytes.get(from..to)?;
        digits.iter().all(u8::is_ascii_digit).then(|| digits.iter().fold(0, |n, d| n * 10 + i64::from(d - b'0')))
    };
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if bytes.get(4) != Some(&b'-') || !matches!(bytes.get(10), Some(b'T' | b't' | b' ')) {
        return None;
    }
    let mut at = 19;
    let mut nanos = 0;
    if matches!(bytes.get(at), Some(b'.' | b',')) {
        at += 1;
        let mut unit = 100_000_000;
        while let Some(digit) = bytes.get(at).filter(|byte| byte.is_ascii_digit()) {
            nanos += i64::from(digit - b'0') * unit;
            unit /= 10;
            at += 1;
        }
    }
    let zone = match bytes.get(at) {
        Some(sign @ (b'+' | b'-')) => {
            let hours = number(at + 1, at + 3)?;
            let minutes = number(at + 4, at + 6).or_else(|| number(at + 3, at + 5)).unwrap_or(0);
            (hours * 3600 + minutes * 60) * if *sign == b'-' { -1 } else { 1 }
        }
        _ => 0,
    };
    let days = unix_days(year, month, day)?;
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - zone;
    seconds.checked_mul(1_000_000_000)?.checked_add(nanos)
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn times_become_nanoseconds() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-03-01T00:00:00.000Z", 951_868_800),
            ("2026-01-20T15:07:40.729Z", 1_768_921_660),
            ("2026-01-20T17:07:40+02:00", 1_768_921_660),
            ("2026-01-20 15:07:40", 1_768_921_660),
        ] {
            assert_eq!(time(text).map(|time| time.div_euclid(1_000_000_000)), Some(seconds), "{text}");
        }
        assert_eq!(time("2026-01-20T15:07:40.729Z").unwrap() % 1_000_000_000, 729_000_000);
        for text in ["yesterday", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-00-00T00:00:00Z"] {
            assert_eq!(time(text), None, "{text}");
        }
    }
}
