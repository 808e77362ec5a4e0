//! The failures that are injected, and the moments at which they are.

use super::site::Site;
use std::process::Command;
use std::time::Duration;

/// A failure of one machine of a run, or of the controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    LinkCut,
    LinkSilent,
    LinkSlow,
    LinkLossy,
    AgentKilled,
    SshKilled,
    LoadKilled,
    Rebooted,
    DiskFull,
    AgentStopped,
    ControllerKilled,
}

impl Kind {
    pub(crate) const ALL: [Self; 11] = [
        Self::LinkCut,
        Self::AgentKilled,
        Self::LoadKilled,
        Self::Rebooted,
        Self::DiskFull,
        Self::SshKilled,
        Self::LinkSlow,
        Self::LinkLossy,
        Self::ControllerKilled,
        Self::LinkSilent,
        Self::AgentStopped,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::LinkCut => "connection cut",
            Self::LinkSilent => "connection silent (no byte passes)",
            Self::LinkSlow => "200 ms of delay each way",
            Self::LinkLossy => "5 % of packets lost",
            Self::AgentKilled => "agent process killed (-9)",
            Self::SshKilled => "ssh killed (-9)",
            Self::LoadKilled => "load program killed (-9)",
            Self::Rebooted => "machine rebooted",
            Self::DiskFull => "machine's disk full",
            Self::AgentStopped => "agent process stopped (as if the machine hung)",
            Self::ControllerKilled => "controller killed (-9)",
        }
    }

    /// Whether the machine is lost by it.
    pub(crate) fn loses_machine(self) -> bool {
        matches!(
            self,
            Self::LinkCut
                | Self::LinkSilent
                | Self::AgentKilled
                | Self::SshKilled
                | Self::Rebooted
                | Self::AgentStopped
        )
    }

    /// Whether the machine itself puts everything back, without an undo.
    pub(crate) fn mends_itself(self) -> bool {
        !matches!(self, Self::AgentKilled | Self::Rebooted)
    }

    /// Makes it happen to a machine of the site, in the run of this controller; `false`: this isn't the moment for it.
    pub(crate) fn strike(self, site: &mut Site, machine: usize, controller: u32) -> bool {
        match self {
            Self::LinkCut => site.relays[machine].cut(),
            Self::LinkSilent => site.relays[machine].silence(),
            Self::LinkSlow => site.relays[machine].delay(Duration::from_millis(200)),
            Self::LinkLossy => site.lose_packets(machine),
            Self::AgentKilled => kill("-9", &site.agents(machine)),
            // At other times it may look at the devices of the other machines, since all have one kernel, and hold them up.
            Self::AgentStopped if site.loads(machine).is_empty() => return false,
            Self::AgentStopped => kill("-STOP", &site.agents(machine)),
            Self::SshKilled => kill("-9", &site.ssh_of(controller, machine)),
            Self::LoadKilled => kill("-9", &site.loads(machine)),
            Self::Rebooted => site.machines[machine].reboot(),
            Self::DiskFull => site.fill_up(machine),
            Self::ControllerKilled => kill("-9", &[controller.to_string()]),
        }
        true
    }
}

pub(crate) fn kill(signal: &str, pids: &[String]) {
    for pid in pids {
        // It may have ended meanwhile.
        let _ = Command::new("kill").args([signal, pid]).stderr(std::process::Stdio::null()).status();
    }
}

/// The numbers that choose kinds and moments: xorshift64*, so that a seed gives the same ones everywhere.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `most`.
    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % most
    }
}
