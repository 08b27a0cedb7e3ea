//! Under which names a scope may have lists for the agents of a recording, settled when all of it was read: what kind of
//! agent one is, and which call of which other one started it, may stand behind its own calls and in another file.

use super::pairing::Pairing;
use crate::json::view;
use crate::rules::agent_names;
use std::collections::HashMap;
use std::io;

/// How many agents above one are asked for a name. Who would be further away is the session's own agent's.
const LEVELS: usize = 16;
/// Arguments by which a call says what kind of agent it starts.
const KINDS: [&str; 4] = ["subagent_type", "agent_type", "agent_name", "subagent"];

/// What is known of one agent.
#[derive(Debug, Clone, Default)]
struct Known {
    kinds: Vec<String>,
    parent: usize,
}

/// Of each agent the names besides its own: its kinds, else those of the agents that started it. Empty for the main one.
///
/// # Errors
/// A temporary file that cannot be read.
pub(super) fn of(pairing: &mut Pairing) -> io::Result<Vec<Vec<String>>> {
    let count = pairing.threads.len();
    let mut lineages = vec![Vec::new(); count];
    if count < 2 {
        return Ok(lineages);
    }
    let mut scopes: Vec<Option<u32>> = vec![None; count];
    for pair in &pairing.pairs {
        scopes[pair.thread as usize].get_or_insert(pair.scope);
    }
    let mut started_by: HashMap<&str, Vec<&str>> = HashMap::new();
    for (call, threads) in pairing.started() {
        for thread in threads {
            started_by.entry(thread).or_default().push(call);
        }
    }
    // the call that started each agent: in some formats the agent has the call's id
    let mut starts: Vec<Option<u32>> = vec![None; count];
    for (place, thread) in pairing.threads.iter().enumerate().skip(1) {
        let Some(scope) = scopes[place] else { continue };
        let calls = started_by.get(&*thread.name).into_iter().flatten().copied().chain([&*thread.name]);
        starts[place] = calls.filter_map(|call| pairing.call_with_id(u64::from(scope), call)).next();
    }
    let mut known: Vec<Known> = vec![Known::default(); count];
    let mut args = Vec::new();
    for (place, start) in starts.into_iter().enumerate().skip(1) {
        let told = pairing.kinds(&pairing.threads[place].name).to_vec();
        let own = &mut known[place];
        own.kinds = told;
        let Some(start) = start else { continue };
        let pair = &pairing.pairs[start as usize];
        own.parent = pair.thread as usize;
        let handle = pair.args;
        pairing.store.get(handle, &mut args)?;
        let Ok(object) = view::only_value(&args) else { continue };
        for kind in KINDS.iter().filter_map(|name| object.str_at(name)).filter(|kind| !kind.is_empty()) {
            if !own.kinds.iter().any(|own| **own == *kind) {
                own.kinds.push(kind.into_owned());
            }
        }
    }
    for (place, lineage) in lineages.iter_mut().enumerate().skip(1) {
        // from the furthest that still counts down to the agent itself
        let mut above = vec![place];
        while let Some(&last) = above.last()
            && known[last].kinds.is_empty()
            && known[last].parent != 0
            && above.len() < LEVELS
            && !above.contains(&known[last].parent)
        {
            above.push(known[last].parent);
        }
        let mut names: Vec<String> = Vec::new();
        for &agent in above.iter().rev() {
            let id = (agent != place).then(|| &*pairing.threads[agent].name);
            names = agent_names(id, &known[agent].kinds, &names);
        }
        *lineage = names;
    }
    Ok(lineages)
}
