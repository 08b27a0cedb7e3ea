//! The end of an object: its members in canonical order, and no key twice.

use super::canonical::{KEEP_AT_MOST, MOVE_AT_MOST, MOVES_PER_BYTE, Member, Open, Reorder, key_text, string_at};
use super::error::{JsonErrorKind, quoted};
use super::parser::{Parser, Step};
use super::scan::Kernel;
use super::text::decode_lossless;

impl<K: Kernel> Parser<'_, K> {
    /// The end of an object; `at` stands on its brace.
    #[inline(always)]
    pub(super) fn close_object(&mut self, open: Open) -> Step<()> {
        if !open.ascending {
            self.sort_members(open.first_member as usize)?;
        }
        self.s.members.truncate(open.first_member as usize);
        self.s.keys.truncate(open.keys_len as usize);
        Ok(())
    }

    #[cold]
    fn sort_members(&mut self, first_member: usize) -> Step<()> {
        self.flush();
        let end = self.s.out.len() as u32;
        let mut order = std::mem::take(&mut self.s.order);
        order.clear();
        let members = &self.s.members[first_member..];
        let start = members[0].start;
        let ends = members[1..].iter().map(|next| next.start - 1).chain([end]);
        order.extend(members.iter().copied().zip(ends));
        let key = |member: &Member| key_text(self.src, &self.s.keys, member);
        order.sort_unstable_by(|(a, _), (b, _)| key(a).cmp(key(b)));
        let twice = order.windows(2).find(|pair| key(&pair[0].0) == key(&pair[1].0));
        if let Some([(a, _), (b, _)]) = twice {
            let later = if a.start > b.start { a } else { b };
            let offset = key_offset(&self.s.keys, later);
            let shown = decode_lossless(string_at(self.src, offset));
            return self.fail(offset, JsonErrorKind::DuplicateKey(quoted(&shown)));
        }
        let len = (end - start) as usize;
        let holds_reorders = self.s.reorders.last().is_some_and(|reorder| reorder.start >= start);
        let may_move = len <= MOVE_AT_MOST && self.s.moves + len <= self.src.len() * MOVES_PER_BYTE + 4096;
        if holds_reorders || !may_move {
            let first_piece = self.s.pieces.len() as u32;
            self.s.pieces.extend(order.iter().map(|(member, end)| (member.start, *end)));
            let last_piece = self.s.pieces.len() as u32;
            self.s.reorders.push(Reorder { start, end, first_piece, last_piece });
        } else {
            self.s.moves += len;
            let moved = &mut self.s.moved;
            moved.clear();
            for (member, end) in &order {
                if !moved.is_empty() {
                    moved.push(b',');
                }
                moved.extend_from_slice(&self.s.out[member.start as usize..*end as usize]);
            }
            self.s.out[start as usize..].copy_from_slice(moved);
        }
        if order.capacity() <= KEEP_AT_MOST / 16 {
            self.s.order = order;
        }
        Ok(())
    }
}

/// Where a key's opening quote stands in the source.
fn key_offset(keys: &[u8], member: &Member) -> usize {
    if !member.decoded {
        return member.key_start as usize - 1;
    }
    let before = &keys[..member.key_start as usize];
    before.last_chunk::<4>().map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize)
}
