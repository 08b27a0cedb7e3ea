//! The recipe for a rule, tried: a rule with a state of its own that looks at arguments fires on a transcript, on a Claude
//! Code session and on a Codex rollout alike, with nothing said of formats in it.

use crate::sample;
use std::fs::File;
use std::path::Path;
use toolreplay::call::Call;
use toolreplay::engine::Ruleset;
use toolreplay::finding::{Finding, Level, Rule, SourceFile};
use toolreplay::formats::{self, Opening, Options, Recording};
use toolreplay::rules::{Arguments, CallRule, Memo, Needs, Occurrence, RuleState, Sink, Spot};
use toolreplay::tools::ToolSet;

static LONG_ARGUMENTS: Rule = Rule {
    id: "long-arguments",
    summary: "Arguments that grow from call to call.",
    level: Level::Note,
    page: "",
    security_severity: None,
    suppressible: true,
    precision: "low",
    message: |finding: &Finding| format!("tool '{}' was called with more than before", finding.tool_text()),
};

/// Fires where a call's arguments are longer than those of the call before it in the same context.
#[derive(Debug)]
struct LongArguments;

impl CallRule for LongArguments {
    fn rule(&self) -> &'static Rule {
        &LONG_ARGUMENTS
    }

    fn needs(&self) -> Needs {
        Needs { comparison: true, arguments: true, ..Needs::default() }
    }

    fn inspect_arguments(&self, call: &Arguments<'_>, _found: &mut Vec<Spot>) -> Option<Memo> {
        let members = call.arguments.members().map(|(_, value)| value.text().len() as u64).sum();
        Some([members, 0])
    }

    fn state(&self) -> Option<Box<dyn RuleState>> {
        Some(Box::new(State(None)))
    }
}

struct State(Option<u64>);

impl RuleState for State {
    fn observe(&mut self, call: &Call, memo: Option<Memo>, _before: &Occurrence, sink: &mut Sink<'_>) {
        let Some([length, _]) = memo else { return };
        if self.0.is_some_and(|before| before < length) {
            sink.hit(call, Level::Note, None);
        }
        self.0 = Some(length);
    }
}

fn found(path: &Path) -> Vec<u64> {
    let ruleset = Ruleset::audit(ToolSet::default_mutators(), None).with_rule(std::sync::Arc::new(LongArguments));
    let options = Options::default();
    let source = Box::new(File::open(path).unwrap());
    let judgement = match formats::open(source, Some(path), &options).unwrap() {
        Opening::Native(source) => formats::judge(source, &ruleset, 2).unwrap(),
        Opening::Foreign(foreign) => {
            let file = |path: &Path| SourceFile { shown: path.display().to_string(), from_root: String::new() };
            let mut recording = Recording::to_judge(&ruleset, &options);
            recording.add(foreign, file(path), &file, 2).unwrap();
            recording.finish().unwrap().judge(&ruleset).unwrap()
        }
        other => panic!("{other:?}"),
    };
    let own = judgement.findings.iter().filter(|finding| finding.rule.id == LONG_ARGUMENTS.id);
    own.map(|finding| finding.index.unwrap()).collect()
}

#[test]
fn a_new_rule_fires_on_every_kind_of_recording() {
    assert_eq!(found(&sample("session-dirty.jsonl")), [1, 4]);
    assert_eq!(found(&sample("rules/stuck-loop/bad-cycle-claude-code.jsonl")), [2, 5, 8]);
    assert_eq!(found(&sample("rules/stuck-loop/bad-numbers-codex.jsonl")), [10]);
}
