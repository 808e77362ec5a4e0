//! Objects and runs to and from real servers of S3.
#![allow(clippy::unwrap_used, reason = "tests may")]

#[path = "support/bucket.rs"]
mod bucket;
#[path = "support/cutter.rs"]
mod cutter;
#[path = "support/registry.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod registry;
#[path = "support/runs.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod runs;
#[path = "support/s3.rs"]
mod s3;

use cutter::Cutter;
use diskproof_share::s3::{Bucket, Condition, Options, Put, S3Address, Source};
use diskproof_share::search::list;
use diskproof_share::{Digest, Place, Puller, RegistryOptions, Remote, ShareError, push};
use runs::{pack, store_with};
use std::fs;
use std::path::Path;
use store::Store;

fn place(server: &str, prefix: &str) -> Box<dyn Remote> {
    let place = Place::parse(&format!("s3://{}/{prefix}", s3::BUCKET)).unwrap();
    place.open(&RegistryOptions::default(), &bucket::options(server)).unwrap()
}

fn put(bucket: &Bucket, key: &str, text: &str, condition: &Condition) -> Put {
    bucket.put(key, Source::Bytes(text.as_bytes()), condition).unwrap()
}

/// Objects are written, found, read, listed and removed.
fn objects(server: &str, folder: &Path) {
    let bucket = bucket::bucket(server, "an odd/prefix+é");
    assert_eq!(bucket.get("a", 10).unwrap(), None);
    assert_eq!(bucket.head("a").unwrap(), None);
    let Put::Done { etag } = put(&bucket, "a", "hello", &Condition::None) else { panic!("it is refused") };
    put(&bucket, "d/b $=&c.json", "there", &Condition::None);
    put(&bucket, "d/empty", "", &Condition::None);
    let content = bucket.get("a", 10).unwrap().unwrap();
    assert_eq!((content.bytes.as_slice(), &content.etag), (&b"hello"[..], &etag));
    let head = bucket.head("a").unwrap().unwrap();
    assert_eq!((head.key.as_str(), head.bytes, &head.etag), ("a", 5, &etag));
    assert!(bucket.get("a", 4).is_err(), "it is larger than allowed");
    let listed: Vec<_> =
        bucket.list("").unwrap().into_iter().map(|object| (object.key, object.bytes)).collect();
    let expected =
        [("a", 5), ("d/b $=&c.json", 5), ("d/empty", 0)].map(|(key, bytes)| (key.to_owned(), bytes));
    assert_eq!(listed, expected);
    assert_eq!(bucket.list("d/b").unwrap().len(), 1);
    assert_eq!(bucket.folders().unwrap(), ["d"]);
    let file = folder.join("got");
    fs::write(&file, "he").unwrap();
    assert_eq!(bucket.get_to("a", &file, true).unwrap(), 5);
    assert_eq!(fs::read(&file).unwrap(), b"hello", "what was there is the beginning");
    assert_eq!(bucket.get_to("d/empty", &file, false).unwrap(), 0);
    assert_eq!(fs::read(&file).unwrap(), b"");
    assert!(matches!(bucket.get_to("c", &file, false), Err(ShareError::Missing { .. })));
    for key in ["a", "d/b $=&c.json", "d/empty", "never"] {
        bucket.delete(key).unwrap();
    }
    assert!(bucket.list("").unwrap().is_empty());
    let nowhere = S3Address::parse("s3://no-such-bucket").unwrap();
    let nowhere = Bucket::open(&nowhere, &bucket::options(server)).unwrap();
    assert!(matches!(nowhere.list(""), Err(ShareError::NoBucket { .. })), "{:?}", nowhere.list(""));
}

/// A run goes to a bucket and comes back as it was.
fn there_and_back(server: &str) {
    let folder = tempfile::tempdir().unwrap();
    let (store, run) = store_with(folder.path(), 6, 0);
    let packed = pack(&store, &run, folder.path());
    let remote = place(server, "shared/one");
    let pushed = push(&packed, &*remote, false).unwrap();
    assert!(!pushed.was_there && pushed.sent_bytes == pushed.total_bytes, "{pushed:?}");
    let again = push(&pack(&store, &run, folder.path()), &*remote, false).unwrap();
    assert!(again.was_there && again.manifest == pushed.manifest, "the same run is the same bytes");

    let other = Store::open(&folder.path().join("to.db")).unwrap();
    let incoming = folder.path().join("in");
    let pull =
        |remote: &dyn Remote| Puller { store: &other, folder: &incoming, name: None }.pull(remote, None);
    let pulled = pull(&*remote).unwrap();
    assert!(!pulled.was_here && pulled.run == run);
    let (before, after) = (store.load(&run).unwrap(), other.load(&run).unwrap());
    assert_eq!((before.plan, before.trials), (after.plan, after.trials));
    assert_eq!(other.origin(&run).unwrap().unwrap().from, remote.address());
    assert_eq!(fs::read_dir(&incoming).unwrap().count(), 0, "nothing is left");
    assert!(matches!(pull(&*place(server, "shared/two")), Err(ShareError::Missing { .. })));

    let place_of_many = Place::parse(&format!("s3://{}/shared", s3::BUCKET)).unwrap();
    put(&bucket::bucket(server, "shared"), "other/readme", "x", &Condition::None);
    let listing = list(&place_of_many, &RegistryOptions::default(), &bucket::options(server)).unwrap();
    assert_eq!((listing.runs.len(), listing.others), (1, 1));
    assert_eq!(listing.runs[0].tag, "one");
    assert!(listing.runs[0].facts.contains_key("stacks"));

    let folder = folder.path().join("more");
    fs::create_dir(&folder).unwrap();
    let (changed, run) = store_with(&folder, 8, 0);
    let packed = pack(&changed, &run, &folder);
    assert!(
        matches!(push(&packed, &*remote, false), Err(ShareError::Occupied { .. })),
        "a run isn't replaced unasked"
    );
    assert_ne!(push(&packed, &*remote, true).unwrap().manifest, pushed.manifest);
}

/// A write happens only if its condition holds.
fn conditions(server: &str) {
    let bucket = bucket::bucket(server, "held");
    assert!(bucket.keeps_conditions().unwrap());
    assert!(bucket.list("").unwrap().is_empty(), "the trial of the conditions leaves nothing");
    let Put::Done { etag } = put(&bucket, "lease", "1", &Condition::IfAbsent) else {
        panic!("it is refused")
    };
    assert_eq!(put(&bucket, "lease", "2", &Condition::IfAbsent), Put::Refused);
    let stale = Condition::IfMatch(etag);
    assert!(matches!(put(&bucket, "lease", "3", &stale), Put::Done { .. }));
    assert_eq!(put(&bucket, "lease", "4", &stale), Put::Refused);
    assert_eq!(bucket.get("lease", 10).unwrap().unwrap().bytes, b"3");
    assert_eq!(put(&bucket, "none", "5", &stale), Put::Refused);

    // Somebody else pushes between the look and the write of the manifest.
    let remote = place(server, "race");
    assert_eq!(remote.get_manifest().unwrap(), None);
    place(server, "race").put_manifest(b"theirs").unwrap();
    assert!(matches!(remote.put_manifest(b"ours"), Err(ShareError::Occupied { .. })));
}

#[test]
fn moto_takes_and_gives_objects_and_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let server = s3::moto();
    objects(&server.address, folder.path());
    there_and_back(&server.address);
    conditions(&server.address);
}

#[test]
fn s3s_fs_takes_and_gives_objects_and_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = s3::s3s_fs(folder.path()) else {
        println!("skipped: s3s-fs isn't installed (scripts/setup.sh test installs it)");
        return;
    };
    objects(&server.address, folder.path());
    there_and_back(&server.address);
    conditions(&server.address);
    let mut wrong = bucket::options(&server.address);
    wrong.settings.variables.insert("AWS_SECRET_ACCESS_KEY".to_owned(), "wrong-7".to_owned());
    let at = S3Address::parse(&format!("s3://{}", s3::BUCKET)).unwrap();
    let refused = Bucket::open(&at, &wrong).unwrap().list("").unwrap_err();
    assert!(matches!(refused, ShareError::Denied { .. }), "{refused}");
    assert!(!refused.to_string().contains("wrong-7"), "{refused}");
}

/// The first try of a large object breaks; then it goes in parts, and comes back by ranges.
fn large(server: &str, folder: &Path) {
    let content: Vec<u8> =
        (0..20_u32 << 20).map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect();
    let (file, back) = (folder.join("large"), folder.join("back"));
    fs::write(&file, &content).unwrap();
    let at = S3Address::parse(&format!("s3://{}/large", s3::BUCKET)).unwrap();
    let through = |seed| {
        let cutter = Cutter::new(server, 2, 6 << 20, seed);
        let bucket = Bucket::open(&at, &bucket::options(&cutter.address)).unwrap();
        (cutter, bucket)
    };
    let (cutter, bucket) = through(1);
    assert!(matches!(bucket.put("x", Source::File(&file), &Condition::None).unwrap(), Put::Done { .. }));
    assert_eq!(cutter.left(), 0, "the connection was cut");
    let (cutter, bucket) = through(2);
    assert_eq!(bucket.get_to("x", &back, false).unwrap(), content.len() as u64);
    assert_eq!(cutter.left(), 0, "the connection was cut");
    assert!(fs::read(&back).unwrap() == content);
    assert_eq!(Digest::of(&fs::read(&back).unwrap()), Digest::of(&content));
}

#[test]
fn a_large_object_goes_in_parts_when_its_connection_breaks() {
    let folder = tempfile::tempdir().unwrap();
    large(&s3::moto().address, folder.path());
    match s3::s3s_fs(folder.path()) {
        Some(server) => large(&server.address, folder.path()),
        None => println!("skipped in part: s3s-fs isn't installed (scripts/setup.sh test installs it)"),
    }
}

/// Sends and fetches through a proxy that cuts; returns how many cuts were made.
fn cut(server: &str, cuts: i64, seed: u64) -> i64 {
    let folder = tempfile::tempdir().unwrap();
    let (store, run) = store_with(folder.path(), 20, 60_000);
    let packed = pack(&store, &run, folder.path());
    let longest = packed.layers.iter().map(|packed| packed.layer.size_bytes).max().unwrap();
    let prefix = format!("cut/s{seed}");
    let direct = place(server, &prefix);
    let cutter = Cutter::new(server, cuts, longest, seed);
    let mut tries = 0;
    while push(&packed, &*place(&cutter.address, &prefix), false).is_err() {
        tries += 1;
        assert!(tries < 200, "it gets nowhere");
        if direct.get_manifest().unwrap().is_some() {
            // Only the reply to the manifest was lost; the whole run must be there.
            let to = Store::open(&folder.path().join(format!("seen-{tries}.db"))).unwrap();
            Puller { store: &to, folder: folder.path(), name: None }.pull(&*direct, None).unwrap();
        }
    }
    let pushed_after = cutter.left();
    let incoming = folder.path().join("in");
    let cutter = Cutter::new(server, cuts, longest, seed + 1_000_000);
    let to = Store::open(&folder.path().join("to.db")).unwrap();
    let through = || place(&cutter.address, &prefix);
    while let Err(error) = (Puller { store: &to, folder: &incoming, name: None }).pull(&*through(), None) {
        assert!(to.runs().unwrap().is_empty(), "half a run is visible after: {error}");
        tries += 1;
        assert!(tries < 400, "it gets nowhere: {error}");
    }
    assert_eq!(store.load(&run).unwrap().trials, to.load(&run).unwrap().trials);
    (cuts - pushed_after) + (cuts - cutter.left())
}

#[test]
fn broken_connections_to_a_bucket_cost_time_and_nothing_else() {
    let server = s3::moto();
    let cuts: i64 = std::env::var("DISKPROOF_TEST_CUTS").map_or(4, |text| text.parse().unwrap());
    let seeds: u64 = std::env::var("DISKPROOF_TEST_SEEDS").map_or(1, |text| text.parse().unwrap());
    let made: i64 = (0..seeds).map(|seed| cut(&server.address, cuts, seed)).sum();
    println!("{made} connections were cut");
    assert!(made >= cuts, "only {made} connections were cut");
}

#[test]
fn a_place_without_encryption_on_another_machine_is_refused() {
    let mut options = bucket::options("192.0.2.1:9000");
    let at = S3Address::parse("s3://results").unwrap();
    assert!(matches!(Bucket::open(&at, &options).err(), Some(ShareError::Plain { .. })));
    options = Options { plain_http: true, ..options };
    Bucket::open(&at, &options).unwrap();
}
