//! The comparison for people. Every line starts with words of our own.

use super::shown::{DiffReport, Place, Row, Side, summary, words};
use crate::excerpt::Difference;
use crate::report::runs::{count, money, time};
use crate::sanitize::visible;
use crate::session::diff::{Kind, Verdict};
use std::io::{self, Write};

/// Differences that are shown.
const ROWS: usize = 200;

/// Columns of what was called, and of what was answered.
const COLUMNS: usize = 90;

pub(super) fn write(report: &DiffReport, color: bool, out: &mut dyn Write) -> io::Result<()> {
    let paint = Paint { color };
    side("a", &report.a, out)?;
    side("b", &report.b, out)?;
    first(report, out)?;
    if !report.rows.is_empty() {
        writeln!(out)?;
    }
    for row in report.rows.iter().take(ROWS) {
        same(row.same_before, out)?;
        one(row, &paint, out)?;
    }
    match report.rows.len().checked_sub(ROWS).filter(|more| *more > 0) {
        Some(more) => writeln!(out, "  and {} more differences; --format json has them all", count(more as u64))?,
        None if !report.rows.is_empty() => same(report.same_at_end, out)?,
        None => {}
    }
    let tally = report.tally;
    writeln!(out)?;
    writeln!(out, "calls: {}", summary(tally))?;
    writeln!(
        out,
        "result: {}",
        match report.verdict {
            Verdict::Same if tally.not_compared > 0 => "the same, as far as both are recorded",
            Verdict::Same => "the same",
            Verdict::Differ => "they differ",
            Verdict::Inconclusive => "inconclusive: not a single answer could be compared",
        }
    )
}

fn side(name: &str, side: &Side, out: &mut dyn Write) -> io::Result<()> {
    let mut parts = vec![side.format.to_owned(), calls(side.calls)];
    if side.failed > 0 {
        parts.push(format!("{} failed", count(side.failed)));
    }
    if side.timed > 0 {
        parts.push(format!("{} in calls", time(side.time)));
    }
    if side.used.input + side.used.output > 0 {
        parts.push(format!("{} tokens in, {} out", count(side.used.input), count(side.used.output)));
    }
    parts.extend(side.used.cost.map(money));
    writeln!(out, "{name}: {} ({})", visible(&side.path), parts.join(", "))
}

fn calls(number: u64) -> String {
    if number == 1 { "1 call".to_owned() } else { format!("{} calls", count(number)) }
}

/// Where the sessions part first.
fn first(report: &DiffReport, out: &mut dyn Write) -> io::Result<()> {
    let Some((divergence, a, b, _)) = &report.first else { return Ok(()) };
    let at = divergence.index;
    writeln!(out)?;
    match (a, b) {
        (Some(a), Some(_)) if divergence.answer => {
            writeln!(out, "first difference: index {at}: another answer to {}", called(a))
        }
        (Some(a), Some(b)) => {
            writeln!(out, "first difference: index {at}: a calls {}, b calls {}", called(a), called(b))
        }
        (Some(a), None) => writeln!(out, "first difference: index {at}: b has ended, a calls {}", called(a)),
        (None, Some(b)) => writeln!(out, "first difference: index {at}: a has ended, b calls {}", called(b)),
        (None, None) => Ok(()),
    }
}

/// The tool, and what it was called with on a few columns.
fn called(place: &Place) -> String {
    let what = crate::excerpt::Line { text: place.what.clone(), mark: None }.fit(COLUMNS).text;
    format!("{} {what}", place.tool).trim_end().to_owned()
}

fn same(number: u64, out: &mut dyn Write) -> io::Result<()> {
    if number == 0 { Ok(()) } else { writeln!(out, "  = {} the same", calls(number)) }
}

fn one(row: &Row, paint: &Paint, out: &mut dyn Write) -> io::Result<()> {
    let (sign, style) = match row.kind {
        Kind::OnlyA => ("-", "31"),
        Kind::OnlyB => ("+", "32"),
        Kind::Moved { .. } => (">", "36"),
        _ => ("~", "33"),
    };
    let index = |place: &Option<Place>| place.as_ref().map_or(String::new(), |place| place.index.to_string());
    let Some(place) = row.a.as_ref().or(row.b.as_ref()) else { return Ok(()) };
    let agent = place.agent.as_ref().map_or(String::new(), |agent| format!(" [{agent}]"));
    let (a, b) = (index(&row.a), index(&row.b));
    let line = format!("{sign} {a:>5} {b:>5}{agent}  {}", called(place));
    let said = match row.kind {
        Kind::OnlyA | Kind::OnlyB => String::new(),
        kind => format!("  ({})", words(kind)),
    };
    writeln!(out, "  {}{said}", paint.with(style, &line))?;
    row.difference.as_ref().map_or(Ok(()), |difference| parted(difference, out))
}

fn parted(difference: &Difference, out: &mut dyn Write) -> io::Result<()> {
    let Difference { pointer, line, before, now } = difference;
    let mut place = Vec::new();
    if !pointer.is_empty() && pointer != "/content" {
        place.push(format!("at {}", visible(pointer)));
    }
    if *line > 0 {
        place.push(format!("line {line} of the answer"));
    }
    let place = if place.is_empty() { String::new() } else { format!("  ({})", place.join(", ")) };
    writeln!(out, "        a: {}{place}", before.fit(COLUMNS).text)?;
    writeln!(out, "        b: {}", now.fit(COLUMNS).text)
}

struct Paint {
    color: bool,
}

impl Paint {
    fn with(&self, style: &str, text: &str) -> String {
        if self.color { format!("\x1b[{style}m{text}\x1b[0m") } else { text.to_owned() }
    }
}
