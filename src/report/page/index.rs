//! What a page knows of a run before any text is opened: its verdict in words, its findings, and of every call what the
//! list and the timeline show. The shape is the page's own: the script beside this file reads it, and nobody else.

use super::mask::Masking;
use super::pack::Packer;
use crate::audit::{Command, Failure, FileReport, Report, Verdict};
use crate::call::{Effect, Print, ResultState};
use crate::excerpt;
use crate::finding::{Finding, Level};
use crate::sanitize::{clip, visible};
use crate::session::stats::{SessionStats, Stats};
use crate::session::{Session, SessionCall};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::io;

/// Where a page finds the calls of a file: `None` where they cannot be read again.
pub type Sessions<'s> = dyn FnMut(&FileReport) -> Option<Result<Session, Failure>> + 's;

/// What is on a page besides a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PageOptions {
    /// Show secrets as they were recorded.
    pub unmasked: bool,
}

/// Calls that one page shows.
const MOST_CALLS: usize = 200_000;
/// Findings that one page shows, the gravest.
const MOST_FINDINGS: usize = 20_000;
/// Columns of the line that says what was called.
const SUMMARY: usize = 200;
/// Characters of a name.
const NAME: usize = 200;
/// Characters of a message or a remark.
const WORDS: usize = 2_000;

/// The index in the making.
pub(super) struct Index<'r> {
    report: &'r Report,
    masking: Masking,
    shown: Shown,
    stats: Stats,
    tools: HashMap<String, u32>,
    /// Of each file of the report the number of its first call, and how many of them are shown.
    spans: Vec<(u32, u32)>,
    /// Calls whose texts the page has no room for.
    without_texts: u64,
    /// Whether any file's calls were to be had.
    with_calls: bool,
}

/// What the script reads.
#[derive(Default, Serialize)]
struct Shown {
    headline: String,
    mood: &'static str,
    names: String,
    /// What could not be judged or is not shown: it comes before the findings.
    troubles: Vec<String>,
    stats: Vec<(String, String)>,
    said_title: &'static str,
    said: Vec<String>,
    /// What stands where findings would.
    clean: String,
    no_calls: &'static str,
    rules: BTreeMap<&'static str, &'static str>,
    tools: Vec<String>,
    lanes: Vec<Lane>,
    files: Vec<File>,
    findings: Vec<Found>,
    findings_left_out: u64,
    /// Milliseconds since 1970 that starts are counted from.
    epoch: i64,
    calls: Calls,
}

/// An agent in a conversation of a file.
#[derive(Serialize)]
struct Lane {
    file: u32,
    agent: String,
    conversation: u32,
    calls: u32,
}

#[derive(Serialize)]
struct File {
    path: String,
    first: u32,
    /// The files it consists of.
    sources: Vec<String>,
}

/// The calls, a list for each thing that is known of them.
#[derive(Default, Serialize)]
struct Calls {
    count: u32,
    tool: Vec<u32>,
    lane: Vec<u32>,
    source: Vec<u32>,
    line: Vec<u64>,
    column: Vec<u32>,
    effect: Vec<u8>,
    state: Vec<Option<&'static str>>,
    /// Why there is no answer, where that is known.
    why: BTreeMap<u32, &'static str>,
    failed: Vec<u8>,
    repeats: Vec<u8>,
    /// The last identical call before it; -1: none.
    before: Vec<i64>,
    start: Option<Vec<Option<i64>>>,
    took: Option<Vec<Option<u64>>>,
    summary: Vec<String>,
    /// Where its texts stand; -1: they are not on the page.
    chunk: Vec<i64>,
    at: Vec<u32>,
    args: Vec<u32>,
    answer: Vec<u32>,
    /// How many answers there are, where that is more than one.
    several: BTreeMap<u32, u32>,
}

#[derive(Serialize)]
struct Found {
    rule: &'static str,
    level: Level,
    path: String,
    line: u64,
    message: String,
    known: bool,
    /// The call it stands at; -1: none that is shown.
    call: i64,
    related: i64,
    others: Vec<i64>,
    argument: Option<String>,
}

impl<'r> Index<'r> {
    pub(super) fn new(report: &'r Report, options: PageOptions) -> Index<'r> {
        let masking = Masking::new(options.unmasked);
        let calls = Calls { start: Some(Vec::new()), took: Some(Vec::new()), ..Calls::default() };
        Index {
            report,
            masking,
            shown: Shown { calls, ..Shown::default() },
            stats: Stats::default(),
            tools: HashMap::new(),
            spans: Vec::new(),
            without_texts: 0,
            with_calls: false,
        }
    }

    /// What the page is called.
    pub(super) fn title(&self) -> String {
        format!("{}: {}", self.names(80), self.headline().0)
    }

    fn names(&self, most: usize) -> String {
        let mut files = self.report.files.iter().filter(|file| !file.aside);
        let first = files.next().map_or("no file", |file| &file.path);
        let first = visible(&clip(first, most)).into_owned();
        match files.count() {
            0 => first,
            1 => format!("{first} and 1 more file"),
            more => format!("{first} and {more} more files"),
        }
    }

    /// The verdict in words, and the class of its colour.
    pub(super) fn headline(&self) -> (String, &'static str) {
        let Report { verdict, coverage, .. } = self.report;
        let calls = counted(coverage.calls, "call");
        let worst = Level::ALL.into_iter().find(|level| self.report.count(*level) > 0);
        let found = format!("{} in {calls}{}", self.report.counts(), self.report.left_out());
        match (verdict, worst) {
            (Verdict::Failed, _) => (format!("Not everything could be judged: {found}"), "error"),
            (Verdict::Inconclusive, _) => ("No call to judge".to_owned(), "warning"),
            (Verdict::Findings | Verdict::Clean, Some(worst)) => (found, worst.name()),
            // what nobody asked for is no pass
            (Verdict::Findings | Verdict::Clean, None) if self.no_scope() => {
                (format!("{}, permissions not judged", capital(&found)), "fine")
            }
            (Verdict::Findings | Verdict::Clean, None) => (capital(&found), "fine"),
        }
    }

    fn no_scope(&self) -> bool {
        self.report.command == Command::Audit && self.report.scope.is_none()
    }

    /// The gravest findings, each in words.
    pub(super) fn gravest(&self, most: usize) -> Vec<String> {
        let finding = |reported: &crate::audit::Reported<'_>| {
            let finding = reported.finding;
            let line = if finding.line > 0 { format!(":{}", finding.line) } else { String::new() };
            let message = self.words(&finding.message());
            format!("{}[{}] {}{line}: {message}", finding.level, finding.rule.id, clip(reported.path(), NAME))
        };
        self.report.gravest_first().iter().take(most).map(finding).collect()
    }

    /// A text of a recording that stands in a sentence.
    fn words(&self, text: &str) -> String {
        visible(&clip(&self.masking.text(text), WORDS)).into_owned()
    }

    fn name(&self, text: &str) -> String {
        visible(&clip(&self.masking.text(&clip(text, 4 * NAME)), NAME)).into_owned()
    }

    /// Takes in a file of the report, with its calls where they are to be had.
    pub(super) fn file(
        &mut self,
        file: &FileReport,
        sessions: &mut Sessions<'_>,
        packer: &mut Packer<'_>,
    ) -> io::Result<()> {
        let first = self.shown.calls.count;
        let path = self.name(&file.path);
        let mut entry = File { path: path.clone(), first, sources: vec![path.clone()] };
        if let Some(failure) = &file.failure {
            let trouble = format!("{path}: {}", self.words(&failure.to_string()));
            self.shown.troubles.push(trouble);
        }
        // a file without calls may be one whose reading failed, and then fails again
        if !file.aside && file.repeats.is_none() && file.is_judged() {
            match sessions(file) {
                Some(Ok(session)) => {
                    self.with_calls = true;
                    entry.sources = session.files.iter().map(|source| self.name(&source.shown)).collect();
                    if file.calls > 0 && session.calls.len() as u64 != file.calls {
                        let now = counted(session.calls.len() as u64, "call");
                        let trouble = format!("{path} changed while it was read: it has {now}, and had {}", file.calls);
                        self.shown.troubles.push(trouble);
                    }
                    self.calls(session, packer)?;
                }
                Some(Err(failure)) => {
                    let why = self.words(&failure.to_string());
                    self.shown.troubles.push(format!("{path}: its calls cannot be shown: {why}"));
                }
                None => {}
            }
        } else if let Some(twin) = file.repeats.and_then(|twin| self.report.files.get(twin)) {
            let twin = self.name(&twin.path);
            self.shown.said.push(format!("{path}: sealed, with the calls of {twin}"));
        }
        self.spans.push((first, self.shown.calls.count - first));
        self.shown.files.push(entry);
        Ok(())
    }

    fn calls(&mut self, mut session: Session, packer: &mut Packer<'_>) -> io::Result<()> {
        let lanes = self.shown.lanes.len() as u32;
        let file = self.shown.files.len() as u32;
        for context in &session.contexts {
            let (agent, conversation) = (self.name(&context.agent), context.conversation);
            self.shown.lanes.push(Lane { file, agent, conversation, calls: 0 });
        }
        let tools: Vec<u32> = session.tools.iter().map(|tool| self.tool(tool)).collect();
        let room = MOST_CALLS.saturating_sub(self.shown.calls.count as usize);
        let taken = session.calls.len().min(room);
        let left_out = session.calls.len() - taken;
        if left_out > 0 {
            let left_out = counted(left_out as u64, "call");
            let path = self.name(&session.file.shown);
            self.shown.troubles.push(format!("{path}: {left_out} are not shown, for a page has its limits"));
        }
        let mut made: HashMap<(u32, Print), u32> = HashMap::new();
        let (mut arguments, mut answer) = (Vec::new(), Vec::new());
        for place in 0..taken {
            session.arguments(place, &mut arguments)?;
            session.answer(place, &mut answer)?;
            let further = session.further_answers(place);
            let several = further.len() as u32 + 1;
            if !further.is_empty() {
                answer = together(&answer, further);
            }
            let call = &session.calls[place];
            let number = self.shown.calls.count;
            let before = made.insert((call.context, call.same), number).filter(|_| call.repeats);
            let arguments = self.masking.bytes(&arguments);
            let answer = self.masking.bytes(&answer);
            let spot = packer.put(&arguments, &answer)?;
            self.without_texts += u64::from(spot.is_none());
            let calls = &mut self.shown.calls;
            calls.count += 1;
            calls.tool.push(tools.get(call.tool as usize).copied().unwrap_or_default());
            let lane = lanes + call.context;
            calls.lane.push(lane);
            if let Some(lane) = self.shown.lanes.get_mut(lane as usize) {
                lane.calls += 1;
            }
            calls.source.push(call.file);
            calls.line.push(call.line);
            calls.column.push(call.column);
            calls.effect.push(effect(call.effect));
            calls.state.push(call.state.map(ResultState::status));
            calls.why.extend(why(call).map(|why| (number, why)));
            calls.failed.push(u8::from(call.failed && call.ran()));
            calls.repeats.push(u8::from(call.repeats));
            calls.before.push(before.map_or(-1, i64::from));
            if let Some(start) = &mut calls.start {
                start.push(call.started.map(|nanos| nanos.div_euclid(1_000_000)));
            }
            if let Some(took) = &mut calls.took {
                took.push(call.duration.map(|nanos| nanos / 1_000_000));
            }
            // secrets are gone from it, or are to be shown
            calls.summary.push(excerpt::call(&arguments).fit(SUMMARY).text);
            let (chunk, at) = spot.map_or((-1, 0), |(chunk, at)| (i64::from(chunk), at));
            calls.chunk.push(chunk);
            calls.at.push(at);
            calls.args.push(arguments.len() as u32);
            calls.answer.push(answer.len() as u32);
            if several > 1 {
                calls.several.insert(number, several);
            }
        }
        self.stats.add(SessionStats::of(&session));
        Ok(())
    }

    fn tool(&mut self, name: &str) -> u32 {
        let name = self.name(name);
        if let Some(known) = self.tools.get(&name) {
            return *known;
        }
        let number = self.shown.tools.len() as u32;
        self.shown.tools.push(name.clone());
        self.tools.insert(name, number);
        number
    }

    /// Takes in the findings, the gravest first, when all calls are known.
    pub(super) fn findings(&mut self) {
        let mut all: Vec<(usize, &Finding)> = Vec::new();
        for (number, file) in self.report.files.iter().enumerate() {
            all.extend(file.findings.iter().map(|finding| (number, finding)));
        }
        all.sort_by_key(|(_, finding)| std::cmp::Reverse(finding.level));
        self.shown.findings_left_out = all.len().saturating_sub(MOST_FINDINGS) as u64;
        all.truncate(MOST_FINDINGS);
        for (number, finding) in all {
            let found = self.found(number, finding);
            self.shown.rules.insert(finding.rule.id, finding.rule.summary);
            self.shown.findings.push(found);
        }
    }

    fn found(&self, number: usize, finding: &Finding) -> Found {
        let (first, shown) = self.spans.get(number).copied().unwrap_or_default();
        let call = |index: u64| if index < u64::from(shown) { i64::from(first) + index as i64 } else { -1 };
        let file = &self.report.files[number];
        Found {
            rule: finding.rule.id,
            level: finding.level,
            path: self.name(finding.file.as_ref().map_or(&file.path, |file| &file.shown)),
            line: finding.line,
            message: self.words(&finding.message()),
            known: finding.known,
            call: finding.index.map_or(-1, call),
            related: finding.related.map_or(-1, |place| call(place.index)),
            others: finding.others.iter().take(100).map(|place| call(place.index)).collect(),
            argument: finding.argument.as_ref().map(|argument| self.words(&argument.pointer)),
        }
    }

    /// The index as JSON.
    pub(super) fn finished(mut self) -> impl Serialize {
        let (headline, mood) = self.headline();
        let names = self.names(400);
        if self.without_texts > 0 {
            let calls = counted(self.without_texts, "call");
            self.shown.troubles.push(format!("of {calls} the texts are not shown, for a page has its limits"));
        }
        let coverage = &self.report.coverage;
        let mut said: Vec<String> = coverage.not_judged.iter().map(|what| format!("not judged: {what}")).collect();
        said.extend(self.report.remarks.iter().map(|remark| self.words(remark)));
        for file in &self.report.files {
            let Some(import) = &file.import else { continue };
            let (path, reason) = (self.name(&file.path), self.words(&import.reason));
            said.push(format!("{path}: read as {}: {reason}", import.format));
        }
        said.append(&mut self.shown.said);
        let stats = self.stats();
        let shown = &mut self.shown;
        let calls = &mut shown.calls;
        shown.epoch = calls.start.iter().flatten().flatten().copied().min().unwrap_or(0);
        match &mut calls.start {
            Some(start) if start.iter().any(Option::is_some) => {
                start.iter_mut().flatten().for_each(|start| *start -= shown.epoch);
            }
            start => *start = None,
        }
        calls.took.take_if(|took| took.iter().all(Option::is_none));
        Shown {
            headline,
            mood,
            names,
            stats,
            said_title: "What was not judged, and what else is to be said",
            said,
            clean: format!("Nothing was found in what was judged: {} compared.", counted(coverage.pairs, "pair")),
            no_calls: match self.with_calls {
                true => "There is no call in it.",
                false => {
                    "The calls are not in this page: 'toolreplay view' and 'toolreplay audit --report html=FILE' put them there."
                }
            },
            ..self.shown
        }
    }

    /// The numbers at the head of the page.
    fn stats(&self) -> Vec<(String, String)> {
        let Stats { sum, sessions, .. } = &self.stats;
        let counts = sum.counts;
        let mut stats = Vec::new();
        let mut say = |count: u64, one: &str, many: &str| {
            if count > 0 {
                stats.push((if count == 1 { one } else { many }.to_owned(), grouped(count)));
            }
        };
        say(counts.calls, "call", "calls");
        say(counts.failed, "failed", "failed");
        say(counts.not_run, "never ran", "never ran");
        say(counts.without_answer, "without a whole answer", "without a whole answer");
        say(counts.repeats, "made before", "made before");
        say(counts.changes, "may change something", "may change something");
        let lanes = self.shown.lanes.iter().filter(|lane| lane.calls > 0).count() as u64;
        say(lanes.saturating_sub(u64::from(lanes == 1)), "agent", "agents");
        say(self.shown.tools.len() as u64, "tool", "tools");
        say(sum.used.input, "token read", "tokens read");
        say(sum.used.output, "token written", "tokens written");
        if let [session] = &sessions[..]
            && let Some(took) = session.took().filter(|took| *took >= 1_000_000_000)
        {
            stats.push(("from first call to last answer".to_owned(), duration(took / 1_000_000_000)));
        }
        if counts.timed > 0 {
            stats.push(("in calls".to_owned(), duration(counts.time / 1_000_000_000)));
        }
        stats
    }
}

/// Several answers to one call, as one JSON text.
fn together(first: &[u8], further: &[Vec<u8>]) -> Vec<u8> {
    let all: Vec<&[u8]> = std::iter::once(first).chain(further.iter().map(Vec::as_slice)).collect();
    [b"[", &all.join(&b','.to_owned())[..], b"]"].concat()
}

/// The place of an effect in the script's list.
fn effect(effect: Effect) -> u8 {
    match effect {
        Effect::ReadOnly => 0,
        Effect::Session => 1,
        Effect::Mutates => 2,
        Effect::Unknown => 3,
        Effect::Undeclared => 4,
    }
}

fn why(call: &SessionCall) -> Option<&'static str> {
    match call.state? {
        ResultState::NotExecuted(reason) => Some(reason.name()),
        ResultState::Receipt(receipt) => Some(receipt.name()),
        ResultState::NoResult(reason) => reason,
        ResultState::Truncated => None,
    }
}

fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{} {noun}s", grouped(count)) }
}

/// A number with commas between thousands.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn duration(seconds: u64) -> String {
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{} h {minutes} min", grouped(hours)),
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_at_a_glance() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0, 61, 3_600].map(duration), ["0 s", "1 min 1 s", "1 h 0 min"]);
        assert_eq!((counted(1, "call"), counted(2_000, "call")), ("1 call".to_owned(), "2,000 calls".to_owned()));
        assert_eq!((capital("no findings"), capital("")), ("No findings".to_owned(), String::new()));
    }

    #[test]
    fn answers_stand_together() {
        assert_eq!(together(b"1", &[b"{}".to_vec(), b"\"x\"".to_vec()]), b"[1,{},\"x\"]");
    }
}
