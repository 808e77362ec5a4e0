//! Defines and starts a guest, by KVM where its machine has it and it works there.

use super::error::GuestError;
use super::xml::Cpu;
use crate::at::{At, AtError};

/// A guest that is to be defined and started.
pub(crate) struct Starting<'a> {
    pub(crate) at: &'a At,
    /// Its name or UUID.
    pub(crate) domain: &'a str,
    /// Whether QEMU emulates its processors also where there is KVM.
    pub(crate) emulated: bool,
    /// Words that stand before each command that changes something.
    pub(crate) before: &'a [&'a str],
}

impl Starting<'_> {
    /// Defines and starts it. `description` gives libvirt's description for a kind of processors.
    pub(crate) fn start(
        &self,
        description: &dyn Fn(Cpu) -> String,
        tell: &dyn Fn(&str),
    ) -> Result<Cpu, GuestError> {
        let at = self.at;
        let asked = ["domcapabilities", "--virttype", "kvm", "--arch", at.arch()];
        let mut ways = vec![Cpu::Emulated];
        if at.virsh("ask for KVM", &asked).is_ok() {
            ways.extend([Cpu::KvmWithoutFlaws, Cpu::Kvm]);
        }
        let mut why = "libvirt has no KVM there".to_owned();
        if self.emulated {
            ways.truncate(1);
            "as asked".clone_into(&mut why);
        }
        while let Some(cpu) = ways.pop() {
            if cpu == Cpu::Emulated {
                tell(&format!("QEMU emulates the processors, which takes about ten times as long: {why}"));
            }
            let words = at.virsh_words(&["define", "/dev/stdin"]);
            at.feed("define the guest", &[self.before, &words].concat(), description(cpu).into_bytes())?;
            match self.virsh("start the guest", &["start", "--domain", self.domain]) {
                Ok(_) => return Ok(cpu),
                Err(AtError::Failed { said, .. })
                    if !ways.is_empty() && said.to_lowercase().contains("kvm") =>
                {
                    why = said;
                    self.virsh("remove the first try", &["undefine", "--domain", self.domain])?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Cpu::Emulated)
    }

    fn virsh(&self, doing: &'static str, words: &[&str]) -> Result<String, AtError> {
        self.at.run(doing, &[self.before, &self.at.virsh_words(words)].concat())
    }
}
