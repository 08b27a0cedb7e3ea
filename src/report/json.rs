//! JSON for programs. The shape is frozen: it has its own types, apart from those the audit works with, and a field is
//! only ever added. `schemas/report.json` is made from these types.

use crate::audit::{Import, Report, Reported};
use crate::excerpt::{Excerpt, Line};
use crate::finding::Level;
use crate::formats::Warning;
use crate::rules::Decision;
use crate::sanitize::{InertJson, visible};
use crate::seal::{Chain, Damage};
use crate::signature::{Checked, Signature, unsigned};
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use std::io::{self, Write};

/// The version of the shape. It changes when a field changes its meaning or goes.
const SCHEMA_VERSION: u32 = 1;

/// A report as JSON.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(title = "toolreplay report", deny_unknown_fields)]
pub struct JsonReport<'r> {
    /// The version of this shape: 1.
    schema_version: u32,
    /// What made the report.
    tool: JsonTool,
    /// The command: `audit`, `audit --seals-only`, `replay`, `scope`, `seal-all` or `verify`.
    command: &'static str,
    /// `clean`, `findings`, `inconclusive` (no call to audit) or `failed` (a file could not be judged).
    verdict: &'static str,
    /// The exit code: 0, 1 or 2.
    exit_code: u8,
    /// The lowest level that fails the run.
    fail_on: Level,
    /// How many findings there are.
    summary: JsonSummary,
    /// What was looked at.
    coverage: JsonCoverage,
    /// The SHA-256 of the scope file that calls were held against; left out where there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    scope_sha256: Option<&'r str>,
    /// The files, in the order of the inputs.
    files: Vec<JsonFile>,
    /// The findings, by file, then index, then kind.
    #[schemars(with = "Vec<JsonFinding>")]
    findings: Findings<'r>,
    /// Rules, and patterns of rules, that were turned off; left out where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    rules_off: Vec<&'static str>,
    /// What must be said besides, such as suppressions that matched nothing.
    remarks: Vec<String>,
}

/// The program that made a report.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonTool {
    /// `toolreplay`
    name: &'static str,
    /// Its version.
    version: &'static str,
}

/// How many findings there are.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonSummary {
    /// Of level `error`.
    errors: usize,
    /// Of level `warning`.
    warnings: usize,
    /// Of level `note`.
    notes: usize,
    /// Known by the baseline: they do not fail the run.
    known: u64,
    /// Left out because they are suppressed.
    suppressed: u64,
    /// Left out because they are below the lowest level that is reported.
    below_min_level: u64,
}

/// What was looked at.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonCoverage {
    /// Files, also those that could not be read.
    files: u64,
    /// Calls.
    calls: u64,
    /// Calls whose answer was compared with an earlier identical call's.
    pairs_compared: u64,
    /// What could not be judged and why, one reason an entry.
    not_judged: Vec<String>,
}

/// One file.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonFile {
    /// Its path, as given.
    path: String,
    /// Calls in it.
    calls: u64,
    /// Calls that failed or never ran, as far as the recording says.
    failed_calls: u64,
    /// Calls whose answer was compared with an earlier identical call's.
    pairs_compared: u64,
    /// The first index whose answer differs from an earlier identical call's.
    divergence: Option<u64>,
    /// The hash chain, in a sealed transcript.
    chain: Option<JsonChain>,
    /// What the signatures of a sealed transcript say; left out where there is no chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<JsonSigned>,
    /// Why nothing in the file was judged; of an imported recording, why not all of it was.
    error: Option<JsonError>,
    /// How a recording in another format was imported; left out for transcripts.
    #[serde(skip_serializing_if = "Option::is_none")]
    import: Option<JsonImport>,
    /// In a sealed transcript: the file of this run whose calls it repeats; their findings are reported there.
    repeats: Option<String>,
}

/// How a recording in another format was imported.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonImport {
    /// The format's id.
    format: &'static str,
    /// Why the file was taken for that.
    reason: String,
    /// How many files were read: captures of one session are one recording.
    files: u64,
    /// Whether both sums hold.
    balanced: bool,
    /// Calls that were met.
    calls_in: u64,
    /// Calls that became records.
    records: u64,
    /// Calls that were there before.
    call_copies: u64,
    /// Calls that an option leaves out.
    excluded: u64,
    /// Results that were met.
    results_in: u64,
    /// Results that belong to a call.
    attached: u64,
    /// Results that were there before.
    result_copies: u64,
    /// Results without a call.
    orphans: u64,
    /// What had to be said, sorted by code and class.
    warnings: Vec<JsonWarning>,
}

/// One kind of warning of an import.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonWarning {
    /// The code.
    code: &'static str,
    /// What kind of it.
    class: Option<String>,
    /// How often.
    count: u64,
    /// Whether something was lost.
    loss: bool,
    /// The file it was met in first, if it is another one than the recording was named by; else null.
    file: Option<String>,
    /// The line it was met on first, from 1; null: the file as a whole.
    line: Option<u64>,
    /// What was met first.
    detail: Option<String>,
}

/// A hash chain.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonChain {
    /// Whether every link holds.
    intact: bool,
    /// Links.
    links: u64,
    /// The last stored digest.
    head: String,
    /// The index of the first link that does not hold.
    broken_index: Option<u64>,
    /// The digest that would hold there.
    expected: Option<String>,
    /// The digest that stands there.
    found: Option<String>,
    /// In which way the chain is broken, where that can be told: `edited`, `missing` (links before it), `doubled`, `swapped`,
    /// `forked`, `cut` or `continues` (from another file, which was not named).
    damage: Option<&'static str>,
}

/// What the signatures of a sealed transcript say.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonSigned {
    /// `signed`, `integrity only` (no signature), `integrity only, signatures not checked` (no keys to check them with) or
    /// `refused`.
    standing: &'static str,
    /// How many links were signed.
    links: Option<u64>,
    /// `complete`, or `open`: the recording went on when it was signed.
    state: Option<&'static str>,
    /// The signatures.
    signatures: Vec<JsonSignature>,
    /// What must not be.
    faults: Vec<JsonFault>,
}

/// One signature.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonSignature {
    /// `note` (a line of a signed note) or `ssh`.
    kind: &'static str,
    /// Whose it is, or is said to be.
    signer: String,
    /// The key: its id in a note, or an SSH fingerprint.
    key: String,
    /// `trusted`, `unknown signer`, `not checked` or `refused`.
    known: &'static str,
}

/// Something about signatures that must not be.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonFault {
    /// What kind of thing.
    id: &'static str,
    /// In words.
    message: String,
}

/// Why a file was not judged.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonError {
    /// The line, from 1; null: the file as a whole.
    line: Option<u64>,
    /// The column, in characters from 1; null: the line as a whole.
    column: Option<u64>,
    /// What is wrong.
    message: String,
}

/// One finding.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonFinding {
    /// The rule's id.
    kind: &'static str,
    /// How grave.
    level: Level,
    /// The file, as given.
    path: String,
    /// The line in the file, from 1; null: the file as a whole.
    line: Option<u64>,
    /// The column in the line, in characters from 1; left out where the finding is about the whole line.
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u64>,
    /// How long the call is there, up to the end of the line, in UTF-16 code units; left out where there is no column.
    #[serde(skip_serializing_if = "Option::is_none")]
    width: Option<u32>,
    /// The index of the call; null where a line is no record.
    index: Option<u64>,
    /// The tool's name, with hidden characters as escapes.
    tool: Option<String>,
    /// The message.
    message: String,
    /// The earlier call it refers to.
    related: Option<JsonPlace>,
    /// How many calls belong to it; left out where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    /// Further calls that belong to it, in order; at most 100.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    others: Vec<JsonPlace>,
    /// The baseline knows it: it does not fail the run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    known: bool,
    /// The call never ran.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    never_ran: bool,
    /// Which of the rule's patterns it is, for rules that have several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<&'static str>,
    /// The argument that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    argument: Option<JsonArgument>,
    /// What in a scope of version 2 decided; the pattern is the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<JsonDecision>,
    /// What was called; left out where the finding is about no call, or not among the first 1,000 of its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    excerpt: Option<JsonExcerpt>,
    /// The address of the page that says what the rule means and what to do.
    help: String,
    /// The same for the same finding in later runs, wherever its line moves.
    fingerprint: String,
}

/// What was called, on one line.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonExcerpt {
    /// The argument that is shown, as a JSON Pointer; empty: all arguments.
    argument: String,
    /// What it says: secrets masked, hidden characters as escapes, cut where it is long.
    text: String,
    /// The part that the finding is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    mark: Option<JsonMark>,
    /// Where the answer differs first from the earlier one; left out where the recording could not be read twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<JsonDifference>,
}

/// A part of a line, in characters.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonMark {
    /// Where it starts, from 0.
    start: usize,
    /// How long it is; 0: something is missing there.
    length: usize,
}

/// Where two answers differ first.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonDifference {
    /// The JSON Pointer of the place; empty: the answers as wholes.
    pointer: String,
    /// The line within the text that stands there, from 1; left out where it has but one.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    /// What the earlier answer says there.
    before: JsonLine,
    /// What this one says.
    now: JsonLine,
}

/// A line of an answer.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonLine {
    /// The line, made safe as an excerpt is.
    text: String,
    /// The part that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    mark: Option<JsonMark>,
}

impl From<&Line> for JsonLine {
    fn from(line: &Line) -> JsonLine {
        let mark = line.characters().map(|(start, length)| JsonMark { start, length });
        JsonLine { text: line.text.clone(), mark }
    }
}

impl From<&Excerpt> for JsonExcerpt {
    fn from(excerpt: &Excerpt) -> JsonExcerpt {
        let JsonLine { text, mark } = JsonLine::from(&excerpt.call);
        let difference = excerpt.difference.as_ref().map(|difference| JsonDifference {
            pointer: visible(&difference.pointer).into_owned(),
            line: (difference.line > 0).then_some(difference.line),
            before: JsonLine::from(&difference.before),
            now: JsonLine::from(&difference.now),
        });
        JsonExcerpt { argument: visible(&excerpt.argument).into_owned(), text, mark, difference }
    }
}

/// What in a scope decided on a call.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonDecision {
    /// The entry, as its place in the scope file: `denied_tools[2]`; null where none came close.
    entry: Option<String>,
    /// Why the entry is there, as the file says.
    why: Option<String>,
    /// The part of the call that broke it: a simple command, a path, a host. Secrets are masked.
    part: String,
}

/// Where one argument of a call stands.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonArgument {
    /// Its JSON Pointer within the arguments.
    pointer: String,
    /// The line, from 1.
    line: u64,
    /// The column, in characters from 1; left out where only the line is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u64>,
    /// Its length in UTF-16 code units; left out where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    width: Option<u32>,
}

/// A call in the same recording.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonPlace {
    /// Its index.
    index: u64,
    /// Its line, from 1.
    line: u64,
    /// The file it stands in; left out where that is the one that was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
}

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let formatter = InertJson(PrettyFormatter::new());
    JsonReport::from(report)
        .serialize(&mut Serializer::with_formatter(&mut *out, formatter))
        .map_err(io::Error::from)?;
    out.write_all(b"\n")
}

/// The findings of a report, made one by one as they are written.
#[derive(Debug)]
struct Findings<'r>(&'r Report);

impl Serialize for Findings<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.findings().map(finding))
    }
}

impl<'r> From<&'r Report> for JsonReport<'r> {
    fn from(report: &'r Report) -> JsonReport<'r> {
        JsonReport {
            schema_version: SCHEMA_VERSION,
            tool: JsonTool { name: "toolreplay", version: env!("CARGO_PKG_VERSION") },
            command: report.command.name(),
            verdict: report.verdict.name(),
            exit_code: report.verdict.exit_code(),
            fail_on: report.fail_on,
            summary: JsonSummary {
                errors: report.count(Level::Error),
                warnings: report.count(Level::Warning),
                notes: report.count(Level::Note),
                known: report.known,
                suppressed: report.suppressed,
                below_min_level: report.below_min_level,
            },
            coverage: JsonCoverage {
                files: report.coverage.files,
                calls: report.coverage.calls,
                pairs_compared: report.coverage.pairs,
                not_judged: report.coverage.not_judged.clone(),
            },
            files: files(report),
            findings: Findings(report),
            scope_sha256: report.scope.as_deref(),
            rules_off: report.rules_off.clone(),
            remarks: report.remarks.iter().map(|remark| visible(remark).into_owned()).collect(),
        }
    }
}

fn files(report: &Report) -> Vec<JsonFile> {
    let file = |file: &crate::audit::FileReport| JsonFile {
        path: file.path.clone(),
        calls: file.calls,
        failed_calls: file.failed,
        pairs_compared: file.pairs,
        divergence: file.divergence,
        chain: file.chain.as_ref().map(chain),
        signature: file
            .chain
            .as_ref()
            .map(|_| file.signature.as_ref().map_or_else(|| signed(&unsigned(false)), signed)),
        error: file.failure.as_ref().map(|failure| JsonError {
            line: (failure.line > 0).then_some(failure.line),
            column: (failure.column > 0).then_some(failure.column),
            message: failure.what.clone(),
        }),
        import: file.import.as_ref().map(import),
        repeats: file.repeats.map(|first| report.files[first].path.clone()),
    };
    report.files.iter().map(file).collect()
}

fn import(import: &Import) -> JsonImport {
    let balance = import.balance;
    let warning = |warning: &Warning| JsonWarning {
        code: warning.code.name(),
        class: Some(warning.class.name().to_owned()).filter(|class| !class.is_empty()),
        count: warning.count,
        loss: warning.is_loss(),
        file: import.paths.get(warning.first.file as usize).filter(|_| warning.first.file > 0).cloned(),
        line: (warning.first.line > 0).then_some(warning.first.line),
        detail: (!warning.detail.is_empty()).then(|| warning.detail.clone()),
    };
    JsonImport {
        format: import.format,
        reason: import.reason.clone(),
        files: import.files,
        balanced: balance.holds(),
        calls_in: balance.calls_in,
        records: balance.records,
        call_copies: balance.call_copies,
        excluded: balance.excluded,
        results_in: balance.results_in,
        attached: balance.attached,
        result_copies: balance.result_copies,
        orphans: balance.orphans,
        warnings: import.warnings.iter().map(warning).collect(),
    }
}

fn chain(chain: &Chain) -> JsonChain {
    let broken = chain.broken.as_ref();
    JsonChain {
        intact: broken.is_none(),
        links: chain.links,
        head: chain.head.clone(),
        broken_index: broken.map(|broken| broken.index),
        expected: broken.map(|broken| broken.expected.clone()),
        found: broken.map(|broken| broken.found.clone()),
        damage: broken.and_then(|broken| broken.damage).map(Damage::name),
    }
}

fn signed(checked: &Checked) -> JsonSigned {
    let signature = |signature: &Signature| JsonSignature {
        kind: signature.kind.name(),
        signer: signature.signer.clone(),
        key: signature.key.clone(),
        known: signature.known.name(),
    };
    JsonSigned {
        standing: checked.standing.name(),
        links: checked.statement.as_ref().map(|statement| statement.links),
        state: checked.statement.as_ref().map(|statement| statement.state.name()),
        signatures: checked.signatures.iter().map(signature).collect(),
        faults: checked.faults.iter().map(|fault| JsonFault { id: fault.id, message: fault.what.clone() }).collect(),
    }
}

fn finding(reported: Reported<'_>) -> JsonFinding {
    let finding = reported.finding;
    JsonFinding {
        kind: finding.rule.id,
        level: finding.level,
        path: reported.path().to_owned(),
        line: (finding.line > 0).then_some(finding.line),
        column: reported.column(),
        width: reported.column().map(|_| finding.width).filter(|width| *width > 0),
        index: finding.index,
        tool: finding.tool.as_deref().map(|tool| visible(&tool.shown).into_owned()),
        message: visible(&finding.message()).into_owned(),
        related: finding.related.map(|place| JsonPlace {
            index: place.index,
            line: place.line,
            path: finding.related_file.as_ref().map(|file| file.shown.clone()),
        }),
        count: (finding.count > 0).then_some(finding.count),
        others: finding
            .others
            .iter()
            .map(|place| JsonPlace { index: place.index, line: place.line, path: None })
            .collect(),
        known: finding.known,
        never_ran: finding.never_ran,
        pattern: finding.pattern,
        argument: finding.argument.as_ref().map(|argument| JsonArgument {
            pointer: visible(&argument.pointer).into_owned(),
            line: argument.line,
            column: (argument.column > 0).then_some(argument.column),
            width: (argument.width > 0).then_some(argument.width),
        }),
        decision: Decision::read(finding).map(|decision| JsonDecision {
            entry: decision.entry.map(|entry| visible(&entry).into_owned()),
            why: decision.why.map(|why| visible(&why).into_owned()),
            part: visible(&decision.part).into_owned(),
        }),
        excerpt: finding.excerpt.as_deref().map(JsonExcerpt::from),
        help: finding.rule.link(),
        fingerprint: finding.fingerprint.to_string(),
    }
}
