//! Failed requests, with messages that name the request and hide credentials.

use crate::address::PrivateAddress;
use crate::rate::SlowServer;
use crate::redirect::RefusedRedirect;
use object_store::Error as StoreError;
use polyhaul_fault::planted;
use reqwest::StatusCode;
use std::error::Error;
use std::io;
use std::time::Duration;

/// Maximum length of a reason in bytes, without the dots that mark its truncation.
const MAX_REASON_BYTES: usize = 200;

/// Error codes in responses of object stores, with their kind and meaning.
const ANSWERS: [(&str, io::ErrorKind, &str); 8] = [
    ("NoSuchBucket", io::ErrorKind::NotFound, "no such bucket (404)"),
    ("ContainerNotFound", io::ErrorKind::NotFound, "no such container (404)"),
    ("InvalidObjectState", io::ErrorKind::Unsupported, ARCHIVED),
    ("BlobArchived", io::ErrorKind::Unsupported, ARCHIVED),
    ("ExpiredToken", io::ErrorKind::PermissionDenied, "the credentials have expired"),
    ("RequestTimeTooSkewed", io::ErrorKind::PermissionDenied, "the clock of this machine is wrong"),
    ("PermanentRedirect", io::ErrorKind::InvalidInput, WRONG_REGION),
    ("AuthorizationHeaderMalformed", io::ErrorKind::InvalidInput, WRONG_REGION),
];

const ARCHIVED: &str = "the object is archived (such as in Glacier): restore it first, then read it";
const WRONG_REGION: &str = "the bucket is in another region: set AWS_REGION";

/// The reason for a failed request.
#[derive(Clone, Debug)]
pub(crate) struct RequestFailure {
    pub(crate) kind: io::ErrorKind,
    pub(crate) reason: String,
    /// Whether repeating the request may succeed.
    pub(crate) is_temporary: bool,
}

impl RequestFailure {
    /// Creates a permanent failure.
    pub(crate) fn new(kind: io::ErrorKind, reason: impl Into<String>) -> RequestFailure {
        RequestFailure { kind, reason: reason.into(), is_temporary: false }
    }

    /// Creates the failure for an object that has changed since the first request.
    pub(crate) fn changed() -> RequestFailure {
        RequestFailure::new(io::ErrorKind::InvalidData, "the object changed while it was being read")
    }

    /// Creates the failure for a body that was truncated, a connection that broke, or a server that was too slow.
    pub(crate) fn body(error: &(dyn Error + 'static)) -> RequestFailure {
        if let Some(slow) = cause::<SlowServer>(error) {
            return RequestFailure::slow(slow);
        }
        RequestFailure { kind: io::ErrorKind::UnexpectedEof, reason: reason(error), is_temporary: true }
    }

    /// Creates the failure for a server at `host` that sent nothing within the time limit.
    pub(crate) fn silent(host: &str, limit: Duration) -> RequestFailure {
        let seconds = limit.as_secs_f64();
        let reason = format!(
            "the request timed out: {host} was silent for {seconds} s; set POLYHAUL_NETWORK_TIMEOUT to wait longer"
        );
        RequestFailure { kind: io::ErrorKind::TimedOut, reason, is_temporary: true }
    }

    /// Creates the failure for a server that sent data below the minimum rate.
    pub(crate) fn slow(error: &SlowServer) -> RequestFailure {
        RequestFailure { kind: io::ErrorKind::TimedOut, reason: error.to_string(), is_temporary: true }
    }

    /// Creates the failure for a part that did not arrive in time.
    pub(crate) fn late(limit: Duration) -> RequestFailure {
        let reason = format!("the request timed out: the part took more than {} s", limit.as_secs());
        RequestFailure { kind: io::ErrorKind::TimedOut, reason, is_temporary: true }
    }

    /// Creates the failure for a request to a bucket, which `object_store` has already retried.
    pub(crate) fn of_store(error: &StoreError) -> RequestFailure {
        let kind = match error {
            StoreError::NotFound { .. } => io::ErrorKind::NotFound,
            StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. } => io::ErrorKind::PermissionDenied,
            StoreError::InvalidPath { .. } => io::ErrorKind::InvalidInput,
            StoreError::NotImplemented { .. } | StoreError::NotSupported { .. } => io::ErrorKind::Unsupported,
            StoreError::Precondition { .. } => io::ErrorKind::InvalidData,
            _ => io::ErrorKind::Other,
        };
        if let Some(redirect) = cause::<RefusedRedirect>(error) {
            return RequestFailure::new(io::ErrorKind::InvalidInput, redirect.to_string());
        }
        let reason = reason(error);
        let answer = format!("{error:?}");
        let has_code = |code: &str| answer.contains(&format!("<Code>{code}</Code>"));
        if let Some((_, kind, words)) = ANSWERS.iter().find(|(code, ..)| has_code(code)) {
            return RequestFailure::new(*kind, *words);
        }
        match kind {
            io::ErrorKind::NotFound => RequestFailure::new(kind, "no such object (404)"),
            _ => RequestFailure::new(kind, reason),
        }
    }

    /// Same as [`RequestFailure::of_store`], for requests with a body in the response. `object_store` does not retry if
    /// the body is truncated, so failures of unknown kind are temporary.
    pub(crate) fn of_answer(error: &StoreError) -> RequestFailure {
        let failure = RequestFailure::of_store(error);
        RequestFailure { is_temporary: failure.kind == io::ErrorKind::Other, ..failure }
    }

    /// Creates the failure for a request to a web server.
    pub(crate) fn of_web(error: &reqwest::Error) -> RequestFailure {
        if let Some(private) = cause::<PrivateAddress>(error) {
            return RequestFailure::new(io::ErrorKind::InvalidInput, private.to_string());
        }
        let is_temporary = error.is_timeout() || error.is_connect() || error.is_body() || error.is_request();
        let kind = if error.is_timeout() { io::ErrorKind::TimedOut } else { system_kind(error) };
        RequestFailure { kind, reason: reason(error), is_temporary }
    }

    /// Creates the failure for an unsuccessful status from a web server.
    pub(crate) fn of_status(status: StatusCode) -> RequestFailure {
        let kind = match status {
            StatusCode::NOT_FOUND | StatusCode::GONE => io::ErrorKind::NotFound,
            StatusCode::RANGE_NOT_SATISFIABLE => io::ErrorKind::NotSeekable,
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => io::ErrorKind::PermissionDenied,
            _ => io::ErrorKind::Other,
        };
        let is_temporary =
            status.is_server_error() || [StatusCode::TOO_MANY_REQUESTS, StatusCode::REQUEST_TIMEOUT].contains(&status);
        RequestFailure { kind, reason: format!("the server responded with {status}"), is_temporary }
    }

    /// Converts the failure to an error of `request`, such as `GET`. The caller adds the name of the object.
    pub(crate) fn into_io(self, request: &str) -> io::Error {
        let hint = match self.kind {
            io::ErrorKind::PermissionDenied => {
                "; check the credentials (for S3: AWS_ACCESS_KEY_ID and \
                AWS_SECRET_ACCESS_KEY or AWS_PROFILE; AWS_SKIP_SIGNATURE=true for public buckets)"
            }
            _ => "",
        };
        io::Error::new(self.kind, format!("{request}: {}{hint}", self.reason))
    }
}

/// Returns the first error of type `E` among this error and its causes.
fn cause<'e, E: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e E> {
    error.downcast_ref().or_else(|| cause(error.source()?))
}

/// Returns the kind of the system error that caused this error, such as a refused connection, or `Other` if there is
/// none.
fn system_kind(error: &dyn Error) -> io::ErrorKind {
    let mut kind = io::ErrorKind::Other;
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_kind = inner.downcast_ref::<io::Error>().map_or(io::ErrorKind::Other, io::Error::kind);
        kind = if inner_kind == io::ErrorKind::Other { kind } else { inner_kind };
        cause = inner.source();
    }
    kind
}

/// Formats the error and its causes on one line, without secrets.
fn reason(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let shown = inner.to_string();
        // Many errors already include their cause in their own message.
        if !text.contains(&shown) {
            text = format!("{text}: {shown}");
        }
        cause = inner.source();
    }
    // The libraries print all their settings before the server's response.
    if let Some(at) = text.rfind("status code: ") {
        let answer = &text[at + "status code: ".len()..];
        text = format!("the server responded with {answer}");
    }
    scrubbed(&text)
}

/// Joins the text into one line, removes user information, queries and fragments from URLs, and truncates it.
fn scrubbed(text: &str) -> String {
    let mut clean = String::new();
    for word in text.split_whitespace() {
        if !clean.is_empty() {
            clean.push(' ');
        }
        match word.find("://") {
            Some(at) => {
                let (scheme, rest) = word.split_at(at + "://".len());
                let rest = &rest[..rest.find(['?', '#']).unwrap_or(rest.len())];
                let host_end = rest.find('/').unwrap_or(rest.len());
                clean.push_str(scheme);
                // The path is not searched, because it may contain `@` itself; a password may as well, so the last one
                // counts.
                let user_end = rest[..host_end].rfind('@').filter(|_| !planted("cloud-secret"));
                clean.push_str(user_end.map_or(rest, |at| &rest[at + 1..]));
            }
            None => clean.push_str(word),
        }
    }
    if clean.len() > MAX_REASON_BYTES {
        let end = (0..=MAX_REASON_BYTES).rfind(|&at| clean.is_char_boundary(at)).unwrap_or(0);
        clean.truncate(end);
        clean.push_str("...");
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_scrubbed() {
        let text = "error for\nurl (https://me:secret@host/a.obj?sig=secret&x=1) and (http://b/c@d#secret";
        let clean = scrubbed(text);
        assert_eq!(clean, "error for url (https://host/a.obj and (http://b/c@d");
        assert!(scrubbed(&"\u{e9}".repeat(300)).len() <= MAX_REASON_BYTES + 3);
    }
}
