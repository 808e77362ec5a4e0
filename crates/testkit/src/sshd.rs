//! A real sshd on loopback, and an address at which nothing answers.

use crate::tool;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// An sshd on 127.0.0.1 (and on all other addresses of loopback), for root, with keys of its own. Ended on drop.
#[derive(Debug)]
pub struct Sshd {
    dir: PathBuf,
    port: u16,
    child: Option<Child>,
    made_run_sshd: bool,
    /// The words before its command, e.g. nsenter.
    within: Vec<OsString>,
}

impl Sshd {
    /// Starts it; keys, configurations and its log are in `dir`. `extra` is added to its configuration.
    ///
    /// # Panics
    /// If ssh-keygen or sshd can't be run.
    #[must_use]
    pub fn start(dir: &Path, extra: &str) -> Self {
        let mut sshd = Self::stopped(dir, extra);
        sshd.go_on();
        sshd
    }

    /// Makes its keys, configurations and port; [`Self::go_on`] starts it.
    ///
    /// # Panics
    /// If ssh-keygen can't be run.
    #[must_use]
    pub fn stopped(dir: &Path, extra: &str) -> Self {
        for key in ["host", "user"] {
            let path = dir.join(key).to_string_lossy().into_owned();
            if let Err(error) = tool::run("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", &path]) {
                panic!("{error}");
            }
        }
        let port = crate::free_port();
        let at = dir.to_string_lossy();
        let server = format!(
            "Port {port}\nListenAddress 0.0.0.0\nHostKey {at}/host\nPidFile none\nStrictModes no\nUsePAM no\nLogLevel VERBOSE\n\
             PermitRootLogin yes\nPubkeyAuthentication yes\nAuthorizedKeysFile {at}/user.pub\nMaxStartups 500\n\
             Subsystem sftp internal-sftp\n{extra}\n"
        );
        write(&dir.join("sshd_config"), &server);
        // Debian's sshd needs this folder, which its service creates at boot.
        let made_run_sshd = fs::create_dir("/run/sshd").is_ok();
        Self { dir: dir.to_owned(), port, child: None, made_run_sshd, within: Vec::new() }
    }

    /// Has it started by these words before its own command.
    #[must_use]
    pub(crate) fn within(mut self, words: Vec<OsString>) -> Self {
        self.within = words;
        self
    }

    /// Starts it if it doesn't run, and waits until it listens.
    ///
    /// # Panics
    /// If it doesn't start.
    pub fn go_on(&mut self) {
        if self.child.is_some() {
            return;
        }
        let log = fs::OpenOptions::new().create(true).append(true).open(self.dir.join("sshd.log"));
        let log = log.map_or_else(|_| Stdio::null(), Stdio::from);
        let mut words = self.within.iter().cloned().chain(["/usr/sbin/sshd".into()]);
        let program = words.next().unwrap_or_default();
        let started = Command::new(program)
            .args(words)
            .args(["-D", "-e", "-f"])
            .arg(self.dir.join("sshd_config"))
            .stdin(Stdio::null())
            .stderr(log)
            .spawn();
        self.child = Some(started.unwrap_or_else(|error| panic!("sshd: {error}")));
        let until = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(
                Instant::now() < until,
                "sshd doesn't listen: see {}/sshd.log",
                self.dir.to_string_lossy()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends it; nothing listens afterwards.
    pub fn halt(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// The processes of those who are logged in, with all that they started.
    #[must_use]
    pub fn sessions(&self) -> Vec<String> {
        self.child.as_ref().map(|child| descendants(&child.id().to_string())).unwrap_or_default()
    }

    /// Its port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Writes a configuration for ssh in which these names are this sshd at these addresses. Its key is the only known one.
    ///
    /// # Panics
    /// If it can't be written.
    #[must_use]
    pub fn client(&self, hosts: &[(&str, &str)]) -> PathBuf {
        let at = self.dir.to_string_lossy();
        let key = fs::read_to_string(self.dir.join("host.pub")).unwrap_or_default();
        write(&self.dir.join("known"), &format!("* {key}"));
        let mut text = String::new();
        for (name, address) in hosts {
            let _ = write!(text, "Host {name}\n HostName {address}\n");
        }
        let _ = write!(
            text,
            "Host *\n Port {}\n User root\n IdentityFile {at}/user\n IdentitiesOnly yes\n UserKnownHostsFile {at}/known\n \
             GlobalKnownHostsFile none\n StrictHostKeyChecking yes\n",
            self.port
        );
        let path = self.dir.join("ssh_config");
        write(&path, &text);
        path
    }

    /// Returns how many times somebody has logged in.
    #[must_use]
    pub fn logins(&self) -> usize {
        let log = fs::read_to_string(self.dir.join("sshd.log")).unwrap_or_default();
        log.lines().filter(|line| line.starts_with("Accepted publickey")).count()
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.halt();
        if self.made_run_sshd {
            let _ = fs::remove_dir("/run/sshd");
        }
    }
}

/// The descendants of a process.
fn descendants(pid: &str) -> Vec<String> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let each = children.split_whitespace().map(str::to_owned);
    each.flat_map(|child| std::iter::once(child.clone()).chain(descendants(&child))).collect()
}

/// A network with an address that swallows all packets: its other end is in a network namespace without a host of that address. Removed
/// on drop.
#[derive(Debug)]
pub struct Silence {
    /// The process that holds the namespace.
    holder: Child,
}

/// This machine's end of the network.
const LINK: &str = "dptest0";

impl Silence {
    /// The address at which nothing answers.
    pub const ADDRESS: &'static str = "10.213.77.2";

    /// Makes it. Needs root.
    ///
    /// # Panics
    /// If a step fails.
    #[must_use]
    pub fn make() -> Self {
        let _ = tool::run("ip", &["link", "delete", LINK]);
        let holder =
            Command::new("unshare").args(["--net", "sleep", "infinity"]).stdin(Stdio::null()).spawn();
        let silence = Self { holder: holder.unwrap_or_else(|error| panic!("unshare: {error}")) };
        let holder = silence.holder.id().to_string();
        let network = |of: &str| fs::read_link(format!("/proc/{of}/ns/net")).ok();
        let until = Instant::now() + Duration::from_secs(60);
        while network(&holder) == network("self") {
            assert!(Instant::now() < until, "no network namespace");
            std::thread::sleep(Duration::from_millis(20));
        }
        let there = ["nsenter", "--net", "--target", &holder, "ip"];
        for step in [
            &["ip", "link", "add", LINK, "type", "veth", "peer", "name", "dptest1", "netns", &holder][..],
            &[&there[..], &["link", "set", "dptest1", "up"]].concat(),
            &["ip", "address", "add", "10.213.77.1/30", "dev", LINK],
            &["ip", "link", "set", LINK, "up"],
            // Without it, the kernel would find out that nobody is there.
            &["ip", "neighbour", "add", Self::ADDRESS, "lladdr", "02:00:00:00:00:02", "dev", LINK],
        ] {
            if let Err(error) = tool::run(step[0], &step[1..]) {
                panic!("{error}");
            }
        }
        silence
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        let _ = tool::run("ip", &["link", "delete", LINK]);
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

fn write(path: &Path, text: &str) {
    if let Err(error) = fs::write(path, text) {
        panic!("{}: {error}", path.to_string_lossy());
    }
}
