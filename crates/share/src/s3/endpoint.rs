//! Where a bucket is reached.

use super::address::S3Address;
use super::settings::{Files, Settings, section};
use crate::error::ShareError;
use host::http::{HttpUrl, percent_encoded};

/// The region of a server that isn't AWS, and of AWS where nobody names one.
const USUAL_REGION: &str = "us-east-1";

/// Where a bucket is reached, and the region in its signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// Scheme, host and port.
    pub(crate) origin: HttpUrl,
    /// The path of the bucket, without `/` at its end.
    path: String,
    pub(crate) region: String,
}

impl Endpoint {
    /// Finds the endpoint: what the settings name, with the bucket in the path, else the region's public one.
    pub(crate) fn find(address: &S3Address, settings: &Settings, files: &Files) -> Result<Self, ShareError> {
        let profile = settings.profile();
        let region = settings
            .variable("AWS_REGION")
            .or_else(|| settings.variable("AWS_DEFAULT_REGION"))
            .or_else(|| files.of_profile(profile, "region"))
            .unwrap_or(USUAL_REGION);
        if !region.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            let why = "the region of AWS has letters, digits and - only".to_owned();
            return Err(ShareError::Credentials { why });
        }
        if let Some(url) = named(settings, files, profile) {
            let url = HttpUrl::parse(url)?;
            let own = url.target().split('?').next().unwrap_or_default().trim_end_matches('/');
            let path = format!("{own}/{}", address.bucket);
            return Ok(Self { origin: HttpUrl::parse(&url.origin())?, path, region: region.to_owned() });
        }
        let domain = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
        let host = format!("s3.{region}.{domain}");
        // The certificate of the endpoint doesn't hold for a bucket with dots as a part of the host.
        let (host, path) = if address.bucket.contains('.') {
            (host, format!("/{}", address.bucket))
        } else {
            (format!("{}.{host}", address.bucket), String::new())
        };
        Ok(Self { origin: HttpUrl::parse(&format!("https://{host}"))?, path, region: region.to_owned() })
    }

    /// The path of an object, percent-encoded; of the bucket itself for an empty key.
    pub(crate) fn path(&self, key: &str) -> String {
        match (key.is_empty(), self.path.is_empty()) {
            (true, false) => self.path.clone(),
            _ => format!("{}/{}", self.path, percent_encoded(key, "/")),
        }
    }

    /// The header `Host`, as curl writes it: without the port that the scheme implies.
    pub(crate) fn host(&self) -> &str {
        let authority = self.origin.authority();
        authority.strip_suffix(if self.origin.is_tls() { ":443" } else { ":80" }).unwrap_or(authority)
    }
}

/// The endpoint that the settings name, in the order of AWS's own tools.
fn named<'a>(settings: &'a Settings, files: &'a Files, profile: &str) -> Option<&'a str> {
    if settings
        .variable("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")
        .is_some_and(|value| value.eq_ignore_ascii_case("true"))
    {
        return None;
    }
    let services = files.of_profile(profile, "services").map(|name| format!("services {name}"));
    settings
        .variable("AWS_ENDPOINT_URL_S3")
        .or_else(|| settings.variable("AWS_ENDPOINT_URL"))
        .or_else(|| files.config.get(&services?, "s3.endpoint_url"))
        .or_else(|| files.config.get(&section(profile), "s3.endpoint_url"))
        .or_else(|| files.of_profile(profile, "endpoint_url"))
}

#[cfg(test)]
mod tests {
    use super::{Endpoint, S3Address, Settings};
    use std::fs;

    fn endpoint(config: &str, variables: &[(&str, &str)], bucket: &str) -> Endpoint {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join(".aws")).unwrap();
        fs::write(home.path().join(".aws/config"), config).unwrap();
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let settings = Settings { variables: variables.collect(), home: Some(home.path().to_path_buf()) };
        let address = S3Address::parse(&format!("s3://{bucket}/x")).unwrap();
        Endpoint::find(&address, &settings, &settings.files().unwrap()).unwrap()
    }

    fn url(config: &str, variables: &[(&str, &str)], bucket: &str) -> String {
        let found = endpoint(config, variables, bucket);
        format!("{} {}{}", found.region, found.origin.origin(), found.path("a b/c$"))
    }

    #[test]
    fn the_public_endpoint_is_that_of_the_region() {
        assert_eq!(url("", &[], "abc"), "us-east-1 https://abc.s3.us-east-1.amazonaws.com/a%20b/c%24");
        let config = "[default]\nregion = eu-west-1\n";
        assert_eq!(url(config, &[], "a.bc"), "eu-west-1 https://s3.eu-west-1.amazonaws.com/a.bc/a%20b/c%24");
        let region = [("AWS_REGION", "cn-north-1")];
        assert_eq!(
            url(config, &region, "abc"),
            "cn-north-1 https://abc.s3.cn-north-1.amazonaws.com.cn/a%20b/c%24"
        );
    }

    #[test]
    fn another_endpoint_is_found_where_the_tools_of_aws_find_it() {
        let config = "[default]\nservices = lab\nendpoint_url = http://of-all:1\n[services lab]\ns3 =\n  endpoint_url = http://of-s3:2/base/\n[profile p]\nendpoint_url = https://p:443\n";
        assert_eq!(url(config, &[], "abc"), "us-east-1 http://of-s3:2/base/abc/a%20b/c%24");
        let both = [("AWS_ENDPOINT_URL", "http://v:1"), ("AWS_ENDPOINT_URL_S3", "http://w:1")];
        assert_eq!(url(config, &both, "abc"), "us-east-1 http://w:1/abc/a%20b/c%24");
        assert_eq!(url(config, &both[..1], "abc"), "us-east-1 http://v:1/abc/a%20b/c%24");
        let ignored = [("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")];
        assert!(url(config, &ignored, "abc").contains("amazonaws.com"));
        let found = endpoint(config, &[("AWS_PROFILE", "p")], "abc");
        assert_eq!((found.host(), found.path("").as_str()), ("p", "/abc"));
        assert_eq!(endpoint("", &[], "abc").path(""), "/");
    }
}
