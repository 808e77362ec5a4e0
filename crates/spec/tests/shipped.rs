//! The shipped experiments load, and their plans match their comments.

use diskproof_spec::{Loaded, load};
use record::volume::VolumeKind;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments").join(name)
}

fn loaded(name: &str) -> Loaded {
    load(&shipped(name), &BTreeMap::new()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn striped_volumes_has_six_cells_and_their_expectations() {
    let Loaded { plan, notes, .. } = loaded("striped-volumes.yaml");
    let cells: Vec<(&str, &str, usize)> = plan
        .cells
        .iter()
        .map(|cell| (cell.stack.name.as_str(), cell.workload.name.as_str(), cell.stack.volumes.len()))
        .collect();
    assert_eq!(
        cells,
        [
            ("btrfs-raid0-1", "randread", 1),
            ("btrfs-raid0-1", "mix", 1),
            ("btrfs-raid0-2", "randread", 2),
            ("btrfs-raid0-2", "mix", 2),
            ("btrfs-raid0-4", "randread", 4),
            ("btrfs-raid0-4", "mix", 4),
        ]
    );
    let values = |i: usize| plan.expectations[i].values.values().copied().sum::<f64>();
    assert_eq!([values(0), values(1), values(2)], [560.0; 3]);
    assert_eq!(plan.expectations[0].values[&plan.cells[4].id], 320.0);
    assert_eq!(notes, Vec::<String>::new());
}

#[test]
fn iops_per_price_divides_by_the_price_of_all_volumes_of_a_stack() {
    let Loaded { plan, notes, .. } = loaded("iops-per-price.yaml");
    let derived = &plan.derived[0];
    let factors: Vec<f64> = plan.cells.iter().map(|cell| derived.cells[&cell.id].factor).collect();
    assert_eq!(factors, [1.0 / 4.0, 1.0 / 8.0, 1.0 / 14.0]);
    let per_month: f64 = plan.prices.per_hour.values().map(|per_hour| per_hour * 730.0).sum();
    assert!((per_month - 22.0).abs() < 1e-9, "{per_month}");
    assert_eq!(notes, Vec::<String>::new());
}

#[test]
fn compression_trap_crosses_layout_pattern_and_direct() {
    let Loaded { plan, notes, .. } = loaded("compression-trap.yaml");
    let names: Vec<&str> = plan.cells.iter().map(|cell| cell.workload.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "read-unwritten-direct0",
            "read-unwritten-direct1",
            "read-written-direct0",
            "read-written-direct1",
            "randread-unwritten-direct0",
            "randread-unwritten-direct1",
            "randread-written-direct0",
            "randread-written-direct1",
        ]
    );
    assert_eq!(notes, Vec::<String>::new());
}

#[test]
fn nfs_compares_exports_with_what_they_export() {
    let Loaded { plan, notes, .. } = loaded("nfs.yaml");
    let names: Vec<&str> = plan.cells.iter().map(|cell| cell.stack.name.as_str()).collect();
    assert_eq!(names, ["local", "local", "nfs-sync", "nfs-sync", "nfs-async", "nfs-async", "far", "far"]);
    let ends: Vec<(&str, &str)> =
        plan.cells.iter().skip(5).map(|cell| (cell.target.as_str(), cell.loaded_from())).collect();
    assert_eq!(ends, [("lab", "lab"), ("lab", "client"), ("lab", "client")]);
    assert_eq!(notes, Vec::<String>::new());
}

#[test]
fn one_server_is_mounted_by_one_two_and_three_machines() {
    let Loaded { plan, notes, .. } = loaded("nas-for-many.yaml");
    let machines: Vec<String> = plan.cells.iter().map(|cell| cell.machines().join(" ")).collect();
    assert_eq!(machines, ["nas vm1", "nas vm1 vm2", "nas vm1 vm2 vm3"]);
    assert!(plan.cells.iter().all(|cell| cell.is_mounted_elsewhere() && !cell.is_built_on("vm1")));
    assert_eq!(notes, Vec::<String>::new());
}

#[test]
fn compressing_file_system_has_a_pool_with_a_log_beside_it() {
    let Loaded { plan, notes, .. } = loaded("compressing-file-system.yaml");
    let names: Vec<&str> = plan.cells.iter().map(|cell| cell.workload.name.as_str()).collect();
    assert_eq!(names, ["read-hole", "read-written", "randread-hole", "randread-written", "randread-kept"]);
    let stack = &plan.cells[0].stack;
    assert_eq!((stack.volumes.len(), stack.beside.len(), stack.name.as_str()), (2, 1, "zfs"));
    let warming = &plan.cells[4];
    assert_eq!(
        (warming.target.as_str(), warming.stack.rebuild, warming.workload.cache),
        ("warm", record::stack::Rebuild::Run, record::workload::CacheStart::Keep)
    );
    assert_eq!(notes, Vec::<String>::new());
}

#[test]
fn lvm_cache_has_one_stack_that_stays_up_on_disks_of_its_own() {
    let Loaded { plan, notes, .. } = loaded("lvm-cache.yaml");
    let names: Vec<(&str, &str)> =
        plan.cells.iter().map(|cell| (cell.stack.name.as_str(), cell.workload.name.as_str())).collect();
    assert_eq!(
        names,
        [
            ("slow", "seq-read"),
            ("slow", "seq-write"),
            ("slow", "random"),
            ("fast", "random"),
            ("cached", "seq-read"),
            ("cached", "seq-write"),
            ("cached", "seq-again"),
            ("warming", "random"),
        ]
    );
    let stays = |cell: &record::plan::Cell| cell.stack.rebuild == record::stack::Rebuild::Run;
    assert_eq!(plan.cells.iter().filter(|cell| stays(cell)).count(), 1);
    assert!(diskproof_spec::forecast(&plan).seconds < 900.0, "its short form is done within 15 minutes");
    assert_eq!(notes, Vec::<String>::new());
}

#[test]
fn database_log_syncs_every_record_and_expects_something_of_its_commits() {
    let Loaded { plan, notes, .. } = loaded("database-log.yaml");
    assert_eq!(plan.cells.len(), 33);
    let options = |cell: &record::plan::Cell| cell.workload.only_options().unwrap().clone();
    for cell in &plan.cells {
        let o = options(cell);
        assert_eq!((o.fdatasync, o.iodepth, o.end_fsync), (1, 1, false), "{}", cell.workload.name);
        for name in ["sync_lat_p99", "durable_lat_mean", "durable_lat_p99", "durable_lat_max"] {
            assert!(record::metric::info(name).unwrap().had_by(cell), "{name}");
        }
    }
    let grouped = plan.cells.iter().find(|cell| cell.workload.name == "group-64").unwrap();
    assert_eq!(options(grouped).bs_bytes, 256 << 10);
    assert_eq!(plan.derived[0].cells[&grouped.id].factor, 64.0);
    let expected: Vec<(&str, Vec<f64>)> =
        plan.expectations.iter().map(|e| (e.of.as_str(), e.values.values().copied().collect())).collect();
    assert_eq!(expected, [("durable_lat_p99", vec![20_000.0; 3]), ("sync_lat_p99", vec![20_000.0; 3])]);
    assert_eq!(notes, Vec::<String>::new());
}

#[test]
fn which_file_system_asks_for_updates_files_and_streams() {
    let Loaded { plan, notes, .. } = loaded("which-file-system.yaml");
    let names: Vec<(&str, &str)> =
        plan.cells.iter().take(4).map(|c| (c.stack.name.as_str(), c.workload.name.as_str())).collect();
    assert_eq!(
        names,
        [("ext4", "update"), ("ext4", "files"), ("ext4", "stream-write"), ("ext4", "stream-read")]
    );
    assert_eq!(plan.cells.len(), 12);
    let syncs = |cell: &record::plan::Cell| record::metric::info("sync_lat_p99").unwrap().had_by(cell);
    assert_eq!(plan.cells.iter().map(syncs).collect::<Vec<_>>(), [[true, false, false, false]; 3].concat());
    assert_eq!(notes, Vec::<String>::new());
}

#[test]
fn mail_archive_has_every_algorithm_with_one_and_two_writers() {
    let Loaded { plan, notes, .. } = loaded("mail-archive.yaml");
    let of = |writers: &str| plan.cells.iter().filter(|cell| cell.workload.name == writers).count();
    assert_eq!([of("1-writers"), of("2-writers"), plan.cells.len()], [12, 12, 24]);
    assert!(plan.derived.iter().any(|derived| derived.name == "efficiency"));
    assert_eq!(notes, Vec::<String>::new());
}

#[test]
fn virtualisation_baseline_has_nfs_over_both_kinds_of_disk_and_one_disk_on_host_and_guest() {
    let Loaded { plan, notes, .. } = loaded("virtualisation-baseline.yaml");
    let names: Vec<String> =
        plan.cells.iter().map(|cell| format!("{} on {}", cell.stack.name, cell.target)).collect();
    assert_eq!(
        names,
        [
            "raid1 on lab",
            "raid1-nfs on lab",
            "raid1-far on lab",
            "ssd on lab",
            "ssd-nfs on lab",
            "ssd-far on lab",
            "host on here",
            "guest on lab",
            "scsi on lab"
        ]
    );
    assert_eq!(notes, Vec::<String>::new());
}

#[test]
fn raid0_has_every_width_by_md_and_by_lvm_and_odd_against_even() {
    let Loaded { plan, notes, .. } = loaded("raid0-by-width.yaml");
    let widths: Vec<usize> = plan.cells.iter().map(|cell| cell.stack.volumes.len()).collect();
    let once = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16];
    assert_eq!(widths, [once, once].concat());
    let sides: Vec<(&str, usize, usize)> =
        plan.contrasts.iter().map(|c| (c.name.as_str(), c.a.len(), c.b.len())).collect();
    assert_eq!(sides, [("odd-over-even", 8, 10), ("md-over-lvm", 11, 11)]);
    assert_eq!(plan.expectations[0].values.len(), 22);
    assert_eq!(notes, Vec::<String>::new());
    let plan = loaded("raid0-bonnie.yaml").plan;
    let widths: Vec<usize> = plan.cells.iter().map(|cell| cell.stack.volumes.len()).collect();
    assert_eq!(widths, [1, 2, 3, 4, 8, 1, 2, 3, 4, 8]);
    assert_eq!(plan.contrasts.len(), 2);
}

#[test]
fn a_disk_stalls_and_recovers_within_each_trial() {
    let plan = loaded("stalling-disk.yaml").plan;
    let sick = plan.cells.iter().find(|cell| cell.stack.name == "sick").unwrap();
    let VolumeKind::Guest { limits, changes, .. } = &sick.stack.volumes[0].kind else { panic!("{sick:?}") };
    let rates: Vec<_> = changes.iter().map(|c| (c.after_ms, c.limits.total_iops)).collect();
    assert_eq!((limits.total_iops, rates), (Some(200), vec![(4000, Some(2)), (8000, Some(200))]));
    let seconds = plan.measure.trial_seconds + plan.measure.ramp_seconds;
    assert!(seconds > 8.0, "the load goes on after the disk has recovered: {seconds} s");
}

#[test]
fn encryption_cost_compares_luks_with_none_at_each_block_size() {
    let Loaded { plan, notes, .. } = loaded("encryption-cost.yaml");
    let stacks: Vec<(&str, usize)> =
        plan.cells.iter().map(|cell| (cell.stack.name.as_str(), cell.stack.layers.len())).collect();
    assert_eq!(stacks, [[("plain", 1); 4], [("luks", 2); 4]].concat());
    let sides: Vec<(usize, usize)> = plan.contrasts.iter().map(|c| (c.a.len(), c.b.len())).collect();
    assert_eq!(sides, [(1, 1); 4]);
    assert_eq!(notes, Vec::<String>::new());
}

#[test]
fn both_caches_are_measured_in_both_modes_beside_the_disk_without_one() {
    let Loaded { plan, notes, .. } = loaded("cache-bcache-or-dm-cache.yaml");
    let mut stacks: Vec<&str> = plan.cells.iter().map(|cell| cell.stack.name.as_str()).collect();
    stacks.dedup();
    let caches = ["dm-cache-writethrough", "dm-cache-writeback", "bcache-writethrough", "bcache-writeback"];
    assert_eq!(stacks, [&["slow"], &caches[..]].concat());
    assert_eq!(plan.cells.len(), 10);
    assert_eq!(notes, Vec::<String>::new());
}

#[test]
fn thin_cost_compares_chunks_with_none_before_and_after_they_are_allocated() {
    let Loaded { plan, notes, .. } = loaded("thin-cost.yaml");
    let stacks: Vec<&str> = plan.cells.iter().map(|cell| cell.stack.name.as_str()).collect();
    assert_eq!(stacks, [["linear"; 4], ["thin-64k"; 4], ["thin-512k"; 4]].concat());
    let first = |cell: &record::plan::Cell| cell.workload.layout == record::workload::Layout::Unwritten;
    assert_eq!(plan.cells.iter().filter(|cell| first(cell)).count(), 6);
    let sides: Vec<(usize, usize)> = plan.contrasts.iter().map(|c| (c.a.len(), c.b.len())).collect();
    assert_eq!(sides, [(1, 1); 4]);
    assert_eq!(notes, Vec::<String>::new());
}

/// Experiments with emulated disks, of this machine or a guest, describe how to use real disks instead.
#[test]
fn field_cases_tell_what_to_write_for_real_disks() {
    for name in [
        "cache-bcache-or-dm-cache.yaml",
        "compressing-file-system.yaml",
        "compression-trap.yaml",
        "encryption-cost.yaml",
        "lvm-cache.yaml",
        "mail-archive.yaml",
        "nas-for-many.yaml",
        "nfs.yaml",
        "raid0-bonnie.yaml",
        "raid0-by-width.yaml",
        "striped-provisioned.yaml",
        "thin-cost.yaml",
        "virtualisation-baseline.yaml",
        "warming-page-cache.yaml",
    ] {
        let text = std::fs::read_to_string(shipped(name)).unwrap();
        let head = text.split("\nexperiment:").next().unwrap();
        assert!(head.contains("claimed") || head.contains("disks: [ID"), "{name}: {head}");
    }
}

/// Each is one command and takes less than fifteen minutes; their parameters request longer runs.
#[test]
fn every_one_loads_and_its_short_form_is_forecast_to_take_less_than_fifteen_minutes() {
    let entries = std::fs::read_dir(shipped("")).unwrap();
    let names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let files: Vec<&String> = names.iter().filter(|name| name.ends_with(".yaml")).collect();
    assert!(files.len() >= 12, "{files:?}");
    for name in files {
        let dir = BTreeMap::from([("dir".to_owned(), "/lent".to_owned())]);
        let asks = ["quick.yaml", "lent-directory.yaml"].contains(&name.as_str());
        let set = if asks { dir } else { BTreeMap::new() };
        let plan = load(&shipped(name), &set).unwrap_or_else(|error| panic!("{error}")).plan;
        // With `until` the forecast covers the largest number of rounds; a budget ends it earlier.
        let seconds =
            diskproof_spec::forecast(&plan).seconds.min(plan.measure.max_seconds.unwrap_or(f64::MAX));
        let most = if name == "iops-per-price.yaml" { 1800.0 } else { 900.0 };
        assert!(seconds < most, "{name}: {seconds} s");
    }
}

#[test]
fn the_created_sweep_asks_one_provider_and_draws_the_volumes_of_each_machine() {
    for (provider, types, own) in [
        ("lab", ["lab-1", "lab-2"], "own"),
        ("ec2", ["ec2-m6id.large", "ec2-m6id.2xlarge"], "ephemeral"),
        ("gce", ["gce-n2-standard-4", "gce-n2-standard-8"], "ephemeral"),
    ] {
        let all = [("provider", provider), ("widths", "1,2,3,4,5,6,7,8,9,10,16"), ("flushes", "0,1")];
        let set = BTreeMap::from(all.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let plan = load(&shipped("raid0-by-width-created.yaml"), &set)
            .unwrap_or_else(|error| panic!("{error}"))
            .plan;
        // Eleven widths and one disk of the machine's own, two schedulers, five workloads, two machine types.
        assert_eq!(plan.cells.len(), (11 + 1) * 2 * 5 * 2);
        let targets: std::collections::BTreeSet<&str> =
            plan.cells.iter().map(|cell| cell.target.as_str()).collect();
        assert_eq!(targets, types.into());
        assert!(plan.cells.iter().any(|cell| cell.stack.volumes[0].name == own), "{provider}");
        let widest = plan.cells.iter().find(|cell| cell.stack.volumes.len() == 16).unwrap();
        let drawn = |round| diskproof_spec::drawn(&plan, widest, round).unwrap().stack.volumes;
        assert_ne!(drawn(0), drawn(1), "each round draws anew");
        assert_eq!(plan.shuffled_for(&widest.target).map(Vec::len).collect::<Vec<_>>(), [16]);
        assert_eq!(plan.shuffled.len(), 2, "none of machines that are not created");
        assert_eq!(plan.measure.max_cost, Some(100.0));
    }
}
