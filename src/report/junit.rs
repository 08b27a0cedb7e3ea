//! JUnit XML: one suite a file, a passing case for each rule that found nothing in it, a failing one for each finding.
//!
//! The writer crate escapes attributes but not character data, and would stamp the time of the run: so all text goes
//! into attributes, made visible before, and the timestamp is fixed.

use crate::audit::{Command, FileReport, Report, Reported, Verdict};
use crate::finding::Rule;
use crate::rules::{
    BROKEN_LINK, MALFORMED_TRANSCRIPT, NON_DETERMINISM, PERMISSION_OVERREACH, REDUNDANT_CALL, call_rules,
};
use crate::sanitize::{clip, visible};
use junit_report::{Duration, OffsetDateTime, TestCase, TestSuite};
use std::io::{self, Write};

/// Findings of one report; readers of JUnit stop at a few hundred thousand elements.
const CASES: usize = 50_000;
/// Characters of a path or message that an attribute holds.
const TEXT: usize = 2_000;

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut document = junit_report::Report::new();
    let mut room = CASES;
    for file in &report.files {
        document.add_testsuite(suite(report, file, room));
        room = room.saturating_sub(file.findings.len());
    }
    if report.verdict == Verdict::Inconclusive {
        document.add_testsuite(nothing_to_audit());
    }
    let mut xml = Vec::new();
    document.write_xml(&mut xml).map_err(io::Error::other)?;
    out.write_all(&with_skipped(&xml))?;
    out.write_all(b"\n")
}

/// A run over nothing must not be green.
fn nothing_to_audit() -> TestSuite {
    let mut suite = TestSuite::new("toolreplay");
    suite.set_timestamp(OffsetDateTime::UNIX_EPOCH);
    let mut case = TestCase::error("coverage", Duration::ZERO, "inconclusive", "no call was found to audit");
    case.set_classname("coverage");
    suite.add_testcase(case);
    suite
}

fn suite(report: &Report, file: &FileReport, room: usize) -> TestSuite {
    let path = clip(&visible(&file.path), TEXT).into_owned();
    let mut suite = TestSuite::new(&path);
    suite.set_timestamp(OffsetDateTime::UNIX_EPOCH);
    for rule in rules(report, file) {
        if file.findings.iter().any(|finding| finding.rule.id == rule.id) {
            continue;
        }
        let mut case = TestCase::success(&format!("{}: {path}", rule.id), Duration::ZERO);
        case.set_classname(rule.id);
        suite.add_testcase(case);
    }
    for finding in file.findings.iter().take(room) {
        let reported = Reported { file, finding };
        let own = clip(&visible(reported.path()), TEXT).into_owned();
        let mut name = format!("{}: {own}", finding.rule.id);
        if finding.line > 0 {
            name.push_str(&format!(":{}", finding.line));
        }
        if let Some(index) = finding.index {
            name.push_str(&format!(" index {index}"));
        }
        let mut message = format!("{own}:{}: {}: {}", finding.line, finding.level, visible(&finding.message()));
        if let Some(line) = reported.related_line() {
            message.push_str(&format!(" ({})", visible(&line)));
        }
        let message = clip(&message, 2 * TEXT);
        let kind = finding.rule.id;
        let mut case = if kind == MALFORMED_TRANSCRIPT.id {
            TestCase::error(&name, Duration::ZERO, kind, &message)
        } else {
            TestCase::failure(&name, Duration::ZERO, kind, &message)
        };
        case.set_classname(kind);
        suite.add_testcase(case);
    }
    if let Some(rest) = file.findings.len().checked_sub(room).filter(|rest| *rest > 0) {
        let words = format!("{path}: {rest} more findings are in the other reports");
        let mut case =
            TestCase::failure(&format!("findings-left-out: {path}"), Duration::ZERO, "findings-left-out", &words);
        case.set_classname("findings-left-out");
        suite.add_testcase(case);
    }
    suite
}

/// The rules that a file was held against.
fn rules(report: &Report, file: &FileReport) -> Vec<&'static Rule> {
    let no_scope = report.coverage.not_judged.iter().any(|reason| reason.starts_with("permissions"));
    if file.aside {
        return Vec::new();
    }
    let mut rules: Vec<&'static Rule> = vec![&MALFORMED_TRANSCRIPT];
    if !file.is_judged() {
        return rules;
    }
    if file.chain.is_some() {
        rules.push(&BROKEN_LINK);
    }
    match report.command {
        Command::Audit if file.repeats.is_none() => rules.extend(call_rules(None).iter().map(|rule| rule.rule())),
        Command::Replay => rules.extend([&NON_DETERMINISM, &REDUNDANT_CALL]),
        _ => {}
    }
    if (report.command == Command::Scope || report.command == Command::Audit && !no_scope) && file.repeats.is_none() {
        rules.push(&PERMISSION_OVERREACH);
    }
    rules
}

/// Adds `skipped="0"` to every suite, which some readers demand and the writer leaves out. Inside attribute values `<`
/// is escaped, so the tag's start stands nowhere else.
fn with_skipped(xml: &[u8]) -> Vec<u8> {
    const TAG: &[u8] = b"<testsuite ";
    let mut out = Vec::with_capacity(xml.len() + 1024);
    let mut rest = xml;
    while let Some(at) = memchr::memmem::find(rest, TAG) {
        out.extend_from_slice(&rest[..at + TAG.len()]);
        out.extend_from_slice(b"skipped=\"0\" ");
        rest = &rest[at + TAG.len()..];
    }
    out.extend_from_slice(rest);
    out
}
