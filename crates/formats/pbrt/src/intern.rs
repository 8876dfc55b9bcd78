//! Interns the strings of a piece of text. Their indices follow the order of first appearance.

use polyhaul_model::error::{Error, Result, try_push};

/// Distinct strings.
#[derive(Default)]
pub(super) struct PbrtNames {
    bytes: Vec<u8>,
    /// End of each string. Each string starts at the end of the previous one.
    ends: Vec<u32>,
    table: Vec<InternSlot>,
}

/// Slot of the hash table.
#[derive(Clone, Copy, Default)]
struct InternSlot {
    key: u64,
    /// Index of the string, plus one; 0 if the slot is free.
    number: u32,
}

impl PbrtNames {
    /// Removes all strings.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        if !self.ends.is_empty() {
            self.ends.clear();
            self.table.fill(InternSlot::default());
        }
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the string with this index.
    pub(super) fn get(&self, number: u32) -> &[u8] {
        let end = self.ends.get(number as usize).map_or(0, |&end| end as usize);
        let start = (number as usize).checked_sub(1).and_then(|at| self.ends.get(at)).map_or(0, |&end| end as usize);
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// Returns the index of a string, which is added if it is new.
    #[inline]
    pub(super) fn number(&mut self, text: &[u8]) -> Result<u32> {
        // The table is at most half full, so every search ends at a free slot.
        let key = key(text);
        if !self.table.is_empty() {
            let mask = self.table.len() - 1;
            let mut at = self.first_slot(key);
            loop {
                let slot = self.table[at];
                if slot.number == 0 {
                    break;
                }
                if slot.key == key && same(self.get(slot.number - 1), text) {
                    return Ok(slot.number - 1);
                }
                at = (at + 1) & mask;
            }
        }
        self.add(text, key)
    }

    fn add(&mut self, text: &[u8], key: u64) -> Result<u32> {
        if 2 * (self.ends.len() + 1) > self.table.len() {
            self.grow()?;
        }
        let number = self.ends.len() as u32;
        self.bytes.try_reserve(text.len()).map_err(|_| Error::memory("names"))?;
        self.bytes.extend_from_slice(text);
        try_push(&mut self.ends, self.bytes.len() as u32, "names")?;
        self.insert(key, number);
        Ok(number)
    }

    /// Returns the slot at which the search for a key starts. The table must not be empty.
    #[inline]
    fn first_slot(&self, key: u64) -> usize {
        // The highest bits: multiplication carries only upward, so the whole text affects them.
        (key >> (64 - self.table.len().trailing_zeros())) as usize
    }

    fn insert(&mut self, key: u64, number: u32) {
        let mask = self.table.len() - 1;
        let mut at = self.first_slot(key);
        while self.table[at].number != 0 {
            at = (at + 1) & mask;
        }
        self.table[at] = InternSlot { key, number: number + 1 };
    }

    fn grow(&mut self) -> Result<()> {
        let size = (2 * self.table.len()).max(64);
        let mut table = Vec::new();
        table.try_reserve_exact(size).map_err(|_| Error::memory("names"))?;
        table.resize(size, InternSlot::default());
        let old = std::mem::replace(&mut self.table, table);
        for slot in old.into_iter().filter(|slot| slot.number != 0) {
            self.insert(slot.key, slot.number - 1);
        }
        Ok(())
    }
}

/// Compares two strings. If they have 8 to 16 bytes, the first eight and the last eight bytes cover all of them.
#[inline]
pub(super) fn same(a: &[u8], b: &[u8]) -> bool {
    if let Some(first_a) = a.first_chunk::<8>()
        && let Some(last_a) = a.last_chunk::<8>()
        && let Some(first_b) = b.first_chunk::<8>()
        && let Some(last_b) = b.last_chunk::<8>()
    {
        return a.len() == b.len() && first_a == first_b && last_a == last_b && (a.len() <= 16 || a == b);
    }
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b)
}

/// Hashes a string to 64 bits.
#[inline]
fn key(text: &[u8]) -> u64 {
    const MIX: u64 = 0x9E37_79B9_7F4A_7C15;
    let (words, rest) = text.as_chunks::<8>();
    // The length distinguishes strings whose last bytes differ only in leading zeros.
    let mut key = text.len() as u64;
    for word in words {
        key = (key.rotate_left(5) ^ u64::from_le_bytes(*word)).wrapping_mul(MIX);
    }
    let mut last = 0;
    for &byte in rest {
        last = last << 8 | u64::from(byte);
    }
    key = (key.rotate_left(5) ^ last).wrapping_mul(MIX);
    key ^ key >> 29
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_have_one_number() {
        let mut names = PbrtNames::default();
        for round in 0..2 {
            for n in 0..1000u32 {
                let text = format!("name {n}");
                assert_eq!(names.number(text.as_bytes()).unwrap(), n, "{round}");
                assert_eq!(names.get(n), text.as_bytes());
            }
        }
        names.clear();
        assert_eq!((names.number(b"").unwrap(), names.number(b"x").unwrap(), names.len()), (0, 1, 2));
        assert_eq!(names.get(0), b"");
    }
}
