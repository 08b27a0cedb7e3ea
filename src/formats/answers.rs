//! What changed between two answers. A judgement keeps nothing of an answer but its print, so the recording is read a
//! second time, and only where an answer did change.

use super::facts::compared;
use super::marks;
use super::native::profile_of;
use super::verdict::Imported;
use crate::engine::Ruleset;
use crate::excerpt::Difference;
use crate::finding::Place;
use crate::json::view::{self, Value};
use crate::json::{self, Scratch, decode_lossless};
use crate::transcript::{Block, Blocks};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Read};

/// Two calls whose answers differ: the earlier one, and the one that a finding is about.
pub type Answers = (Place, Place);

/// The first difference of each two answers, by the index of the later call.
pub type Differences = HashMap<u64, Difference>;

/// The bytes of answers that are kept until the later one is met.
const KEPT: usize = 64 << 20;

/// Reads a transcript once more, up to the last answer that is wanted.
///
/// # Errors
/// A read that failed.
pub fn in_transcript(source: impl Read, ruleset: &Ruleset, wanted: &[Answers]) -> io::Result<Differences> {
    let mut pairs: BTreeMap<u64, Vec<&Answers>> = BTreeMap::new();
    for pair in wanted.iter().filter(|(earlier, now)| earlier.line < now.line) {
        pairs.entry(pair.1.line).or_default().push(pair);
    }
    let waiting: BTreeSet<u64> = pairs.values().flatten().map(|(earlier, _)| earlier.line).collect();
    let (mut kept, mut bytes) = (HashMap::new(), 0);
    let mut found = Differences::new();
    let (mut blocks, mut block, mut scratch) = (Blocks::new(source), Block::default(), Scratch::default());
    let mut line = 0;
    let Some(last) = pairs.keys().next_back().copied() else { return Ok(found) };
    while line < last && blocks.next_into(&mut block)? {
        let text = block.bytes();
        let early = waiting.range(line + 1..).next().copied();
        let late = pairs.range(line + 1..).next().map(|(at, _)| *at);
        let next = [early, late].into_iter().flatten().min();
        let lines = memchr::memchr_iter(b'\n', text).count() as u64;
        if next.is_none_or(|next| next > line + lines + 1) {
            line += lines;
            continue;
        }
        for record in text.split_inclusive(|byte| *byte == b'\n') {
            line += 1;
            let (earlier, later) = (waiting.contains(&line), pairs.get(&line));
            if !earlier && later.is_none() {
                continue;
            }
            let Some(answer) = answer(record, ruleset, &mut scratch) else { continue };
            for (before, now) in later.into_iter().flatten() {
                if let Some(difference) =
                    kept.get(&before.line).and_then(|before: &Vec<u8>| Difference::between(before, &answer))
                {
                    found.insert(now.index, difference);
                }
            }
            if earlier && bytes + answer.len() <= KEPT {
                bytes += answer.len();
                kept.insert(line, answer);
            }
        }
    }
    Ok(found)
}

/// What a record's answer says, as far as it makes a difference.
fn answer(record: &[u8], ruleset: &Ruleset, scratch: &mut Scratch) -> Option<Vec<u8>> {
    let span = json::canonical(record.trim_ascii(), scratch).ok()?;
    let canonical = span.get(record.trim_ascii(), scratch).to_vec();
    let record = view::only_value(&canonical).ok()?;
    let (tool, response) = (record.get("tool")?, record.get("response")?);
    let marked = marks::split(response.text());
    let (format, response) = match &marked {
        Some((marks, response)) => (marks.format.as_deref(), view::only_value(response).ok()?),
        None => (None, response),
    };
    part(ruleset, format, tool.text(), response)
}

fn part(ruleset: &Ruleset, format: Option<&str>, tool: &[u8], response: Value<'_>) -> Option<Vec<u8>> {
    compared(ruleset, profile_of(format), Some(&decode_lossless(tool)), response).map(|part| part.into_owned())
}

impl Imported {
    /// The same in a recording that was read to be written, so that its answers are at hand.
    ///
    /// # Errors
    /// A temporary file that cannot be read.
    pub fn differences(&mut self, ruleset: &Ruleset, wanted: &[Answers]) -> io::Result<Differences> {
        let mut found = Differences::new();
        let mut texts = [Vec::new(), Vec::new()];
        for (earlier, now) in wanted {
            let mut parts = [None, None];
            for ((place, text), out) in [earlier, now].into_iter().zip(&mut texts).zip(&mut parts) {
                let Some(pair) = usize::try_from(place.index).ok().and_then(|index| self.order.get(index)) else {
                    continue;
                };
                let pair = &self.pairing.pairs[*pair as usize];
                let (body, tool, profile) = (pair.body, pair.tool, pair.profile);
                self.pairing.store.get(body, text)?;
                let tool = decode_lossless(&self.pairing.tools[tool as usize]);
                *out = view::only_value(text)
                    .ok()
                    .and_then(|response| compared(ruleset, profile, Some(&tool), response))
                    .map(|part| part.into_owned());
            }
            if let [Some(before), Some(after)] = &parts
                && let Some(difference) = Difference::between(before, after)
            {
                found.insert(now.index, difference);
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::ToolSet;

    #[test]
    fn a_transcript_is_read_up_to_the_last_answer() {
        let record = |index: u64, answer: &str| {
            format!("{{\"index\":{index},\"tool\":\"t\",\"args\":{{}},\"response\":{{\"a\":\"{answer}\"}}}}\n")
        };
        let text = format!("{}\n{}{}{}no record", record(0, "one"), record(1, "two"), record(2, "one"), record(3, "x"));
        let at = |index: u64, line: u64| Place { index, line };
        let ruleset = Ruleset::audit(ToolSet::default(), None);
        let wanted = [(at(0, 1), at(1, 3)), (at(0, 1), at(2, 4)), (at(1, 3), at(3, 5)), (at(9, 90), at(10, 91))];
        let found = in_transcript(text.as_bytes(), &ruleset, &wanted).unwrap();
        let shown = |index: u64| found.get(&index).map(|found| (found.before.text.as_str(), found.now.text.as_str()));
        assert_eq!((shown(1), shown(2), shown(3)), (Some(("one", "two")), None, Some(("two", "x"))));
        assert_eq!(found.len(), 2);
    }
}
