//! The bodies of the fuzz targets over the test files, shaken up: a fixed number of times from a
//! fixed seed, so that a failure comes back.

use polyhaul_testkit::corpus::samples;
use polyhaul_testkit::random::Random;
use polyhaul_testkit::{fuzz, generate, mutate};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Files above this size would take most of the time.
const LARGEST_SEED_BYTES: u64 = 4000;

/// The test files of one kind, those of the size that shows most.
fn seeds(extension: &str) -> Vec<Vec<u8>> {
    let files = samples("obj", extension).into_iter();
    let small = files.filter(|file| file.size <= LARGEST_SEED_BYTES);
    small.map(|file| file.bytes()).collect()
}

/// Runs a body over `inputs`; fails with the shortest input of each kind of fault.
fn run(body: fn(&[u8]), inputs: impl Iterator<Item = Vec<u8>>) {
    let mut faults: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut count = 0;
    let silent = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().name().is_none_or(|name| !name.contains("fuzzing")) {
            silent(info);
        }
    }));
    for input in inputs {
        count += 1;
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| body(&input))) {
            let message = panic.downcast_ref::<String>().cloned().unwrap_or_default();
            let kind: String = message.lines().take(1).flat_map(|line| line.chars().take(60)).collect();
            let shortest = faults.entry(kind).or_insert_with(|| input.clone());
            if input.len() < shortest.len() {
                *shortest = input;
            }
        }
    }
    let shown: Vec<_> = faults.iter().map(|(kind, input)| format!("{kind}\n    {:?}\n", String::from_utf8_lossy(input))).collect();
    assert!(faults.is_empty(), "{} kinds of faults in {count} inputs:\n{}", faults.len(), shown.concat());
}

fn shaken(seeds: Vec<Vec<u8>>, count: usize) -> impl Iterator<Item = Vec<u8>> {
    let mut random = Random::new(20);
    let fresh = seeds.clone().into_iter();
    fresh.chain((0..count).map(move |_| {
        let mut text = random.pick(&seeds).clone();
        mutate::shake(&mut text, &mut random);
        text
    }))
}

#[test]
fn obj() {
    let mut random = Random::new(21);
    let mut seeds = seeds("obj");
    seeds.extend((0..20).map(|_| generate::random(&mut random, 20)));
    run(fuzz::obj, shaken(seeds, 3000));
}

#[test]
fn mtl() {
    run(fuzz::mtl, shaken(seeds("mtl"), 2500));
}

#[test]
fn numbers() {
    let mut random = Random::new(22);
    let mut seeds = seeds("obj");
    for _ in 0..40 {
        let numbers: Vec<String> = (0..60).map(|_| generate::number(&mut random)).collect();
        seeds.push(numbers.join(" ").into_bytes());
    }
    run(fuzz::numbers, shaken(seeds, 800));
}

#[test]
fn tmp_log() {
    let mut random = Random::new(21);
    let mut seeds = seeds("obj");
    seeds.extend((0..20).map(|_| generate::random(&mut random, 20)));
    for (i,input) in shaken(seeds, 3000).enumerate() { std::fs::write("/tmp/tk-last.bin", &input).unwrap(); std::fs::write("/tmp/tk-last.n", i.to_string()).unwrap(); let _=catch_unwind(AssertUnwindSafe(|| fuzz::obj(&input))); }
}
