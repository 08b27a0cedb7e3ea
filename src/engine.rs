//! Runs rules over calls: workers inspect, one judge observes in order. It knows no rule and no format.
//!
//! Readers of formats ask a [`Ruleset`] to look at arguments and results where they read them, on many threads, and hand
//! the calls to a `Judge` in the order of the recording. What is kept of a call is of fixed size.

use crate::call::{Call, Key, Print, ResultState};
use crate::excerpt::{self, Excerpt, Focus};
use crate::finding::{Finding, Fingerprint, Level, Place, Rule, SourceFile, ToolName};
use crate::json::view::Value;
use crate::rules::{
    Arguments, CallIndex, CallRule, Changes, Draft, Memo, NON_DETERMINISM, Needs, NonDeterminism, Overreach,
    RedundantCall, RuleState, SeedIndex, SeedStep, Sink, Spot, call_rules, seed_hits,
};
use crate::scope::Applied;
use crate::tools::{ToolSet, Traits};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

/// Distinct tool names that are kept once for all findings, and the bytes of the longest of them.
const INTERNED: usize = 4096;

/// What calls are judged by.
#[derive(Debug, Clone)]
pub struct Ruleset {
    rules: Vec<Arc<dyn CallRule>>,
    /// The tools that are assumed to change state.
    pub mutators: ToolSet,
    /// What is known of tools besides.
    pub traits: Arc<Traits>,
    /// Transcripts are judged as `replay` defines it, by their four fields alone.
    seed: bool,
    needs: Needs,
    key: Key,
}

impl Ruleset {
    fn new(rules: Vec<Arc<dyn CallRule>>, mutators: ToolSet, seed: bool) -> Ruleset {
        let needs = rules.iter().fold(Needs::default(), |needs, rule| needs.and(rule.needs()));
        Ruleset { rules, mutators, traits: Arc::default(), seed, needs, key: Key::random() }
    }

    /// Rules of `replay`.
    #[must_use]
    pub fn replay(mutators: ToolSet) -> Ruleset {
        Ruleset::new(vec![Arc::new(NonDeterminism), Arc::new(RedundantCall)], mutators, true)
    }

    /// Rules of `scope`.
    #[must_use]
    pub fn scope(scope: Arc<Applied>) -> Ruleset {
        Ruleset::new(vec![Arc::new(Overreach::new(scope))], ToolSet::default(), false)
    }

    /// Rules of `audit`: all of them, those that need a scope where there is one.
    #[must_use]
    pub fn audit(mutators: ToolSet, scope: Option<Arc<Applied>>) -> Ruleset {
        let mut rules = call_rules(scope.as_ref());
        rules.extend(scope.map(|scope| Arc::new(Overreach::new(scope)) as Arc<dyn CallRule>));
        Ruleset::new(rules, mutators, false)
    }

    /// The same with what is known of tools.
    #[must_use]
    pub fn with_traits(mut self, traits: Traits) -> Ruleset {
        self.traits = Arc::new(traits);
        self
    }

    /// The same with one rule more.
    #[must_use]
    pub fn with_rule(mut self, rule: Arc<dyn CallRule>) -> Ruleset {
        self.needs = self.needs.and(rule.needs());
        self.rules.push(rule);
        self
    }

    /// The same without the rules that are not wanted.
    #[must_use]
    pub fn only(mut self, wanted: impl Fn(&'static Rule) -> bool) -> Ruleset {
        self.rules.retain(|rule| wanted(rule.rule()));
        self.needs = self.rules.iter().fold(Needs::default(), |needs, rule| needs.and(rule.needs()));
        self
    }

    /// The rules that judge calls.
    pub fn rules(&self) -> impl Iterator<Item = &dyn CallRule> {
        self.rules.iter().map(AsRef::as_ref)
    }

    /// What its rules want to see.
    #[must_use]
    pub fn needs(&self) -> Needs {
        self.needs
    }

    /// Whether transcripts are judged by their four fields alone.
    pub(crate) fn is_seed(&self) -> bool {
        self.seed
    }

    /// The key of the prints that this ruleset compares.
    pub(crate) fn key(&self) -> &Key {
        &self.key
    }

    /// Lets every rule look at a call's arguments.
    pub(crate) fn inspect_arguments(&self, arguments: &Arguments<'_>, noted: &mut Noted) {
        for (place, rule) in self.rules.iter().enumerate() {
            let before = noted.buffer.len();
            let memo = rule.inspect_arguments(arguments, &mut noted.buffer);
            noted.sort_in(place as u8, before, memo);
        }
    }

    /// Lets every rule that wants to look at a result.
    pub(crate) fn inspect_result(&self, result: Value<'_>, noted: &mut Noted) {
        for (place, rule) in self.rules.iter().enumerate().filter(|(_, rule)| rule.needs().results) {
            let before = noted.buffer.len();
            rule.inspect_result(&result, &mut noted.buffer);
            noted.sort_in(place as u8, before, None);
        }
    }
}

/// What the rules noted of one call, each with the place of the rule in its set.
#[derive(Debug, Clone, Default)]
pub(crate) struct Noted {
    buffer: Vec<Spot>,
    spots: Vec<(u8, Spot)>,
    memos: Vec<(u8, Memo)>,
}

impl Noted {
    fn sort_in(&mut self, rule: u8, from: usize, memo: Option<Memo>) {
        self.spots.extend(self.buffer.drain(from..).map(|spot| (rule, spot)));
        self.memos.extend(memo.map(|memo| (rule, memo)));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.spots.is_empty() && self.memos.is_empty()
    }

    /// Arguments stand `lines` lines further down than was known where they were noted.
    pub(crate) fn shift(&mut self, lines: u64) {
        for argument in self.spots.iter_mut().filter_map(|(_, spot)| spot.argument.as_mut()) {
            argument.line += lines;
        }
    }

    /// Takes in what was noted elsewhere of the same call.
    pub(crate) fn add(&mut self, other: Noted) {
        self.spots.extend(other.spots);
        self.memos.extend(other.memos);
    }
}

/// What came of judging one recording.
#[derive(Debug, Clone, Default)]
pub struct Judgement {
    /// Records.
    pub calls: u64,
    /// Calls that had an identical call before them, so that their answers could be compared.
    pub pairs: u64,
    /// Identical calls that could not be compared, because one of the two results is not known.
    pub unknown_pairs: u64,
    /// Calls that were made before, whether the two answers could be compared or not.
    pub repeats: u64,
    /// Calls of which the tool said that they failed, and those that never ran.
    pub failed: u64,
    /// The first index whose answer differed from an earlier identical call's.
    pub divergence: Option<u64>,
    /// Sorted by index, then kind.
    pub findings: Vec<Finding>,
    /// Stands for all calls and responses in order: equal only for the same calls, under the same ruleset.
    pub content: Option<[u8; 32]>,
}

/// A finding's call, as its reader knows it.
#[derive(Debug, Default)]
pub(crate) struct Subject {
    /// The arguments that make a difference, in canonical form.
    pub(crate) args: Vec<u8>,
    /// All of them, where that is more.
    pub(crate) whole: Option<Vec<u8>>,
    /// The tool's name as a JSON string in canonical form.
    pub(crate) tool: Vec<u8>,
    /// The length of the line, or of the call within it, in UTF-16 code units; 0 if unknown.
    pub(crate) width: u32,
    pub(crate) column: u32,
    /// The column in UTF-16 code units.
    pub(crate) start: u32,
    /// The file, if it is not the one that was named.
    pub(crate) file: Option<Arc<SourceFile>>,
}

/// Where the calls of one recording are judged, in order.
pub(crate) struct Judge<'r> {
    ruleset: &'r Ruleset,
    contexts: HashMap<u32, Context>,
    changes: Changes,
    /// What `replay` remembers of a transcript.
    seed: SeedIndex,
    judgement: Judgement,
    content: blake3::Hasher,
    drafts: Vec<Draft>,
    findings: Vec<Finding>,
    tools: HashMap<Box<[u8]>, Arc<ToolName>>,
    /// Findings that have an excerpt.
    excerpts: usize,
    /// The drafts of what stands in several calls of a tool, by the rule and the number that they have in common.
    same: HashMap<(&'static str, u64, Arc<ToolName>), usize>,
    /// How often each rule fired on each call: one map a rule, calls by half their print.
    occurrences: HashMap<&'static str, HashMap<u64, u32>>,
}

/// One agent's context: what rules remember of it, each in the rule's place.
struct Context {
    index: CallIndex,
    states: Vec<Option<Box<dyn RuleState>>>,
}

impl<'r> Judge<'r> {
    pub(crate) fn new(ruleset: &'r Ruleset) -> Judge<'r> {
        Judge {
            ruleset,
            contexts: HashMap::new(),
            changes: Changes::default(),
            seed: SeedIndex::default(),
            judgement: Judgement::default(),
            content: blake3::Hasher::new(),
            drafts: Vec::new(),
            findings: Vec::new(),
            tools: HashMap::new(),
            excerpts: 0,
            same: HashMap::new(),
            occurrences: HashMap::new(),
        }
    }

    /// Takes in the next call, made by the agent with these names. `subject` is asked for only where a rule fired.
    ///
    /// # Errors
    /// What `subject` says.
    pub(crate) fn observe(
        &mut self,
        call: &Call,
        agents: &[&str],
        noted: &Noted,
        subject: impl FnOnce() -> io::Result<Subject>,
    ) -> io::Result<()> {
        let start = self.drafts.len();
        self.judgement.failed += u64::from(call.failed || !call.ran());
        if self.ruleset.needs.comparison {
            self.compare(call, noted);
        }
        let mut settled = Vec::new();
        for (place, spot) in &noted.spots {
            let rule = &self.ruleset.rules[usize::from(*place)];
            if let Some(level) = rule.settle(spot, call, agents) {
                settled.push((rule, level, spot));
            }
        }
        if start == self.drafts.len() && settled.is_empty() {
            return Ok(());
        }
        let subject = subject()?;
        for at in start..self.drafts.len() {
            let (rule, level, related) = (self.drafts[at].rule, self.drafts[at].level, self.drafts[at].related);
            let finding = self.finding(rule, level, call, &subject);
            let excerpt = self.excerpt(&subject, Focus::default());
            self.findings.push(Finding { related, excerpt, ..finding });
        }
        for (by, level, spot) in settled {
            let rule = by.rule();
            // of one tool: what is said of a tool must not be said of another one
            let same = spot.same.map(|same| (rule.id, same, self.tool_name(&subject.tool)));
            if let Some(draft) = same.as_ref().and_then(|same| self.same.get(same).copied()) {
                self.drafts[draft].belongs(call.place, level);
                continue;
            }
            self.same.extend(same.map(|same| (same, self.drafts.len())));
            let finding = self.finding(rule, level, call, &subject);
            let argument = spot.argument.as_ref().map_or("", |argument| &argument.pointer);
            let excerpt = self.excerpt(&subject, Focus { argument, part: by.part(spot) });
            let mut draft = Draft::about(rule, level, call.place);
            draft.detail = Some(Arc::clone(&spot.detail));
            self.drafts.push(draft);
            let (pattern, argument) = (spot.pattern, spot.argument.clone());
            self.findings.push(Finding { pattern, argument, excerpt, ..finding });
        }
        Ok(())
    }

    fn compare(&mut self, call: &Call, noted: &Noted) {
        self.content.update(call.same.bytes());
        if let Some(result) = &call.result {
            self.content.update(result.bytes());
        }
        let flags = u8::from(call.failed) | u8::from(call.ran()) << 1 | u8::from(call.state.is_some()) << 2;
        self.content.update(&[flags, u8::from(call.result.is_some())]);
        let rules = &self.ruleset.rules;
        let context = self.contexts.entry(call.context).or_insert_with(|| Context {
            index: CallIndex::default(),
            states: rules.iter().map(|rule| rule.state()).collect(),
        });
        self.changes.take(call);
        let before = context.index.observe(call, &self.changes);
        self.judgement.pairs += u64::from(before.compared());
        self.judgement.unknown_pairs += u64::from(before.unknown);
        self.judgement.repeats += u64::from(before.last.is_some());
        for (place, state) in context.states.iter_mut().enumerate() {
            let Some(state) = state else { continue };
            let memo = noted.memos.iter().find(|(rule, _)| usize::from(*rule) == place).map(|(_, memo)| *memo);
            state.observe(call, memo, &before, &mut Sink::new(&mut self.drafts, rules[place].rule()));
        }
    }

    /// Takes in the next call of a transcript that `replay` judges.
    ///
    /// # Errors
    /// What `subject` says.
    pub(crate) fn observe_seed(
        &mut self,
        step: SeedStep,
        subject: impl FnOnce() -> io::Result<Subject>,
    ) -> io::Result<()> {
        self.content.update(step.call.bytes());
        self.content.update(step.response.bytes());
        let before = self.seed.observe(step);
        self.judgement.pairs += u64::from(before.first.is_some());
        self.judgement.repeats += u64::from(before.first.is_some());
        if before.first.is_none() {
            return Ok(());
        }
        let hits: Vec<_> = seed_hits(&before).collect();
        if hits.is_empty() {
            return Ok(());
        }
        let subject = subject()?;
        for (rule, level, related) in hits {
            let finding = self.found(rule, level, step.place, step.call, &subject);
            self.drafts.push(Draft::about(rule, level, step.place));
            self.findings.push(Finding { related: Some(related), ..finding });
        }
        Ok(())
    }

    /// What was called, as long as there are few findings.
    fn excerpt(&mut self, subject: &Subject, focus: Focus<'_>) -> Option<Box<Excerpt>> {
        self.excerpts += 1;
        let arguments = subject.whole.as_ref().unwrap_or(&subject.args);
        (self.excerpts <= excerpt::MOST).then(|| Box::new(Excerpt::of(arguments, focus)))
    }

    fn finding(&mut self, rule: &'static Rule, level: Level, call: &Call, subject: &Subject) -> Finding {
        let finding = self.found(rule, level, call.place, call.same, subject);
        Finding { never_ran: matches!(call.state, Some(ResultState::NotExecuted(_))), ..finding }
    }

    fn found(&mut self, rule: &'static Rule, level: Level, place: Place, call: Print, subject: &Subject) -> Finding {
        let occurrence = self.occurrences.entry(rule.id).or_default().entry(call.number()).or_insert(0);
        *occurrence += 1;
        let parts: [&[u8]; 5] = [b"{\"args\":", &subject.args, b",\"tool\":", &subject.tool, b"}"];
        let fingerprint = Fingerprint::new(rule, &[&parts.concat()], *occurrence);
        let tool = self.tool_name(&subject.tool);
        Finding {
            level,
            index: Some(place.index),
            line: place.line,
            column: u64::from(subject.column),
            start: subject.start,
            width: subject.width,
            file: subject.file.clone(),
            tool: Some(tool),
            ..Finding::new(rule, fingerprint)
        }
    }

    fn tool_name(&mut self, literal: &[u8]) -> Arc<ToolName> {
        if let Some(name) = self.tools.get(literal) {
            return Arc::clone(name);
        }
        let name = Arc::new(ToolName::new(literal));
        if self.tools.len() < INTERNED && literal.len() < INTERNED {
            self.tools.insert(literal.into(), Arc::clone(&name));
        }
        name
    }

    /// What came of it, when all of `calls` calls were taken in.
    pub(crate) fn judgement(mut self, calls: u64) -> Judgement {
        let mut ended: Vec<(u32, Context)> = self.contexts.into_iter().collect();
        ended.sort_by_key(|(number, _)| *number);
        for (_, mut context) in ended {
            for (place, state) in context.states.iter_mut().enumerate() {
                if let Some(state) = state {
                    state.finish(&mut Sink::new(&mut self.drafts, self.ruleset.rules[place].rule()));
                }
            }
        }
        let mut findings: Vec<Finding> = Vec::with_capacity(self.findings.len());
        for (mut finding, draft) in self.findings.into_iter().zip(self.drafts) {
            if draft.withdrawn {
                continue;
            }
            finding.level = draft.level;
            finding.others = draft.others;
            finding.count = draft.count;
            finding.detail = draft.detail;
            findings.push(finding);
        }
        findings.sort_by_key(|finding| (finding.index, finding.rule.id));
        let diverged = findings.iter().find(|finding| finding.rule.id == NON_DETERMINISM.id);
        let content = self.ruleset.needs.comparison.then(|| *self.content.finalize().as_bytes());
        Judgement { calls, divergence: diverged.and_then(|finding| finding.index), findings, content, ..self.judgement }
    }
}
