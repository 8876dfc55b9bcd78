//! Sends requests to web servers, follows permitted redirects, and requires bodies to arrive at a minimum rate.

use crate::address::{AddressRule, NameLookup};
use crate::failure::RequestFailure;
use crate::rate::DownloadRate;
use crate::redirect::{is_same_host, shown_host};
use crate::settings::{CONNECT_TIMEOUT, NetworkSettings};
use bytes::Bytes;
use reqwest::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderMap, LOCATION, RANGE};
use reqwest::{Client, Method, Response, StatusCode, Url};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// Maximum number of redirects per request.
const MAX_REDIRECTS: usize = 10;
/// Content codings that readers detect by content. No coding is requested, but some servers use one anyway.
const KNOWN_CODINGS: [&str; 4] = ["identity", "gzip", "x-gzip", "zstd"];

/// The clients for web servers.
pub(crate) struct WebClient {
    /// For the hosts in users' URLs.
    direct: Client,
    /// For the hosts of redirects. Has its own connections, so that it does not reuse a connection to a private
    /// address.
    redirected: Client,
    settings: Arc<NetworkSettings>,
}

/// A request to a web server.
#[derive(Clone)]
pub(crate) struct WebRequest<'a> {
    pub(crate) method: Method,
    pub(crate) url: &'a str,
    pub(crate) range: Option<Range<u64>>,
    pub(crate) body: Bytes,
}

impl<'a> WebRequest<'a> {
    /// Creates a request without a body for the whole object.
    pub(crate) fn new(method: Method, url: &'a str) -> WebRequest<'a> {
        WebRequest { method, url, range: None, body: Bytes::new() }
    }
}

impl WebClient {
    pub(crate) fn new(settings: Arc<NetworkSettings>) -> reqwest::Result<WebClient> {
        let rule = if settings.redirects.are_private_permitted {
            AddressRule::Any
        } else {
            // With a proxy, only the names of proxies are looked up here.
            AddressRule::Public(settings.proxies.clone())
        };
        let direct = client(&settings, AddressRule::AsAtFirst)?;
        let redirected = client(&settings, rule)?;
        Ok(WebClient { direct, redirected, settings })
    }

    /// Sends a request and follows redirects. An unsuccessful status is a failure.
    ///
    /// Credentials in the URL are sent only to its host. After a redirect to another host, they are not sent again,
    /// even if a later redirect leads back.
    pub(crate) async fn send(&self, request: &WebRequest<'_>) -> Result<WebResponse, RequestFailure> {
        let origin = Url::parse(request.url).map_err(|_| invalid("not a valid URL"))?;
        let mut target = origin.clone();
        let mut client = &self.direct;
        for _ in 0..=MAX_REDIRECTS {
            let response = self.send_once(client, request, target.clone()).await?;
            let Some(mut next) = redirect_target(&request.method, &target, &response)? else {
                return self.accepted(response, &target);
            };
            self.settings.redirects.check(&origin, &target, &next).map_err(|reason| invalid(&reason))?;
            let is_trusted = std::ptr::eq(client, &self.direct) && is_same_host(&origin, &next);
            client = if is_trusted { &self.direct } else { &self.redirected };
            let username = if is_trusted { origin.username() } else { "" };
            let password = origin.password().filter(|_| is_trusted);
            let set = next.set_username(username).and_then(|()| next.set_password(password));
            set.map_err(|()| invalid("the server redirected to a URL without a host"))?;
            target = next;
        }
        Err(RequestFailure::new(io::ErrorKind::Other, format!("the server redirected more than {MAX_REDIRECTS} times")))
    }

    async fn send_once(
        &self,
        client: &Client,
        request: &WebRequest<'_>,
        target: Url,
    ) -> Result<Response, RequestFailure> {
        let host = shown_host(&target);
        // Without compression, since the offsets of a compressed body are not those of the object.
        let mut builder = client.request(request.method.clone(), target).header(ACCEPT_ENCODING, "identity");
        if let Some(range) = &request.range {
            builder = builder.header(RANGE, format!("bytes={}-{}", range.start, range.end.saturating_sub(1)));
        }
        if !request.body.is_empty() {
            builder = builder.body(request.body.clone());
        }
        match tokio::time::timeout(self.settings.timeout, builder.send()).await {
            Ok(response) => response.map_err(|error| RequestFailure::of_web(&error)),
            Err(_) => Err(RequestFailure::silent(&host, self.settings.timeout)),
        }
    }

    fn accepted(&self, response: Response, target: &Url) -> Result<WebResponse, RequestFailure> {
        if !response.status().is_success() {
            return Err(RequestFailure::of_status(response.status()));
        }
        for coding in response.headers().get_all(CONTENT_ENCODING) {
            let coding = coding.to_str().unwrap_or_default().trim().to_ascii_lowercase();
            if !KNOWN_CODINGS.contains(&coding.as_str()) {
                let reason = format!("the server compressed the object, which was not requested: {coding}");
                return Err(RequestFailure::new(io::ErrorKind::Unsupported, reason));
            }
        }
        let host = shown_host(target);
        let rate = DownloadRate::new(&host, self.settings.min_rate, self.settings.timeout);
        Ok(WebResponse { response, rate, host, settings: self.settings.clone() })
    }
}

fn client(settings: &NetworkSettings, rule: AddressRule) -> reqwest::Result<Client> {
    Client::builder()
        .connect_timeout(CONNECT_TIMEOUT.min(settings.timeout))
        .redirect(reqwest::redirect::Policy::none())
        .dns_resolver(NameLookup::new(rule))
        .user_agent(concat!("polyhaul/", env!("CARGO_PKG_VERSION")))
        .build()
}

/// Returns the target of a redirect, or `None` for other responses.
fn redirect_target(method: &Method, from: &Url, response: &Response) -> Result<Option<Url>, RequestFailure> {
    match response.status() {
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND | StatusCode::SEE_OTHER if *method == Method::PUT => {
            return Err(invalid("the server redirected the upload: write to the final URL"));
        }
        StatusCode::MOVED_PERMANENTLY
        | StatusCode::FOUND
        | StatusCode::SEE_OTHER
        | StatusCode::TEMPORARY_REDIRECT
        | StatusCode::PERMANENT_REDIRECT => {}
        _ => return Ok(None),
    }
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let next = location.and_then(|location| from.join(location).ok());
    next.map(Some).ok_or_else(|| invalid("the server redirected without a valid location"))
}

fn invalid(reason: &str) -> RequestFailure {
    RequestFailure::new(io::ErrorKind::InvalidInput, reason)
}

/// A successful response whose body has not been read yet.
pub(crate) struct WebResponse {
    response: Response,
    rate: DownloadRate,
    host: String,
    settings: Arc<NetworkSettings>,
}

impl WebResponse {
    pub(crate) fn status(&self) -> StatusCode {
        self.response.status()
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// Waits for the next bytes. Returns `None` at the end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, RequestFailure> {
        let start = Instant::now();
        let Ok(chunk) = tokio::time::timeout(self.settings.timeout, self.response.chunk()).await else {
            return Err(RequestFailure::silent(&self.host, self.settings.timeout));
        };
        let chunk = chunk.map_err(|error| RequestFailure::body(&error))?;
        if let Some(chunk) = &chunk {
            self.rate.add(start.elapsed(), chunk.len()).map_err(|error| RequestFailure::slow(&error))?;
        }
        Ok(chunk)
    }

    /// Reads a body, which must have the expected length.
    pub(crate) async fn collect(mut self, expected_bytes: u64) -> Result<Bytes, RequestFailure> {
        let mut body = ExpectedBody::new(expected_bytes);
        while let Some(chunk) = self.chunk().await? {
            body.push(chunk)?;
        }
        body.finish()
    }
}

/// A body that must have a certain length. Never holds more bytes, however much the server sends.
pub(crate) struct ExpectedBody {
    expected_bytes: u64,
    bytes: Vec<u8>,
}

impl ExpectedBody {
    pub(crate) fn new(expected_bytes: u64) -> ExpectedBody {
        ExpectedBody { expected_bytes, bytes: Vec::new() }
    }

    pub(crate) fn push(&mut self, chunk: Bytes) -> Result<(), RequestFailure> {
        let length = self.bytes.len() + chunk.len();
        if length as u64 > self.expected_bytes {
            let reason = format!("the server sent more than the {} bytes that it announced", self.expected_bytes);
            return Err(RequestFailure::new(io::ErrorKind::InvalidData, reason));
        }
        if self.bytes.is_empty() {
            // This is at most the size of a part.
            self.bytes.reserve_exact(self.expected_bytes as usize);
        }
        self.bytes.extend_from_slice(&chunk);
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<Bytes, RequestFailure> {
        if (self.bytes.len() as u64) < self.expected_bytes {
            let reason = format!("the body ends after {} of {} bytes", self.bytes.len(), self.expected_bytes);
            let failure = RequestFailure::new(io::ErrorKind::UnexpectedEof, reason);
            return Err(RequestFailure { is_temporary: true, ..failure });
        }
        Ok(self.bytes.into())
    }
}
