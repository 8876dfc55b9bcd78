//! Models of the queue of parts that threads decode ahead.

use super::*;
use polyhaul_models::Model;
use polyhaul_models::shuttle::thread::spawn;

const SPANS: u64 = 5;
const SPAN_BYTES: u64 = 8;
const MAX_PARTS: usize = 2;

/// Returns the bit offset of the first block in a span. In span 2, the search finds a different bit.
fn start_bit(number: u64) -> u64 {
    8 * SPAN_BYTES * number + if number == 2 { 3 } else { 0 }
}

/// Does a worker's jobs like [`AheadWorker::run`], with empty parts. A window contains the low byte of its position.
fn work(parts: &AheadParts) {
    while let Some(mut job) = parts.next_job() {
        assert!(parts.span_count() <= MAX_PARTS, "more parts than there is memory for");
        if let Some(window) = job.window.take() {
            assert_eq!(window, [job.part.start_bit() as u8], "the window of another part");
            parts.set_window(job.part.end_bit(), vec![job.part.end_bit() as u8]);
            job.part.resolve(&SymbolBytes::new().unwrap());
            job.is_done = true;
        } else {
            let bit = 8 * SPAN_BYTES * job.number;
            job.part.mark(bit, start_bit(job.number + 1));
            job.is_done = parts.found_block(job.number, bit);
        }
    }
}

/// Reads all spans.
fn read(parts: &AheadParts) {
    for bit in (1..SPANS).map(start_bit) {
        let Some(part) = parts.take(bit) else { continue };
        assert_eq!(part.start_bit(), bit, "a part of another position");
        if !part.is_resolved() {
            parts.set_window(part.end_bit(), vec![part.end_bit() as u8]);
        }
        parts.give_back(part);
    }
}

fn queue() -> AheadParts {
    let parts = AheadParts::new(SPANS * SPAN_BYTES, PartSizes { span_bytes: SPAN_BYTES, part_bytes: 1 }, MAX_PARTS);
    parts.reserve().unwrap();
    parts
}

#[test]
fn the_reading_thread_gets_the_part_at_its_position_and_never_waits_in_vain() {
    for workers in [1, 2] {
        let test = move || {
            let parts = Arc::new(queue());
            let workers: Vec<_> = (0..workers)
                .map(|_| {
                    let parts = parts.clone();
                    spawn(move || work(&parts))
                })
                .collect();
            read(&parts);
            workers.into_iter().for_each(|worker| worker.join().unwrap());
            let memory = parts.lock().idle.capacity();
            assert!(memory <= MAX_PARTS + 1, "the list of free parts grew to {memory}");
        };
        let mutations = ["part-unwoken", "part-misplaced", "window-misplaced", "parts-unbounded"];
        // The other mutations need a second worker.
        Model::new("gzip: the queue", test).detects(&mutations[..2 * workers]);
    }
}

/// The real decoders, on text with blocks larger and smaller than spans.
#[test]
fn the_bytes_are_the_same_in_every_order() {
    let plain: &'static [u8] = text(20_000).leak();
    let packed: &'static [u8] = gzip(plain, 6, 1500).leak();
    let sizes = PartSizes { span_bytes: packed.len() as u64 / 5, part_bytes: 1 << 20 };
    let test = move || {
        let (ahead, mut decoder) = following(packed, sizes, 2);
        let ahead = Arc::new(ahead);
        let workers = [(); 2].map(|()| {
            let ahead = ahead.clone();
            spawn(move || while ahead.work() {})
        });
        let answer = read_all(&mut decoder, || {});
        assert!(answer == (plain.to_vec(), None), "{} bytes, {:?}", answer.0.len(), answer.1);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    };
    Model::new("gzip: the decoders", test).random(2000).detects(&["part-unwoken"]);
}
