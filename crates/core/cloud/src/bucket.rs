//! The HTTP client for buckets. It does not follow redirects, limits the size of responses other than objects, requires
//! a minimum rate, and marks keys in listings.

use crate::address::{AddressRule, NameLookup};
use crate::keys::marked_listing;
use crate::rate::DownloadRate;
use crate::redirect::{RefusedRedirect, shown_host};
use crate::settings::{CONNECT_TIMEOUT, NetworkSettings, REQUEST_TIMEOUT};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body::{Body, Frame, SizeHint};
use object_store::ClientConfigKey::{AllowHttp, ConnectTimeout};
use object_store::client::{
    ClientOptions, HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use reqwest::header::LOCATION;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// Maximum length of a response that is not an object, such as a listing or an error.
const MAX_ANSWER_BYTES: u64 = 64 << 20;
/// Time limit for connecting to the machine's metadata service, which often does not exist.
const METADATA_CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// Creates the clients for buckets.
#[derive(Debug)]
pub(crate) struct BucketConnector {
    pub(crate) settings: Arc<NetworkSettings>,
}

#[derive(Debug)]
struct BucketClient {
    http: HttpClient,
    settings: Arc<NetworkSettings>,
}

impl HttpConnector for BucketConnector {
    /// `ReqwestConnector` would follow redirects, and pass on tokens in headers such as `x-amz-security-token`.
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        // `object_store` connects to the metadata service with a different connect timeout.
        let has_default = |key| options.get_config_value(&key) == self.settings.client_options().get_config_value(&key);
        let connect_timeout = if has_default(ConnectTimeout) { CONNECT_TIMEOUT } else { METADATA_CONNECT_TIMEOUT };
        let client = reqwest::Client::builder()
            .connect_timeout(connect_timeout)
            .read_timeout(self.settings.timeout)
            .timeout(REQUEST_TIMEOUT)
            .https_only(options.get_config_value(&AllowHttp).as_deref() != Some("true"))
            .redirect(reqwest::redirect::Policy::none())
            .dns_resolver(NameLookup::new(AddressRule::Any))
            .user_agent(concat!("polyhaul/", env!("CARGO_PKG_VERSION")))
            .build();
        let http = client.map_err(|error| object_store::Error::Generic { store: "HTTP", source: Box::new(error) })?;
        Ok(HttpClient::new(BucketClient { http: HttpClient::new(http), settings: self.settings.clone() }))
    }
}

impl HttpService for BucketClient {
    fn call<'s, 'f>(&'s self, request: HttpRequest) -> BoxFuture<'f, Result<HttpResponse, HttpError>>
    where
        's: 'f,
        Self: 'f,
    {
        let query = request.uri().query().unwrap_or_default();
        // `list-type` is a parameter of S3 and Google, `comp=list` is one of Azure.
        let is_listing = query.split('&').any(|part| part.starts_with("list-type=") || part == "comp=list");
        let host = request.uri().host().unwrap_or_default().to_owned();
        let rate = DownloadRate::new(&host, self.settings.min_rate, self.settings.timeout);
        Box::pin(async move {
            let response = self.http.execute(request).await?;
            if response.status().is_redirection() {
                check_redirect(&response)?;
            }
            let is_object = response.status().is_success() && !is_listing;
            let bytes_left = if is_object { u64::MAX } else { MAX_ANSWER_BYTES };
            let (parts, inner) = response.into_parts();
            let body = HttpResponseBody::new(BoundedBody { inner, rate, bytes_left, pending_since: None });
            if !is_listing || !parts.status.is_success() {
                return Ok(HttpResponse::from_parts(parts, body));
            }
            let body = body.bytes().await?;
            let marked = std::str::from_utf8(&body).ok().and_then(marked_listing).map(String::into_bytes);
            Ok(HttpResponse::from_parts(parts, marked.map_or(body, Into::into).into()))
        })
    }
}

/// Returns an error with the host of a redirect. `object_store` explains redirects without a location itself.
fn check_redirect(response: &HttpResponse) -> Result<(), HttpError> {
    let Some(location) = response.headers().get(LOCATION) else { return Ok(()) };
    let target = location.to_str().ok().and_then(|location| reqwest::Url::parse(location).ok());
    let host = target.as_ref().map_or_else(|| "another address".to_owned(), shown_host);
    Err(HttpError::new(HttpErrorKind::Unknown, RefusedRedirect { host }))
}

/// A body with a maximum length and a minimum rate.
struct BoundedBody {
    inner: HttpResponseBody,
    rate: DownloadRate,
    bytes_left: u64,
    pending_since: Option<Instant>,
}

impl BoundedBody {
    fn count(&mut self, bytes: usize) -> Result<(), HttpError> {
        let waited = self.pending_since.take().map_or(Duration::ZERO, |since| since.elapsed());
        self.rate.add(waited, bytes).map_err(|error| HttpError::new(HttpErrorKind::Timeout, error))?;
        let left = self.bytes_left.checked_sub(bytes as u64);
        self.bytes_left = left.ok_or_else(|| {
            let error = io::Error::new(io::ErrorKind::InvalidData, "the server's response is too long");
            HttpError::new(HttpErrorKind::Decode, error)
        })?;
        Ok(())
    }
}

impl Body for BoundedBody {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(context) else {
            // The first of several polls counts, since the wait starts there.
            self.pending_since.get_or_insert_with(Instant::now);
            return Poll::Pending;
        };
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
            && let Err(error) = self.count(data.len())
        {
            return Poll::Ready(Some(Err(error)));
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
