//! Files that are one recording together.

use super::outcome::Input;
use crate::formats::{self, InSession};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Makes one input of the captures of each session: the first of them with the others in [`Input::more`], in the order of
/// observation. Sessions stand where captures of theirs stood, and follow each other in that order as well; all other
/// inputs stay as they are.
#[must_use]
pub fn sessions(inputs: Vec<Input>, threads: usize) -> Vec<Input> {
    let places = places(&inputs, threads);
    let mut made: Vec<Option<Input>> = Vec::new();
    let mut groups: HashMap<String, Vec<(InSession, Input)>> = HashMap::new();
    for (input, place) in inputs.into_iter().zip(places) {
        match place {
            None => made.push(Some(input)),
            Some(place) => {
                let group = groups.entry(place.session.clone()).or_default();
                if group.is_empty() {
                    made.push(None);
                }
                group.push((place, input));
            }
        }
    }
    let order = |(place, input): &(InSession, Input)| (place.time.clone(), place.request.clone(), input.shown.clone());
    let mut groups: Vec<Vec<(InSession, Input)>> = groups.into_values().collect();
    groups.iter_mut().for_each(|group| group.sort_by_cached_key(order));
    groups.sort_by_cached_key(|group| order(&group[0]));
    let groups: Vec<Vec<(InSession, Input)>> = groups.into_iter().map(parents_first).collect();
    let mut groups = groups.into_iter().map(|group| {
        let named = group.iter().any(|(_, input)| input.named);
        let mut files = group.into_iter().map(|(_, input)| input);
        files.next().map(|first| Input { named, more: files.collect(), ..first })
    });
    families(made.into_iter().filter_map(|input| input.or_else(|| groups.next().flatten())).collect(), threads)
}

/// Makes one input of files that begin with the same history, as a session that was forked or resumed does: what they
/// repeat of each other counts once. The first of them stands for all.
fn families(inputs: Vec<Input>, threads: usize) -> Vec<Input> {
    let keys = each(&inputs, threads, |input| {
        let path = input.path.as_deref().filter(|_| input.more.is_empty())?;
        formats::history(path)
    });
    let mut made: Vec<Input> = Vec::new();
    let mut first: HashMap<String, usize> = HashMap::new();
    for (input, key) in inputs.into_iter().zip(keys) {
        let known = key.as_ref().and_then(|key| first.get(key)).and_then(|at| made.get_mut(*at));
        match (known, key) {
            (Some(family), _) => {
                family.named |= input.named;
                family.more.push(input);
            }
            (None, key) => {
                first.extend(key.map(|key| (key, made.len())));
                made.push(input);
            }
        }
    }
    made
}

/// The captures with each request behind those that it follows, whatever the clock says of them.
fn parents_first(group: Vec<(InSession, Input)>) -> Vec<(InSession, Input)> {
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, (place, _)) in group.iter().enumerate() {
        places.entry(place.request.clone()).or_default().push(at);
    }
    let parents: Vec<Vec<usize>> = group
        .iter()
        .map(|(place, _)| place.parents.iter().filter_map(|parent| places.get(parent)).flatten().copied().collect())
        .collect();
    let mut order = Vec::with_capacity(group.len());
    let mut seen = vec![false; group.len()];
    for start in 0..group.len() {
        // what waits, and how many of its parents were looked at
        let mut waiting = vec![(start, 0)];
        while let Some((at, next)) = waiting.pop() {
            if next == 0 && std::mem::replace(&mut seen[at], true) {
                continue;
            }
            match parents[at].get(next) {
                Some(parent) => waiting.extend([(at, next + 1), (*parent, 0)]),
                None => order.push(at),
            }
        }
    }
    let mut group: Vec<Option<(InSession, Input)>> = group.into_iter().map(Some).collect();
    order.into_iter().filter_map(|at| group[at].take()).collect()
}

fn places(inputs: &[Input], threads: usize) -> Vec<Option<InSession>> {
    each(inputs, threads, |input| input.path.as_deref().and_then(formats::in_session))
}

/// What is asked of each input, by several threads.
fn each<T: Clone + Send>(inputs: &[Input], threads: usize, ask: impl Fn(&Input) -> Option<T> + Sync) -> Vec<Option<T>> {
    let found = Mutex::new(vec![None; inputs.len()]);
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((at, input)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            inputs.get(at).map(|input| (at, input))
        } {
            let place = ask(input);
            if place.is_some() {
                found.lock().unwrap_or_else(PoisonError::into_inner)[at] = place;
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(inputs.len() / 16) {
            scope.spawn(work);
        }
        work();
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner)
}
