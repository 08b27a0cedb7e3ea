//! In which way a chain is broken, where the links that are left can tell.
//!
//! `verify` finds the first link that does not hold. This looks at what stands around it, in one more pass over the file
//! and in constant memory, and says nothing where several things could have happened.

use super::broken::{Break, BrokenLink, Damage};
use super::chain::{GENESIS, link_digest, shown, unquoted};
use crate::transcript::{self, Layout, Record, Records};
use std::io::Read;

/// What happened to a chain, by its file and the first link that does not hold. `None` where that cannot be told.
#[must_use]
pub fn damage(source: impl Read, broken: &BrokenLink) -> Option<Damage> {
    if broken.kind != Break::Link {
        return broken.damage;
    }
    let mut links = Records::new(source, Layout::Sealed);
    let mut previous = format!("\"{GENESIS}\"").into_bytes();
    // the digest of an earlier link that stands behind the same one as the broken link does
    let mut sibling = None;
    for _ in 0..broken.index {
        let link = links.next_record().ok()??;
        let digest = link.digest().to_vec();
        if shown(&link.prev().to_vec()) == broken.found {
            sibling = Some(digest.clone());
        }
        previous = digest;
    }
    let link = links.next_record().ok()??;
    let (prev, digest, holds) = (link.prev().to_vec(), link.digest().to_vec(), holds(&link));
    let index = transcript::index_value(link.index());
    // it may be that only the way to it is written otherwise
    let before = if broken.index == 0 && shown(&previous) != broken.expected {
        broken.expected.clone()
    } else {
        shown(&previous)
    };
    if shown(&prev) == before || !holds {
        return Some(Damage::Edited);
    }
    if let Some(sibling) = sibling {
        return Some(if sibling == digest { Damage::Doubled } else { Damage::Forked });
    }
    while let Ok(Some(later)) = links.next_record() {
        if shown(&later.prev().to_vec()) == before {
            return Some(Damage::Swapped);
        }
    }
    match index?.checked_sub(broken.index)? {
        0 if broken.index == 0 => Some(Damage::Continues),
        0 => Some(Damage::Resealed),
        missing => Some(Damage::Missing(missing)),
    }
}

/// Whether a link's digest is that of what it says.
fn holds(link: &Record<'_>) -> bool {
    let digest = link_digest(link.args(), &link.index().to_vec(), &link.prev().to_vec(), link.response(), link.tool());
    Some(digest.as_slice()) == unquoted(&link.digest().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::{Start, seal, seal_from, verify, verify_from};

    fn records(tools: &[&str]) -> String {
        let record = |(index, tool): (usize, &&str)| {
            format!("{{\"index\":{index},\"tool\":\"{tool}\",\"args\":{{}},\"response\":{{}}}}\n")
        };
        tools.iter().enumerate().map(record).collect()
    }

    fn sealed(tools: &[&str]) -> Vec<String> {
        let mut out = Vec::new();
        seal(records(tools).as_bytes(), 1, &mut out).unwrap();
        String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
    }

    fn of(lines: &[String]) -> (u64, Option<Damage>) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let broken = verify(text.as_bytes(), 1).unwrap().broken.expect("a broken chain");
        (broken.index, damage(text.as_bytes(), &broken))
    }

    #[test]
    fn every_kind_is_told() {
        let (whole, other) = (sealed(&["a", "b", "c", "d", "e"]), sealed(&["a", "b", "x", "y", "z"]));
        let with = |change: &dyn Fn(&mut Vec<String>)| {
            let mut lines = whole.clone();
            change(&mut lines);
            of(&lines)
        };
        let replace =
            |lines: &mut Vec<String>, at: usize, from: &str, to: &str| lines[at] = lines[at].replace(from, to);
        for (what, found, index, damage) in [
            ("edited", with(&|lines| replace(lines, 2, "\"c\"", "\"q\"")), 2, Damage::Edited),
            ("a new digest", with(&|lines| replace(lines, 2, "\"digest\":\"", "\"digest\":\"0")), 2, Damage::Edited),
            ("another prev", with(&|lines| replace(lines, 2, "\"prev\":\"", "\"prev\":\"0")), 2, Damage::Edited),
            ("another index", with(&|lines| replace(lines, 2, "\"index\":2", "\"index\":9")), 2, Damage::Edited),
            ("the first is edited", with(&|lines| replace(lines, 0, "\"a\"", "\"q\"")), 0, Damage::Edited),
            ("one is missing", with(&|lines| drop(lines.remove(2))), 2, Damage::Missing(1)),
            ("two are missing", with(&|lines| drop(lines.drain(1..3))), 1, Damage::Missing(2)),
            ("the first are missing", with(&|lines| drop(lines.drain(..3))), 0, Damage::Missing(3)),
            ("doubled", with(&|lines| lines.insert(3, lines[2].clone())), 3, Damage::Doubled),
            ("doubled further on", with(&|lines| lines.insert(4, lines[1].clone())), 4, Damage::Doubled),
            ("neighbours swapped", with(&|lines| lines.swap(1, 2)), 1, Damage::Swapped),
            ("swapped over a distance", with(&|lines| lines.swap(0, 4)), 0, Damage::Swapped),
            ("the last two swapped", with(&|lines| lines.swap(3, 4)), 3, Damage::Swapped),
            ("forked", with(&|lines| lines.extend(other[2..].iter().cloned())), 5, Damage::Forked),
            ("forked at once", with(&|lines| lines.insert(3, other[2].clone())), 3, Damage::Forked),
            ("resealed", with(&|lines| lines[2].clone_from(&other[2])), 3, Damage::Resealed),
        ] {
            assert_eq!(found, (index, Some(damage)), "{what}");
        }
    }

    #[test]
    fn a_chain_goes_on_in_another_file() {
        let old = sealed(&["a", "b"]).join("\n") + "\n";
        let head = verify(old.as_bytes(), 1).unwrap().head;
        let mut new = Vec::new();
        let made = seal_from(records(&["c", "d"]).as_bytes(), 1, &mut new, &head).unwrap();
        let chain = verify_from(&new[..], 1, Start::After(&head)).unwrap();
        assert_eq!((chain.broken, &chain.head, chain.links), (None, &made.head, 2));
        assert_eq!(verify_from(&new[..], 1, Start::Any).unwrap().start, head);
        let alone = verify(&new[..], 1).unwrap().broken.unwrap();
        assert_eq!((alone.index, damage(&new[..], &alone)), (0, Some(Damage::Continues)));
        // a link that is edited is one wherever the chain starts
        let edited = String::from_utf8(new).unwrap().replace("\"d\"", "\"q\"");
        let broken = verify_from(edited.as_bytes(), 1, Start::After(&head)).unwrap().broken.unwrap();
        assert_eq!((broken.index, damage(edited.as_bytes(), &broken)), (1, Some(Damage::Edited)));
        let wrong = verify_from(old.as_bytes(), 1, Start::After(&head)).unwrap().broken.unwrap();
        assert_eq!((wrong.index, wrong.expected.as_str(), wrong.found.as_str()), (0, head.as_str(), GENESIS));
        for start in ["", "x", &"A".repeat(64), &"g".repeat(64)] {
            let text = old.replace(GENESIS, start);
            assert!(verify_from(text.as_bytes(), 1, Start::Any).unwrap().broken.is_some(), "'{start}' is no digest");
        }
    }
}
