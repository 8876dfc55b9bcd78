//! Compares deduplication with a naive implementation, for values designed to be slow or to collide.

use super::chunk::{CHUNK, mix};
use super::*;
use std::collections::HashMap;

const THREADS: [usize; 5] = [1, 2, 3, 7, 64];

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    *state >> 33
}

/// A list of keys; `hints` is empty or has the same length.
#[derive(Default)]
struct Given {
    keys: Vec<DedupKey>,
    hints: Vec<u32>,
}

impl Items for Given {
    fn len(&self) -> usize {
        self.keys.len()
    }

    fn keys(&self, start: usize, offsets: &[u16], keys: &mut [DedupKey; BATCH]) {
        offsets.iter().zip(keys).for_each(|(&offset, key)| *key = self.keys[start + usize::from(offset)]);
    }

    fn hint(&self, item: usize) -> usize {
        self.hints[item] as usize
    }

    fn hint_count(&self) -> usize {
        self.hints.iter().max().map_or(0, |&hint| hint as usize + 1)
    }

    fn surely_same(&self, a: usize, b: usize) -> bool {
        match (self.keys[a], self.keys[b]) {
            (DedupKey::Value(x), DedupKey::Value(y)) => x == y && !(a * b).is_multiple_of(7),
            (DedupKey::Skip, DedupKey::Skip) => true,
            _ => false,
        }
    }
}

impl Given {
    fn new(count: usize, key: impl FnMut(u64) -> DedupKey) -> Given {
        Given { keys: (0..count as u64).map(key).collect(), hints: Vec::new() }
    }

    fn values(count: usize, mut value: impl FnMut(u64) -> u64) -> Given {
        Given::new(count, |item| DedupKey::Value(value(item)))
    }

    fn hinted(mut self, hint: impl FnMut(u32) -> u32) -> Given {
        self.hints = (0..self.keys.len() as u32).map(hint).collect();
        self
    }
}

fn naive(items: &impl Items) -> Unique {
    let mut out = Unique::default();
    let mut numbers = HashMap::new();
    let mut key = [DedupKey::Skip; BATCH];
    for item in 0..items.len() {
        let next = out.first.len() as u32;
        items.keys(item, &[0], &mut key);
        let number = match key[0] {
            DedupKey::Skip => NONE,
            DedupKey::Alone => next,
            DedupKey::Value(key) => *numbers.entry(key).or_insert(next),
        };
        out.of_item.push(number);
        if number == next {
            out.first.push(item as u32);
        }
    }
    out
}

fn check(name: &str, items: &impl Items) {
    let expected = naive(items);
    for threads in THREADS {
        let mut out = Unique { first: vec![7; 3], of_item: vec![9; 5] };
        Dedup::new().run(items, threads, &Cancel::default(), &mut out).unwrap();
        assert!(out == expected, "{name}, {threads} threads");
    }
}

#[test]
fn values_are_numbered_as_with_a_map() {
    let count = 3 * CHUNK + 1234;
    let mut state = 5;
    let mut below = move |limit: u64| random(&mut state) % limit;
    check("few", &Given::values(count, |_| below(10)));
    check("many", &Given::values(count, |_| below(30_000)));
    check("twice each", &Given::values(count, |_| below(count as u64 / 2)));
    check("far apart", &Given::values(count, |item| item % (CHUNK as u64 + 77)));
    check("distinct", &Given::values(count, |item| item));
    check("all equal", &Given::values(count, |_| 3));
    check("zeroes and ones", &Given::values(count, |item| if item % 3 == 0 { 0 } else { u64::MAX }));
    let kind = |item: u64| {
        [DedupKey::Skip, DedupKey::Alone, DedupKey::Value(item / 5), DedupKey::Value(item % 999)][item as usize % 4]
    };
    check("all kinds", &Given::new(count, kind));
    check("all kinds, hints", &Given::new(count, kind).hinted(|item| item / 9));
    check("hints", &Given::values(count, |item| item / 4).hinted(|item| item / 4));
    check("two values at a hint", &Given::values(count, |item| item / 7).hinted(|item| item / 14));
    check("useless hints", &Given::values(count, |_| below(20_000)).hinted(|item| item.wrapping_mul(77) % 50_000));
    check("one hint", &Given::values(count, |_| below(50_000)).hinted(|_| 0));
    check("equal over many hints", &Given::values(count, |item| item / 4 % 100).hinted(|item| item / 4));
}

#[test]
fn small_counts_and_borders() {
    for count in [0, 1, 2, 31, 32, 33, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK] {
        check("values", &Given::values(count, |item| item / 3 % 1000));
        check("hinted values", &Given::values(count, |item| item / 3).hinted(|item| item / 3));
    }
    check("skipped", &Given::new(CHUNK + 5, |_| DedupKey::Skip));
    check("skipped, hints", &Given::new(CHUNK + 5, |_| DedupKey::Skip).hinted(|item| item / 4));
    check("alone", &Given::new(CHUNK + 5, |_| DedupKey::Alone));
    check("alone, hints", &Given::new(CHUNK + 5, |_| DedupKey::Alone).hinted(|item| item / 4));
}

/// The inverse of [`mix`].
fn unmix(mixed: u64) -> u64 {
    let inverse = |factor: u64| (0..6).fold(factor, |x, _| x.wrapping_mul(2u64.wrapping_sub(factor.wrapping_mul(x))));
    let key = (mixed ^ (mixed >> 32)).wrapping_mul(inverse(0xd6e8_feb8_6659_fd93));
    let key = (key ^ (key >> 29) ^ (key >> 58)).wrapping_mul(inverse(0x9e37_79b9_7f4a_7c15));
    key ^ (key >> 32)
}

#[test]
fn keys_made_to_collide_take_linear_time() {
    (0..1000).for_each(|i| assert_eq!(mix(unmix(i * 0x1234_5678_9abc)), i * 0x1234_5678_9abc));
    let count = 200_000;
    // Probing the slots sequentially would take 10^10 steps.
    check("one slot", &Given::values(count, |item| unmix(item % 150_000)));
    check("one tag", &Given::values(count, |item| unmix((item % 150_000) << 20)));
    check("one part", &Given::values(count, |item| unmix(mix(item % 150_000) >> 20)));
}

#[test]
fn regular_keys_are_spread() {
    let count = 120_000u64;
    let float = |x: u64| u64::from((x as f32 / 256.0).to_bits());
    check("floats", &Given::values(count as usize, |item| float(item % 300) << 32 | float(item / 300)));
    check("powers of two", &Given::values(count as usize, |item| 1 << (item % 64) | 1 << (item / 64 % 64)));
    for step in [2, 1 << 10, 1 << 20, 1 << 32, 1 << 44, 0x9e37_79b9_7f4a_7c15, (1 << 32) + 1, 3 << 21] {
        check("steps", &Given::values(count as usize, |item| (item % 100_000).wrapping_mul(step)));
        let mut parts = [0; 256];
        (0..count).for_each(|item| parts[(mix(item.wrapping_mul(step)) >> 56) as usize] += 1);
        let largest = parts.iter().max().copied().unwrap_or(0);
        assert!(largest < 2 * count / 256, "step {step}: {largest} of {count} keys in one part");
    }
}

/// Uvs of corners, as passed by an exporter.
struct Uvs<'a> {
    uvs: &'a [[f32; 2]],
    vertices: &'a [u32],
}

impl Items for Uvs<'_> {
    fn len(&self) -> usize {
        self.uvs.len()
    }

    fn keys(&self, start: usize, offsets: &[u16], keys: &mut [DedupKey; BATCH]) {
        for (&offset, key) in offsets.iter().zip(keys) {
            // Adding 0 turns -0 into 0.
            let uv = self.uvs[start + usize::from(offset)];
            *key = match uv.map(|x| (!x.is_nan()).then_some(u64::from((x + 0.0).to_bits()))) {
                [Some(u), Some(v)] => DedupKey::Value(u << 32 | v),
                _ => DedupKey::Alone,
            }
        }
    }

    fn hint(&self, item: usize) -> usize {
        self.vertices[item] as usize
    }

    fn hint_count(&self) -> usize {
        4
    }

    fn surely_same(&self, a: usize, b: usize) -> bool {
        self.uvs[a] == self.uvs[b]
    }

    fn prefetch(&self, item: usize) {
        prefetch(self.uvs, item);
    }
}

#[test]
fn zeroes_are_equal_and_nans_are_not() {
    let n = f32::NAN;
    let uvs = [[0.0, 1.0], [-0.0, 1.0], [n, 0.0], [n, 0.0], [1.0, -0.0], [0.0, n], [1.0, 0.0], [0.0, 1.0]];
    let mut out = Unique::default();
    for vertices in [[0; 8], [0, 1, 2, 2, 3, 2, 0, 3]] {
        Dedup::new().run(&Uvs { uvs: &uvs, vertices: &vertices }, 1, &Cancel::default(), &mut out).unwrap();
        assert_eq!(out.first, [0, 2, 3, 4, 5]);
        assert_eq!(out.of_item, [0, 0, 1, 2, 3, 4, 3, 0]);
    }
}

#[test]
fn memory_is_used_again_and_not_hoarded() {
    let mut dedup = Dedup::new();
    let mut out = Unique::default();
    for count in [10, 5 * CHUNK, 0, 3000, 1, CHUNK, 2000] {
        let items = Given::values(count, |item| item % 1500);
        dedup.run(&items, 3, &Cancel::default(), &mut out).unwrap();
        assert!(out == naive(&items));
        assert!(dedup.finder.keys.capacity() <= CHUNK && dedup.marks.words.capacity() <= CHUNK / WORD);
    }
}

#[test]
fn too_many_items_are_an_error() {
    struct Many;
    impl Items for Many {
        fn len(&self) -> usize {
            1 << 31
        }
        fn keys(&self, _: usize, _: &[u16], _: &mut [DedupKey; BATCH]) {}
        fn hint(&self, _: usize) -> usize {
            0
        }
        fn hint_count(&self) -> usize {
            0
        }
        fn surely_same(&self, _: usize, _: usize) -> bool {
            false
        }
    }
    let error = Dedup::new().run(&Many, 1, &Cancel::default(), &mut Unique::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert_eq!(error.diagnostic().message, "at most 2147483647 values can be compared, not 2147483648");
}

#[test]
fn a_cancelled_run_is_an_error() {
    let cancel = Cancel::default();
    cancel.cancel();
    for threads in THREADS {
        let items = Given::values(3 * CHUNK, |item| item);
        let error = Dedup::new().run(&items, threads, &cancel, &mut Unique::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    }
}
