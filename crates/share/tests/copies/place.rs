//! A destination in memory that fails when it is told to.

use diskproof_share::ShareError;
use diskproof_share::copies::{Found, Objects};
use diskproof_share::s3::{Condition, Put};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A part of a key, and what others do just before the next write of it.
type Meanwhile = (&'static str, Box<dyn FnOnce()>);

#[derive(Default)]
pub(crate) struct Place {
    objects: RefCell<BTreeMap<String, (Vec<u8>, u64)>>,
    version: Cell<u64>,
    /// The destination is away.
    pub(crate) down: Cell<bool>,
    /// It says that it ignores conditions.
    pub(crate) ignores_conditions: Cell<bool>,
    /// Keys that contain this text are written, but the answer is lost.
    pub(crate) loses_answers: RefCell<Option<String>>,
    /// What others do just before the next write of a key that contains this text.
    pub(crate) meanwhile: RefCell<Option<Meanwhile>>,
    /// Number of writes that were asked for, by key.
    pub(crate) writes: RefCell<BTreeMap<String, u32>>,
}

impl Place {
    pub(crate) fn new() -> Rc<Self> {
        Rc::new(Self::default())
    }

    pub(crate) fn boxed(self: &Rc<Self>) -> Box<dyn Objects> {
        Box::new(Handle(Rc::clone(self)))
    }

    pub(crate) fn count(&self, part: &str) -> usize {
        self.objects.borrow().keys().filter(|key| key.contains(part)).count()
    }

    fn check(&self) -> Result<(), ShareError> {
        if self.down.get() { Err(away()) } else { Ok(()) }
    }
}

fn away() -> ShareError {
    ShareError::Answer { at: "memory".to_owned(), doing: "answer", status: 503, said: "away".to_owned() }
}

struct Handle(Rc<Place>);

impl Objects for Handle {
    fn keeps_conditions(&self) -> Result<bool, ShareError> {
        self.0.check()?;
        Ok(!self.0.ignores_conditions.get())
    }

    fn put(&self, key: &str, bytes: &[u8], condition: &Condition) -> Result<Put, ShareError> {
        self.0.check()?;
        let happens = self.0.meanwhile.borrow().as_ref().is_some_and(|(part, _)| key.contains(part));
        if let Some((_, others)) = happens.then(|| self.0.meanwhile.take()).flatten() {
            others();
        }
        *self.0.writes.borrow_mut().entry(key.to_owned()).or_default() += 1;
        let mut objects = self.0.objects.borrow_mut();
        let there = objects.get(key).map(|(_, version)| version.to_string());
        let holds = match condition {
            Condition::None => true,
            Condition::IfAbsent => there.is_none(),
            Condition::IfMatch(etag) => there.as_ref() == Some(etag),
        };
        if !holds {
            return Ok(Put::Refused);
        }
        let version = self.0.version.get() + 1;
        self.0.version.set(version);
        objects.insert(key.to_owned(), (bytes.to_vec(), version));
        if self.0.loses_answers.borrow().as_ref().is_some_and(|part| key.contains(part)) {
            return Err(away());
        }
        Ok(Put::Done { etag: version.to_string() })
    }

    fn get(&self, key: &str) -> Result<Option<Found>, ShareError> {
        self.0.check()?;
        let objects = self.0.objects.borrow();
        Ok(objects.get(key).map(|(bytes, version)| Found { bytes: bytes.clone(), etag: version.to_string() }))
    }

    fn keys(&self, beginning: &str) -> Result<Vec<String>, ShareError> {
        self.0.check()?;
        let objects = self.0.objects.borrow();
        Ok(objects.keys().filter(|key| key.starts_with(beginning)).cloned().collect())
    }

    fn folders(&self) -> Result<Vec<String>, ShareError> {
        let all: BTreeSet<String> =
            self.keys("")?.iter().filter_map(|key| Some(key.split_once('/')?.0.to_owned())).collect();
        Ok(all.into_iter().collect())
    }
}
