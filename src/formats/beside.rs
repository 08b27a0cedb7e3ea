//! Files that stand beside a session and are not read with it: whether one of them has a call that the session has not.
//!
//! Some of an agent's files only repeat the session, as those of a compaction do, and some hold no calls at all. Which of
//! them those are is told by what they hold, not by their names.

use super::{open, unread};
use crate::json::view::{self, Value};
use crate::limits::Budget;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

/// Calls that are remembered; a file with more of them counts as one with calls of its own.
const CALLS: usize = 100_000;
/// Bytes of a line that are looked at.
const LINE: u64 = 64 << 20;
/// Levels of a line that are looked at.
const LEVELS: usize = 24;
/// What the id of a call is called, in its call or in its result.
const IDS: [&str; 6] = ["id", "tool_use_id", "toolUseId", "tool_call_id", "call_id", "callId"];

/// Whether a file holds a call that none of `read` holds, by the ids of calls. A call without an id counts as one of its
/// own, and so does a line that cannot be read.
///
/// # Errors
/// A read that failed.
pub fn has_calls_of_its_own(part: &Path, read: &[PathBuf], budget: &Budget) -> io::Result<bool> {
    let mut own = Calls::default();
    lines(part, budget, |line| {
        match view::only_value(line) {
            Ok(value) => own.add(value, LEVELS),
            Err(_) => own.nameless = true,
        }
        !own.nameless && own.ids.len() <= CALLS
    })?;
    if own.nameless || own.ids.len() > CALLS {
        return Ok(true);
    }
    for path in read {
        if own.ids.is_empty() {
            break;
        }
        lines(path, budget, |line| {
            let mut theirs = Calls::default();
            if let Ok(value) = view::only_value(line) {
                theirs.add(value, LEVELS);
            }
            own.ids.retain(|id| !theirs.ids.contains(id));
            !own.ids.is_empty()
        })?;
    }
    Ok(!own.ids.is_empty())
}

/// The calls of some values, and their results.
#[derive(Default)]
struct Calls {
    ids: HashSet<String>,
    /// One has no id, or is too deep to be looked at.
    nameless: bool,
}

impl Calls {
    fn add(&mut self, value: Value<'_>, levels: usize) {
        let Some(levels) = levels.checked_sub(1) else {
            self.nameless = true;
            return;
        };
        if unread::is_call(value) {
            match IDS.iter().find_map(|name| value.str_at(name)).filter(|id| !id.is_empty()) {
                Some(id) => drop(self.ids.insert(id.into_owned())),
                None => self.nameless = true,
            }
            return;
        }
        value.items().for_each(|item| self.add(item, levels));
        value.members().for_each(|(_, member)| self.add(member, levels));
    }
}

/// Hands on the lines of a file, unpacked, while `more` wants them.
fn lines(path: &Path, budget: &Budget, mut more: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
    let mut source = BufReader::new(open::unpacked(Box::new(File::open(path)?), budget)?);
    let mut line = Vec::new();
    loop {
        line.clear();
        if (&mut source).take(LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if !line.trim_ascii().is_empty() && !more(line.trim_ascii()) {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_session_lacks_counts() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let call = |id: &str| {
            format!(
                "{{\"type\":\"assistant\",\"message\":{{\"content\":[{{\"type\":\"tool_use\",\"id\":\"{id}\",\"name\":\"x\",\"input\":{{\"type\":\"tool_use\"}}}}]}}}}\n"
            )
        };
        let session = file("s.jsonl", &(call("a") + &call("b")));
        let other = file("agent-1.jsonl", &call("c"));
        for (text, own) in [
            (call("a"), false),
            (call("b") + &call("c"), false),
            (call("d"), true),
            ("{\"type\":\"summary\",\"text\":\"tool_use\"}\n".to_owned(), false),
            (String::new(), false),
            ("{\"type\":\"tool_use\",\"name\":\"x\"}\n".to_owned(), true),
            (call("a") + "not json\n", true),
        ] {
            let part = file("part.jsonl", &text);
            assert_eq!(
                has_calls_of_its_own(&part, &[session.clone(), other.clone()], &Budget::default()).unwrap(),
                own,
                "{text}"
            );
        }
    }
}
