//! What the rules remember of the calls before: one fixed-size entry a distinct call, never its text.
//!
//! A transcript is hostile input. Calls and responses are told apart by BLAKE3 under a key drawn anew for each run:
//! nobody can prepare two that collide.

use crate::finding::Place;
use crate::json::Canonical;
use hashbrown::HashTable;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

/// The key of one run's prints. Prints of different keys must not be compared.
#[derive(Clone)]
pub struct Key([u8; 32]);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

impl Default for Key {
    fn default() -> Key {
        Key::random()
    }
}

impl Key {
    /// A key nobody can know beforehand. What a run reports does not depend on it, short of a collision.
    #[must_use]
    pub fn random() -> Key {
        let mut key = [0; 32];
        for part in key.chunks_exact_mut(8) {
            // the standard library seeds this from the operating system
            part.copy_from_slice(&RandomState::new().build_hasher().finish().to_le_bytes());
        }
        Key(key)
    }

    /// The print of one or more values in canonical form.
    #[must_use]
    pub fn print(&self, values: &[Canonical<'_>]) -> Print {
        if let [value] = values
            && let Some(bytes) = value.as_slice()
        {
            return Print::of(blake3::keyed_hash(&self.0, bytes));
        }
        // over bytes that stand together one call is cheaper than an incremental hash
        match values.iter().map(Canonical::len).sum() {
            len @ 0..=96 => return self.short_print::<96>(values, len),
            len @ 97..=768 => return self.short_print::<768>(values, len),
            _ => {}
        }
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        for value in values {
            value.feed(|bytes| {
                hasher.update(bytes);
            });
        }
        Print::of(hasher.finalize())
    }

    /// The print of a text that stands in several parts.
    pub(crate) fn print_parts(&self, parts: &[&[u8]]) -> Print {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        for part in parts {
            hasher.update(part);
        }
        Print::of(hasher.finalize())
    }

    fn short_print<const ROOM: usize>(&self, values: &[Canonical<'_>], len: usize) -> Print {
        let mut together = [0; ROOM];
        let mut at = 0;
        for value in values {
            value.feed(|bytes| {
                together[at..at + bytes.len()].copy_from_slice(bytes);
                at += bytes.len();
            });
        }
        Print::of(blake3::keyed_hash(&self.0, &together[..len]))
    }
}

/// What stands for a call or a response: equal prints mean equal canonical forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Print([u8; 16]);

impl Print {
    fn of(hash: blake3::Hash) -> Print {
        let mut print = [0; 16];
        print.copy_from_slice(&hash.as_bytes()[..16]);
        Print(print)
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    fn most(&self) -> [u8; 12] {
        *self.0.first_chunk().unwrap_or(&[0; 12])
    }

    fn half(&self) -> [u8; 8] {
        *self.0.first_chunk().unwrap_or(&[0; 8])
    }

    /// Half of the print as a number, for hash tables.
    pub(crate) fn number(&self) -> u64 {
        u64::from_le_bytes(self.half())
    }

    fn shard(&self) -> usize {
        usize::from(self.0[15]) % SHARDS
    }
}

/// One call, as the history takes it in.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// Where the record stands.
    pub place: Place,
    /// The print of `args` and `tool`.
    pub call: Print,
    /// The print of `response`.
    pub response: Print,
    /// Whether the tool is assumed to change state.
    pub mutator: bool,
}

/// An identical call that came before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Earlier {
    /// Where it stands.
    pub place: Place,
    /// Whether its response has the same canonical form.
    pub same_response: bool,
}

/// A call with what the rules may know of the calls before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occurrence {
    /// Whether its tool is assumed to change state.
    pub mutator: bool,
    /// The first identical call, if there was one.
    pub first: Option<Earlier>,
    /// The record right before, if it is an identical call.
    pub right_before: Option<Earlier>,
    /// Whether a mutator was called since the first identical call, that one included.
    pub mutation_since_first: bool,
    /// Whether a different call came between this one and the first identical one.
    pub others_since_first: bool,
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
pub struct History {
    shards: [Shard; SHARDS],
    previous: Option<Step>,
    /// Index of the last call to a mutator.
    last_mutation: Option<u64>,
    /// Index from which on all calls are identical to the previous one.
    run_start: u64,
}

impl std::fmt::Debug for History {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let distinct: usize = self.shards.iter().map(|shard| shard.table.len()).sum();
        f.debug_struct("History").field("distinct", &distinct).finish_non_exhaustive()
    }
}

impl History {
    /// Takes in the next call and says what came before it.
    pub fn observe(&mut self, step: Step) -> Occurrence {
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
        let occurrence = Occurrence {
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

    fn print(byte: u8) -> Print {
        Print([byte; 16])
    }

    fn observe(calls: &[(u8, u8, bool)]) -> Vec<Occurrence> {
        let mut history = History::default();
        let steps = calls.iter().enumerate().map(|(index, &(call, response, mutator))| Step {
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
        let mut history = History::default();
        let key = Key::random();
        let mut scratch = crate::json::Scratch::default();
        for index in 0..40_000_u64 {
            let text = (index % 20_000).to_string();
            let span = crate::json::canonical(text.as_bytes(), &mut scratch).unwrap();
            let call = key.print(&[span.get(text.as_bytes(), &scratch)]);
            let step = Step { place: Place { index, line: index + 1 }, call, response: call, mutator: false };
            let first = history.observe(step).first;
            assert_eq!(first.map(|first| first.place.index), (index >= 20_000).then(|| index - 20_000));
        }
    }
}
