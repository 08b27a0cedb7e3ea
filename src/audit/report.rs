//! The report: what every renderer shows and no renderer changes.

use super::baseline::Baseline;
use super::changes::{Change, Review, Visibility};
use super::command::Command;
use super::coverage::Coverage;
use super::file_report::{FileReport, Reported};
use super::outcome::{Failure, Input, Outcome};
use super::settings::Settings;
use super::suppress::FindingFilter;
use super::words::plural;
use crate::finding::{Finding, Fingerprint, Level};
use crate::formats::Unjudged;
use crate::rules::{MALFORMED_TRANSCRIPT, PERMISSION_OVERREACH, Selection, call_rules, guards_evidence};
use crate::sanitize::{clip, visible};
use crate::scope::{Applied, Remark, RemarkKind};
use crate::signature::{Standing, State};
use std::collections::HashMap;
use std::sync::Arc;

/// What comes of a run. The order is that of gravity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Nothing that counts was found.
    Clean,
    /// Something was found.
    Findings,
    /// There was no call to audit, which proves nothing.
    Inconclusive,
    /// A file could not be judged.
    Failed,
}

impl Verdict {
    /// The process's exit code.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Verdict::Clean => 0,
            Verdict::Findings => 1,
            Verdict::Inconclusive | Verdict::Failed => 2,
        }
    }

    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Clean => "clean",
            Verdict::Findings => "findings",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Failed => "failed",
        }
    }
}

/// Something with the digest of its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digested {
    /// Its name: a path, where it is a file.
    pub name: String,
    /// What kind of digest: `sha256`, or `gitCommit` for a revision.
    pub algorithm: &'static str,
    /// The digest in hexadecimal digits.
    pub digest: String,
}

/// Everything a run found out, filtered, judged and in order.
#[derive(Debug, Clone)]
pub struct Report {
    /// The command.
    pub command: Command,
    /// The files, in the order of the inputs.
    pub files: Vec<FileReport>,
    /// Findings that suppressions left out.
    pub suppressed: u64,
    /// Findings that the baseline knows.
    pub known: u64,
    /// Findings below the lowest level that is reported.
    pub below_min_level: u64,
    /// What the files were judged by, where somebody asked.
    pub judged_by: Vec<Digested>,
    /// The files, where somebody asked.
    pub subjects: Vec<Digested>,
    /// What must be said besides: suppressions that did nothing, and each entry of the scope that did nothing.
    pub remarks: Vec<String>,
    /// The same in few lines, for people.
    pub short_remarks: Vec<ShortRemark>,
    /// What was looked at.
    pub coverage: Coverage,
    /// Rules, and patterns of rules, that were turned off.
    pub rules_off: Vec<&'static str>,
    /// The baseline of this run: what it found, or what still stands of the one it had.
    pub renewed: Baseline,
    /// The SHA-256 of the scope file that calls were held against, in hexadecimal digits.
    pub scope: Option<String>,
    /// The lowest level that fails the run.
    pub fail_on: Level,
    /// What comes of it.
    pub verdict: Verdict,
    /// The address of the files of the revision that is audited, without a slash at its end.
    pub source_url: Option<String>,
}

/// A remark for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShortRemark {
    /// What is said.
    pub text: String,
    /// Whether something should be done about it.
    pub warns: bool,
}

impl ShortRemark {
    fn warning(text: &str) -> ShortRemark {
        ShortRemark { text: text.to_owned(), warns: true }
    }
}

/// How many remarks on a scope file a report holds.
const SCOPE_REMARKS: usize = 1000;
/// How many remarks of one kind are shown one by one, and how many where there are more.
const EACH: usize = 5;
const FIRST: usize = 3;

/// What is shown of `remarks`, the first `of_suppressions` of which are about suppressions, and of `open_seals`.
fn short(remarks: &[String], of_suppressions: usize, open_seals: &[String]) -> Vec<ShortRemark> {
    let (suppressions, others) = remarks.split_at(of_suppressions);
    let shown = if suppressions.len() > EACH { FIRST } else { suppressions.len() };
    let left = suppressions.len() - shown;
    let more = (left > 0).then(|| format!("{left} more suppressions did nothing; the JSON report names them all"));
    let said = suppressions[..shown].iter().chain(more.as_ref()).chain(others).chain(open_seals);
    said.map(|remark| ShortRemark::warning(remark)).collect()
}

impl Report {
    /// Puts together what a run over `inputs` gave. `scope` says whether calls were held against one.
    #[must_use]
    pub fn new(command: Command, inputs: &[Input], outcomes: Vec<Outcome>, scope: bool, settings: &Settings) -> Report {
        Report::with_changes(command, inputs, outcomes, Vec::new(), scope, settings)
    }

    /// The same with findings about files as wholes, which need not be among the inputs.
    #[must_use]
    pub fn with_changes(
        command: Command,
        inputs: &[Input],
        mut outcomes: Vec<Outcome>,
        changes: Vec<Change>,
        scope: bool,
        settings: &Settings,
    ) -> Report {
        let sealed_copies = sealed_copies(command, &outcomes);
        for (outcome, copy) in outcomes.iter_mut().zip(&sealed_copies) {
            if copy.is_some() {
                outcome.judgement.findings.retain(|finding| guards_evidence(finding.rule));
            }
        }
        let asides = asides(changes, inputs, &mut outcomes);
        let mut filter = FindingFilter::new(settings);
        let mut files = Vec::new();
        let passed_over = outcomes.iter().filter(|outcome| outcome.passed_over.is_some()).count() as u64;
        // files that are left out must not shift the places of repeated files
        let place = |copy: usize| outcomes[..copy].iter().filter(|outcome| outcome.passed_over.is_none()).count();
        let sealed_copies: Vec<Option<usize>> = sealed_copies.into_iter().map(|copy| copy.map(place)).collect();
        for (input, (outcome, copy)) in inputs.iter().zip(outcomes.into_iter().zip(sealed_copies)) {
            if outcome.passed_over.is_some() {
                continue;
            }
            let mut findings = outcome.judgement.findings;
            let partly = outcome.import.is_some();
            findings.extend(outcome.failure.as_ref().map(|failure| malformed(failure, partly)));
            let divergence = filter.keep(&input.from_root, &mut findings);
            files.push(FileReport {
                path: input.shown.clone(),
                from_root: input.from_root.clone(),
                calls: outcome.judgement.calls,
                failed: outcome.judgement.failed,
                repeated: outcome.judgement.repeats,
                pairs: outcome.judgement.pairs,
                divergence,
                chain: outcome.chain,
                signature: outcome.signature,
                failure: outcome.failure,
                import: outcome.import,
                repeats: copy,
                aside: false,
                review: Review { visibility: visibility(input), ..Review::default() },
                findings,
            });
        }
        for mut file in asides {
            filter.keep(&file.from_root, &mut file.findings);
            files.push(file);
        }
        let mut coverage = Coverage::of(command, &files, scope);
        let judges_calls = judges_calls(&settings.rules, scope);
        coverage.turned_off(&settings.rules, judges_calls);
        let renewed = Baseline::of(&coverage, &files, settings.baseline.as_ref(), &settings.rules);
        let mut remarks = filter.remarks();
        let of_suppressions = remarks.len();
        remarks.extend(accepted(settings, &files));
        if let Some(baseline) = &settings.baseline {
            if let Some(finding) = baseline.dropped(&coverage, &files) {
                let path = settings.baseline_path.clone();
                let change = Change { shown: path.clone(), from_root: path, exists: true, finding };
                filter.fails |= settings.fail_on <= Level::Error;
                files.extend(beside(vec![change]));
            }
            let gone = baseline.len() - renewed.len();
            if gone > 0 {
                let findings = plural(gone as u64, "finding");
                remarks.push(format!("{findings} of the baseline are gone; write it anew with --write-baseline"));
            }
        }
        let verdict = if files.iter().any(|file| file.failure.is_some()) {
            Verdict::Failed
        } else if filter.fails {
            Verdict::Findings
        } else if (coverage.calls == 0
            || nothing_judged(&files, scope)
            || !judges_calls && !files.iter().any(has_chain))
            && !settings.allow_empty
        {
            Verdict::Inconclusive
        } else {
            Verdict::Clean
        };
        let open_seals: Vec<String> = files.iter().filter_map(open_seal).collect();
        let mut report = Report {
            command,
            files,
            suppressed: filter.suppressed,
            known: filter.known,
            renewed,
            below_min_level: filter.below_min_level,
            judged_by: Vec::new(),
            subjects: Vec::new(),
            short_remarks: short(&remarks, of_suppressions, &open_seals),
            remarks: remarks.into_iter().chain(open_seals).collect(),
            coverage,
            rules_off: settings.rules.off().collect(),
            scope: None,
            fail_on: settings.fail_on,
            verdict,
            source_url: None,
        };
        if passed_over > 0 {
            let files = plural(passed_over, "other file");
            report.coverage.not_judged.push(format!("{files} in folders, by their content no recordings"));
        }
        report
    }

    /// Notes something that must be said besides.
    pub fn say(&mut self, remark: String) {
        self.short_remarks.push(ShortRemark::warning(&remark));
        self.remarks.push(remark);
    }

    /// Notes where a reviewer sees the findings of each file.
    pub fn review(&mut self, mut of: impl FnMut(&FileReport) -> Review) {
        for file in &mut self.files {
            file.review = of(file);
        }
    }

    /// Notes the scope that calls were held against: its digest, and what in it did nothing.
    pub fn held_against(&mut self, scope: &Applied) {
        self.scope = Some(hex::encode(scope.policy.sha256));
        let remarks = scope.policy.remarks(&scope.tally);
        let line = |remark: &Remark| format!("scope: line {}: {}: {}", remark.line, remark.entry, remark.text);
        let left_out = remarks.len().saturating_sub(SCOPE_REMARKS);
        self.remarks.extend(remarks.iter().take(SCOPE_REMARKS).map(line));
        if left_out > 0 {
            self.remarks.push(format!("scope: {left_out} more entries that did nothing"));
        }
        for (kind, what) in [
            (RemarkKind::Pointless, "entries that would do nothing in any run"),
            (RemarkKind::AllowedNothing, "entries allow nothing that was called"),
            (RemarkKind::DeniedNothing, "entries deny nothing that was called"),
        ] {
            let warns = kind != RemarkKind::DeniedNothing;
            let own: Vec<&Remark> = remarks.iter().filter(|remark| remark.kind == kind).collect();
            if own.len() <= EACH {
                self.short_remarks.extend(own.iter().map(|remark| ShortRemark { text: line(remark), warns }));
                continue;
            }
            let first = own.iter().take(FIRST);
            let first: Vec<String> = first.map(|remark| format!("{} on line {}", remark.entry, remark.line)).collect();
            let text = format!("scope: {} {what}: {}, …", own.len(), first.join(", "));
            self.short_remarks.push(ShortRemark { text, warns });
        }
    }

    /// Notes files that were not looked at because their names are not those of transcripts.
    pub fn pass_over(&mut self, files: u64) {
        if files > 0 {
            let files = plural(files, "other file");
            self.coverage.not_judged.push(format!("{files} in folders, by their names no transcripts"));
        }
    }

    /// Notes recordings that were left out because the base revision has them as they are.
    pub fn untouched(&mut self, recordings: u64) {
        if recordings > 0 {
            let recordings = plural(recordings, "recording");
            self.coverage.not_judged.push(format!("{recordings} that the base revision has as they are"));
        }
    }

    /// Notes a submodule whose files of the base revision are not there to be compared with.
    pub fn no_base(&mut self, submodule: &str) {
        let submodule = visible(&clip(submodule, 200)).into_owned();
        let what = format!("what the base revision has in the submodule {submodule}, which is not in the clone");
        self.coverage.not_judged.push(what);
    }

    /// The findings, by file, then index, then kind.
    pub fn findings(&self) -> impl Iterator<Item = Reported<'_>> {
        self.files.iter().flat_map(|file| file.findings.iter().map(move |finding| Reported { file, finding }))
    }

    /// How many findings of a level there are.
    #[must_use]
    pub fn count(&self, level: Level) -> usize {
        self.findings().filter(|reported| reported.finding.level == level).count()
    }

    /// The findings, the gravest first, else in order.
    #[must_use]
    pub fn gravest_first(&self) -> Vec<Reported<'_>> {
        let mut findings: Vec<Reported<'_>> = self.findings().collect();
        findings.sort_by_key(|reported| std::cmp::Reverse(reported.finding.level));
        findings
    }

    /// The findings as a reviewer wants them: first those on changed lines, then the gravest, else in order.
    #[must_use]
    pub fn for_review(&self) -> Vec<Reported<'_>> {
        let mut findings = self.gravest_first();
        findings.sort_by_key(|reported| !reported.file.review.is_changed(reported.finding.line));
        findings
    }

    /// The counts by level in words, such as `1 error, 2 warnings`.
    #[must_use]
    pub fn counts(&self) -> String {
        let counted = Level::ALL.map(|level| (self.count(level), level.name()));
        let words: Vec<String> =
            counted.iter().filter(|(count, _)| *count > 0).map(|(count, name)| plural(*count as u64, name)).collect();
        if words.is_empty() { "no findings".to_owned() } else { words.join(", ") }
    }
}

/// Gives each change to the input it is about; the other ones come back as files of their own.
fn asides(changes: Vec<Change>, inputs: &[Input], outcomes: &mut [Outcome]) -> Vec<FileReport> {
    // what is said of a file that is no recording is not left out with it
    let is_reported = |place: usize| outcomes.get(place).is_some_and(|outcome| outcome.passed_over.is_none());
    let places: HashMap<&str, usize> = inputs
        .iter()
        .enumerate()
        .filter(|(place, _)| is_reported(*place))
        .map(|(place, input)| (input.from_root.as_str(), place))
        .collect();
    let mut files: Vec<FileReport> = Vec::new();
    for change in changes {
        if let Some(&place) = places.get(change.from_root.as_str()) {
            let findings = &mut outcomes[place].judgement.findings;
            findings.push(change.finding);
            findings.sort_by_key(|finding| (finding.index, finding.rule.id));
            continue;
        }
        if let Some(file) = files.iter_mut().find(|file| file.from_root == change.from_root) {
            file.findings.push(change.finding);
            continue;
        }
        let visibility = if change.exists { Visibility::Shown } else { Visibility::Deleted };
        files.push(FileReport {
            path: change.shown,
            from_root: change.from_root,
            calls: 0,
            failed: 0,
            repeated: 0,
            pairs: 0,
            divergence: None,
            chain: None,
            signature: None,
            failure: None,
            import: None,
            repeats: None,
            aside: true,
            review: Review { visibility, ..Review::default() },
            findings: vec![change.finding],
        });
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

/// Whether any rule that judges calls is on.
fn judges_calls(rules: &Selection, scope: bool) -> bool {
    call_rules(None).iter().any(|rule| rules.has(rule.rule())) || scope && rules.has(&PERMISSION_OVERREACH)
}

fn has_chain(file: &FileReport) -> bool {
    file.chain.is_some()
}

/// Whether there were calls, and nothing of them was judged: of none it is known what it was called with, or there is no
/// scope to hold them against, calls were made again, and the recorder kept no answer that could be compared.
fn nothing_judged(files: &[FileReport], scope: bool) -> bool {
    let is_blank = |file: &FileReport| {
        let Some(Unjudged { args_unknown, truncated, pairs, .. }) = file.import.as_ref().map(|import| import.unjudged)
        else {
            return false;
        };
        args_unknown >= file.calls || (!scope && pairs > 0 && truncated >= file.calls)
    };
    let mut judged = files.iter().filter(|file| file.is_judged() && !file.aside && file.calls > 0).peekable();
    judged.peek().is_some() && judged.all(is_blank)
}

/// Findings about files that are none of the inputs.
fn beside(changes: Vec<Change>) -> Vec<FileReport> {
    asides(changes, &[], &mut [])
}

/// What is said of losses that the configuration accepts: how often, and which entries accept none.
fn accepted(settings: &Settings, files: &[FileReport]) -> Vec<String> {
    let lossy = |file: &&FileReport| {
        file.import.as_ref().is_some_and(|import| import.warnings.iter().any(crate::formats::Warning::is_loss))
    };
    let mut remarks = Vec::new();
    for entry in &settings.allow_loss {
        let (path, reason) = (visible(&entry.path), visible(&entry.reason));
        if !entry.holds(settings.today) {
            let expired = entry.expires.map(|day| day.to_string()).unwrap_or_default();
            remarks.push(format!("allow-loss for '{path}' ({reason}) expired on {expired}; remove it or renew it"));
            continue;
        }
        let options = crate::formats::Options {
            allow_loss_in: entry.pattern().into_iter().collect(),
            ..crate::formats::Options::default()
        };
        let count = files.iter().filter(lossy).filter(|file| options.accepts_loss(&file.from_root)).count();
        remarks.push(match count {
            0 => format!("allow-loss for '{path}' ({reason}) accepted nothing; remove it"),
            count => {
                let files = plural(count as u64, "file");
                format!("allow-loss for '{path}' ({reason}): {files} of which a part is missing")
            }
        });
    }
    remarks
}

/// What is said of a seal that was signed before its recording had ended.
fn open_seal(file: &FileReport) -> Option<String> {
    let checked = file.signature.as_ref().filter(|checked| checked.standing == Standing::Signed)?;
    let open = checked.statement.as_ref().is_some_and(|statement| statement.state == State::Open);
    let why = "was signed while its recording went on: calls may have followed that it does not have";
    open.then(|| format!("{} {why}", file.path))
}

/// Whether a review shows an input: its path from the root says if it is in the repository.
fn visibility(input: &Input) -> Visibility {
    let absolute = input.from_root.starts_with('/') || input.from_root.get(1..3) == Some(":/");
    if input.path.is_none() || absolute { Visibility::Outside } else { Visibility::Shown }
}

/// The finding for a file that could not be read, or only partly.
fn malformed(failure: &Failure, partly: bool) -> Finding {
    let what = if partly { "not all of the recording can be read" } else { "the transcript cannot be read" };
    Finding {
        level: MALFORMED_TRANSCRIPT.level,
        line: failure.line,
        column: failure.column,
        file: failure.file.clone().map(Arc::new),
        detail: Some(format!("{what}: {failure}").into()),
        ..Finding::new(&MALFORMED_TRANSCRIPT, Fingerprint::new(&MALFORMED_TRANSCRIPT, &[failure.what.as_bytes()], 1))
    }
}

/// For each sealed transcript, the transcript of the same run that holds the same calls.
fn sealed_copies(command: Command, outcomes: &[Outcome]) -> Vec<Option<usize>> {
    let mut transcripts = HashMap::new();
    if command == Command::Audit {
        for (file, outcome) in outcomes.iter().enumerate() {
            if let Some(content) = outcome.judgement.content.filter(|_| outcome.chain.is_none()) {
                transcripts.entry(content).or_insert(file);
            }
        }
    }
    let copy = |outcome: &Outcome| {
        outcome.chain.as_ref().and(outcome.judgement.content).and_then(|content| transcripts.get(&content).copied())
    };
    outcomes.iter().map(copy).collect()
}

impl Report {
    /// What is not shown, in words to go on with behind the counts; empty if there is nothing.
    #[must_use]
    pub fn left_out(&self) -> String {
        let mut words = String::new();
        if self.known > 0 {
            words.push_str(&format!(", {} known by the baseline", self.known));
        }
        if self.suppressed > 0 {
            words.push_str(&format!(", {} suppressed", self.suppressed));
        }
        if self.below_min_level > 0 {
            words.push_str(&format!(", {} below the lowest level shown", self.below_min_level));
        }
        words
    }
}
