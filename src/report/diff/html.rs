//! The comparison as a page: no script, no request, nothing but text and one style sheet that its policy names by its hash.

use super::shown::{DiffReport, Place, Row, Side, summary, words};
use crate::excerpt::{Difference, Line};
use crate::report::runs::{count, money, time};
use crate::sanitize::html;
use crate::session::diff::Verdict;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use std::io::{self, Write};

const STYLE: &str = include_str!("page.css");

/// Rows of the table. A browser is slow with more.
const ROWS: usize = 5_000;

pub(super) fn write(report: &DiffReport, out: &mut dyn Write) -> io::Result<()> {
    let hash = STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
    writeln!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'\">\n<meta \
         name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"generator\" content=\"toolreplay \
         {}\">\n<title>toolreplay diff</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>",
        env!("CARGO_PKG_VERSION")
    )?;
    let (class, verdict) = match report.verdict {
        Verdict::Same if report.tally.not_compared > 0 => ("same", "The same, as far as both are recorded."),
        Verdict::Same => ("same", "The same."),
        Verdict::Differ => ("differ", "They differ."),
        Verdict::Inconclusive => ("inconclusive", "Inconclusive: not a single answer could be compared."),
    };
    writeln!(out, "<h1>Two runs, call by call</h1>\n<p class=\"verdict {class}\"><strong>{verdict}</strong>")?;
    first(report, out)?;
    writeln!(
        out,
        "</p>\n<table>\n<caption hidden>The two runs</caption>\n<thead><tr><th></th><th>run</th><th>format</th><th>calls</th><th>failed</th><th>time in calls</th><th>tokens in</th><th>out</th><th>cost</th></tr></thead>\n<tbody>"
    )?;
    side("a", &report.a, out)?;
    side("b", &report.b, out)?;
    writeln!(out, "</tbody>\n</table>\n<p>Calls: {}.</p>", summary(report.tally))?;
    if !report.rows.is_empty() {
        writeln!(
            out,
            "<table class=\"calls\">\n<caption hidden>The differences</caption>\n<thead><tr><th>a</th><th>b</th><th>what</th><th>call</th></tr></thead>\n<tbody>"
        )?;
        for row in report.rows.iter().take(ROWS) {
            same(row.same_before, out)?;
            one(row, out)?;
        }
        if report.rows.len() <= ROWS {
            same(report.same_at_end, out)?;
        }
        writeln!(out, "</tbody>\n</table>")?;
        if let Some(more) = report.rows.len().checked_sub(ROWS).filter(|more| *more > 0) {
            writeln!(out, "<p>And {} more differences; --format json has them all.</p>", count(more as u64))?;
        }
    }
    writeln!(out, "</main>\n</body>\n</html>")
}

fn name(text: &str) -> String {
    format!("<bdi>{}</bdi>", html(text))
}

fn first(report: &DiffReport, out: &mut dyn Write) -> io::Result<()> {
    let Some((divergence, a, b, _)) = &report.first else { return Ok(()) };
    let at = divergence.index;
    match (a, b) {
        (Some(a), Some(_)) if divergence.answer => {
            writeln!(out, "They part at index {at}: another answer to {}.", called(a))
        }
        (Some(a), Some(b)) => {
            writeln!(out, "They part at index {at}: a calls {}, b calls {}.", called(a), called(b))
        }
        (Some(a), None) => writeln!(out, "They part at index {at}: b has ended, a calls {}.", called(a)),
        (None, Some(b)) => writeln!(out, "They part at index {at}: a has ended, b calls {}.", called(b)),
        (None, None) => Ok(()),
    }
}

fn called(place: &Place) -> String {
    let what = if place.what.is_empty() { String::new() } else { format!(" <code>{}</code>", name(&place.what)) };
    format!("<strong>{}</strong>{what}", name(&place.tool))
}

fn side(label: &str, side: &Side, out: &mut dyn Write) -> io::Result<()> {
    let some = |number: u64| if number > 0 { count(number) } else { String::new() };
    let took = if side.timed > 0 { time(side.time) } else { String::new() };
    write!(out, "<tr><th scope=\"row\">{label}</th><td>{}</td><td>{}</td>", name(&side.path), side.format)?;
    let cost = side.used.cost.map(money).unwrap_or_default();
    for cell in [count(side.calls), some(side.failed), took, some(side.used.input), some(side.used.output), cost] {
        write!(out, "<td class=\"number\">{cell}</td>")?;
    }
    writeln!(out, "</tr>")
}

fn same(number: u64, out: &mut dyn Write) -> io::Result<()> {
    if number == 0 {
        return Ok(());
    }
    let calls = if number == 1 { "1 call".to_owned() } else { format!("{} calls", count(number)) };
    writeln!(out, "<tr class=\"quiet\"><td></td><td></td><td>the same</td><td>{calls}</td></tr>")
}

fn one(row: &Row, out: &mut dyn Write) -> io::Result<()> {
    let index = |place: &Option<Place>| place.as_ref().map_or(String::new(), |place| place.index.to_string());
    let Some(place) = row.a.as_ref().or(row.b.as_ref()) else { return Ok(()) };
    let agent = place.agent.as_ref().map_or(String::new(), |agent| format!(" (agent {})", name(agent)));
    write!(
        out,
        "<tr class=\"{}\"><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td><td>{}{agent}",
        row.kind.name(),
        index(&row.a),
        index(&row.b),
        words(row.kind),
        called(place)
    )?;
    if let Some(Difference { pointer, line, before, now }) = &row.difference {
        let mut place = String::new();
        if !pointer.is_empty() {
            place.push_str(&format!(" at <code>{}</code>", name(pointer)));
        }
        if *line > 0 {
            place.push_str(&format!(", line {line}"));
        }
        write!(out, "<br>a{place}: <code>{}</code><br>b: <code>{}</code>", marked(before), marked(now))?;
    }
    writeln!(out, "</td></tr>")
}

/// A line with its mark.
fn marked(line: &Line) -> String {
    let parts = line.mark.clone().and_then(|mark| {
        let (before, behind) = (line.text.get(..mark.start)?, line.text.get(mark.end..)?);
        Some((before, line.text.get(mark)?, behind))
    });
    match parts {
        Some((before, part, behind)) if !part.is_empty() => {
            format!("<bdi>{}<mark>{}</mark>{}</bdi>", html(before), html(part), html(behind))
        }
        _ => name(&line.text),
    }
}
