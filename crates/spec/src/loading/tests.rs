use std::path::Path;

const MACHINES: &str = "targets: { a: { ssh: a }, b: { ssh: b }, c: { ssh: c }, again: { ssh: a } }\n";

fn parsed(volume: &str, stack: &str, workload: &str) -> Result<crate::Loaded, String> {
    let text = format!(
        "experiment: demo\n{MACHINES}volumes: {{ share: {{ {volume} }} }}\nstacks: {{ nfs: {{ {stack} }} }}\n\
         workloads: {{ read: {{ rw: randread, size: 8m, {workload} }} }}\n"
    );
    crate::parse(&text, "demo.yaml", Path::new("/"), &Default::default()).map_err(|error| error.to_string())
}

fn refused(volume: &str, stack: &str, workload: &str) -> String {
    match parsed(volume, stack, workload) {
        Ok(loaded) => panic!("accepted: {:?}", loaded.plan.cells),
        Err(error) => error,
    }
}

const SHARE: &str = "directory: /mnt/share";

#[test]
fn several_machines_make_one_cell() {
    let plan = parsed(SHARE, "on: share", "on: [b, a]").unwrap().plan;
    let [cell] = plan.cells.as_slice() else { panic!("{:?}", plan.cells) };
    assert_eq!(
        (cell.target.as_str(), cell.loading(), cell.machines()),
        ("b", vec!["b", "a"], vec!["b", "a"])
    );
    assert!(cell.is_built_on("a") && !cell.is_built_on("c"));
    let plain = parsed(SHARE, "on: share", "bs: 4k").unwrap().plan;
    assert_eq!(plain.cells.len(), 4, "without `on`, every machine has its own cell");
    assert!(plain.cells.iter().all(|other| other.id != cell.id));
    let three = parsed(SHARE, "on: share", "on: [b, a, c]").unwrap().plan;
    assert_ne!(three.cells[0].id, cell.id, "with another machine it is another cell");
}

#[test]
fn machines_may_be_a_factor() {
    let plan = parsed(SHARE, "on: share", "with: { m: [[a], [a, b]] }, on: m, name: x");
    // Names must tell the levels apart, so this is refused for its name only.
    assert!(plan.unwrap_err().contains("name"), "a list is a level");
}

#[test]
fn data_and_writes_count_once_for_each_machine() {
    let forecast = |on: &str| {
        let plan = parsed(SHARE, "on: share", &format!("on: {on}")).unwrap().plan;
        let forecast = crate::forecast(&plan);
        (forecast.bytes_written, forecast.space_bytes)
    };
    let (one, three) = (forecast("[a]"), forecast("[a, b, c]"));
    assert_eq!((three.0, three.1), (3 * one.0, 3 * one.1));
}

#[test]
fn what_cannot_be_is_refused_with_the_way_out() {
    let share = |workload: &str| refused(SHARE, "on: share", workload);
    for (error, said) in [
        (share("on: [a, d]"), "there is no target `d`"),
        (share("on: [a, b, a]"), "names `a` twice"),
        (share("on: [a, again]"), "`a` and `again` are the same machine"),
        (share("on: []"), "`on` names no machine"),
        (
            share(
                "on: [a, b], find: { most: iops, while: { read_lat_p99: { at_most: 10ms } }, by: rate_iops }",
            ),
            "with `find`",
        ),
        (
            refused("emulate: { size: 64m }", "on: share", "on: [a, b]"),
            "`share` of stack `nfs` is in one machine",
        ),
        (refused("directory: /mnt/share, target: a", "on: share", "on: [a, b]"), "are on a only"),
        (refused(SHARE, EXPORT, "on: [a, b]"), "`again`, which exports stack `nfs`, is the same machine"),
    ] {
        assert!(error.contains(said), "{said}: {error}");
    }
    for (engine, said) in [("engine: corpus, corpus: mail", "corpus"), ("engine: bonnie", "bonnie")] {
        let text = format!(
            "experiment: demo\n{MACHINES}volumes: {{ share: {{ directory: /s }} }}\nstacks: {{ nfs: {{ on: share }} }}\n\
             workloads: {{ load: {{ {engine}, on: [a, b] }} }}\n"
        );
        let error =
            crate::parse(&text, "demo.yaml", Path::new("/"), &Default::default()).unwrap_err().to_string();
        assert!(error.contains("`on`") && error.to_lowercase().contains(said), "{error}");
    }
}

const EXPORT: &str = "layers: [ { nfs: { on: share } } ]";

#[test]
fn the_machines_mount_what_another_one_exports() {
    let plan = parsed("directory: /lent, target: c", EXPORT, "on: [b, a]").unwrap().plan;
    let [cell] = plan.cells.as_slice() else { panic!("{:?}", plan.cells) };
    assert_eq!(
        (cell.target.as_str(), cell.loading(), cell.machines()),
        ("c", vec!["b", "a"], vec!["c", "b", "a"])
    );
    assert!(cell.is_mounted_elsewhere() && cell.is_built_on("c") && !cell.is_built_on("a"));
    let tools = |target| crate::tools_on(&plan, target);
    assert!(tools("c").contains(&"exportfs".to_owned()) && !tools("c").contains(&"mount.nfs".to_owned()));
    assert_eq!(
        (tools("a"), tools("b")),
        (vec!["mount", "mount.nfs", "umount"].into_iter().map(str::to_owned).collect(), tools("a"))
    );
    let lanes = crate::lanes(&plan, &crate::Kernels::default());
    assert_eq!(lanes.targets, [["c", "b", "a"]], "no trial of theirs runs beside");
    let local = parsed("directory: /lent, target: c", EXPORT, "bs: 4k").unwrap().plan;
    assert!(!local.cells[0].is_mounted_elsewhere(), "without `on`, the server mounts it itself");
}

/// Each machine that has the volumes and isn't a client exports them: servers are compared with the same clients.
#[test]
fn every_server_that_is_no_client_makes_a_cell() {
    let text = format!(
        "experiment: demo\ntargets: {{ a: {{ ssh: a }}, b: {{ ssh: b }}, n1: {{ ssh: n1 }}, n2: {{ ssh: n2 }} }}\n\
         volumes: {{ share: {{ directory: /lent }} }}\nstacks: {{ nfs: {{ {EXPORT} }} }}\n\
         workloads: {{ read: {{ rw: randread, size: 8m, on: [a, b] }} }}\n"
    );
    let plan = crate::parse(&text, "demo.yaml", Path::new("/"), &Default::default()).unwrap().plan;
    assert_eq!(plan.cells.iter().map(|cell| cell.target.as_str()).collect::<Vec<_>>(), ["n1", "n2"]);
}
