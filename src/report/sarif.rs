//! SARIF 2.1.0 for code scanning.
//!
//! What GitHub does with it decides the shape: one location a result, on one line; paths relative to the root of the
//! repository; no passing and no suppressed results, which would show as alerts; no `automationDetails`, which would
//! override the category of the upload; an `invocations` entry that says success, for findings are no failed run.

use crate::audit::{Report, Reported, Verdict};
use crate::finding::{Finding, Level, Place, Rule};
use crate::rules::{Decision, NON_DETERMINISM, RULES};
use crate::sanitize::{InertJson, clip, sarif_message, uri, visible};
use serde::Serialize as _;
use serde_json::json;
use serde_json::ser::{CompactFormatter, Serializer};
use serde_sarif::sarif::{
    ArtifactContent, ArtifactLocation, CodeFlow, Invocation, Location, Message, MultiformatMessageString,
    PhysicalLocation, PropertyBag, Region, ReportingConfiguration, ReportingDescriptor, Result as SarifResult,
    ResultLevel, Run, Sarif, ThreadFlow, ThreadFlowLocation, Tool, ToolComponent,
};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Results that GitHub keeps of one run.
const RESULTS: usize = 5_000;
/// Characters of a message.
const MESSAGE: usize = 1_000;
/// Further records that a result names.
const OTHERS: usize = 20;
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// The id of the result that counts those beyond [`RESULTS`].
const LEFT_OUT: &str = "findings-left-out";
/// The base that paths are relative to.
const ROOT: &str = "%SRCROOT%";
/// Where files are said to be that are not in the repository.
const OUTSIDE: &str = "outside-the-repository";

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let log = log(report).map_err(io::Error::other)?;
    let formatter = InertJson(CompactFormatter);
    log.serialize(&mut Serializer::with_formatter(&mut *out, formatter)).map_err(io::Error::from)?;
    out.write_all(b"\n")
}

fn log(report: &Report) -> Result<Sarif, serde_json::Error> {
    let findings = report.gravest_first();
    let too_many = findings.len() > RESULTS;
    let kept = if too_many { RESULTS - 1 } else { findings.len() };
    let mut results: Vec<SarifResult> = findings[..kept].iter().map(|reported| result(*reported)).collect();
    let mut rules: Vec<ReportingDescriptor> = RULES.iter().map(|rule| descriptor(rule)).collect();
    if let Some(first) = findings.get(kept) {
        rules.push(left_out_descriptor());
        results.push(left_out(*first, findings.len() - kept));
    }
    let driver = ToolComponent::builder()
        .name("toolreplay")
        .semantic_version(env!("CARGO_PKG_VERSION"))
        .information_uri(env!("CARGO_PKG_REPOSITORY"))
        .rules(rules)
        .properties(properties([
            ("coverage", json!(report.coverage.to_string())),
            ("suppressed", json!(report.suppressed)),
            ("belowMinLevel", json!(report.below_min_level)),
            ("remarks", json!(report.remarks)),
            ("scopeSha256", json!(report.scope)),
        ]))
        .build();
    // Findings are no failed run, nor is a file that could not be judged, which is a result. A run over nothing is one:
    // uploaded as a success it would close every alert there is.
    let invocation = Invocation::builder()
        .execution_successful(report.verdict != Verdict::Inconclusive)
        .exit_code(i64::from(report.verdict.exit_code()))
        .build();
    let root = json!({ROOT: {"description": {"text": "The root of the repository."}}});
    let run = Run::builder()
        .tool(Tool::builder().driver(driver).build())
        .results(results)
        .invocations(vec![invocation])
        .column_kind(json!("utf16CodeUnits"))
        .original_uri_base_ids(serde_json::from_value::<BTreeMap<String, ArtifactLocation>>(root)?)
        .build();
    Ok(Sarif::builder().schema(SCHEMA).version(json!("2.1.0")).runs(vec![run]).build())
}

fn text(words: impl Into<String>) -> MultiformatMessageString {
    MultiformatMessageString::builder().text(words).build()
}

fn properties<const N: usize>(entries: [(&str, serde_json::Value); N]) -> PropertyBag {
    let additional: BTreeMap<String, serde_json::Value> =
        entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    PropertyBag::builder().additional_properties(additional).build()
}

fn descriptor(rule: &Rule) -> ReportingDescriptor {
    let mut bag =
        properties([("precision", json!(rule.precision)), ("problem.severity", json!(problem_severity(rule.level)))]);
    let mut tags = vec!["agent-audit".to_owned()];
    if let Some(severity) = rule.security_severity {
        tags.push("security".to_owned());
        bag.additional_properties.insert("security-severity".to_owned(), json!(severity));
    }
    bag.tags = Some(tags);
    // the page without its title, which the reader shows by itself
    let page = rule.page.split_once('\n').map_or(rule.page, |(_, rest)| rest).trim();
    let help = MultiformatMessageString::builder().text(page).markdown(page).build();
    ReportingDescriptor::builder()
        .id(rule.id)
        .name(pascal_case(rule.id))
        .help_uri(rule.link())
        .short_description(text(rule.summary))
        .full_description(text(rule.summary))
        .help(help)
        .default_configuration(ReportingConfiguration::builder().level(json!(rule.level.name())).build())
        .properties(bag)
        .build()
}

fn left_out_descriptor() -> ReportingDescriptor {
    let what = "More findings were made than code scanning keeps of one run; the gravest are shown.";
    let help = "Read the report in another format for the rest, and lower their number: most often many findings have one cause.";
    ReportingDescriptor::builder()
        .id(LEFT_OUT)
        .name(pascal_case(LEFT_OUT))
        .short_description(text(what))
        .full_description(text(what))
        .help(text(help))
        .default_configuration(ReportingConfiguration::builder().level(json!(Level::Warning.name())).build())
        .properties(properties([("precision", json!("very-high")), ("problem.severity", json!("warning"))]))
        .build()
}

fn problem_severity(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "recommendation",
    }
}

fn pascal_case(id: &str) -> String {
    let capitalised = |word: &str| word[..1].to_uppercase() + &word[1..];
    id.split('-').filter(|word| !word.is_empty()).map(capitalised).collect()
}

fn result_level(level: Level) -> ResultLevel {
    match level {
        Level::Error => ResultLevel::Error,
        Level::Warning => ResultLevel::Warning,
        Level::Note => ResultLevel::Note,
    }
}

/// A part of a line, or all of it where no column is known. Columns count UTF-16 code units, as `columnKind` says; where
/// the length is unknown the region ends with its line.
fn region((line, column, width): (u64, u64, u32)) -> Region {
    let mut region = Region::builder().start_line(line.max(1) as i64).end_line(line.max(1) as i64).build();
    // a file as a whole has no columns
    if line > 0 && (column > 0 || width > 0) {
        let start = i64::try_from(column.max(1)).unwrap_or(1);
        region.start_column = Some(start);
        region.end_column = (width > 0).then(|| start + i64::from(width));
    }
    region
}

/// A file outside the repository has no path from its root, and one absolute address makes GitHub refuse the whole upload.
/// Such a file gets a name that nothing in the repository has; of the folders of this machine it tells nothing.
fn in_repository(path: &str) -> Cow<'_, str> {
    let drive = path.get(1..3) == Some(":/");
    match path.rsplit_once('/').filter(|_| drive || path.starts_with('/')) {
        Some((folder, name)) => {
            let digest = <sha2::Sha256 as sha2::Digest>::digest(folder);
            Cow::Owned(format!("{OUTSIDE}/{}/{name}", hex::encode(&digest[..4])))
        }
        None => Cow::Borrowed(path),
    }
}

fn physical_location(path: &str, place: (u64, u64, u32)) -> PhysicalLocation {
    let path = in_repository(path);
    let artifact = ArtifactLocation::builder().uri(uri(&path)).uri_base_id(ROOT).build();
    PhysicalLocation::builder().artifact_location(artifact).region(region(place)).build()
}

fn location(path: &str, finding: &Finding) -> Location {
    let mut place = physical_location(path, finding.place());
    // what was called, its secrets masked: the line itself may be long, and may hold what nobody else should see
    if let (Some(excerpt), Some(region)) = (&finding.excerpt, &mut place.region) {
        let text = clip(&excerpt.call.text, MESSAGE).into_owned();
        region.snippet = Some(ArtifactContent::builder().text(text).build());
    }
    Location::builder().physical_location(place).build()
}

/// Another record, and what it is to a finding.
fn related_location(id: usize, path: &str, place: Place, words: &str) -> Location {
    Location::builder()
        .id(id as i64)
        .physical_location(physical_location(path, (place.line, 0, 0)))
        .message(Message::builder().text(format!("{words}, index {}.", place.index)).build())
        .build()
}

/// The two calls of an answer that changed, one after the other.
fn code_flow(reported: Reported<'_>, earlier: Location, index: u64) -> CodeFlow {
    let mut later = location(reported.from_root(), reported.finding);
    let words = format!("The same call gets another answer here, index {index}.");
    later.message = Some(Message::builder().text(words).build());
    let steps = [earlier, later].into_iter().enumerate().map(|(order, mut location)| {
        location.id = None;
        ThreadFlowLocation::builder().location(location).execution_order(order as i64 + 1).build()
    });
    let flow = ThreadFlow::builder().locations(steps.collect::<Vec<_>>()).build();
    CodeFlow::builder().thread_flows(vec![flow]).build()
}

fn result(reported: Reported<'_>) -> SarifResult {
    let finding = reported.finding;
    let path = reported.from_root();
    let place = RULES.iter().position(|rule| rule.id == finding.rule.id).unwrap_or(0);
    // two findings on one line differ in their index, if in nothing else
    let words = match finding.index {
        Some(index) => format!("index {index}: {}", finding.message()),
        None => finding.message(),
    };
    let message = Message::builder().text(sarif_message(&clip(&words, MESSAGE))).build();
    let fingerprints = BTreeMap::from([("toolreplay/v1".to_owned(), finding.fingerprint.to_string())]);
    let decision = Decision::read(finding);
    let bag = properties([
        ("index", json!(finding.index)),
        ("relatedIndex", json!(finding.related.map(|related| related.index))),
        ("tool", json!(finding.tool.as_deref().map(|tool| visible(&tool.shown)))),
        ("reason", json!(decision.as_ref().and(finding.pattern))),
        ("scopeEntry", json!(decision.as_ref().and_then(|decision| decision.entry.as_deref()).map(visible))),
        ("part", json!(decision.as_ref().map(|decision| visible(&decision.part)))),
    ]);
    let mut result = SarifResult::builder()
        .rule_id(finding.rule.id)
        .rule_index(place as i64)
        .level(result_level(finding.level))
        .message(message)
        .locations(vec![location(path, finding)])
        .partial_fingerprints(fingerprints)
        .properties(bag)
        .build();
    let mut others = Vec::new();
    if let Some(related) = finding.related {
        let path = reported.related_from_root();
        let earlier = related_location(1, path, related, "The earlier identical call");
        if finding.rule.id == NON_DETERMINISM.id
            && let Some(index) = finding.index
        {
            result.code_flows = Some(vec![code_flow(reported, earlier.clone(), index)]);
        }
        others.push(earlier);
    }
    for other in finding.others.iter().take(OTHERS) {
        others.push(related_location(others.len() + 1, path, *other, "It belongs to this as well"));
    }
    result.related_locations = Some(others).filter(|others| !others.is_empty());
    result
}

/// The result that says how many more there are, on the line of the first of them.
fn left_out(first: Reported<'_>, count: usize) -> SarifResult {
    let words = format!("{count} more findings were left out; the ones shown are the gravest.");
    SarifResult::builder()
        .rule_id(LEFT_OUT)
        .rule_index(RULES.len() as i64)
        .level(result_level(first.finding.level))
        .message(Message::builder().text(words).build())
        .locations(vec![location(first.from_root(), first.finding)])
        .partial_fingerprints(BTreeMap::from([("toolreplay/v1".to_owned(), LEFT_OUT.to_owned())]))
        .build()
}
