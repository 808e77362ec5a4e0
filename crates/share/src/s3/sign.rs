//! AWS Signature Version 4, in the `Authorization` header, as S3 uses it (paths are encoded once).

use super::credentials::Keys;
use crate::digest::{Digest, hex};
use host::http::percent_encoded;
use sha2::{Digest as _, Sha256};

/// SHA-256 works on blocks of so many bytes.
const BLOCK_BYTES: usize = 64;

/// What is signed.
pub(crate) struct Signed<'a> {
    pub(crate) method: &'a str,
    /// The path as it is sent, percent-encoded.
    pub(crate) path: &'a str,
    /// Names and values of the query, not encoded.
    pub(crate) query: &'a [(String, String)],
    /// Names (small letters) and values of all headers that are signed, `host` among them.
    pub(crate) headers: &'a [(String, String)],
    /// SHA-256 of the body.
    pub(crate) content: &'a Digest,
    /// Time of the request, as in `20130524T000000Z`.
    pub(crate) time: &'a str,
    pub(crate) region: &'a str,
}

impl Signed<'_> {
    /// Returns the value of the header `Authorization`.
    pub(crate) fn authorization(&self, keys: &Keys) -> String {
        let mut headers: Vec<_> =
            self.headers.iter().map(|(name, value)| (name.as_str(), value.trim())).collect();
        headers.sort_unstable();
        let names = headers.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
        let lines: String = headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let canonical = format!(
            "{}\n{}\n{}\n{lines}\n{names}\n{}",
            self.method,
            self.path,
            query_text(self.query),
            self.content.hex()
        );
        let date = &self.time[..self.time.len().min(8)];
        let scope = format!("{date}/{}/s3/aws4_request", self.region);
        let text =
            format!("AWS4-HMAC-SHA256\n{}\n{scope}\n{}", self.time, Digest::of(canonical.as_bytes()).hex());
        let mut key = hmac(format!("AWS4{}", keys.secret).as_bytes(), date.as_bytes());
        for part in [self.region, "s3", "aws4_request"] {
            key = hmac(&key, part.as_bytes());
        }
        let signature = hex(&hmac(&key, text.as_bytes()));
        let id = &keys.id;
        format!("AWS4-HMAC-SHA256 Credential={id}/{scope},SignedHeaders={names},Signature={signature}")
    }
}

/// A query as it is sent and signed: encoded and sorted.
pub(crate) fn query_text(query: &[(String, String)]) -> String {
    let mut pairs: Vec<_> =
        query.iter().map(|(name, value)| (percent_encoded(name, ""), percent_encoded(value, ""))).collect();
    pairs.sort_unstable();
    pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

/// HMAC with SHA-256 (RFC 2104).
fn hmac(key: &[u8], text: &[u8]) -> [u8; 32] {
    let mut block = [0_u8; BLOCK_BYTES];
    if key.len() > BLOCK_BYTES {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let inner = Sha256::new().chain_update(block.map(|byte| byte ^ 0x36)).chain_update(text).finalize();
    Sha256::new().chain_update(block.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::{Signed, hmac};
    use crate::digest::{Digest, hex};
    use crate::s3::credentials::Keys;

    /// RFC 4231, cases 1, 2 and 6.
    #[test]
    fn hmac_is_that_of_the_rfc() {
        for (key, text, expected) in [
            (
                &[0x0b; 20][..],
                &b"Hi There"[..],
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ] {
            assert_eq!(hex(&hmac(key, text)), expected);
        }
    }

    /// The examples of "Signature Calculations for the Authorization Header" in the API reference of S3.
    #[test]
    fn signatures_are_those_of_the_documentation() {
        let keys = Keys {
            id: "AKIAIOSFODNN7EXAMPLE".to_owned(),
            secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
            token: None,
        };
        let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let (empty, welcome) = (Digest::of(b""), Digest::of(b"Welcome to Amazon S3."));
        for (method, path, query, more, content, expected) in [
            (
                "GET",
                "/test.txt",
                pairs(&[]),
                pairs(&[("range", "bytes=0-9")]),
                &empty,
                "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
            ),
            (
                "PUT",
                "/test%24file.text",
                pairs(&[]),
                pairs(&[
                    ("date", "Fri, 24 May 2013 00:00:00 GMT"),
                    ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
                ]),
                &welcome,
                "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
            ),
            (
                "GET",
                "/",
                pairs(&[("lifecycle", "")]),
                pairs(&[]),
                &empty,
                "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
            ),
            (
                "GET",
                "/",
                pairs(&[("prefix", "J"), ("max-keys", "2")]),
                pairs(&[]),
                &empty,
                "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
            ),
        ] {
            let time = "20130524T000000Z";
            let mut headers = pairs(&[("host", "examplebucket.s3.amazonaws.com"), ("x-amz-date", time)]);
            headers.push(("x-amz-content-sha256".to_owned(), content.hex().to_owned()));
            headers.extend(more);
            let signed =
                Signed { method, path, query: &query, headers: &headers, content, time, region: "us-east-1" };
            let header = signed.authorization(&keys);
            assert!(header.starts_with("AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders="), "{header}");
            assert!(header.ends_with(&format!("Signature={expected}")), "{method} {path}: {header}");
        }
    }
}
