//! Two sequences of calls, aligned: which of the one are which of the other.
//!
//! In time that does not grow by the square of their lengths, whatever they hold.

use imara_diff::{Algorithm, Diff, Token};
use std::collections::HashMap;
use std::hash::Hash;

/// A stretch in which the sequences are the same, behind one in which they are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stretch {
    /// Places that only the first has, then those that only the second has.
    pub(super) only: (std::ops::Range<usize>, std::ops::Range<usize>),
    /// How many are the same behind them.
    pub(super) same: usize,
}

/// Aligns two sequences by what stands for their items.
pub(super) fn align<K: Eq + Hash>(one: &[K], other: &[K]) -> Vec<Stretch> {
    let mut numbers: HashMap<&K, u32> = HashMap::new();
    let mut tokens = |items| -> Vec<Token> {
        let number = |item| {
            let next = numbers.len() as u32;
            Token(*numbers.entry(item).or_insert(next))
        };
        <[K]>::iter(items).map(number).collect()
    };
    let (before, after) = (tokens(one), tokens(other));
    let known = numbers.len() as u32;
    let mut diff = Diff::default();
    diff.compute_with(Algorithm::Histogram, &before, &after, known);
    let mut stretches = Vec::new();
    let (mut at, mut only) = (0, (0..0, 0..0));
    for hunk in diff.hunks() {
        let (from, to) = (hunk.before.start as usize, hunk.before.end as usize);
        let others = hunk.after.start as usize..hunk.after.end as usize;
        stretches.push(Stretch { only: std::mem::replace(&mut only, (from..to, others)), same: from - at });
        at = to;
    }
    stretches.push(Stretch { only, same: one.len() - at });
    stretches
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What the stretches say of both sequences, put together again.
    fn told<'s>(one: &'s [u8], other: &'s [u8], stretches: &[Stretch]) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
        let (mut first, mut second, mut same) = (Vec::new(), Vec::new(), Vec::new());
        for stretch in stretches {
            assert_eq!((stretch.only.0.start, stretch.only.1.start), (first.len(), second.len()));
            first.extend_from_slice(&one[stretch.only.0.clone()]);
            second.extend_from_slice(&other[stretch.only.1.clone()]);
            let kept = &one[first.len()..first.len() + stretch.same];
            assert_eq!(kept, &other[second.len()..second.len() + stretch.same]);
            first.extend_from_slice(kept);
            second.extend_from_slice(kept);
            same.extend_from_slice(kept);
        }
        (first, second, same)
    }

    #[test]
    fn what_is_the_same_is_aligned() {
        let (one, other) = (b"abcdef", b"abXdeYf");
        let stretches = align(one, other);
        assert_eq!(told(one, other, &stretches), (one.to_vec(), other.to_vec(), b"abdef".to_vec()));
        assert_eq!(align::<u8>(&[], &[]), [Stretch { only: (0..0, 0..0), same: 0 }]);
        assert_eq!(align(b"ab", b"ab"), [Stretch { only: (0..0, 0..0), same: 2 }]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_is_made_up(
            one in proptest::collection::vec(0_u8..6, 0..60),
            other in proptest::collection::vec(0_u8..6, 0..60),
        ) {
            let (first, second, _) = told(&one, &other, &align(&one, &other));
            prop_assert_eq!((first, second), (one, other));
        }
    }

    /// Sequences that have the same items in other orders, of the kinds that cost an aligner most. It is the test's own
    /// time that would tell: what grows by the square would take hours.
    #[test]
    fn long_sequences_that_share_everything_and_no_order_are_aligned() {
        let count = 20_000_u32;
        let one: Vec<u32> = (0..count).collect();
        let scattered = |by: u32| (0..count).map(move |at| (u64::from(at) * u64::from(by) % u64::from(count)) as u32);
        for other in [
            one.iter().rev().copied().collect::<Vec<u32>>(),
            scattered(7_919).collect(),
            one.iter().map(|at| at % 7).collect(),
        ] {
            let stretches = align(&one, &other);
            let covered: usize = stretches.iter().map(|stretch| stretch.only.0.len() + stretch.same).sum();
            assert_eq!(covered, one.len());
        }
        let few: Vec<u32> = scattered(7_919).map(|at| at % 3).collect();
        let others: Vec<u32> = scattered(3_571).map(|at| at % 5).collect();
        assert!(!align(&few, &others).is_empty());
    }
}
