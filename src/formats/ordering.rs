//! The order of the records: within one agent that of the file, between agents that of time.
//!
//! Times go back within files (answers of parallel calls, agents written when they end), so an agent's times are first
//! made not to: a merge by time never reorders what one agent did.

use super::pairing::Pairing;
use super::warnings::Code;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

/// Which agents' calls become records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Agents {
    /// All, in the order of time: agents change the same files.
    #[default]
    Merged,
    /// The main agent's alone.
    Main,
    /// Each agent's by themselves.
    Separate,
}

/// The places of the pairs in order: one conversation after the other, within one as the agents ask for.
pub(crate) fn order(pairing: &mut Pairing, agents: Agents) -> Vec<u32> {
    let mut order = Vec::with_capacity(pairing.pairs.len());
    // conversations in the order in which they begin
    let mut scopes: Vec<Vec<u32>> = Vec::new();
    let mut numbers: HashMap<u32, usize> = HashMap::new();
    for (place, pair) in pairing.pairs.iter().enumerate() {
        let number = *numbers.entry(pair.scope).or_insert(scopes.len());
        if number == scopes.len() {
            scopes.push(Vec::new());
        }
        scopes[number].push(place as u32);
    }
    for mut scope in scopes {
        if pairing.by_time {
            scope.sort_by_key(|place| pairing.pairs[*place as usize].time.unwrap_or(i64::MAX));
        }
        let mut threads: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for place in &scope {
            threads.entry(pairing.pairs[*place as usize].thread).or_default().push(*place);
        }
        let mut threads: Vec<Vec<u32>> = threads.into_values().collect();
        threads.retain(|thread| !thread.is_empty());
        match agents {
            Agents::Main => {
                let main = threads.into_iter().find(|thread| pairing.pairs[thread[0] as usize].thread == 0);
                let main = main.unwrap_or_default();
                pairing.balance.excluded += (scope.len() - main.len()) as u64;
                order.extend(main);
            }
            Agents::Separate => order.extend(threads.into_iter().flatten()),
            Agents::Merged if pairing.by_time => order.extend(scope),
            Agents::Merged => merge(pairing, &threads, &scope, &mut order),
        }
    }
    order
}

fn merge(pairing: &mut Pairing, threads: &[Vec<u32>], scope: &[u32], order: &mut Vec<u32>) {
    let (mut times, mut back): (HashMap<u32, i64>, _) = (HashMap::new(), Vec::new());
    let mut timed = true;
    for thread in threads {
        let first = thread.iter().find_map(|place| pairing.pairs[*place as usize].time);
        timed &= first.is_some();
        let mut latest = first.unwrap_or(0);
        for &place in thread {
            let pair = &pairing.pairs[place as usize];
            if pair.time.is_some_and(|time| time < latest) {
                back.push(pair.at);
            }
            latest = pair.time.map_or(latest, |time| time.max(latest));
            if threads.len() > 1 {
                times.insert(place, latest);
            }
        }
    }
    for at in back {
        pairing.tally.warn(Code::TimeNotMonotonic, "", at, 1, "kept in the order of the file");
    }
    if threads.len() == 1 || !timed {
        // without times the order of the file is all there is
        order.extend(scope);
        return;
    }
    let mut next = vec![0_usize; threads.len()];
    let mut due = BinaryHeap::new();
    let key = |thread: usize, at: usize| {
        threads[thread].get(at).map(|&place| Reverse((times.get(&place).copied().unwrap_or(0), thread, place)))
    };
    due.extend((0..threads.len()).filter_map(|thread| key(thread, 0)));
    while let Some(Reverse((_, thread, place))) = due.pop() {
        order.push(place);
        next[thread] += 1;
        due.extend(key(thread, next[thread]));
    }
}
