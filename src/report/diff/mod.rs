//! Two sessions beside each other, as text, JSON and a page: what is shown of them is settled here, once for all three.

mod html;
mod json;
mod text;

pub use json::JsonDiff;

use crate::excerpt::{self, Difference};
use crate::formats::Usage;
use crate::sanitize::{clip, visible};
use crate::session::Session;
use crate::session::diff::{Diff, Divergence, Kind, Step, Tally, Verdict};
use crate::session::stats::SessionStats;
use std::io::{self, Write};

/// Differences of which is shown what was called and where the answers part. There may be as many as there are calls.
const SHOWN: usize = 1_000;

/// The longest name of a tool or an agent that is shown, in characters.
const NAME: usize = 80;

/// A format of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffFormat {
    /// For people, on a terminal.
    Text,
    /// For programs; `schemas/diff.json` describes it.
    Json,
    /// One page, with nothing outside of it.
    Html,
}

/// What is shown of a comparison.
#[derive(Debug)]
pub struct DiffReport {
    a: Side,
    b: Side,
    verdict: Verdict,
    tally: Tally,
    first: Option<(Divergence, Option<Place>, Option<Place>, Option<Difference>)>,
    /// Differences, with how many calls are the same before each.
    rows: Vec<Row>,
    /// The calls that are the same behind the last of them.
    same_at_end: u64,
}

/// One session.
#[derive(Debug)]
struct Side {
    path: String,
    format: &'static str,
    calls: u64,
    failed: u64,
    timed: u64,
    time: u64,
    used: Usage,
}

/// One difference.
#[derive(Debug)]
struct Row {
    kind: Kind,
    same_before: u64,
    a: Option<Place>,
    b: Option<Place>,
    difference: Option<Difference>,
}

/// One call, safe to show.
#[derive(Debug, Clone)]
struct Place {
    index: usize,
    line: u64,
    /// The file, where that is another one than the session is named by.
    file: Option<String>,
    tool: String,
    agent: Option<String>,
    /// The argument that says most; empty where it is not shown.
    what: String,
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

    /// Writes it. `color` is for text alone.
    ///
    /// # Errors
    /// What `out` says.
    pub fn write(&self, format: DiffFormat, color: bool, out: &mut dyn Write) -> io::Result<()> {
        match format {
            DiffFormat::Text => text::write(self, color, out),
            DiffFormat::Json => json::write(self, out),
            DiffFormat::Html => html::write(self, out),
        }
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
fn words(kind: Kind) -> &'static str {
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
