//! The console and the screen of a guest.

use super::error::GuestError;
use super::guest_name::check_for_virsh;
use crate::at::{At, AtError, Held, own_connection};
use host::Ssh;
use std::net::TcpListener;
use std::process::ExitStatus;

/// Prints a line once the ports are forwarded, and lives as long as its input.
const READY: [&str; 3] = ["sh", "-c", "echo diskproof; exec cat >/dev/null"];

/// The screen of a guest.
#[derive(Debug)]
pub struct Viewer {
    /// Its URI for this machine.
    pub uri: String,
    /// The forwarded port, open as long as this value lives; `None`: the screen needs none.
    pub tunnel: Option<Tunnel>,
}

/// A port of this machine that leads to a guest's screen.
#[derive(Debug)]
pub struct Tunnel {
    _held: Held,
}

/// Connects this process's terminal to a guest's serial console, until `^]`.
///
/// # Errors
/// ssh or virsh can't be started, or virsh would take its name for another guest's number.
pub fn console(at: &At, guest: &str) -> Result<ExitStatus, GuestError> {
    check_for_virsh(at, guest)?;
    at.hand_over(&at.virsh_words(&["console", "--domain", guest]))
        .map_err(|source| GuestError::Here { what: "can't run ssh or virsh".to_owned(), source })
}

/// Finds a guest's screen, and forwards a port to it where it is on another machine's loopback.
///
/// # Errors
/// The guest shows none, or is off.
pub fn viewer(at: &At, guest: &str) -> Result<Viewer, GuestError> {
    let no_screen =
        |said: String| GuestError::NoScreen { machine: at.name().to_owned(), guest: guest.to_owned(), said };
    check_for_virsh(at, guest)?;
    let said = match at.virsh("look for its screen", &["domdisplay", "--domain", guest]) {
        Ok(said) => said.trim().to_owned(),
        Err(AtError::Failed { said, .. }) => return Err(no_screen(said)),
        Err(error) => return Err(error.into()),
    };
    let Some(screen) = Screen::read(&said) else { return Err(no_screen(said)) };
    if at.is_here() || !screen.is_loopback() {
        return Ok(Viewer { uri: screen.uri(&screen.host, screen.port), tunnel: None });
    }
    let here = |source| GuestError::Here { what: "can't find a free port".to_owned(), source };
    let port = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).map_err(here)?.port();
    let mut options = own_connection(at.machine(), &at.options().reach);
    let forward = format!("127.0.0.1:{port}:{}:{}", screen.host, screen.port);
    options.extend(["-o".into(), "ExitOnForwardFailure=yes".into(), "-L".into(), forward.into()]);
    let held = Held::start(&Ssh::with(options, &at.machine().ssh).call(&READY)).map_err(no_screen)?;
    Ok(Viewer { uri: screen.uri("127.0.0.1", port), tunnel: Some(Tunnel { _held: held }) })
}

/// A screen, as libvirt names it.
#[derive(Debug, PartialEq, Eq)]
struct Screen {
    scheme: String,
    host: String,
    port: u16,
}

impl Screen {
    /// Reads `vnc://127.0.0.1:0` (the number of a display, from port 5900 on) or `spice://127.0.0.1:5900`.
    fn read(said: &str) -> Option<Self> {
        let (scheme, rest) = said.split_once("://")?;
        let (host, number) = rest.rsplit_once(':')?;
        let number = number.parse::<u16>().ok()?;
        let port = match scheme {
            "vnc" => number.checked_add(5900)?,
            "spice" => number,
            _ => return None,
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
        let host = if host.is_empty() { "127.0.0.1" } else { host };
        host.chars().all(is_plain).then(|| Self { scheme: scheme.to_owned(), host: host.to_owned(), port })
    }

    fn is_loopback(&self) -> bool {
        matches!(self.host.as_str(), "127.0.0.1" | "localhost" | "[::1]" | "::1")
    }

    /// Viewers take the port itself where it is written after two colons (vnc), or as it is.
    fn uri(&self, host: &str, port: u16) -> String {
        format!("{}://{host}:{port}", self.scheme)
    }
}

#[cfg(test)]
mod tests {
    use super::Screen;

    #[test]
    fn a_display_of_vnc_is_a_port() {
        let screen = Screen::read("vnc://127.0.0.1:1").unwrap();
        assert_eq!((screen.port, screen.is_loopback()), (5901, true));
        assert_eq!(screen.uri("127.0.0.1", 7000), "vnc://127.0.0.1:7000");
        assert_eq!(
            Screen::read("spice://10.0.0.1:5900").map(|s| (s.port, s.is_loopback())),
            Some((5900, false))
        );
        for bad in ["", "vnc://x", "rdp://a:1", "vnc://$(x):1", "vnc://127.0.0.1:65535"] {
            assert_eq!(Screen::read(bad), None, "{bad}");
        }
    }
}
