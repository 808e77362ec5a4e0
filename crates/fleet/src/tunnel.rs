//! Forwards ports of this machine to others through a machine, and connects again when the connection breaks.

use crate::link::{READY, Reach, of};
use host::{Crowd, CrowdEvent, Ending, Input, Ssh, Stream, last_words};
use record::machine::Machine;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often the cancel flag is checked.
const TICK: Duration = Duration::from_millis(100);
/// The first pause before it connects again; each further one is twice as long.
const FIRST: Duration = Duration::from_secs(1);
/// The longest pause.
const LONGEST: Duration = Duration::from_secs(30);

/// What happens to a tunnel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TunnelEvent {
    /// All ports are open.
    Open,
    /// The connection broke; it is tried again after this pause.
    Lost {
        /// Why.
        reason: String,
        /// The pause.
        pause: Duration,
    },
}

/// Holds a tunnel until it is cancelled. `forwards` are those of ssh's `-L`. Returns why it never opened; `None` when it did.
///
/// # Errors
/// The kernel refuses to wait for ssh.
pub fn tunnel(
    machine: &Machine,
    forwards: &[String],
    reach: &Reach,
    tell: &mut dyn FnMut(TunnelEvent),
    cancel: &AtomicBool,
) -> io::Result<Option<String>> {
    let mut options = Ssh::unattended(reach.ssh_config.as_deref(), reach.connect_seconds);
    options.extend(of(machine));
    // A port that can't be opened must be told, and a master of the user's own would keep the ports after us.
    options.extend(["-o", "ExitOnForwardFailure=yes", "-o", "ControlPath=none"].map(Into::into));
    options.extend(forwards.iter().flat_map(|forward| ["-L".into(), forward.into()]));
    let call = Ssh::with(options, &machine.ssh).call(&READY);
    let (mut ever, mut pause) = (false, FIRST);
    loop {
        let mut crowd = Crowd::default();
        crowd.start(&call, Input::Held).map_err(io::Error::other)?;
        let (opened, reason) = hold(&mut crowd, tell, cancel)?;
        if opened {
            (ever, pause) = (true, FIRST);
        }
        if cancel.load(Ordering::Relaxed) {
            return Ok(None);
        }
        if !ever {
            return Ok(Some(reason));
        }
        tell(TunnelEvent::Lost { reason, pause });
        let until = Instant::now() + pause;
        while Instant::now() < until && !cancel.load(Ordering::Relaxed) {
            std::thread::sleep(TICK);
        }
        pause = (pause * 2).min(LONGEST);
    }
}

/// Holds one connection to its end. Returns whether it opened, and ssh's last words.
fn hold(
    crowd: &mut Crowd,
    tell: &mut dyn FnMut(TunnelEvent),
    cancel: &AtomicBool,
) -> io::Result<(bool, String)> {
    let (mut opened, mut said) = (false, String::new());
    while !cancel.load(Ordering::Relaxed) {
        match crowd.next(Some(Instant::now() + TICK))? {
            Some(CrowdEvent::Output { stream: Stream::Out, .. }) if !opened => {
                opened = true;
                tell(TunnelEvent::Open);
            }
            Some(CrowdEvent::Output { stream: Stream::Err, bytes, .. }) => {
                // The last words matter, and a channel's complaints may be many.
                let from = said.len().saturating_sub(4096);
                said = said.get(from..).unwrap_or_default().to_owned() + &String::from_utf8_lossy(&bytes);
            }
            Some(CrowdEvent::Ended { ending, .. }) => {
                let reason = match ending {
                    Ending::Signal(number) => format!("ssh was ended by signal {number}"),
                    Ending::Status(_) | Ending::TimedOut => last_words(&said),
                };
                return Ok((opened, reason));
            }
            Some(CrowdEvent::Output { .. }) | None => {}
        }
    }
    Ok((opened, String::new()))
}
