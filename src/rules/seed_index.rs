//! What the seed commands remember of the calls before: one fixed-size entry a distinct call, never its text.
//!
//! `replay` knows nothing of a call but its print and whether its tool is a mutator, and holds each answer against the
//! first identical call's. `audit` knows more and remembers more: see `call_index`.

use crate::call::Print;
use crate::finding::Place;
use hashbrown::HashTable;

/// One call, as the history takes it in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SeedStep {
    /// Where the record stands.
    pub(crate) place: Place,
    /// The print of `args` and `tool`.
    pub(crate) call: Print,
    /// The print of `response`.
    pub(crate) response: Print,
    /// Whether the tool is assumed to change state.
    pub(crate) mutator: bool,
}

/// An identical call that came before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Earlier {
    /// Where it stands.
    pub(crate) place: Place,
    /// Whether its response has the same canonical form.
    pub(crate) same_response: bool,
}

/// A call with what the rules may know of the calls before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SeedOccurrence {
    /// Whether its tool is assumed to change state.
    pub(crate) mutator: bool,
    /// The first identical call, if there was one.
    pub(crate) first: Option<Earlier>,
    /// The record right before, if it is an identical call.
    pub(crate) right_before: Option<Earlier>,
    /// Whether a mutator was called since the first identical call, that one included.
    pub(crate) mutation_since_first: bool,
    /// Whether a different call came between this one and the first identical one.
    pub(crate) others_since_first: bool,
}

const SHARDS: usize = 16;
const CHUNK: usize = 1024;

/// The first occurrence of a call. Bytes only, so that entries pack without gaps.
#[derive(Clone, Copy)]
struct Entry {
    /// Most of the call's print. Under a key nobody knows, 96 bits tell all calls of a transcript apart but for one chance
    /// in 2^32, were there four thousand million of them.
    call: [u8; 12],
    /// Half of the response's print, which is held against one other alone.
    response: [u8; 8],
    /// `MAX_RECORDS` keeps indexes within 32 bits.
    index: [u8; 4],
    line: [u8; 5],
}

impl Entry {
    /// As [`Print::number`].
    fn number(&self) -> u64 {
        u64::from_le_bytes(*self.call.first_chunk().unwrap_or(&[0; 8]))
    }

    fn place(&self) -> Place {
        let [a, b, c, d, e] = self.line;
        let line = u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]);
        Place { index: u64::from(u32::from_le_bytes(self.index)), line }
    }
}

/// Entries in chunks that never move, and a table of their numbers.
#[derive(Default)]
struct Shard {
    chunks: Vec<Vec<Entry>>,
    table: HashTable<u32>,
}

impl Shard {
    fn entry(chunks: &[Vec<Entry>], number: u32) -> &Entry {
        &chunks[number as usize / CHUNK][number as usize % CHUNK]
    }

    fn first(&self, call: &Print) -> Option<&Entry> {
        let number = self.table.find(call.number(), |&number| Self::entry(&self.chunks, number).call == call.most())?;
        Some(Self::entry(&self.chunks, *number))
    }

    fn insert(&mut self, entry: Entry) {
        if self.table.len() == self.table.capacity() {
            self.grow();
        }
        if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        let last = self.chunks.len() - 1;
        let number = (last * CHUNK + self.chunks[last].len()) as u32;
        self.chunks[last].push(entry);
        let chunks = &self.chunks;
        self.table.insert_unique(entry.number(), number, |&number| Self::entry(chunks, number).number());
    }

    /// Makes the table anew, twice as large. The entries know all it says: the old one goes first, so that there never
    /// are two, and the entries are read in the order they stand in memory.
    fn grow(&mut self) {
        let room = (2 * self.table.len()).max(16);
        self.table = HashTable::new();
        self.table.reserve(room, |_| 0);
        let entries = self.chunks.iter().flatten();
        for (number, entry) in entries.enumerate() {
            self.table.insert_unique(entry.number(), number as u32, |_| 0);
        }
    }
}

/// The calls of one transcript so far.
#[derive(Default)]
pub(crate) struct SeedIndex {
    shards: [Shard; SHARDS],
    previous: Option<SeedStep>,
    /// Index of the last call to a mutator.
    last_mutation: Option<u64>,
    /// Index from which on all calls are identical to the previous one.
    run_start: u64,
}

impl std::fmt::Debug for SeedIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let distinct: usize = self.shards.iter().map(|shard| shard.table.len()).sum();
        f.debug_struct("SeedIndex").field("distinct", &distinct).finish_non_exhaustive()
    }
}

impl SeedIndex {
    /// Takes in the next call and says what came before it.
    pub(crate) fn observe(&mut self, step: SeedStep) -> SeedOccurrence {
        let place = step.place;
        let right_before = self.previous.filter(|previous| previous.call == step.call);
        if right_before.is_none() {
            self.run_start = place.index;
        }
        let shard = &mut self.shards[step.call.shard()];
        let first = shard
            .first(&step.call)
            .map(|entry| Earlier { place: entry.place(), same_response: entry.response == step.response.half() });
        if first.is_none() {
            let [a, b, c, d, e, ..] = place.line.to_le_bytes();
            let index = (place.index as u32).to_le_bytes();
            shard.insert(Entry {
                call: step.call.most(),
                response: step.response.half(),
                index,
                line: [a, b, c, d, e],
            });
        }
        let occurrence = SeedOccurrence {
            mutator: step.mutator,
            first,
            right_before: right_before
                .map(|previous| Earlier { place: previous.place, same_response: previous.response == step.response }),
            mutation_since_first: first.is_some_and(|first| self.last_mutation >= Some(first.place.index)),
            others_since_first: first.is_some_and(|first| self.run_start > first.place.index),
        };
        if step.mutator {
            self.last_mutation = Some(place.index);
        }
        self.previous = Some(step);
        occurrence
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::Key;

    fn print(byte: u8) -> Print {
        Print::from([byte; 16])
    }

    fn observe(calls: &[(u8, u8, bool)]) -> Vec<SeedOccurrence> {
        let mut history = SeedIndex::default();
        let steps = calls.iter().enumerate().map(|(index, &(call, response, mutator))| SeedStep {
            place: Place { index: index as u64, line: index as u64 + 1 },
            call: print(call),
            response: print(response),
            mutator,
        });
        steps.map(|step| history.observe(step)).collect()
    }

    #[test]
    fn a_call_knows_its_first_and_its_neighbour() {
        let seen = observe(&[(1, 1, false), (1, 1, false), (2, 1, false), (1, 2, false), (3, 0, true), (1, 1, false)]);
        assert_eq!(seen[0].first, None);
        assert_eq!(seen[1].right_before.map(|earlier| earlier.place.index), Some(0));
        assert_eq!(seen[3].first.map(|earlier| (earlier.place.index, earlier.same_response)), Some((0, false)));
        assert!(seen[3].right_before.is_none() && seen[3].others_since_first && !seen[3].mutation_since_first);
        assert!(seen[5].mutation_since_first && seen[5].first.is_some_and(|first| first.same_response));
    }

    #[test]
    fn a_mutator_is_a_state_change_for_its_own_repeat() {
        let seen = observe(&[(1, 1, true), (1, 2, true)]);
        assert!(seen[1].mutation_since_first && !seen[1].others_since_first);
    }

    #[test]
    fn many_distinct_calls_are_all_found_again() {
        let mut history = SeedIndex::default();
        let key = Key::random();
        let mut scratch = crate::json::Scratch::default();
        for index in 0..40_000_u64 {
            let text = (index % 20_000).to_string();
            let span = crate::json::canonical(text.as_bytes(), &mut scratch).unwrap();
            let call = key.print(&[span.get(text.as_bytes(), &scratch)]);
            let step = SeedStep { place: Place { index, line: index + 1 }, call, response: call, mutator: false };
            let first = history.observe(step).first;
            assert_eq!(first.map(|first| first.place.index), (index >= 20_000).then(|| index - 20_000));
        }
    }
}
