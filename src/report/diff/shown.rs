//! What is shown of a comparison, settled before it is written in any format.

use crate::excerpt::{self, Difference};
use crate::formats::Usage;
use crate::report::runs::count;
use crate::sanitize::{clip, visible};
use crate::session::Session;
use crate::session::diff::{Diff, Divergence, Kind, Step, Tally, Verdict};
use crate::session::stats::SessionStats;
use std::io;

/// Differences of which is shown what was called and where the answers part. There may be as many as there are calls.
const SHOWN: usize = 1_000;

/// The longest name of a tool or an agent that is shown, in characters.
const NAME: usize = 80;

/// Where two sessions part: how, the call of each, and what their answers differ in.
pub(super) type Parting = (Divergence, Option<Place>, Option<Place>, Option<Difference>);

/// What is shown of a comparison.
#[derive(Debug)]
pub struct DiffReport {
    pub(super) a: Side,
    pub(super) b: Side,
    pub(super) verdict: Verdict,
    pub(super) tally: Tally,
    pub(super) first: Option<Parting>,
    /// Differences, with how many calls are the same before each.
    pub(super) rows: Vec<Row>,
    /// The calls that are the same behind the last of them.
    pub(super) same_at_end: u64,
}

/// One session.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) path: String,
    pub(super) format: &'static str,
    pub(super) calls: u64,
    pub(super) failed: u64,
    pub(super) timed: u64,
    pub(super) time: u64,
    pub(super) used: Usage,
}

/// One difference.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) kind: Kind,
    pub(super) same_before: u64,
    pub(super) a: Option<Place>,
    pub(super) b: Option<Place>,
    pub(super) difference: Option<Difference>,
}

/// One call, safe to show.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) index: usize,
    pub(super) line: u64,
    /// The file, where that is another one than the session is named by.
    pub(super) file: Option<String>,
    pub(super) tool: String,
    pub(super) agent: Option<String>,
    /// The argument that says most; empty where it is not shown.
    pub(super) what: String,
}

impl DiffReport {
    /// Puts together what is shown of two sessions and how they compare.
    ///
    /// # Errors
    /// A temporary file that cannot be read.
    pub fn new(diff: &Diff, a: &mut Session, b: &mut Session) -> io::Result<DiffReport> {
        let first = match diff.first {
            None => None,
            Some(divergence) => {
                let at = divergence.index;
                let places = (place(a, Some(at), true)?, place(b, Some(at), true)?);
                let difference = if divergence.answer { parted(a, at, b, at)? } else { None };
                Some((divergence, places.0, places.1, difference))
            }
        };
        let (mut rows, mut same_before) = (Vec::new(), 0);
        for Step { a: one, b: other, kind } in &diff.steps {
            if !kind.differs() {
                same_before += 1;
                continue;
            }
            let shown = rows.len() < SHOWN;
            let answers = matches!(kind, Kind::Answer | Kind::Moved { answer: true });
            let difference = match (one, other) {
                (Some(one), Some(other)) if shown && answers => parted(a, *one, b, *other)?,
                _ => None,
            };
            let (a, b) = (place(a, *one, shown)?, place(b, *other, shown)?);
            rows.push(Row { kind: *kind, same_before: std::mem::take(&mut same_before), a, b, difference });
        }
        Ok(DiffReport {
            a: Side::of(a),
            b: Side::of(b),
            verdict: diff.verdict(),
            tally: diff.tally,
            first,
            rows,
            same_at_end: same_before,
        })
    }
}

impl Side {
    fn of(session: &Session) -> Side {
        let stats = SessionStats::of(session);
        let counts = stats.sum.counts;
        Side {
            path: stats.path,
            format: stats.format,
            calls: counts.calls,
            failed: counts.failed,
            timed: counts.timed,
            time: counts.time,
            used: stats.sum.used,
        }
    }
}

/// What is shown of a call; `whole`: also what it was called with.
fn place(session: &mut Session, index: Option<usize>, whole: bool) -> io::Result<Option<Place>> {
    let Some(index) = index else { return Ok(None) };
    let Some(call) = session.calls.get(index) else { return Ok(None) };
    let name = |text: &str| visible(&clip(text, NAME)).into_owned();
    let agent = session.context(call).filter(|context| !context.agent.is_empty());
    let file = (call.file > 0).then(|| session.files.get(call.file as usize)).flatten();
    let mut place = Place {
        index,
        line: call.line,
        file: file.map(|file| visible(&file.shown).into_owned()),
        tool: name(session.tool(call)),
        agent: agent.map(|context| name(&context.agent)),
        what: String::new(),
    };
    if whole {
        let mut arguments = Vec::new();
        session.arguments(index, &mut arguments)?;
        place.what = excerpt::call(&arguments).text;
    }
    Ok(Some(place))
}

/// Where two answers part.
fn parted(a: &mut Session, one: usize, b: &mut Session, other: usize) -> io::Result<Option<Difference>> {
    let (before, now) = (a.answer_as_said(one)?, b.answer_as_said(other)?);
    Ok(Difference::between(&before, &now))
}

/// What a difference is, in words that stand before a call.
pub(super) fn words(kind: Kind) -> &'static str {
    match kind {
        Kind::Same => "the same",
        Kind::NotCompared => "not compared",
        Kind::Answer => "another answer",
        Kind::OnlyA => "only in a",
        Kind::OnlyB => "only in b",
        Kind::Moved { answer: false } => "at another place",
        Kind::Moved { answer: true } => "at another place, another answer",
    }
}

/// How many calls became what, in words.
pub(super) fn summary(tally: Tally) -> String {
    let mut parts = vec![format!("{} the same", count(tally.same))];
    for (number, what) in [
        (tally.answers, "with another answer"),
        (tally.only_a, "only in a"),
        (tally.only_b, "only in b"),
        (tally.moved, "at another place"),
        (tally.not_compared, "of which an answer or the arguments are not recorded as a whole"),
    ] {
        if number > 0 {
            parts.push(format!("{} {what}", count(number)));
        }
    }
    parts.join(", ")
}
