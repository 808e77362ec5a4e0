//! Machines with a real libvirt and a real sshd, each in namespaces of its own: mounts, network and processes. Nothing of them is seen by, or
//! uses, the libvirt of this machine, and all of it ends with one process.

use crate::sshd::Sshd;
use crate::tool;
use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The bridge that connects the machines with this one.
const BRIDGE: &str = "dptestbr0";
/// This machine's address in their network.
const HERE: &str = "10.213.78.1/24";
/// The programs that a machine needs besides sshd.
const NEEDED: [&str; 6] = ["libvirtd", "virtlogd", "virsh", "dnsmasq", "qemu-system-x86_64", "qemu-img"];

/// What a machine does: `$0` is its folder, `$1` its libvirt's UUID, `$2` its address, `$3` the configuration of sshd.
const MACHINE: &str = r#"set -e
for p in /var/lib/libvirt /etc/libvirt /var/log/libvirt /var/cache/libvirt /var/lib/diskproof /root; do
    mkdir -p "$p" "$0$p"
    if [ "$p" = /etc/libvirt ]; then cp -a /etc/libvirt/. "$0$p/"; fi
    mount --bind "$0$p" "$p"
done
mount -t tmpfs none /run
mkdir /run/libvirt /run/lock /run/sshd
printf '%s\n' 'user = "root"' 'group = "root"' 'security_driver = "none"' 'cgroup_controllers = []' 'namespaces = []' >/etc/libvirt/qemu.conf
printf '%s\n' 'auth_unix_rw = "none"' 'auth_unix_ro = "none"' "host_uuid = \"$1\"" 'log_outputs = "3:file:/var/log/libvirt/libvirtd.log"' >/etc/libvirt/libvirtd.conf
ip link set lo up
until ip link set eth0 up 2>/dev/null; do sleep 0.05; done
ip address add "$2/24" dev eth0
virtlogd -d
libvirtd -d
until virsh -q list >/dev/null 2>&1; do sleep 0.1; done
virsh -q net-start default >/dev/null
/usr/sbin/sshd -D -e -f "$3" 2>>"$0/sshd.log" &
touch "$0/ready"
while :; do sleep 3600 & wait $!; done"#;

/// Machines with libvirt. Ended on drop.
#[derive(Debug)]
pub struct LibvirtMachines {
    machines: Vec<Child>,
    /// What ssh needs for all of them.
    config: PathBuf,
    dir: PathBuf,
}

impl LibvirtMachines {
    /// Returns what this computer lacks for them; `None`: nothing.
    #[must_use]
    pub fn lacks() -> Option<String> {
        if !crate::is_root() {
            return Some("root".to_owned());
        }
        let there =
            |name: &&&str| ["/usr/sbin", "/usr/bin"].iter().any(|dir| Path::new(dir).join(name).exists());
        NEEDED.iter().find(|name| !there(name)).map(|name| (*name).to_owned())
    }

    /// Starts machines of these names, at most 9, in `dir`. Needs root and what [`Self::lacks`] names.
    ///
    /// # Panics
    /// If a step fails.
    #[must_use]
    pub fn start(dir: &Path, names: &[&str]) -> Self {
        let _ = tool::run("ip", &["link", "delete", BRIDGE]);
        let sshd = Sshd::stopped(dir, "");
        let addresses: Vec<String> = (0..names.len()).map(|at| format!("10.213.78.{}", at + 2)).collect();
        let hosts: Vec<(&str, &str)> =
            names.iter().copied().zip(addresses.iter().map(String::as_str)).collect();
        let config = sshd.client(&hosts);
        let mut machines = Self { machines: Vec::new(), config, dir: dir.to_owned() };
        for step in [
            &["link", "add", BRIDGE, "type", "bridge"][..],
            &["address", "add", HERE, "dev", BRIDGE],
            &["link", "set", BRIDGE, "up"],
        ] {
            must(tool::run("ip", step));
        }
        for (at, (name, address)) in hosts.iter().enumerate() {
            machines.begin(at, name, address);
        }
        for (name, address) in &hosts {
            machines.await_ready(name, (address, sshd.port()));
        }
        machines
    }

    /// The file for `ssh -F` in which all machines are.
    #[must_use]
    pub fn ssh_config(&self) -> &Path {
        &self.config
    }

    /// The private key that gets in; its public half ends with `.pub`.
    #[must_use]
    pub fn key(&self) -> PathBuf {
        self.dir.join("user")
    }

    /// Where a path of a machine is for this computer: only paths of libvirt's and diskproof's state, and of root's home.
    #[must_use]
    pub fn path(&self, machine: &str, path: &str) -> PathBuf {
        self.dir.join(machine).join(path.trim_start_matches('/'))
    }

    fn begin(&mut self, at: usize, name: &str, address: &str) {
        let folder = self.dir.join(name);
        must(fs::create_dir_all(&folder).map_err(|error| error.to_string()));
        let holder = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "unshare", "--mount", "--propagation", "private", "--net", "--pid"])
            .args(["--fork", "--kill-child", "--mount-proc", "sh", "-c", MACHINE])
            .arg(&folder)
            .arg(format!("00000000-0000-4000-8000-{:012}", at + 1))
            .arg(address)
            .arg(self.dir.join("sshd_config"))
            .env("LC_ALL", "C")
            .env_remove("LIBVIRT_DEFAULT_URI")
            .stdin(Stdio::null())
            .stdout(log(&folder))
            .stderr(log(&folder))
            .spawn();
        let holder = holder.unwrap_or_else(|error| panic!("setpriv: {error}"));
        let pid = holder.id().to_string();
        self.machines.push(holder);
        let network = |of: &str| fs::read_link(format!("/proc/{of}/ns/net")).ok();
        let until = Instant::now() + Duration::from_secs(60);
        while network(&pid) == network("self") {
            assert!(Instant::now() < until, "no network namespace: see {}/log", folder.to_string_lossy());
            std::thread::sleep(Duration::from_millis(20));
        }
        let cable = format!("dptestv{at}");
        let _ = tool::run("ip", &["link", "delete", &cable]);
        must(tool::run(
            "ip",
            &["link", "add", &cable, "type", "veth", "peer", "name", "eth0", "netns", &pid],
        ));
        must(tool::run("ip", &["link", "set", &cable, "master", BRIDGE, "up"]));
    }

    /// Waits until its libvirt answers and its sshd listens.
    fn await_ready(&self, name: &str, sshd: (&str, u16)) {
        let folder = self.dir.join(name);
        let until = Instant::now() + Duration::from_secs(120);
        while !folder.join("ready").exists() || TcpStream::connect(sshd).is_err() {
            let log = || fs::read_to_string(folder.join("log")).unwrap_or_default();
            assert!(Instant::now() < until, "{name} doesn't start: {}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn log(folder: &Path) -> Stdio {
    let file = fs::OpenOptions::new().create(true).append(true).open(folder.join("log"));
    file.map_or_else(|_| Stdio::null(), Stdio::from)
}

fn must<T>(done: Result<T, String>) -> T {
    done.unwrap_or_else(|error| panic!("{error}"))
}

impl Drop for LibvirtMachines {
    fn drop(&mut self) {
        for machine in &mut self.machines {
            // The kernel ends all processes of its namespace with it.
            let _ = machine.kill();
            let _ = machine.wait();
        }
        let _ = tool::run("ip", &["link", "delete", BRIDGE]);
    }
}
