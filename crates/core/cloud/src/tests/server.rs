//! A server whose responses a test writes.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// A server that uses a separate connection for each request and stops when dropped. Complete responses should have
/// `Connection: close`, so that no request is sent on a connection that is about to end.
pub(super) struct HostileServer {
    pub(super) port: u16,
    requests: Arc<Mutex<Vec<Request>>>,
    is_stopped: Arc<AtomicBool>,
    listener: Option<JoinHandle<()>>,
}

#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) head: String,
    /// The number of requests before this one.
    pub(super) index: usize,
    is_stopped: Arc<AtomicBool>,
}

impl Request {
    /// Returns the offsets of the first and the last byte of the requested range.
    pub(super) fn range(&self) -> Option<(usize, usize)> {
        let (start, last) = self.head.split_once("range: bytes=")?.1.lines().next()?.split_once('-')?;
        Some((start.parse().unwrap(), last.parse().unwrap()))
    }

    /// Whether the test is still waiting.
    pub(super) fn is_wanted(&self) -> bool {
        !self.is_stopped.load(SeqCst)
    }
}

impl HostileServer {
    /// Starts a server. `answer` writes a response; its errors mean that the client hung up.
    pub(super) fn start(
        answer: impl Fn(&Request, &mut TcpStream) -> io::Result<()> + Send + Sync + 'static,
    ) -> HostileServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let is_stopped = Arc::new(AtomicBool::new(false));
        let seen = requests.clone();
        let stop = is_stopped.clone();
        let answer = Arc::new(answer);
        let run = move || {
            for stream in listener.incoming() {
                if stop.load(SeqCst) {
                    return;
                }
                let seen = seen.clone();
                let stop = stop.clone();
                let answer = answer.clone();
                std::thread::spawn(move || serve(stream?, &seen, stop, &*answer));
            }
        };
        HostileServer { port, requests, is_stopped, listener: Some(std::thread::spawn(run)) }
    }

    /// Starts a server that responds to each request with the same bytes.
    pub(super) fn with_response(response: impl Into<Vec<u8>>) -> HostileServer {
        let response = response.into();
        HostileServer::start(move |_, stream| stream.write_all(&response))
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for HostileServer {
    fn drop(&mut self) {
        self.is_stopped.store(true, SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        let _ = self.listener.take().map(JoinHandle::join);
    }
}

fn serve(
    mut stream: TcpStream,
    requests: &Mutex<Vec<Request>>,
    is_stopped: Arc<AtomicBool>,
    answer: &dyn Fn(&Request, &mut TcpStream) -> io::Result<()>,
) -> io::Result<()> {
    let mut head = String::new();
    let mut reader = BufReader::new(stream.try_clone()?);
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    let request = {
        let mut requests = requests.lock().unwrap();
        let request = Request { head: head.to_ascii_lowercase(), index: requests.len(), is_stopped };
        requests.push(request.clone());
        request
    };
    answer(&request, &mut stream)?;
    stream.shutdown(std::net::Shutdown::Write)
}
