//! Credentials, endpoints, timeouts and retries, from the standard environment variables and files.
//!
//! S3: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_REGION`, `AWS_ENDPOINT_URL`,
//! `AWS_SKIP_SIGNATURE`; otherwise the profile `AWS_PROFILE` of `~/.aws/credentials` and `~/.aws/config`; otherwise the
//! role of the machine, container or pod. Google: `GOOGLE_APPLICATION_CREDENTIALS` or the application default
//! credentials. Azure: `AZURE_STORAGE_ACCOUNT_NAME` and a key, a token or a managed identity. The values never leave
//! this module.
//!
//! File format: <https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-files.html>.

use crate::keys::MarkingConnector;
use crate::location::{Location, StoreKind};
use object_store::aws::{AmazonS3Builder, resolve_bucket_region};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, Result, RetryConfig};
use std::collections::HashMap;
use std::env;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The time limit for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The time limit for each read, unless `POLYHAUL_NETWORK_TIMEOUT` sets another number of seconds.
const READ_TIMEOUT_SECONDS: u64 = 60;
/// The time limit for a whole request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(600);
/// The maximum number of retries of a request.
pub(crate) const MAX_RETRIES: u32 = 5;
/// The pause before the first retry; each later pause is twice as long.
pub(crate) const FIRST_PAUSE: Duration = Duration::from_millis(100);

fn read_timeout() -> Duration {
    let seconds = env::var("POLYHAUL_NETWORK_TIMEOUT").ok().and_then(|text| text.trim().parse().ok());
    Duration::from_secs(seconds.filter(|&seconds| seconds > 0).unwrap_or(READ_TIMEOUT_SECONDS))
}

/// The client for plain HTTP.
pub(crate) fn web_client() -> reqwest::Result<reqwest::Client> {
    let client = reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(read_timeout())
        .timeout(REQUEST_TIMEOUT);
    client.user_agent(concat!("polyhaul/", env!("CARGO_PKG_VERSION"))).build()
}

fn options() -> ClientOptions {
    ClientOptions::new()
        .with_connect_timeout(CONNECT_TIMEOUT)
        .with_read_timeout(read_timeout())
        .with_timeout(REQUEST_TIMEOUT)
}

fn retries() -> RetryConfig {
    let backoff = BackoffConfig { init_backoff: FIRST_PAUSE, max_backoff: Duration::from_secs(5), base: 2.0 };
    RetryConfig { backoff, max_retries: MAX_RETRIES as usize, retry_timeout: Duration::from_secs(120) }
}

/// Connects to the bucket of `location`.
pub(crate) async fn bucket(location: &Location) -> Result<Arc<dyn ObjectStore>> {
    let name = location.bucket.as_str();
    Ok(match location.kind {
        StoreKind::S3 => Arc::new(s3(name).await?.build()?),
        StoreKind::Google => {
            let builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(name);
            Arc::new(
                builder
                    .with_client_options(options())
                    .with_retry(retries())
                    .with_http_connector(MarkingConnector)
                    .build()?,
            )
        }
        StoreKind::Azure | StoreKind::Web => {
            let builder = MicrosoftAzureBuilder::from_env().with_container_name(name);
            let is_emulator =
                env::var("AZURE_STORAGE_USE_EMULATOR").is_ok_and(|value| value.eq_ignore_ascii_case("true"));
            let options = options().with_allow_http(is_emulator);
            Arc::new(
                builder
                    .with_client_options(options)
                    .with_retry(retries())
                    .with_http_connector(MarkingConnector)
                    .build()?,
            )
        }
    })
}

async fn s3(bucket: &str) -> Result<AmazonS3Builder> {
    let profile = Profile::load();
    let setting = |variables: &[&str], key: &str| {
        let from_environment = variables.iter().find_map(|name| env::var(name).ok().filter(|value| !value.is_empty()));
        from_environment.or_else(|| profile.get(key))
    };
    let mut builder = AmazonS3Builder::from_env()
        .with_bucket_name(bucket)
        .with_retry(retries())
        .with_http_connector(MarkingConnector);
    // Some stores do not support bulk deletion, and nothing here needs it.
    builder = builder.with_disable_bulk_delete(true);
    if env::var_os("AWS_ACCESS_KEY_ID").is_none()
        && let Some(id) = profile.get("aws_access_key_id")
        && let Some(secret) = profile.get("aws_secret_access_key")
    {
        builder = builder.with_access_key_id(id).with_secret_access_key(secret);
        if let Some(token) = profile.get("aws_session_token") {
            builder = builder.with_token(token);
        }
    }
    let endpoint = setting(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"], "endpoint_url");
    let region = setting(&["AWS_REGION", "AWS_DEFAULT_REGION"], "region");
    let mut client = options();
    if let Some(endpoint) = &endpoint {
        // A plain HTTP endpoint is a deliberate choice.
        client = client.with_allow_http(endpoint.starts_with("http://"));
        builder = builder.with_endpoint(endpoint);
    }
    builder = match (region, endpoint) {
        (Some(region), _) => builder.with_region(region),
        (None, Some(_)) => builder,
        (None, None) => builder.with_region(resolve_bucket_region(bucket, &client).await?),
    };
    Ok(builder.with_client_options(client))
}

/// A profile of the AWS tools.
#[derive(Default)]
struct Profile(HashMap<String, String>);

impl Profile {
    /// Loads the selected profile; empty if there is none.
    fn load() -> Profile {
        let name = env::var("AWS_PROFILE").or_else(|_| env::var("AWS_DEFAULT_PROFILE"));
        let name = name.unwrap_or_else(|_| "default".into());
        let home = env::var_os("HOME").or_else(|| env::var_os("USERPROFILE")).map(PathBuf::from);
        let file = |variable: &str, name: &str| {
            let path = env::var_os(variable).map(PathBuf::from);
            let path = path.or_else(|| Some(home.as_ref()?.join(".aws").join(name)))?;
            std::fs::read_to_string(path).ok()
        };
        let mut profile = Profile::default();
        // The credentials file takes precedence over the configuration file.
        for text in [file("AWS_CONFIG_FILE", "config"), file("AWS_SHARED_CREDENTIALS_FILE", "credentials")] {
            profile.add(&text.unwrap_or_default(), &name);
        }
        profile
    }

    /// Adds the settings of the profile `name`, whose section in the configuration is called `profile name`.
    fn add(&mut self, text: &str, name: &str) {
        let mut is_inside = false;
        for line in text.lines() {
            // Indented lines belong to the setting above, such as `s3 =`.
            let is_nested = line.starts_with([' ', '\t']);
            let line = line.trim();
            if let Some(section) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
                let section = section.0.trim();
                is_inside = section.strip_prefix("profile").map_or(section, str::trim) == name;
            } else if is_inside
                && !is_nested
                && !line.starts_with(['#', ';'])
                && let Some((key, value)) = line.split_once('=')
            {
                self.0.insert(key.trim().to_ascii_lowercase(), value.trim().to_owned());
            }
        }
    }

    fn get(&self, key: &str) -> Option<String> {
        self.0.get(key).filter(|value| !value.is_empty()).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_read() {
        let mut profile = Profile::default();
        profile.add("[default]\nregion = a\n[profile work]\n# no\nregion = b\ns3 =\n  max = 1\n", "work");
        profile.add("[work]\naws_access_key_id=x=1\n[other]\naws_access_key_id = y\n", "work");
        assert_eq!(profile.get("region").as_deref(), Some("b"));
        assert_eq!(profile.get("aws_access_key_id").as_deref(), Some("x=1"));
        assert_eq!([profile.get("max"), profile.get("s3")], [None, None]);
    }
}
