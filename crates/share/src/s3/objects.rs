//! The objects of a bucket: what is there, and its removal.

use super::bucket::Bucket;
use super::call::Call;
use super::reply::{child, read};
use crate::error::ShareError;

/// Most pages of a list, of 1000 objects each.
const MOST_PAGES: usize = 1000;

/// An object, without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its key, without the prefix of the bucket's address.
    pub key: String,
    /// Its size.
    pub bytes: u64,
    /// Names its content; [`super::Condition::IfMatch`] takes it. It is what the server says, with its quotation marks.
    pub etag: String,
}

impl Bucket {
    /// Looks for an object; `None`: there is none of this key.
    ///
    /// # Errors
    /// No answer, or no permission.
    pub fn head(&self, key: &str) -> Result<Option<Object>, ShareError> {
        let call = Call::new("look for an object", "HEAD", self.address.key(key));
        let reply = self.insist(&call, &|request| request)?;
        match reply.status {
            200 => {
                let bytes = reply.header("content-length").and_then(|bytes| bytes.parse().ok());
                let (Some(bytes), Some(etag)) = (bytes, reply.header("etag")) else {
                    return Err(self.unreadable("it says neither size nor ETag of an object".to_owned()));
                };
                Ok(Some(Object { key: key.to_owned(), bytes, etag: etag.to_owned() }))
            }
            404 => Ok(None),
            _ => Err(self.unexpected(&call, &reply)),
        }
    }

    /// Lists the objects with keys that begin with this text, in the order of their keys.
    ///
    /// # Errors
    /// No answer, no permission, or more than a million objects.
    pub fn list(&self, beginning: &str) -> Result<Vec<Object>, ShareError> {
        let mut objects = Vec::new();
        self.pages(beginning, None, &mut |page| {
            for node in page.children().filter(|node| node.tag_name().name() == "Contents") {
                let key = self.relative(&child(node, "Key")?)?;
                let bytes = child(node, "Size")?.parse().ok()?;
                objects.push(Object { key, bytes, etag: child(node, "ETag").unwrap_or_default() });
            }
            Some(())
        })?;
        objects.sort_by(|one, other| one.key.cmp(&other.key));
        Ok(objects)
    }

    /// Lists the names directly below the prefix that have something below them: what a file system shows as folders.
    ///
    /// # Errors
    /// As for [`Self::list`].
    pub fn folders(&self) -> Result<Vec<String>, ShareError> {
        let mut folders = Vec::new();
        self.pages("", Some("/"), &mut |page| {
            for node in page.children().filter(|node| node.tag_name().name() == "CommonPrefixes") {
                folders.push(self.relative(&child(node, "Prefix")?)?.trim_end_matches('/').to_owned());
            }
            Some(())
        })?;
        folders.sort();
        Ok(folders)
    }

    /// Removes an object. One that isn't there is no error.
    ///
    /// # Errors
    /// No answer, or no permission.
    pub fn delete(&self, key: &str) -> Result<(), ShareError> {
        let call = Call::new("remove an object", "DELETE", self.address.key(key));
        let reply = self.insist(&call, &|request| request)?;
        if reply.is_success() || reply.status == 404 { Ok(()) } else { Err(self.unexpected(&call, &reply)) }
    }

    fn pages(
        &self,
        beginning: &str,
        delimiter: Option<&str>,
        take: &mut dyn FnMut(roxmltree::Node<'_, '_>) -> Option<()>,
    ) -> Result<(), ShareError> {
        let mut next = None;
        for _ in 0..MOST_PAGES {
            let mut call = Call::new("list objects", "GET", String::new()).query("list-type", "2");
            call = call.query("prefix", self.address.key(beginning));
            if let Some(delimiter) = delimiter {
                call = call.query("delimiter", delimiter);
            }
            if let Some(token) = next.take() {
                call = call.query("continuation-token", token);
            }
            let reply = self.insist(&call, &|request| request)?;
            if reply.status != 200 {
                return Err(self.unexpected(&call, &reply));
            }
            let page = read(&reply, "ListBucketResult", |page| {
                take(page)?;
                match child(page, "IsTruncated").as_deref() {
                    Some("true") => Some(Some(child(page, "NextContinuationToken")?)),
                    _ => Some(None),
                }
            });
            match page.map_err(|why| self.unreadable(format!("its list of objects can't be read: {why}")))? {
                Some(token) => next = Some(token),
                None => return Ok(()),
            }
        }
        Err(self.unreadable(format!("it has more than {MOST_PAGES} pages of objects")))
    }

    /// A key without the prefix.
    fn relative(&self, key: &str) -> Option<String> {
        key.strip_prefix(&self.address.key("")).map(str::to_owned)
    }
}
