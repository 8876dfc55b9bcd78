//! The background thread for requests, and its open connections.
//!
//! One thread suffices in our measurements (300 MB over loopback in 0.4 s including parsing,
//! tools/bench/python/cloud.py), because the caller's threads do all other work. A forked process does not inherit the
//! thread, so it starts its own thread with its first request.

use crate::StopCheck;
use crate::settings::NetworkSettings;
use crate::web::WebClient;
use object_store::ObjectStore;
use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::{Builder, Handle};
use tokio::task::JoinHandle;

/// Interval at which a waiting caller calls its [`StopCheck`].
pub(crate) const STEP: Duration = Duration::from_millis(50);

static ENGINE: Mutex<Option<Arc<CloudEngine>>> = Mutex::new(None);

/// The background thread and its connections.
pub(crate) struct CloudEngine {
    /// The ID of the process that started the thread.
    process: u32,
    handle: Handle,
    pub(crate) settings: Arc<NetworkSettings>,
    /// The client for web servers.
    pub(crate) web: Arc<WebClient>,
    /// Connected buckets, keyed by kind of store and name of the bucket.
    pub(crate) buckets: Mutex<HashMap<String, Arc<dyn ObjectStore>>>,
}

/// Returns the engine of this process, and starts it if necessary.
pub(crate) fn engine() -> io::Result<Arc<CloudEngine>> {
    let mut engine = ENGINE.lock().unwrap_or_else(PoisonError::into_inner);
    // The ID shows whether this is a forked process, which has a copy of the engine but not its thread.
    let process = std::process::id();
    if let Some(engine) = engine.as_ref().filter(|engine| engine.process == process) {
        return Ok(engine.clone());
    }
    let new = CloudEngine::new(NetworkSettings::from_environment()?)?;
    *engine = Some(new.clone());
    Ok(new)
}

impl CloudEngine {
    /// Starts the thread.
    pub(crate) fn new(settings: NetworkSettings) -> io::Result<Arc<CloudEngine>> {
        // Fails if the host program has already installed a provider, which is used instead and works just as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let settings = Arc::new(settings);
        let web = WebClient::new(settings.clone());
        let web = web.map_err(|error| io::Error::other(format!("cannot start the HTTP client: {error}")))?;
        let run = move || runtime.block_on(std::future::pending::<()>());
        std::thread::Builder::new().name("polyhaul-cloud".into()).spawn(run)?;
        let process = std::process::id();
        Ok(Arc::new(CloudEngine { process, handle, settings, web: Arc::new(web), buckets: Mutex::default() }))
    }

    /// Starts a task without waiting for it.
    pub(crate) fn start<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) -> Running<T> {
        // There is room for the result, so that sending it never blocks the thread on which all requests run.
        let (send, answer) = sync_channel(1);
        let task = self.handle.spawn(async move {
            // Fails only if the caller has stopped waiting.
            let _ = send.send(task.await);
        });
        Running { answer, task }
    }

    /// Runs a task to completion, unless `check` fails first.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        check: &StopCheck,
        task: impl Future<Output = T> + Send + 'static,
    ) -> io::Result<T> {
        self.start(task).wait(check)
    }
}

/// A running task.
pub(crate) struct Running<T> {
    answer: std::sync::mpsc::Receiver<T>,
    task: JoinHandle<()>,
}

impl<T> Running<T> {
    /// Stops the task. Dropping a [`Running`] does not stop its task.
    pub(crate) fn abort(self) {
        self.task.abort();
    }

    /// Waits for the result. If `check` fails, the task is aborted.
    pub(crate) fn wait(self, check: &StopCheck) -> io::Result<T> {
        loop {
            match self.answer.recv_timeout(STEP) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Timeout) => check().inspect_err(|_| self.task.abort())?,
                Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("the request got no response")),
            }
        }
    }
}
