//! Files that are one recording together.

use super::run::Input;
use crate::import::{self, InSession};
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
    let mut groups: Vec<Vec<(InSession, Input)>> = groups.into_values().collect();
    groups.iter_mut().for_each(|group| group.sort_by(|(a, _), (b, _)| a.order.cmp(&b.order)));
    groups.sort_by(|a, b| a[0].0.order.cmp(&b[0].0.order));
    let mut groups = groups.into_iter().map(|group| {
        let named = group.iter().any(|(_, input)| input.named);
        let mut files = group.into_iter().map(|(_, input)| input);
        files.next().map(|first| Input { named, more: files.collect(), ..first })
    });
    made.into_iter().filter_map(|input| input.or_else(|| groups.next().flatten())).collect()
}

fn places(inputs: &[Input], threads: usize) -> Vec<Option<InSession>> {
    let found = Mutex::new(vec![None; inputs.len()]);
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((at, input)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            inputs.get(at).map(|input| (at, input))
        } {
            let place = input.path.as_deref().and_then(import::in_session);
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
