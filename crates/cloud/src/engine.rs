//! The thread that talks to stores, and the connections it keeps.
//!
//! One thread is enough for what was measured (300 MB from the loopback in 0.4 s with parsing, bench/python/cloud.py):
//! all other work is done by the caller's threads. A process made by
//! `fork` has no such thread, so it gets its own at its first request.

use crate::Check;
use crate::settings;
use object_store::ObjectStore;
use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::{Builder, Handle};
use tokio::task::JoinHandle;

/// How long a caller waits before it checks whether it should go on.
pub(crate) const STEP: Duration = Duration::from_millis(50);

static ENGINE: Mutex<Option<Arc<Engine>>> = Mutex::new(None);

/// The running thread.
pub(crate) struct Engine {
    /// The process that started it.
    process: u32,
    handle: Handle,
    /// For plain HTTP.
    pub(crate) client: reqwest::Client,
    /// The buckets in use, by scheme and name.
    pub(crate) buckets: Mutex<HashMap<String, Arc<dyn ObjectStore>>>,
}

/// The engine of this process.
pub(crate) fn engine() -> io::Result<Arc<Engine>> {
    let mut engine = ENGINE.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some(engine) = engine.as_ref().filter(|engine| engine.process == process) {
        return Ok(engine.clone());
    }
    // Fails if the program that uses this library has chosen another provider, which then serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let client = settings::web_client().map_err(|error| io::Error::other(format!("cannot start HTTP: {error}")))?;
    let run = move || runtime.block_on(std::future::pending::<()>());
    std::thread::Builder::new().name("polyhaul-cloud".into()).spawn(run)?;
    let new = Arc::new(Engine { process, handle, client, buckets: Mutex::default() });
    *engine = Some(new.clone());
    Ok(new)
}

impl Engine {
    /// Starts a task and returns at once.
    pub(crate) fn start<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) -> Running<T> {
        let (send, answer) = sync_channel(1);
        let task = self.handle.spawn(async move {
            // Nobody waits any longer if this fails.
            let _ = send.send(task.await);
        });
        Running { answer, task }
    }

    /// Runs a task to its end.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        check: &Check,
        task: impl Future<Output = T> + Send + 'static,
    ) -> io::Result<T> {
        self.start(task).wait(check)
    }
}

/// A task that was started.
pub(crate) struct Running<T> {
    answer: std::sync::mpsc::Receiver<T>,
    task: JoinHandle<()>,
}

impl<T> Running<T> {
    /// Waits until it ends or `check` fails, which ends it.
    pub(crate) fn wait(self, check: &Check) -> io::Result<T> {
        loop {
            match self.answer.recv_timeout(STEP) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Timeout) => check().inspect_err(|_| self.task.abort())?,
                Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("the request was lost")),
            }
        }
    }
}
