//! Findings about answers that changed are told what changed: the recording is read once more. What cannot be read a second
//! time, such as standard input, has no such lines; nothing else of a report depends on them.

use super::outcome::{Input, Outcome, Source};
use crate::engine::Ruleset;
use crate::finding::{Finding, Place, SourceFile};
use crate::formats::{self, Answers, Differences, ImportError, Opening, Recording};
use crate::limits::{Budget, Limits};
use crate::rules::NON_DETERMINISM;
use std::path::Path;

/// What gives the content of an input that is in memory and not in a file, as often as it is asked.
pub(super) type Memory<'m> = Option<&'m dyn Fn() -> Source>;

/// How many findings of one file are told.
const MOST: usize = 200;

/// The bytes of a recording that is imported a second time for it.
const READ_TWICE: u64 = 64 << 20;

/// Adds to each finding about a changed answer what changed.
pub(super) fn explain(
    input: &Input,
    memory: Memory<'_>,
    ruleset: &Ruleset,
    options: &formats::Options,
    outcome: &mut Outcome,
) {
    let wanted: Vec<Answers> =
        outcome.judgement.findings.iter().filter(|f| is_wanted(f)).filter_map(pair).take(MOST).collect();
    if wanted.is_empty() {
        return;
    }
    // what the first reading was allowed says nothing of the second
    let limits = options.budget.limits();
    let limits =
        Limits { document: limits.document.min(READ_TWICE), unpacked: limits.unpacked.min(4 * READ_TWICE), ..limits };
    let options =
        formats::Options { budget: Budget::new(limits), agents: formats::Agents::default(), ..options.clone() };
    let found = match outcome.import.is_some() {
        true => of_recording(input, memory, ruleset, &options, &wanted),
        false => of_transcript(input, memory, ruleset, &options, &wanted),
    };
    let Some(mut found) = found else { return };
    for finding in outcome.judgement.findings.iter_mut().filter(|finding| is_wanted(finding)) {
        if let (Some(excerpt), Some(index)) = (&mut finding.excerpt, finding.index) {
            excerpt.difference = found.remove(&index);
        }
    }
}

fn is_wanted(finding: &Finding) -> bool {
    finding.rule.id == NON_DETERMINISM.id && finding.excerpt.is_some()
}

fn pair(finding: &Finding) -> Option<Answers> {
    Some((finding.related?, Place { index: finding.index?, line: finding.line }))
}

/// Content that can be read again: bytes in memory, or a file that is neither a pipe nor larger than `most`.
fn again(input: &Input, memory: Memory<'_>, most: u64) -> Option<Source> {
    let Some(path) = input.path.as_deref() else { return memory.map(|content| content()) };
    let metadata = path.metadata().ok()?;
    (metadata.is_file() && metadata.len() <= most).then(|| input.open().ok())?
}

fn of_transcript(
    input: &Input,
    memory: Memory<'_>,
    ruleset: &Ruleset,
    options: &formats::Options,
    wanted: &[Answers],
) -> Option<Differences> {
    match formats::open(again(input, memory, u64::MAX)?, input.path.as_deref(), options).ok()? {
        Opening::Native(source) => formats::in_transcript(source, ruleset, wanted).ok(),
        _ => None,
    }
}

fn of_recording(
    input: &Input,
    memory: Memory<'_>,
    ruleset: &Ruleset,
    options: &formats::Options,
    wanted: &[Answers],
) -> Option<Differences> {
    let mut recording = Recording::to_write(options);
    for part in std::iter::once(input).chain(&input.more) {
        let source = again(part, memory, READ_TWICE)?;
        let Opening::Foreign(foreign) = formats::open(source, part.path.as_deref(), options).ok()? else {
            return None;
        };
        let beside = |path: &Path| -> SourceFile { part.beside(path) };
        let added: Result<(), ImportError> = recording.add(foreign, part.source_file(), &beside, 1);
        added.ok()?;
    }
    recording.finish().ok()?.differences(ruleset, wanted).ok()
}
