//! Has the system fetch a cold file while its beginning is parsed.
//!
//! A thread that hardly computes keeps the disk busy; the workers read what it fetched, as they would without it. What
//! is fetched, and how far ahead, is in `polyhaul_bytes::Prefetch`.

use crate::crew::beside;
use crate::options::RunOptions;
use polyhaul_bytes::{Prefetch, Source};

/// Ends the fetching with the job, even if that panics.
struct Stopped<'p, 's>(&'p Prefetch<'s>);

impl Drop for Stopped<'_, '_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Runs `read`, which reads `source`. If that is a cold file and more than one thread may work, one more fetches it.
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
            let _stopped = Stopped(prefetch);
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

    /// Puts the text together again, and does something when it has half of it.
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

        fn place(&self, all: &mut Vec<u8>, text: &mut Text) -> Result<()> {
            let had_half = all.len() >= TEXT_BYTES / 2;
            all.extend_from_slice(text.bytes());
            if !had_half && all.len() >= TEXT_BYTES / 2 {
                (self.half)();
            }
            Ok(())
        }
    }

    const TEXT_BYTES: usize = 20 << 20;

    /// Reads a file, fetched or not, and does something to it in the middle.
    fn read(text: &[u8], is_fetched: bool, half: impl Fn(&File, &RunOptions) + Sync) -> (Result<()>, Vec<u8>) {
        let path = std::env::temp_dir().join(format!("polyhaul-pipeline-prefetch-{}", std::process::id()));
        fs::write(&path, text).unwrap();
        let (source, file) = (Source::open(&path).unwrap(), File::options().write(true).open(&path).unwrap());
        fs::remove_file(&path).unwrap();
        let (options, mut all) = (RunOptions::default().with_threads(Some(2)), Vec::new());
        let half = || half(&file, &options);
        let job = Lines { chunks: TextChunks::new(source.clone()).cut(300_000, u64::MAX, 0), half: &half };
        let mut read = || run(&job, &mut all, Crew::new(2, 8 << 20, 300_000), &options.cancel);
        let prefetch = source.prefetch().unwrap();
        let result = if is_fetched { fetch_beside(&prefetch, read) } else { read() };
        (result, all)
    }

    #[test]
    fn results_and_errors_do_not_depend_on_fetching() {
        let text: Vec<u8> = (0..).flat_map(|i| format!("v {i}\n").into_bytes()).take(TEXT_BYTES).collect();
        for is_fetched in [false, true] {
            let (result, all) = read(&text, is_fetched, |_, _| ());
            assert!(result.is_ok() && all == text, "{is_fetched}: {result:?}");
            // The end is many chunks away.
            let (result, all) = read(&text, is_fetched, |file, _| file.set_len(TEXT_BYTES as u64 - 1).unwrap());
            let error = result.unwrap_err().to_string();
            assert!(error.contains("the file shrank") && error.contains(&format!("{}", TEXT_BYTES - 1)), "{error}");
            assert!(text.starts_with(&all) && all.len() >= TEXT_BYTES / 2, "{is_fetched}: {}", all.len());
            let (result, all) = read(&text, is_fetched, |_, options| options.cancel.cancel());
            assert!(result.unwrap_err().to_string().contains("cancelled") && all.len() < TEXT_BYTES);
        }
    }

    #[test]
    fn the_fetching_thread_ends_with_the_job_even_if_that_panics() {
        let (is_over, has_run) = (AtomicBool::new(false), AtomicBool::new(false));
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
        let (run, is_started) = (RunOptions::default().with_pool(Some(pool)), AtomicBool::new(false));
        assert_eq!(within(&run, || beside(|| is_started.store(true, SeqCst), || 7)), 7);
        assert!(!is_started.load(SeqCst));
    }
}
