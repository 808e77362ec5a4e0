//! URLs of HTTP servers.

use super::error::HttpError;
use std::fmt;

/// An absolute `http` or `https` URL, without user name and password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpUrl {
    tls: bool,
    authority: String,
    /// Path and query, beginning with `/`.
    target: String,
}

impl HttpUrl {
    /// Reads a URL.
    ///
    /// # Errors
    /// It isn't `http://HOST...` or `https://HOST...` in visible ASCII, or has a user name in it.
    pub fn parse(url: &str) -> Result<Self, HttpError> {
        let bad = |why| {
            Err(HttpError::Url { url: url.split(['?', '#']).next().unwrap_or_default().to_owned(), why })
        };
        if !url.bytes().all(|b| b.is_ascii_graphic()) {
            return bad("only visible ASCII characters are allowed");
        }
        let (tls, rest) = match url.split_once("://") {
            Some(("http", rest)) => (false, rest),
            Some(("https", rest)) => (true, rest),
            _ => return bad("it must begin with http:// or https://"),
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        if authority.contains('@') {
            return bad("a user name in a URL is seen by too many; give it in the settings of the server");
        }
        let host_characters = |b: u8| b.is_ascii_alphanumeric() || b".-_:[]".contains(&b);
        if authority.is_empty()
            || authority.starts_with([':', '-'])
            || !authority.bytes().all(host_characters)
        {
            return bad("the host is missing, or not a host");
        }
        let target = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
        Ok(Self { tls, authority: authority.to_ascii_lowercase(), target })
    }

    /// Returns the URL that a `Location` of this one means.
    ///
    /// # Errors
    /// It isn't a URL that can be used.
    pub fn join(&self, location: &str) -> Result<Self, HttpError> {
        let scheme = location.split_once("://").map(|(scheme, _)| scheme);
        if scheme.is_some_and(|scheme| scheme.bytes().all(|b| b.is_ascii_alphanumeric())) {
            return Self::parse(location);
        }
        if let Some(rest) = location.strip_prefix("//") {
            return Self::parse(&format!("{}://{rest}", self.scheme()));
        }
        let path = self.target.split('?').next().unwrap_or_default();
        let target = match location.chars().next() {
            Some('/') => location.to_owned(),
            Some('?') => format!("{path}{location}"),
            _ => format!("{}{location}", &path[..path.rfind('/').map_or(0, |at| at + 1)]),
        };
        Self::parse(&format!("{}{target}", self.origin()))
    }

    /// Returns the same URL with a parameter more in its query. The value is percent-encoded.
    #[must_use]
    pub fn with_query(mut self, name: &str, value: &str) -> Self {
        self.target.push(if self.target.contains('?') { '&' } else { '?' });
        self.target.push_str(&format!("{}={}", percent_encoded(name, ""), percent_encoded(value, "")));
        self
    }

    fn scheme(&self) -> &'static str {
        if self.tls { "https" } else { "http" }
    }

    /// Whether the connection is encrypted.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.tls
    }

    /// Host and port as written, in small letters.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Scheme, host and port.
    #[must_use]
    pub fn origin(&self) -> String {
        format!("{}://{}", self.scheme(), self.authority)
    }

    /// Path and query, beginning with `/`.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.target
    }

    /// The host without its port.
    #[must_use]
    pub fn host(&self) -> &str {
        match self.authority.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or_default(),
            None => self.authority.split(':').next().unwrap_or_default(),
        }
    }

    /// Whether the host is this machine itself.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        let host = self.host();
        let address = host.parse::<std::net::IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }

    /// The URL as curl gets it.
    pub(crate) fn whole(&self) -> String {
        format!("{}{}", self.origin(), self.target)
    }
}

/// Without the query, which may hold a signature.
impl fmt::Display for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin(), self.target.split('?').next().unwrap_or_default())
    }
}

/// Percent-encodes all bytes but letters, digits, `-_.~` (RFC 3986, 2.3) and those of `also`.
#[must_use]
pub fn percent_encoded(text: &str, also: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || also.as_bytes().contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::{HttpUrl, percent_encoded};

    #[test]
    fn locations_are_joined_as_rfc_3986_says() {
        let base = HttpUrl::parse("http://Registry.example:5000/v2/a/blobs/uploads/?x=1").unwrap();
        let joined = |location: &str| base.join(location).unwrap().whole();
        assert_eq!(joined("/v2/a/7?_state=q"), "http://registry.example:5000/v2/a/7?_state=q");
        assert_eq!(joined("https://b.example/c"), "https://b.example/c");
        assert_eq!(joined("//b.example/c"), "http://b.example/c");
        assert_eq!(joined("?y=2"), "http://registry.example:5000/v2/a/blobs/uploads/?y=2");
        assert_eq!(
            joined("u1?to=http://x/y"),
            "http://registry.example:5000/v2/a/blobs/uploads/u1?to=http://x/y"
        );
        assert_eq!(joined("/r?to=http://x/y"), "http://registry.example:5000/r?to=http://x/y");
        assert!(base.join("file:///etc/passwd").is_err());
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for bad in [
            "ftp://a/b",
            "http://",
            "http:///x",
            "http://a b/",
            "http://u:p@h/",
            "http://h\n/",
            "http://-oX/",
            "HTTP//x",
            "http://hé/",
            "http://a{b}/",
        ] {
            assert!(HttpUrl::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn messages_show_no_query() {
        let url = HttpUrl::parse("https://h/p?X-Signature=secret#f").unwrap();
        assert_eq!((url.to_string().as_str(), url.target()), ("https://h/p", "/p?X-Signature=secret"));
        assert!(!HttpUrl::parse("ftp://h/?secret").unwrap_err().to_string().contains("secret"));
    }

    #[test]
    fn loopback_is_recognized_by_address() {
        let is = |url: &str| HttpUrl::parse(url).unwrap().is_loopback();
        assert!(is("http://127.0.0.1:5000/") && is("http://[::1]:5000/x") && is("http://localhost"));
        assert!(!is("http://127.0.0.1.example/") && !is("http://10.0.0.1/"));
    }

    #[test]
    fn encoding_spares_what_the_rfc_spares() {
        assert_eq!(percent_encoded("a-_.~/ +é", ""), "a-_.~%2F%20%2B%C3%A9");
        assert_eq!(percent_encoded("a/b c", "/"), "a/b%20c");
    }
}
