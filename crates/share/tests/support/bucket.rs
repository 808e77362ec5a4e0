//! Buckets of the servers of a test.

use super::s3::{BUCKET, KEY, SECRET};
use diskproof_share::Patience;
use diskproof_share::s3::{Bucket, Options, S3Address, Settings};
use std::time::Duration;

pub(crate) fn options(address: &str) -> Options {
    let variables = [
        ("AWS_ENDPOINT_URL_S3", format!("http://{address}")),
        ("AWS_ACCESS_KEY_ID", KEY.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
    ];
    let variables = variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let settings = Settings { variables, home: None };
    let patience = Patience { tries: 8, pause: Duration::from_millis(1) };
    Options { settings, patience, ..Options::default() }
}

pub(crate) fn bucket(address: &str, prefix: &str) -> Bucket {
    let at = S3Address::parse(&format!("s3://{BUCKET}/{prefix}")).unwrap();
    Bucket::open(&at, &options(address)).unwrap()
}
