//! Runs to and from real registries.
#![allow(clippy::unwrap_used, reason = "tests may")]

#[path = "support/cutter.rs"]
mod cutter;
#[path = "support/registry.rs"]
mod registry;
#[path = "support/runs.rs"]
mod runs;
#[path = "support/swift.rs"]
mod swift;

use cutter::Cutter;
use diskproof_share::{
    Address, Credentials, Digest, ImagePart, OutgoingImage, Puller, RegistryOptions, Remote, ShareError,
    image_tag, open, pull_image, push, push_image,
};
use host::http::{Body, HttpUrl, Request, send};
use record::target::ImageFormat;
use runs::{options, pack, store_with};
use std::fs;
use std::process::Command;
use store::Store;

fn place(address: &str, options: &RegistryOptions) -> Box<dyn Remote> {
    open(&Address::parse(&format!("oci://{address}")).unwrap(), options).unwrap()
}

/// What `docker buildx` pushes for several architectures.
fn push_image_index(registry: &str) {
    let kind = "application/vnd.oci.image.index.v1+json";
    let body = format!(r#"{{"schemaVersion": 2, "mediaType": "{kind}", "manifests": []}}"#);
    let url = HttpUrl::parse(&format!("http://{registry}/v2/results/nvme/manifests/image")).unwrap();
    let request = Request::new("PUT", url).header("Content-Type", kind).body(Body::Bytes(body.into_bytes()));
    assert_eq!(send(&request).unwrap().status, 201);
}

/// A run goes to a registry and comes back as it was.
fn there_and_back(registry: &str) {
    let folder = tempfile::tempdir().unwrap();
    let (store, run) = store_with(folder.path(), 6, 0);
    let packed = pack(&store, &run, folder.path());
    let remote = place(&format!("{registry}/results/nvme:one"), &options());
    let pushed = push(&packed, &*remote, false).unwrap();
    assert!(!pushed.was_there && pushed.sent_bytes == pushed.total_bytes, "{pushed:?}");
    let again = push(&pack(&store, &run, folder.path()), &*remote, false).unwrap();
    assert!(again.was_there && again.manifest == pushed.manifest, "the same run is the same bytes");

    let other = Store::open(&folder.path().join("to.db")).unwrap();
    let incoming = folder.path().join("in");
    let pull = |name| Puller { store: &other, folder: &incoming, name }.pull(&*remote, None);
    let pulled = pull(None).unwrap();
    assert!(!pulled.was_here && !pulled.is_signed && pulled.run == run);
    let (before, after) = (store.load(&run).unwrap(), other.load(&run).unwrap());
    assert_eq!(
        (before.plan, before.environment, before.volumes),
        (after.plan, after.environment, after.volumes)
    );
    assert_eq!((before.stopped, before.trials), (after.stopped, after.trials));
    let (before, after) = (&store.runs().unwrap()[0], &other.runs().unwrap()[0]);
    assert_eq!(
        (before.started_unix_ms, before.trials_planned),
        (after.started_unix_ms, after.trials_planned)
    );
    let origin = other.origin(&run).unwrap().unwrap();
    assert_eq!((origin.from, origin.signer), (remote.address(), None));
    assert!(other.judgement(&run, "judge 1").unwrap().is_none(), "it is judged anew");
    assert_eq!(fs::read_dir(&incoming).unwrap().count(), 0, "nothing is left");

    assert!(pull(Some("again")).unwrap().was_here, "the same run isn't stored twice");
    assert_eq!(other.runs().unwrap().len(), 1);
    let own = Puller { store: &store, folder: &incoming, name: None }.pull(&*remote, None);
    assert!(matches!(own, Err(ShareError::Taken { .. })), "a run of one's own isn't replaced");
    let by_digest = place(&format!("{registry}/results/nvme@{}", pushed.manifest), &options());
    let renamed = Puller { store: &store, folder: &incoming, name: Some("theirs") }.pull(&*by_digest, None);
    assert_eq!(renamed.unwrap().run.0, "theirs");

    let (changed, run) = {
        let folder = folder.path().join("more");
        fs::create_dir(&folder).unwrap();
        store_with(&folder, 8, 0)
    };
    let packed = pack(&changed, &run, folder.path());
    assert!(
        matches!(push(&packed, &*remote, false), Err(ShareError::Occupied { .. })),
        "a tag isn't moved unasked"
    );
    assert_ne!(push(&packed, &*remote, true).unwrap().manifest, pushed.manifest);
    push_image_index(registry);
    let foreign = place(&format!("{registry}/results/nvme:image"), &options());
    assert!(
        matches!(push(&packed, &*foreign, false), Err(ShareError::Occupied { .. })),
        "an image of others isn't replaced"
    );
    let image = Puller { store: &other, folder: &incoming, name: None }.pull(&*foreign, None).unwrap_err();
    assert!(image.to_string().contains("image.index"), "{image}");
    let nothing = place(&format!("{registry}/results/nvme:two"), &options());
    let missing = Puller { store: &other, folder: &incoming, name: None }.pull(&*nothing, None);
    assert!(matches!(missing, Err(ShareError::Missing { .. })));
}

#[test]
fn an_image_goes_there_and_back_with_its_digest() {
    let folder = tempfile::tempdir().unwrap();
    let server = registry::docker(folder.path(), None);
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let disk: Vec<u8> = (0..=255).cycle().take(700_001).collect();
    let image = OutgoingImage {
        name: "debian-12".to_owned(),
        disk_format: ImageFormat::Qcow2,
        virtual_bytes: 1 << 31,
        files: vec![
            (ImagePart::Disk, file("d", &disk)),
            (ImagePart::Kernel, file("k", b"kernel")),
            (ImagePart::Initrd, file("i", b"initrd")),
        ],
        program: "0.1.0".to_owned(),
    };
    let digest = Digest::of(&disk);
    let at = format!("{}/results:{}", server.address, image_tag(&digest));
    let pushed = push_image(&image, &*place(&at, &options()), false).unwrap();
    assert!(!pushed.was_there && pushed.sent_bytes > 700_001, "{pushed:?}");
    assert!(push_image(&image, &*place(&at, &options()), false).unwrap().was_there);

    // Each connection of a cut pull ends early; what has arrived is kept.
    let cutter = Cutter::new(&server.address, 4, 700_001, 3);
    let through = format!("{}/results:{}", cutter.address, image_tag(&digest));
    let incoming = folder.path().join("in");
    let mut tries = 0;
    let pulled = loop {
        match pull_image(&*place(&through, &options()), &incoming) {
            Ok(pulled) => break pulled,
            Err(error) => assert!(tries < 50, "it gets nowhere: {error}"),
        }
        tries += 1;
    };
    assert_eq!((pulled.info.disk_digest(), pulled.info.name.as_str()), (&digest, "debian-12"));
    let of = |name: &str| fs::read(pulled.folder().join(name)).unwrap();
    assert!(of("disk.qcow2") == disk && of("vmlinuz") == b"kernel" && of("initrd") == b"initrd");
    pulled.remove();
    assert_eq!(fs::read_dir(&incoming).unwrap().count(), 0, "nothing is left");

    let (store, run) = store_with(folder.path(), 2, 0);
    let as_run = Puller { store: &store, folder: &incoming, name: None }.pull(&*place(&at, &options()), None);
    assert!(as_run.unwrap_err().to_string().contains("diskproof.image.v1"), "an image is no run");
    let at = format!("{}/results:run", server.address);
    push(&pack(&store, &run, folder.path()), &*place(&at, &options()), false).unwrap();
    let as_image = pull_image(&*place(&at, &options()), &incoming);
    assert!(matches!(as_image, Err(ShareError::Unreadable { .. })), "a run is no image");
}

fn json(registry: &str, path: &str) -> Option<serde_json::Value> {
    let url = HttpUrl::parse(&format!("http://{registry}/v2/{path}")).unwrap();
    let accept = "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json";
    let reply = send(&Request::new("GET", url).header("Accept", accept)).unwrap();
    (reply.status == 200).then(|| serde_json::from_slice(&reply.body).unwrap())
}

/// A run refers to the image that it was made on, and the image leads to the run.
fn refers_to_its_image(registry: &str) {
    let folder = tempfile::tempdir().unwrap();
    let disk = folder.path().join("disk");
    fs::write(&disk, b"a disk").unwrap();
    let digest = Digest::of(b"a disk");
    let (store, run) = store_with(folder.path(), 2, 0);
    let mut environment = store.head(&run).unwrap().environment;
    environment.image = Some(digest.to_string());
    store.set_environment(&run, &environment).unwrap();
    let packed = pack(&store, &run, folder.path());
    let at = |tag: &str| place(&format!("{registry}/linked:{tag}"), &options());
    let subject = |tag: &str| json(registry, &format!("linked/manifests/{tag}")).unwrap()["subject"].clone();

    // Its image isn't there yet.
    let before = push(&packed, &*at("one"), false).unwrap();
    assert!(subject("one").is_null());
    let image = OutgoingImage {
        name: "debian-12".to_owned(),
        disk_format: ImageFormat::Raw,
        virtual_bytes: 6,
        files: vec![(ImagePart::Disk, disk)],
        program: "0.1.0".to_owned(),
    };
    let image = push_image(&image, &*at(&image_tag(&digest)), false).unwrap().manifest;
    // The same run again: it gets its subject, and nobody has to replace anything.
    let pushed = push(&packed, &*at("one"), false).unwrap();
    assert!(!pushed.was_there && pushed.sent_bytes == 0 && pushed.manifest != before.manifest, "{pushed:?}");
    assert_eq!(subject("one")["digest"], image.to_string());
    let again = push(&packed, &*at("one"), false).unwrap();
    assert!(again.was_there && again.manifest == pushed.manifest, "{again:?}");
    let second = push(&packed, &*at("two"), false).unwrap();
    assert_eq!(second.manifest, pushed.manifest, "another name of the same artifact");

    // By the API for that, or else by the tag that the specification names.
    let api = json(registry, &format!("linked/referrers/{image}"));
    let list = api.or_else(|| json(registry, &format!("linked/manifests/sha256-{}", image.hex()))).unwrap();
    let listed: Vec<&serde_json::Value> = list["manifests"].as_array().unwrap().iter().collect();
    assert_eq!(listed.len(), 1, "{list}");
    assert_eq!(
        (&listed[0]["digest"], &listed[0]["artifactType"]),
        (&pushed.manifest.to_string().into(), &"application/vnd.diskproof.run.v1+json".into())
    );
    let other = Store::open(&folder.path().join("to.db")).unwrap();
    let incoming = folder.path().join("in");
    let pulled = Puller { store: &other, folder: &incoming, name: None }.pull(&*at("one"), None).unwrap();
    assert_eq!(pulled.run, run);
}

#[test]
fn debians_registry_leads_from_an_image_to_its_runs_by_a_tag() {
    let folder = tempfile::tempdir().unwrap();
    refers_to_its_image(&registry::docker(folder.path(), None).address);
}

#[test]
fn cranes_registry_leads_from_an_image_to_its_runs() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = registry::crane(folder.path()) else {
        println!("skipped: crane isn't installed (scripts/setup.sh test installs it where Go is)");
        return;
    };
    refers_to_its_image(&server.address);
}

#[test]
fn debians_registry_takes_and_gives_a_run() {
    let folder = tempfile::tempdir().unwrap();
    there_and_back(&registry::docker(folder.path(), None).address);
}

/// Needs root for the mount and process namespaces of Swift.
#[test]
fn loop_debians_registry_on_swift_takes_and_gives_a_run() {
    // Swift keeps its facts in extended attributes, which the file system of /tmp may lack.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    there_and_back(&swift::docker_on_swift(folder.path()).registry.address);
}

#[test]
fn cranes_registry_takes_and_gives_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = registry::crane(folder.path()) else {
        println!("skipped: crane isn't installed (scripts/setup.sh test installs it where Go is)");
        return;
    };
    there_and_back(&server.address);
}

#[test]
fn a_password_comes_from_dockers_file_and_goes_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let passwords = folder.path().join("htpasswd");
    // `htpasswd -Bbn test secret-7`
    fs::write(&passwords, "test:$2y$05$abcdefghijklmnopqrstuusx4Ne/koPstMQQXbXgvM.N51AlriemS\n").unwrap();
    let server = registry::docker(folder.path(), Some(&passwords));
    let (store, run) = store_with(folder.path(), 2, 0);
    let packed = pack(&store, &run, folder.path());
    let address = format!("{}/r:t", server.address);
    let denied = push(&packed, &*place(&address, &options()), false).unwrap_err();
    assert!(
        matches!(denied, ShareError::Denied { .. }) && denied.to_string().contains("docker login"),
        "{denied}"
    );
    let file = folder.path().join("config.json");
    let with = |auth: &str| {
        fs::write(&file, format!(r#"{{"auths": {{"{}": {{"auth": "{auth}"}}}}}}"#, server.address)).unwrap();
        let credentials = Credentials { files: vec![folder.path().join("absent"), file.clone()] };
        push(&packed, &*place(&address, &RegistryOptions { credentials, ..options() }), false)
    };
    let wrong = with("dGVzdDp3cm9uZy03").unwrap_err();
    assert!(matches!(wrong, ShareError::Denied { .. }) && !wrong.to_string().contains("wrong-7"), "{wrong}");
    with("dGVzdDpzZWNyZXQtNw==").unwrap();
}

/// Sends and fetches through a proxy that cuts; returns how many cuts were made.
fn cut(registry: &str, cuts: i64, seed: u64) -> i64 {
    let folder = tempfile::tempdir().unwrap();
    let (store, run) = store_with(folder.path(), 20, 60_000);
    let packed = pack(&store, &run, folder.path());
    let longest = packed.layers.iter().map(|packed| packed.layer.size_bytes).max().unwrap();
    let direct = place(&format!("{registry}/cut:s{seed}"), &options());
    let cutter = Cutter::new(registry, cuts, longest, seed);
    let through = || place(&format!("{}/cut:s{seed}", cutter.address), &options());
    let mut tries = 0;
    while push(&packed, &*through(), false).is_err() {
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
    let cutter = Cutter::new(registry, cuts, longest, seed + 1_000_000);
    let to = Store::open(&folder.path().join("to.db")).unwrap();
    let through = || place(&format!("{}/cut:s{seed}", cutter.address), &options());
    while let Err(error) = (Puller { store: &to, folder: &incoming, name: None }).pull(&*through(), None) {
        assert!(to.runs().unwrap().is_empty(), "half a run is visible after: {error}");
        tries += 1;
        assert!(tries < 400, "it gets nowhere: {error}");
    }
    assert_eq!(store.load(&run).unwrap().trials, to.load(&run).unwrap().trials);
    (cuts - pushed_after) + (cuts - cutter.left())
}

#[test]
fn broken_connections_cost_time_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let server = registry::docker(folder.path(), None);
    let cuts: i64 = std::env::var("DISKPROOF_TEST_CUTS").map_or(5, |text| text.parse().unwrap());
    let seeds: u64 = std::env::var("DISKPROOF_TEST_SEEDS").map_or(1, |text| text.parse().unwrap());
    let made: i64 = (0..seeds).map(|seed| cut(&server.address, cuts, seed)).sum();
    println!("{made} connections were cut");
    assert!(made >= cuts, "only {made} connections were cut");
}

#[test]
fn crane_reads_what_was_pushed() {
    let folder = tempfile::tempdir().unwrap();
    let (Some(crane), server) = (registry::crane_program(), registry::docker(folder.path(), None)) else {
        println!("skipped: crane isn't installed (scripts/setup.sh test installs it where Go is)");
        return;
    };
    let (store, run) = store_with(folder.path(), 2, 0);
    let packed = pack(&store, &run, folder.path());
    let pushed = push(&packed, &*place(&format!("{}/r:t", server.address), &options()), false).unwrap();
    let ask = |args: &[&str]| {
        let output = Command::new(&crane).args(args).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let at = format!("{}/r:t", server.address);
    assert_eq!(String::from_utf8(ask(&["digest", &at])).unwrap().trim(), pushed.manifest.to_string());
    let manifest: serde_json::Value = serde_json::from_slice(&ask(&["manifest", &at])).unwrap();
    assert_eq!(manifest["artifactType"], "application/vnd.diskproof.run.v1+json");
    for layer in &packed.layers {
        let blob = ask(&["blob", &format!("{}/r@{}", server.address, layer.layer.digest)]);
        assert!(blob == fs::read(&layer.path).unwrap());
    }
}
