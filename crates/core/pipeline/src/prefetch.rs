//! Lets the system fetch a cold file while its start is parsed.
//!
//! One more thread, which hardly uses the CPU, keeps the disk busy; the workers read the same way with or without it.
//! `polyhaul_bytes::Prefetch` decides what to fetch and how far ahead.

use crate::crew::beside;
use crate::options::RunOptions;
use polyhaul_bytes::{Prefetch, Source};

/// Stops fetching when the job ends, even by a panic.
struct StopOnDrop<'p, 's>(&'p Prefetch<'s>);

impl Drop for StopOnDrop<'_, '_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Runs `read`, which reads `source`. If that is a cold file and the job may use several threads, another thread
/// fetches it meanwhile.
pub fn prefetched<T>(source: &Source<'_>, run: &RunOptions, read: impl FnOnce() -> T) -> T {
    let prefetch = if run.worker_threads() > 1 { source.prefetch() } else { None };
    match prefetch.filter(Prefetch::is_cold) {
        Some(prefetch) => fetch_beside(&prefetch, read),
        None => read(),
    }
}

fn fetch_beside<T>(prefetch: &Prefetch<'_>, read: impl FnOnce() -> T) -> T {
    beside(
        || prefetch.run(),
        || {
            let _stop = StopOnDrop(prefetch);
            read()
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::{Text, TextChunks};
    use crate::crew::within;
    use crate::job::ChunkJob;
    use crate::options::ThreadPool;
    use crate::run::{Crew, run};
    use polyhaul_model::error::Result;
    use std::fs::{self, File};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

    /// Concatenates the text, and calls `half` once it has half of it.
    struct Lines<'a> {
        chunks: TextChunks<'static>,
        half: &'a (dyn Fn() + Sync),
    }

    impl ChunkJob for Lines<'_> {
        type Slot = Text;
        type State = Vec<u8>;

        fn takes_in_order(&self) -> bool {
            false
        }

        fn slot(&self) -> Result<Text> {
            Ok(Text::default())
        }

        fn take(&self, number: u64, text: &mut Text) -> Result<bool> {
            self.chunks.take(number, text)
        }

        fn parse(&self, _: &mut Text) -> Result<()> {
            Ok(())
        }

        fn place(&self, joined: &mut Vec<u8>, text: &mut Text) -> Result<()> {
            let had_half = joined.len() >= TEXT_BYTES / 2;
            joined.extend_from_slice(text.bytes());
            if !had_half && joined.len() >= TEXT_BYTES / 2 {
                (self.half)();
            }
            Ok(())
        }
    }

    const TEXT_BYTES: usize = 20 << 20;

    /// Reads a file, prefetched or not, and calls `half` in the middle.
    fn read(text: &[u8], is_fetched: bool, half: impl Fn(&File, &RunOptions) + Sync) -> (Result<()>, Vec<u8>) {
        let path = std::env::temp_dir().join(format!("polyhaul-pipeline-prefetch-{}", std::process::id()));
        fs::write(&path, text).unwrap();
        let source = Source::open(&path).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let options = RunOptions::default().with_threads(Some(2));
        let mut joined = Vec::new();
        let half = || half(&file, &options);
        let job = Lines { chunks: TextChunks::new(source.clone()).cut(300_000, u64::MAX, 0), half: &half };
        let mut read = || run(&job, &mut joined, Crew::new(2, 8 << 20, 300_000), &options.cancel);
        let prefetch = source.prefetch().unwrap();
        let result = if is_fetched { fetch_beside(&prefetch, read) } else { read() };
        (result, joined)
    }

    #[test]
    fn results_and_errors_do_not_depend_on_fetching() {
        let text: Vec<u8> = (0..).flat_map(|i| format!("v {i}\n").into_bytes()).take(TEXT_BYTES).collect();
        for is_fetched in [false, true] {
            let (result, joined) = read(&text, is_fetched, |_, _| ());
            assert!(result.is_ok() && joined == text, "{is_fetched}: {result:?}");
            // The end is many chunks away.
            let (result, joined) = read(&text, is_fetched, |file, _| file.set_len(TEXT_BYTES as u64 - 1).unwrap());
            let error = result.unwrap_err().to_string();
            assert!(error.contains("the file shrank") && error.contains(&format!("{}", TEXT_BYTES - 1)), "{error}");
            assert!(text.starts_with(&joined) && joined.len() >= TEXT_BYTES / 2, "{is_fetched}: {}", joined.len());
            let (result, joined) = read(&text, is_fetched, |_, options| options.cancel.cancel());
            assert!(result.unwrap_err().to_string().contains("cancelled") && joined.len() < TEXT_BYTES);
        }
    }

    #[test]
    fn the_fetching_thread_ends_with_the_job_even_if_that_panics() {
        let is_over = AtomicBool::new(false);
        let has_run = AtomicBool::new(false);
        let wait = || {
            while !is_over.load(SeqCst) {
                std::thread::yield_now();
            }
            has_run.store(true, SeqCst);
        };
        struct Over<'a>(&'a AtomicBool);
        impl Drop for Over<'_> {
            fn drop(&mut self) {
                self.0.store(true, SeqCst);
            }
        }
        let fail = || {
            let _over = Over(&is_over);
            panic!("a planted panic")
        };
        assert!(catch_unwind(AssertUnwindSafe(|| beside(wait, fail))).is_err());
        assert!(has_run.load(SeqCst));
    }

    #[test]
    fn a_pool_of_the_caller_gets_no_thread_beside_it() {
        let pool = ThreadPool(Arc::new(|count, task| (0..count).for_each(task)));
        let run = RunOptions::default().with_pool(Some(pool));
        let is_started = AtomicBool::new(false);
        assert_eq!(within(&run, || beside(|| is_started.store(true, SeqCst), || 7)), 7);
        assert!(!is_started.load(SeqCst));
    }
}
