//! A minimal seccomp filter: it refuses one system call to a thread and its children, as containers and hardened hosts do.
#![allow(unreachable_pub, clippy::unwrap_used, reason = "shared by test binaries; tests may unwrap")]

use std::mem::offset_of;

/// The architecture in seccomp's data of a system call on x86-64: EM_X86_64, 64 bits, little endian.
const ARCH_X86_64: u32 = 0xc000_003e;

/// Runs `work` in a thread; `call` fails with `errno` in it and in its children. Other threads keep the call: a filter belongs
/// to a thread and is inherited, also over exec.
pub fn without_call<T: Send>(call: libc::c_long, errno: i32, work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let refused = scope.spawn(move || {
            refuse(u32::try_from(call).unwrap(), u32::try_from(errno).unwrap());
            work()
        });
        refused.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn statement(code: u32, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: u16::try_from(code).unwrap(), jt: 0, jf: 0, k }
}

/// Continues with the next instruction when the loaded word is `k`, else skips `otherwise` instructions.
fn unless(k: u32, otherwise: u8) -> libc::sock_filter {
    let code = u16::try_from(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K).unwrap();
    libc::sock_filter { code, jt: 0, jf: otherwise, k }
}

#[allow(unsafe_code, reason = "prctl has no safe wrapper for filters")]
fn refuse(call: u32, errno: u32) {
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let word = |offset: usize| statement(load, u32::try_from(offset).unwrap());
    let answer = |k: u32| statement(libc::BPF_RET | libc::BPF_K, k);
    let mut filter = [
        word(offset_of!(libc::seccomp_data, arch)),
        unless(ARCH_X86_64, 3),
        word(offset_of!(libc::seccomp_data, nr)),
        unless(call, 1),
        answer(libc::SECCOMP_RET_ERRNO | errno),
        answer(libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: u16::try_from(filter.len()).unwrap(), filter: filter.as_mut_ptr() };
    // SAFETY: plain numbers; it only gives up the right to gain privileges, without which the next call needs root.
    let given_up = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    // SAFETY: the program and its instructions live until the call returns; the kernel copies and checks them.
    let set =
        unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program, 0, 0) };
    assert_eq!((given_up, set), (0, 0), "{}", std::io::Error::last_os_error());
}
