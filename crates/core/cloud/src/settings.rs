//! Credentials, endpoints, timeouts and retries, from the standard environment variables and files.
//!
//! S3: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_REGION`, `AWS_ENDPOINT_URL`,
//! `AWS_SKIP_SIGNATURE`; otherwise the profile `AWS_PROFILE` of `~/.aws/credentials` and `~/.aws/config`; otherwise the
//! role of the machine, container or pod. Google: `GOOGLE_APPLICATION_CREDENTIALS` or the application default
//! credentials. Azure: `AZURE_STORAGE_ACCOUNT_NAME` and a key, a token or a managed identity. The values are passed to
//! `object_store` and nowhere else. [`NetworkSettings`] applies to all requests.
//!
//! Format of the AWS files: <https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-files.html>.

use crate::bucket::BucketConnector;
use crate::location::{Location, StoreKind};
use crate::redirect::{self, RedirectRules};
use object_store::aws::{AmazonS3Builder, resolve_bucket_region};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, Result, RetryConfig};
use std::collections::HashMap;
use std::env;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// Time limit for connecting.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit for fetching a part, and for a request to a bucket. Streams have no time limit.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(600);
/// Maximum number of retries per request.
pub(crate) const MAX_RETRIES: u32 = if cfg!(test) { 2 } else { 5 };
/// Pause before the first retry. Each later pause is twice as long as the previous pause.
pub(crate) const FIRST_PAUSE: Duration = Duration::from_millis(if cfg!(test) { 1 } else { 100 });

/// The settings of all requests: limits, rules for redirects, and proxies.
#[derive(Clone, Debug)]
pub(crate) struct NetworkSettings {
    /// Maximum time that a server may be silent (`POLYHAUL_NETWORK_TIMEOUT`, in seconds).
    pub(crate) timeout: Duration,
    /// Minimum number of bytes per second, averaged over [`NetworkSettings::timeout`]; 0 means no minimum
    /// (`POLYHAUL_NETWORK_MIN_RATE`).
    pub(crate) min_rate: u64,
    /// The rules for redirects (`POLYHAUL_NETWORK_REDIRECTS`).
    pub(crate) redirects: RedirectRules,
    /// The hosts of proxies, from the usual environment variables.
    pub(crate) proxies: Vec<String>,
}

impl Default for NetworkSettings {
    fn default() -> NetworkSettings {
        let timeout = Duration::from_secs(60);
        NetworkSettings { timeout, min_rate: 1000, redirects: RedirectRules::default(), proxies: Vec::new() }
    }
}

impl NetworkSettings {
    /// Returns the settings of this process.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid value, naming the variable.
    pub(crate) fn from_environment() -> io::Result<NetworkSettings> {
        NetworkSettings::from_variables(|name| env::var(name).ok().filter(|value| !value.trim().is_empty()))
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> io::Result<NetworkSettings> {
        let mut settings = NetworkSettings::default();
        let number = |name, expected| {
            let Some(text) = variable(name) else { return Ok(None) };
            text.trim().parse::<u64>().map(Some).map_err(|_| invalid_setting(name, expected))
        };
        if let Some(seconds) = number("POLYHAUL_NETWORK_TIMEOUT", EXPECTED_SECONDS)? {
            // More than a day is of no use, and very large values would overflow somewhere.
            if !(1..=86_400).contains(&seconds) {
                return Err(invalid_setting("POLYHAUL_NETWORK_TIMEOUT", EXPECTED_SECONDS));
            }
            settings.timeout = Duration::from_secs(seconds);
        }
        let min_rate = number("POLYHAUL_NETWORK_MIN_RATE", "a number of bytes per second, or 0 for no minimum")?;
        settings.min_rate = min_rate.unwrap_or(settings.min_rate);
        if let Some(text) = variable(redirect::VARIABLE) {
            let expected = "hosts separated by commas, such as cdn.example.org,*.example.com,private";
            settings.redirects =
                RedirectRules::parse(&text).ok_or_else(|| invalid_setting(redirect::VARIABLE, expected))?;
        }
        let names = ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
        settings.proxies = names.iter().filter_map(|name| proxy_host(&variable(name)?)).collect();
        Ok(settings)
    }

    /// Returns the options for clients of buckets.
    pub(crate) fn client_options(&self) -> ClientOptions {
        ClientOptions::new()
            .with_connect_timeout(CONNECT_TIMEOUT)
            .with_read_timeout(self.timeout)
            .with_timeout(REQUEST_TIMEOUT)
    }
}

const EXPECTED_SECONDS: &str = "a number of seconds from 1 to 86400";

fn invalid_setting(name: &str, expected: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("invalid {name}: expected {expected}"))
}

/// Returns the host in the value of a proxy variable, which may have a scheme.
fn proxy_host(value: &str) -> Option<String> {
    let text = if value.contains("://") { value.to_owned() } else { format!("http://{value}") };
    Some(reqwest::Url::parse(&text).ok()?.host_str()?.to_owned())
}

pub(crate) fn retries() -> RetryConfig {
    let backoff = BackoffConfig { init_backoff: FIRST_PAUSE, max_backoff: 50 * FIRST_PAUSE, base: 2.0 };
    RetryConfig { backoff, max_retries: MAX_RETRIES as usize, retry_timeout: Duration::from_secs(120) }
}

/// Connects to the bucket of `location`.
pub(crate) async fn bucket(location: &Location, settings: &Arc<NetworkSettings>) -> Result<Arc<dyn ObjectStore>> {
    let name = location.bucket.as_str();
    let connector = BucketConnector { settings: settings.clone() };
    Ok(match location.kind {
        StoreKind::S3 => Arc::new(s3(name, settings).await?.with_http_connector(connector).build()?),
        StoreKind::Google => {
            let builder = google_builder(variables()).with_bucket_name(name);
            Arc::new(
                builder
                    .with_client_options(settings.client_options())
                    .with_retry(retries())
                    .with_http_connector(connector)
                    .build()?,
            )
        }
        StoreKind::Azure | StoreKind::Web => {
            let builder = azure_builder(variables()).with_container_name(name);
            let is_emulator =
                env::var("AZURE_STORAGE_USE_EMULATOR").is_ok_and(|value| value.eq_ignore_ascii_case("true"));
            let options = settings.client_options().with_allow_http(is_emulator);
            Arc::new(builder.with_client_options(options).with_retry(retries()).with_http_connector(connector).build()?)
        }
    })
}

async fn s3(bucket: &str, settings: &NetworkSettings) -> Result<AmazonS3Builder> {
    let profile = Profile::load();
    let setting = |variables: &[&str], key: &str| first_set(variables).or_else(|| profile.get(key));
    let mut builder = s3_builder(variables()).with_bucket_name(bucket).with_retry(retries());
    // Some stores do not support bulk deletion, which is not needed here.
    builder = builder.with_disable_bulk_delete(true);
    if first_set(&["AWS_ACCESS_KEY_ID"]).is_none()
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
    let mut client = settings.client_options();
    if let Some(endpoint) = &endpoint {
        // An `http` endpoint is a deliberate choice of the user.
        client = client.with_allow_http(endpoint.starts_with("http://"));
        builder = builder.with_endpoint(endpoint);
    }
    builder = match (region, endpoint) {
        (Some(region), _) => builder.with_region(region),
        (None, Some(_)) => builder,
        // AWS is asked for the region, but it does not know the buckets of other endpoints.
        (None, None) => builder.with_region(resolve_bucket_region(bucket, &client).await?),
    };
    Ok(builder.with_client_options(client))
}

fn s3_builder(variables: impl Iterator<Item = (String, String)>) -> AmazonS3Builder {
    settings_of("AWS_", variables).fold(AmazonS3Builder::new(), |builder, (key, value)| builder.with_config(key, value))
}

fn google_builder(variables: impl Iterator<Item = (String, String)>) -> GoogleCloudStorageBuilder {
    let builder = GoogleCloudStorageBuilder::new();
    // First, because the variables with the prefix override it.
    let builder = match first_set(&["SERVICE_ACCOUNT"]) {
        Some(path) => builder.with_service_account_path(path),
        None => builder,
    };
    settings_of("GOOGLE_", variables).fold(builder, |builder, (key, value)| builder.with_config(key, value))
}

fn azure_builder(variables: impl Iterator<Item = (String, String)>) -> MicrosoftAzureBuilder {
    let settings = settings_of("AZURE_", variables);
    let builder = settings.fold(MicrosoftAzureBuilder::new(), |builder, (key, value)| builder.with_config(key, value));
    match first_set(&["IDENTITY_ENDPOINT"]) {
        Some(endpoint) => builder.with_msi_endpoint(endpoint),
        None => builder,
    }
}

/// Returns the environment variables that are valid Unicode.
fn variables() -> impl Iterator<Item = (String, String)> {
    env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// Returns the settings in variables with this prefix, like `from_env` of the builders, but without empty ones, which
/// would replace the settings of the profile and the machine.
fn settings_of<K: FromStr>(
    prefix: &str,
    variables: impl Iterator<Item = (String, String)>,
) -> impl Iterator<Item = (K, String)> {
    let given = variables.filter(move |(name, value)| name.starts_with(prefix) && !value.is_empty());
    given.filter_map(|(name, value)| Some((name.to_ascii_lowercase().parse().ok()?, value)))
}

/// Returns the value of the first of these environment variables that is set and not empty.
fn first_set(variables: &[&str]) -> Option<String> {
    variables.iter().find_map(|name| env::var(name).ok().filter(|value| !value.is_empty()))
}

/// The settings in a profile of the AWS tools.
#[derive(Default)]
struct Profile(HashMap<String, String>);

impl Profile {
    /// Loads the selected profile. If there is none, the result is empty.
    fn load() -> Profile {
        let name = first_set(&["AWS_PROFILE", "AWS_DEFAULT_PROFILE"]).unwrap_or_else(|| "default".into());
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

    /// Adds the settings of the profile `name`, whose section in the configuration file is called `profile name`.
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
    use object_store::aws::AmazonS3ConfigKey;
    use object_store::azure::AzureConfigKey;
    use object_store::gcp::GoogleConfigKey;

    #[test]
    fn settings_come_from_the_environment() {
        let settings = |name: &'static str, value: &'static str| {
            NetworkSettings::from_variables(|variable| (variable == name).then(|| value.to_owned()))
        };
        let min_rate = |value| settings("POLYHAUL_NETWORK_MIN_RATE", value).map(|settings| settings.min_rate);
        assert_eq!(min_rate(" 5000 ").unwrap(), 5000);
        assert_eq!(min_rate("0").unwrap(), 0);
        let timeout = |value| settings("POLYHAUL_NETWORK_TIMEOUT", value).map(|settings| settings.timeout);
        assert_eq!(timeout("7").unwrap(), Duration::from_secs(7));
        for wrong in ["-1", "1k", "1.5", "18446744073709551616", "nan", "x"] {
            let error = min_rate(wrong).unwrap_err().to_string();
            assert!(error.contains("POLYHAUL_NETWORK_MIN_RATE"), "{error}");
            assert!(timeout(wrong).is_err());
        }
        assert!(timeout("0").is_err() && timeout("99999999").is_err());
        assert!(settings("POLYHAUL_NETWORK_REDIRECTS", "http://a/").is_err());
        assert!(settings("POLYHAUL_NETWORK_REDIRECTS", "a,private").unwrap().redirects.are_private_permitted);
        for value in ["http://me:secret@proxy:3128", "proxy:3128", "proxy"] {
            assert_eq!(settings("HTTPS_PROXY", value).unwrap().proxies, ["proxy"]);
        }
    }

    #[test]
    fn empty_variables_are_not_credentials() {
        let variables = [
            ("AWS_ACCESS_KEY_ID", ""),
            ("AWS_SECRET_ACCESS_KEY", ""),
            ("AWS_SESSION_TOKEN", "token"),
            ("AWS_DEFAULT_REGION", "a"),
            ("AWS_REGION", "b"),
            ("AWS_UNKNOWN", "c"),
            ("BUCKET", "d"),
        ];
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let builder = s3_builder(variables.into_iter().map(owned));
        let value = |key| builder.get_config_value(&key);
        assert_eq!(value(AmazonS3ConfigKey::AccessKeyId), None);
        assert_eq!(value(AmazonS3ConfigKey::SecretAccessKey), None);
        assert_eq!(value(AmazonS3ConfigKey::Token).as_deref(), Some("token"));
        assert_eq!(value(AmazonS3ConfigKey::Region).as_deref(), Some("b"));
        assert_eq!(value(AmazonS3ConfigKey::Bucket), None);
        let variables = [("GOOGLE_APPLICATION_CREDENTIALS", ""), ("GOOGLE_BASE_URL", "a")];
        let builder = google_builder(variables.into_iter().map(owned));
        assert_eq!(builder.get_config_value(&GoogleConfigKey::ApplicationCredentials), None);
        assert_eq!(builder.get_config_value(&GoogleConfigKey::BaseUrl).as_deref(), Some("a"));
        let builder =
            azure_builder([("AZURE_STORAGE_TOKEN", ""), ("AZURE_STORAGE_SAS_KEY", "b")].into_iter().map(owned));
        assert_eq!(builder.get_config_value(&AzureConfigKey::Token), None);
        assert_eq!(builder.get_config_value(&AzureConfigKey::SasKey).as_deref(), Some("b"));
    }

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
