//! What S3 answers: errors, lists, uploads.

use host::http::Reply;
use record::printable::printable;
use roxmltree::{Document, Node};

/// Codes of errors that pass, whatever their status.
const PASSING: [&str; 8] = [
    "InternalError",
    "OperationAborted",
    "RequestTimeout",
    "RequestTimeoutException",
    "ServiceUnavailable",
    "SlowDown",
    "Throttling",
    "TooManyRequests",
];

/// What S3 says about a request that it refuses. Without a body (HEAD), all is empty.
#[derive(Debug, Default)]
pub(crate) struct Refusal {
    pub(crate) code: String,
    message: String,
    region: Option<String>,
    server_time: Option<String>,
}

/// Reads the refusal in a reply.
pub(crate) fn refusal(reply: &Reply) -> Refusal {
    let text = String::from_utf8_lossy(&reply.body);
    let Ok(document) = Document::parse(&text) else {
        return Refusal { message: text.chars().take(200).collect(), ..Refusal::default() };
    };
    let error = document.descendants().find(|node| node.has_tag_name("Error"));
    let error = error.unwrap_or_else(|| document.root_element());
    Refusal {
        code: child(error, "Code").unwrap_or_default(),
        message: child(error, "Message").unwrap_or_default(),
        region: child(error, "Region"),
        server_time: child(error, "ServerTime"),
    }
}

impl Refusal {
    pub(crate) fn has_expired_keys(&self) -> bool {
        matches!(self.code.as_str(), "ExpiredToken" | "ExpiredTokenException" | "TokenRefreshRequired")
    }

    pub(crate) fn may_pass(&self) -> bool {
        PASSING.contains(&self.code.as_str())
    }

    /// The region of the bucket, if the request went to another one.
    pub(crate) fn region(&self, reply: &Reply) -> Option<String> {
        let is_about_it = matches!(reply.status, 301 | 307)
            || matches!(
                self.code.as_str(),
                "AuthorizationHeaderMalformed" | "PermanentRedirect" | "IllegalLocationConstraintException"
            );
        let region = reply.header("x-amz-bucket-region").map(str::to_owned).or_else(|| self.region.clone());
        region.filter(|_| is_about_it).map(|region| printable(&region).into_owned())
    }

    /// The server's time, as it writes it.
    pub(crate) fn server_time(&self, reply: &Reply) -> String {
        let time = self.server_time.as_deref().or_else(|| reply.header("date")).unwrap_or("another one");
        printable(time).into_owned()
    }

    /// Code and message for people.
    pub(crate) fn said(&self, status: u16) -> String {
        let text = format!("{} {}", self.code, self.message);
        let text = printable(text.trim()).into_owned();
        if text.is_empty() { format!("status {status}") } else { text }
    }
}

/// The text of a child element that isn't empty. Names of elements have a namespace at some servers only.
pub(crate) fn child(node: Node<'_, '_>, name: &str) -> Option<String> {
    let child = node.children().find(|child| child.tag_name().name() == name)?;
    let text: String = child.descendants().filter(Node::is_text).filter_map(|node| node.text()).collect();
    (!text.is_empty()).then_some(text)
}

/// Reads a reply whose root element has this name; the error says what is wrong.
pub(crate) fn read<T>(
    reply: &Reply,
    root: &str,
    take: impl FnOnce(Node<'_, '_>) -> Option<T>,
) -> Result<T, String> {
    let text = std::str::from_utf8(&reply.body).map_err(|error| error.to_string())?;
    let document = Document::parse(text).map_err(|error| error.to_string())?;
    let node = document.root_element();
    if node.tag_name().name() != root {
        return Err(format!("it begins with <{}> instead of <{root}>", printable(node.tag_name().name())));
    }
    take(node).ok_or_else(|| format!("something is missing in <{root}>"))
}

/// Text as content of XML.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::{child, read, refusal};
    use host::http::{HttpUrl, Reply};

    fn reply(status: u16, body: &str) -> Reply {
        Reply {
            status,
            headers: vec![("date".to_owned(), "Fri, 24 May 2013 00:00:00 GMT".to_owned())],
            body: body.as_bytes().to_vec(),
            received_bytes: body.len() as u64,
            sha256: None,
            url: HttpUrl::parse("http://h/").unwrap(),
        }
    }

    #[test]
    fn errors_are_read_from_xml_and_from_anything_else() {
        let skewed = reply(
            403,
            "<?xml version=\"1.0\"?><Error><Code>RequestTimeTooSkewed</Code><Message>a &amp; b</Message><ServerTime>2013-05-24T00:00:00Z</ServerTime></Error>",
        );
        let read = refusal(&skewed);
        assert_eq!(
            (read.said(403).as_str(), read.server_time(&skewed).as_str()),
            ("RequestTimeTooSkewed a & b", "2013-05-24T00:00:00Z")
        );
        let wrapped = refusal(&reply(
            400,
            "<ErrorResponse xmlns=\"x\"><Error><Code>SlowDown</Code></Error></ErrorResponse>",
        ));
        assert!(wrapped.may_pass() && wrapped.code == "SlowDown", "{wrapped:?}");
        assert_eq!(refusal(&reply(502, "<html>bad")).said(502), "<html>bad");
        assert_eq!(refusal(&reply(403, "")).said(403), "status 403");
        let elsewhere =
            reply(400, "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region></Error>");
        assert_eq!(refusal(&elsewhere).region(&elsewhere).as_deref(), Some("eu-west-1"));
    }

    #[test]
    fn a_document_that_is_another_one_is_no_answer() {
        let one = reply(200, "<A xmlns=\"urn:x\"><B>c&lt;d</B></A>");
        assert_eq!(read(&one, "A", |node| child(node, "B")).unwrap(), "c<d");
        assert!(read(&one, "A", |node| child(node, "C")).is_err());
        assert!(read(&one, "B", |node| child(node, "B")).is_err());
        assert!(read(&reply(200, "<!DOCTYPE a [<!ENTITY b \"c\">]><A>&b;</A>"), "A", |_| Some(())).is_err());
    }
}
