//! What became of chains that do not hold by themselves: in which way they are broken, and those that go on from another
//! file of the same run.

use super::outcome::{Input, Outcome, broken_link};
use crate::formats::{self, Opening};
use crate::rules::BROKEN_LINK;
use crate::seal::{self, Break, BrokenLink, Chain, Damage, Start};
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;

/// Says of every broken chain what happened to it, where that can be told. A chain that goes on from one that holds, in
/// another file, holds as well; two that go on from the same link do not.
pub(super) fn explain(inputs: &[Input], outcomes: &mut [Outcome], threads: usize) {
    for (input, outcome) in inputs.iter().zip(outcomes.iter_mut()) {
        let Some(broken) = outcome.chain.as_ref().and_then(|chain| chain.broken.as_ref()) else { continue };
        if broken.kind == Break::Link
            && let Some(source) = again(input)
            && let Some(damage) = seal::damage(source, broken)
        {
            let broken = BrokenLink { damage: Some(damage), ..broken.clone() };
            replace(outcome, Some(broken));
        }
    }
    continued(inputs, outcomes, threads);
}

/// Finds what chains that start behind another one go on from, for as long as there is more to find.
fn continued(inputs: &[Input], outcomes: &mut [Outcome], threads: usize) {
    let waits = |outcome: &Outcome| {
        let broken = outcome.chain.as_ref()?.broken.as_ref()?;
        (broken.damage == Some(Damage::Continues)).then(|| broken.found.clone())
    };
    let mut heirs: HashMap<String, Vec<usize>> = HashMap::new();
    for (place, outcome) in outcomes.iter().enumerate() {
        if let Some(start) = waits(outcome) {
            heirs.entry(start).or_default().push(place);
        }
    }
    let holds =
        |outcome: &Outcome| outcome.chain.as_ref().is_some_and(|chain| chain.broken.is_none() && chain.links > 0);
    let mut heads: Vec<String> = Vec::new();
    for outcome in outcomes.iter().filter(|outcome| holds(outcome)) {
        heads.extend(outcome.chain.as_ref().map(|chain| chain.head.clone()));
    }
    // copies of one file are no fork
    heads.sort();
    heads.dedup();
    while let Some(head) = heads.pop() {
        let Some(places) = heirs.remove(&head) else { continue };
        for &place in &places {
            goes_on_from(&inputs[place], &mut outcomes[place], &head, threads);
        }
        let mut firsts: HashMap<String, usize> = HashMap::new();
        for &place in &places {
            let Some(chain) = &outcomes[place].chain else { continue };
            if chain.broken.is_none() {
                heads.push(chain.head.clone());
                firsts.entry(chain.head.clone()).or_insert(place);
            }
        }
        if firsts.len() > 1 {
            forked(inputs, outcomes, &places, &head);
        }
    }
}

/// Marks chains of which several go on from one link. One may be the beginning of another, as a copy taken earlier is.
fn forked(inputs: &[Input], outcomes: &mut [Outcome], places: &[usize], head: &str) {
    let pairs: Vec<(usize, usize)> = places
        .iter()
        .flat_map(|&one| places.iter().map(move |&other| (one, other)))
        .filter(|(one, other)| one != other && part(&inputs[*one], &inputs[*other]))
        .collect();
    for (one, other) in pairs {
        let broken = BrokenLink {
            kind: Break::Fork,
            index: 0,
            line: 1,
            width: 0,
            expected: head.to_owned(),
            found: inputs[other].shown.clone(),
            damage: Some(Damage::Forked),
        };
        if outcomes[one].chain.as_ref().is_some_and(|chain| chain.broken.is_none()) {
            replace(&mut outcomes[one], Some(broken));
        }
    }
}

/// Whether neither of two chains is the other's beginning.
fn part(one: &Input, other: &Input) -> bool {
    let extends = |one: &Input, other: &Input| {
        let (Some(one), Some(other)) = (again(one), again(other)) else { return false };
        seal::extends(one, other).is_ok_and(|broken| broken.is_none())
    };
    !extends(one, other) && !extends(other, one)
}

/// Verifies a chain anew that goes on from the one with the last digest `head`.
pub fn goes_on_from(input: &Input, outcome: &mut Outcome, head: &str, threads: usize) {
    let Some(source) = again(input) else { return };
    let Ok(chain) = seal::verify_from(source, threads, Start::After(head)) else { return };
    let damage = match (&chain.broken, again(input)) {
        (Some(broken), Some(source)) => seal::damage(source, broken),
        _ => None,
    };
    let broken = chain.broken.clone().map(|broken| BrokenLink { damage, ..broken });
    outcome.chain = Some(Chain { broken: None, ..chain });
    replace(outcome, broken);
}

/// Puts another broken link, or none, in the place of the one there is.
fn replace(outcome: &mut Outcome, broken: Option<BrokenLink>) {
    let findings = &mut outcome.judgement.findings;
    findings.retain(|finding| finding.rule.id != BROKEN_LINK.id);
    if let Some(broken) = &broken {
        let at = findings.partition_point(|finding| finding.index < Some(broken.index));
        findings.insert(at, broken_link(broken));
    }
    if let Some(chain) = &mut outcome.chain {
        chain.broken = broken;
    }
}

/// The file of a sealed transcript once more, if it can be read twice.
fn again(input: &Input) -> Option<Box<dyn Read + Send>> {
    let path = input.path.as_deref().filter(|path| path.is_file())?;
    match formats::open(Box::new(File::open(path).ok()?), Some(path), &formats::Options::default()).ok()? {
        Opening::Native(source) => Some(source),
        Opening::Foreign(_) | Opening::Unknown(..) | Opening::Other(..) => None,
    }
}
