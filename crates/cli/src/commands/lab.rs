//! `diskproof lab`: a guest with emulated disks.

use crate::args::{Build, LabVerb, Shape as ShapeArgs};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use crate::settings::keys::Progress;
use host::LocalRunner;
use lab::{DiskSpec, Lab, LabError, Shape, State, Status, StepEvent, Throttle};
use record::printable::Shown as _;
use record::quantity::Bytes;
use std::fmt::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// Runs one command of the lab.
pub(crate) fn lab(verb: &LabVerb, settings: &Settings) -> Result<Exit, Failure> {
    match verb {
        LabVerb::Build(build) => self::build(build, settings),
        LabVerb::Up(args) => {
            let lab = open(&args.named.name, settings)?.with_mirror(args.build.mirror.clone());
            up(&lab, shape(&args.shape, &args.build)?, &args.disk, settings)
        }
        LabVerb::Status(args) => status(args.name.as_deref(), args.json, settings),
        LabVerb::Ssh(args) => ssh(&open(&args.named.name, settings)?, &args.command),
        LabVerb::Limit(args) => limit(&open(&args.named.name, settings)?, &args.disk, &args.limits),
        LabVerb::Reset(named) => {
            let lab = open(&named.name, settings)?;
            lab.reset(&ear(settings)).map_err(failure)?;
            told(&lab)
        }
        LabVerb::Down(args) if args.images => down_images(settings),
        LabVerb::Down(args) if args.all => down_all(settings).map(|()| Exit::Fine),
        LabVerb::Down(args) => open(&args.named.name, settings)?.down().map_err(failure).map(|()| Exit::Fine),
    }
}

fn failure(error: LabError) -> Failure {
    if error.is_input() { Failure::input(error) } else { Failure::machine(error) }
}

fn open(name: &str, settings: &Settings) -> Result<Lab, Failure> {
    Lab::open(&settings.state.value, name).map_err(failure)
}

/// A callback that prints steps to standard error, or nothing if progress is off.
fn ear(settings: &Settings) -> impl Fn(&StepEvent) + use<> {
    let quiet = settings.progress.value == Progress::None;
    move |told: &StepEvent| {
        if !quiet {
            output::aside(&told.to_string());
        }
    }
}

fn shape(args: &ShapeArgs, build: &Build) -> Result<Shape, Failure> {
    let too_much = || Failure::input("a guest can't have that much memory");
    let memory_mib = u32::try_from(args.memory >> 20).map_err(|_| too_much())?;
    Ok(Shape { memory_mib, cpus: args.cpus, zfs: !build.without_zfs, port: args.port })
}

fn build(args: &Build, settings: &Settings) -> Result<Exit, Failure> {
    let wanted = lab::Build { zfs: !args.without_zfs, mirror: args.mirror.clone() };
    lab::build(&settings.state.value, &wanted, &LocalRunner, &ear(settings)).map_err(failure)?;
    Ok(Exit::Fine)
}

fn up(lab: &Lab, shape: Shape, disks: &[DiskSpec], settings: &Settings) -> Result<Exit, Failure> {
    lab.ensure_up(&shape, &ear(settings)).map_err(failure)?;
    let has = lab.status().map_err(failure)?.disks;
    let is_new = |disk: &&DiskSpec| has.iter().all(|attached| attached.spec != **disk);
    let new: Vec<DiskSpec> = disks.iter().filter(is_new).cloned().collect();
    lab.attach(&new).map_err(failure)?;
    told(lab)
}

/// Prints the guest's state.
fn told(lab: &Lab) -> Result<Exit, Failure> {
    let status = lab.status().map_err(failure)?;
    output::answer(&describe(&status))?;
    warn(&status);
    Ok(Exit::Fine)
}

/// Warns of disks with a limit above the highest IOPS for which an emulated disk's figures hold.
fn warn(status: &Status) {
    let disks: Vec<(&str, Option<u64>)> =
        status.disks.iter().map(|disk| (disk.spec.name.as_str(), disk.spec.throttle.most_iops())).collect();
    for beyond in record::emulated::LAB.beyond(&disks) {
        output::aside(&format!("note: {beyond}"));
    }
}

fn status(name: Option<&str>, json: bool, settings: &Settings) -> Result<Exit, Failure> {
    let found = match name {
        Some(name) => vec![open(name, settings)?.status().map_err(failure)?],
        None => lab::all(&settings.state.value).map_err(failure)?,
    };
    if json {
        output::json(&serde_json::to_string_pretty(&found).map_err(Failure::ours)?)?;
        return Ok(Exit::Fine);
    }
    for status in &found {
        output::answer(&describe(status))?;
    }
    if found.is_empty() {
        output::answer("no guests")?;
    }
    Ok(Exit::Fine)
}

fn describe(status: &Status) -> String {
    let Status { name, state, pid, shape, port, accel, kernel, disks } = status;
    let mut text = format!("{name}: {state}");
    if let (Some(shape), Some(accel), Some(kernel)) = (shape, accel, kernel) {
        let zfs = if shape.zfs { ", ZFS" } else { "" };
        let _ = write!(
            text,
            ", Linux {kernel}{zfs}, {} MiB, {} processors, {accel}",
            shape.memory_mib, shape.cpus
        );
    }
    if let (State::Up, Some(port)) = (state, port) {
        let _ = write!(text, ", ssh at 127.0.0.1:{port}");
    }
    if let Some(pid) = pid {
        let _ = write!(text, ", process {pid}");
    }
    if *state == State::Left {
        let _ = write!(text, "; `diskproof lab down --name {name}` removes it");
    }
    text.push('\n');
    for disk in disks {
        let spec = &disk.spec;
        let _ = writeln!(
            text,
            "  /dev/disk/by-id/{}  {}  {}",
            spec.by_id(),
            Bytes(spec.size_bytes),
            spec.throttle
        );
    }
    text
}

/// Replaces this process by ssh (exec), so that exit status, terminal and signals are ssh's.
fn ssh(lab: &Lab, command: &[String]) -> Result<Exit, Failure> {
    let argv = lab.ssh_argv().map_err(failure)?;
    let Some((program, rest)) = argv.split_first() else { return Err(Failure::ours("ssh has no name")) };
    let mut ssh = Command::new(program);
    ssh.args(rest);
    if !command.is_empty() {
        ssh.arg("--").arg(lab::quoted(command));
    }
    let error = ssh.exec();
    Err(Failure::machine(format!("can't run {}: {error}", program.shown())))
}

fn limit(lab: &Lab, disk: &str, throttle: &Throttle) -> Result<Exit, Failure> {
    lab.set_limits(disk, throttle).map_err(failure)?;
    output::answer(&format!("{disk}: {throttle}"))?;
    warn(&lab.status().map_err(failure)?);
    Ok(Exit::Fine)
}

fn down_all(settings: &Settings) -> Result<(), Failure> {
    for status in lab::all(&settings.state.value).map_err(failure)? {
        open(&status.name, settings)?.down().map_err(failure)?;
    }
    Ok(())
}

fn down_images(settings: &Settings) -> Result<Exit, Failure> {
    down_all(settings)?;
    let freed = lab::forget(&settings.state.value).map_err(failure)?;
    output::answer(&format!("removed: {}", Bytes(freed)))?;
    Ok(Exit::Fine)
}
