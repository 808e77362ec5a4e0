//! Builds the image: keys, a tree of packages, a root disk with kernel and initrd. A finished step is kept; an interrupted one is repeated.

use crate::apt::mirror;
use crate::error::LabError;
use crate::lock::{Lock, lock};
use crate::modules;
use crate::namespaces::{PATIENCE, contained};
use crate::places::{Base, Places};
use crate::prerequisite::{need_space, need_tools};
use crate::recipe::{self, Laid};
use crate::steps::{Ear, StepEvent, folder, put, remove, step, with_end, write_whole};
use host::{Invocation, Runner, Tool};
use record::printable::Shown as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

/// The free space that tree and image need.
const IMAGE_MIB: u64 = 2048;
/// The programs that the build needs.
const NEEDED: [Tool; 6] =
    [Tool::Mmdebstrap, Tool::MkfsExt4, Tool::SshKeygen, Tool::Unshare, Tool::Setpriv, Tool::AptGet];

/// What to build.
#[derive(Debug, Clone, Default)]
pub struct Build {
    /// Whether to build ZFS modules too, which takes minutes.
    pub zfs: bool,
    /// The mirror of the packages; `None`: the one that apt uses on this machine.
    pub mirror: Option<String>,
}

/// The files from which a guest boots.
#[derive(Debug, Clone)]
pub(crate) struct Image {
    pub(crate) base: Base,
    pub(crate) hash: String,
    pub(crate) kernel: String,
    /// The folder of ZFS's modules, if requested.
    pub(crate) modules: Option<PathBuf>,
}

/// Builds what doesn't exist yet below a state folder.
///
/// # Errors
/// A program, root, space or a mirror is missing, or a step failed.
pub fn build(
    state: &Path,
    wanted: &Build,
    runner: &dyn Runner,
    ear: &dyn Fn(&StepEvent),
) -> Result<(), LabError> {
    image(&Places::below(state)?, wanted, runner, ear).map(|_| ())
}

/// Returns the image and builds it if needed.
pub(crate) fn image(
    places: &Places,
    wanted: &Build,
    runner: &dyn Runner,
    ear: Ear<'_>,
) -> Result<Image, LabError> {
    let hash = recipe::hash();
    let base = places.base(&hash);
    if is_unfinished(&base.kernel(), &base.tree()) {
        need_root(&base)?;
        let _lock = lock_build(&base.folder, "the image", ear)?;
        build_base(&base, wanted, runner, ear)?;
    }
    let text = fs::read_to_string(base.kernel()).map_err(LabError::file("read", base.kernel()))?;
    let kernel = text.trim().to_owned();
    let folder = places.modules(&kernel);
    if wanted.zfs && is_unfinished(&folder, &modules::tree(&folder)) {
        need_root(&base)?;
        let _lock = lock_build(&folder, "ZFS's modules", ear)?;
        modules::build(&folder, &kernel, wanted.mirror.as_deref(), runner, ear)?;
    }
    Ok(Image { base, hash, kernel, modules: wanted.zfs.then_some(folder) })
}

/// Whether there is something to do: the whole build, or only the removal of a leftover tree, which an interruption right before the end
/// leaves and only root can remove.
fn is_unfinished(done: &Path, leftover: &Path) -> bool {
    !done.exists() || (is_root() && leftover.exists())
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn lock_build(place: &Path, what: &str, ear: Ear<'_>) -> Result<Lock, LabError> {
    lock(&with_end(place, ".lock"), || {
        ear(&StepEvent::Note(format!("another diskproof is building {what}; waiting for it")))
    })
}

fn need_root(base: &Base) -> Result<(), LabError> {
    if is_root() {
        return Ok(());
    }
    Err(LabError::NeedsRoot { path: base.folder.clone() })
}

fn build_base(base: &Base, wanted: &Build, runner: &dyn Runner, ear: Ear<'_>) -> Result<(), LabError> {
    if base.kernel().exists() {
        return remove(&base.tree());
    }
    need_tools(&NEEDED)?;
    folder(&base.folder)?;
    need_space(&base.folder, "building the image", IMAGE_MIB)?;
    do_steps(base, wanted, runner, ear)
}

fn do_steps(base: &Base, wanted: &Build, runner: &dyn Runner, ear: Ear<'_>) -> Result<(), LabError> {
    if !base.keys().exists() {
        step(ear, "keys for ssh", "a second", || make_keys(base, runner))?;
    }
    if !base.tree().exists() {
        let mirror = mirror(runner, wanted.mirror.as_deref())?;
        let name = format!("Debian {} and {} packages, from {mirror}", recipe::SUITE, recipe::PACKAGES.len());
        step(ear, &name, "about a minute", || make_tree(base, &mirror, runner))?;
    }
    step(ear, "root disk", "some seconds", || make_disk(base, runner))
}

/// Creates the keys of both sides, so that the guest's key is known before its first boot.
fn make_keys(base: &Base, runner: &dyn Runner) -> Result<(), LabError> {
    let made = base.folder.join("keys.tmp");
    remove(&made)?;
    folder(&made)?;
    fs::set_permissions(&made, fs::Permissions::from_mode(0o700))
        .map_err(LabError::file("set rights of", &made))?;
    for name in ["user", "host"] {
        let keygen = Invocation::new(Tool::SshKeygen)
            .args(["-q", "-t", "ed25519", "-N", "", "-C", "diskproof-lab", "-f"])
            .arg(made.join(name));
        runner.run(&keygen).map_err(LabError::command("making keys for ssh"))?;
    }
    let public = made.join("host.pub");
    let text = fs::read_to_string(&public).map_err(LabError::file("read", &public))?;
    let known = made.join("known_hosts");
    fs::write(&known, format!("diskproof-lab {text}")).map_err(LabError::file("write", &known))?;
    put(&made, &base.keys())
}

fn make_tree(base: &Base, mirror: &str, runner: &dyn Runner) -> Result<(), LabError> {
    let (overlay, made) = (base.folder.join("overlay.tmp"), base.folder.join("tree.tmp"));
    remove(&overlay)?;
    remove(&made)?;
    lay(base, &overlay)?;
    let mut build = contained(Tool::Mmdebstrap)?
        .args(["--mode=root", "--variant=minbase", "--format=directory", "--components=main,contrib"])
        .arg(format!("--essential-hook=sync-in {} /", overlay.to_string_lossy()))
        .arg(format!(
            "--customize-hook=chroot \"$1\" systemctl --quiet disable {}",
            recipe::STOPPED.join(" ")
        ))
        .arg(format!("--include={}", recipe::PACKAGES.join(",")));
    for path in recipe::LEFT_OUT {
        build = build.arg(format!("--dpkgopt=path-exclude={path}"));
    }
    let build = build.arg(recipe::SUITE).arg(&made).arg(mirror);
    runner.run(&build).map_err(LabError::command("building the guest's tree with mmdebstrap"))?;
    remove(&overlay)?;
    put(&made, &base.tree())
}

/// Writes the files that the tree has before the packages are installed.
fn lay(base: &Base, overlay: &Path) -> Result<(), LabError> {
    for Laid { path, text } in &recipe::FILES {
        lay_file(overlay, path, text.as_bytes(), 0o644)?;
    }
    for (from, to, mode) in [
        (base.key().with_extension("pub"), "root/.ssh/authorized_keys", 0o600),
        (base.host_key(), "etc/ssh/ssh_host_ed25519_key", 0o600),
        (base.host_key().with_extension("pub"), "etc/ssh/ssh_host_ed25519_key.pub", 0o644),
    ] {
        let bytes = fs::read(&from).map_err(LabError::file("read", &from))?;
        lay_file(overlay, to, &bytes, mode)?;
    }
    for closed in ["root", "root/.ssh"] {
        let path = overlay.join(closed);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700))
            .map_err(LabError::file("set rights of", &path))?;
    }
    for (name, leads_to) in recipe::links() {
        let path = overlay.join(name);
        path.parent().map_or(Ok(()), folder)?;
        symlink(leads_to, &path).map_err(LabError::file("link", &path))?;
    }
    Ok(())
}

fn lay_file(overlay: &Path, name: &str, bytes: &[u8], mode: u32) -> Result<(), LabError> {
    let path = overlay.join(name);
    path.parent().map_or(Ok(()), folder)?;
    fs::write(&path, bytes).map_err(LabError::file("write", &path))?;
    fs::set_permissions(&path, fs::Permissions::from_mode(mode))
        .map_err(LabError::file("set rights of", &path))
}

fn make_disk(base: &Base, runner: &dyn Runner) -> Result<(), LabError> {
    let boot = base.tree().join("boot");
    let kernel = kernel_in(&boot)?;
    let copies =
        [(format!("vmlinuz-{kernel}"), base.vmlinuz()), (format!("initrd.img-{kernel}"), base.initrd())];
    for (from, to) in copies {
        let temporary = to.with_extension("tmp");
        fs::copy(boot.join(&from), &temporary).map_err(LabError::file("copy", boot.join(&from)))?;
        put(&temporary, &to)?;
    }
    let made = base.folder.join("root.tmp");
    remove(&made)?;
    let file = fs::File::create(&made).map_err(LabError::file("make", &made))?;
    file.set_len(recipe::ROOT_GIB << 30).map_err(LabError::file("size", &made))?;
    // The disk is disposable: no journal, and no lazy initialisation that would write during a measurement.
    let mkfs = Invocation::new(Tool::MkfsExt4)
        .args(["-q", "-F", "-O", "^has_journal", "-m", "0", "-E", "assume_storage_prezeroed=1", "-d"])
        .args([base.tree(), made.clone()])
        .timeout(PATIENCE);
    runner.run(&mkfs).map_err(LabError::command("making the guest's root disk"))?;
    put(&made, &base.root_image())?;
    write_whole(&base.kernel(), kernel.as_bytes())?;
    remove(&base.tree())
}

/// The version of the kernel in a folder; there must be exactly one.
pub(crate) fn kernel_in(boot: &Path) -> Result<String, LabError> {
    let entries = fs::read_dir(boot).map_err(LabError::file("read", boot))?;
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut found: Vec<String> =
        names.filter_map(|name| name.strip_prefix("vmlinuz-").map(str::to_owned)).collect();
    match (found.pop(), found.pop()) {
        (Some(kernel), None) => Ok(kernel),
        _ => Err(LabError::Broken { what: format!("{} holds not exactly one kernel", boot.shown()) }),
    }
}

#[cfg(test)]
mod tests {
    use super::{Build, NEEDED, do_steps, image, is_root, kernel_in};
    use crate::error::LabError;
    use crate::places::{Base, Places};
    use crate::prerequisite::need_tools;
    use crate::steps::StepEvent;
    use crate::workshop::{KERNEL, Workshop, leftovers};
    use std::cell::RefCell;
    use std::fs;

    #[test]
    fn what_is_built_is_not_built_again() {
        let dir = tempfile::tempdir().unwrap();
        let places = Places::below(dir.path()).unwrap();
        let base = places.base(&crate::recipe::hash());
        fs::create_dir_all(&base.folder).unwrap();
        fs::write(base.kernel(), "6.1.0-1-cloud-amd64\n").unwrap();
        let machine = Workshop::failing_at(0);
        let wanted = Build::default();
        let found = image(&places, &wanted, &machine, &|_| ()).unwrap();
        assert_eq!((found.kernel.as_str(), found.modules), ("6.1.0-1-cloud-amd64", None));
        fs::create_dir_all(places.modules("6.1.0-1-cloud-amd64")).unwrap();
        let found = image(&places, &Build { zfs: true, ..wanted }, &machine, &|_| ()).unwrap();
        assert!(found.modules.is_some() && machine.ran() == 0);
    }

    #[test]
    fn an_interrupted_build_goes_on_where_it_was() {
        if need_tools(&NEEDED).is_err() {
            eprintln!("skipped: needs mmdebstrap and what it needs");
            return;
        }
        let wanted = Build { mirror: Some("http://m/debian".to_owned()), zfs: false };
        for at in 0.. {
            let dir = tempfile::tempdir().unwrap();
            let base = Base { folder: dir.path().to_path_buf() };
            let done = RefCell::new(Vec::new());
            let ear = |told: &StepEvent| {
                if let StepEvent::Done { step, .. } = told {
                    done.borrow_mut().push(step.split(' ').next().unwrap_or_default().to_owned());
                }
            };
            let first = do_steps(&base, &wanted, &Workshop::failing_at(at), &ear);
            if first.is_ok() {
                assert_eq!(at, 4, "two keys, the tree, the disk: each failed once");
                break;
            }
            assert!(!base.kernel().exists(), "{at}");
            do_steps(&base, &wanted, &Workshop::default(), &ear).unwrap();
            assert_eq!(*done.borrow(), ["keys", "Debian", "root"], "{at}: each step is finished once");
            assert_eq!(leftovers(&base.folder), [""; 0], "{at}");
            assert_eq!(fs::read_to_string(base.kernel()).unwrap(), KERNEL);
            let whole = [base.key(), base.host_key(), base.known_hosts(), base.vmlinuz(), base.root_image()];
            assert!(whole.iter().all(|path| path.exists()), "{at}");
        }
    }

    #[test]
    fn a_tree_that_an_interruption_left_beside_the_image_goes() {
        let dir = tempfile::tempdir().unwrap();
        let places = Places::below(dir.path()).unwrap();
        let base = places.base(&crate::recipe::hash());
        fs::create_dir_all(base.tree().join("boot")).unwrap();
        fs::write(base.kernel(), KERNEL).unwrap();
        let tree = crate::modules::tree(&places.modules(KERNEL));
        fs::create_dir_all(&tree).unwrap();
        fs::create_dir_all(places.modules(KERNEL)).unwrap();
        let machine = Workshop::default();
        image(&places, &Build { zfs: true, mirror: None }, &machine, &|_| ()).unwrap();
        assert_eq!(machine.ran(), 0);
        assert_eq!((base.tree().exists(), tree.exists()), (!is_root(), !is_root()));
    }

    #[test]
    fn a_tree_has_one_kernel() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(kernel_in(dir.path()).unwrap_err(), LabError::Broken { .. }));
        fs::write(dir.path().join("vmlinuz-6.1"), "").unwrap();
        assert_eq!(kernel_in(dir.path()).unwrap(), "6.1");
        fs::write(dir.path().join("vmlinuz-6.2"), "").unwrap();
        assert!(kernel_in(dir.path()).unwrap_err().to_string().contains("not exactly one"));
    }
}
