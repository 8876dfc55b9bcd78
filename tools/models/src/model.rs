//! A model: its test, and the mutations that the test must detect.

use crate::bounded::Bounded;
use shuttle::scheduler::{RandomScheduler, Scheduler};
use shuttle::{Config, FailurePersistence, Runner};
use std::any::Any;
use std::cell::Cell;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Maximum number of interruptions per interleaving.
const MAX_INTERRUPTIONS: usize = 2;
/// Fixed seed of random interleavings, so that failures are reproducible.
const SEED: u64 = 1;
/// Stack size of a model's threads: decoders keep tables on the stack.
const STACK_BYTES: usize = 512 << 10;

thread_local! {
    static PLANTED: Cell<&'static str> = const { Cell::new("") };
}

/// Returns whether this mutation is planted in the model that runs on this thread.
pub fn mutated(mutation: &str) -> bool {
    PLANTED.get() == mutation
}

/// A test that runs with many interleavings of its threads.
pub struct Model {
    name: &'static str,
    /// Number of random interleavings; 0 for all within the bound.
    random_orders: usize,
    test: Arc<dyn Fn() + Send + Sync>,
}

impl Model {
    /// Creates a model of an invariant that runs `test` with all interleavings of at most two interruptions.
    pub fn new(name: &'static str, test: impl Fn() + Send + Sync + 'static) -> Model {
        Model { name, random_orders: 0, test: Arc::new(test) }
    }

    /// Runs `count` random interleavings instead, for tests with more threads and operations.
    pub fn random(self, count: usize) -> Model {
        Model { random_orders: count, ..self }
    }

    /// Checks that the test passes with every interleaving, and fails with at least one for each of these mutations.
    ///
    /// # Panics
    /// With the message of the test if it fails, or with the name of an undetected mutation.
    pub fn detects(self, mutations: &[&'static str]) {
        let holds = self.explore("");
        let mut line = format!("model: {}: {} orders", self.name, holds.orders);
        assert!(
            holds.failure.is_none(),
            "{}: order {}: {}",
            self.name,
            holds.orders,
            holds.failure.unwrap_or_default()
        );
        for mutation in mutations {
            let broken = self.explore(mutation);
            assert!(broken.failure.is_some(), "{}: {mutation} is not detected", self.name);
            line += &format!("; {mutation} detected by order {}", broken.orders);
        }
        // Unlike `eprint!`, this is not captured for passing tests.
        _ = writeln!(std::io::stderr(), "{line}");
    }

    fn explore(&self, mutation: &'static str) -> Exploration {
        PLANTED.set(mutation);
        let orders = Arc::new(AtomicU64::new(0));
        let scheduler: Box<dyn Scheduler + Send> = match self.random_orders {
            0 => Box::new(Bounded::new(MAX_INTERRUPTIONS)),
            count => Box::new(RandomScheduler::new_from_seed(SEED, count)),
        };
        let mut config = Config::new();
        config.stack_size = STACK_BYTES;
        config.failure_persistence = FailurePersistence::None;
        config.silence_warnings = true;
        let runner = Runner::new(scheduler, config);
        let counted = orders.clone();
        let test = self.test.clone();
        let run = move || {
            counted.fetch_add(1, Relaxed);
            test();
        };
        let result = catch_unwind(AssertUnwindSafe(|| runner.run(run)));
        PLANTED.set("");
        Exploration { orders: orders.load(Relaxed), failure: result.err().map(|payload| message(payload.as_ref())) }
    }
}

/// Number of interleavings that ran, and the failure of the last one.
struct Exploration {
    orders: u64,
    failure: Option<String>,
}

/// Returns the message of a panic.
fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str).or(payload.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message").into()
}
