//! Checks that an NFS server answers: calls its NULL procedure, which does nothing (RFC 5531, RFC 7530 section 15.1).

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// NFS's own port.
const PORT: u16 = 2049;
/// The timeout for an answer, and the number of attempts.
const PATIENCE: Duration = Duration::from_secs(10);
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_secs(1);

const XID: u32 = 0x6469_736b;
const CALL: u32 = 0;
const REPLY: u32 = 1;
const RPC_VERSION: u32 = 2;
const NFS: u32 = 100_003;
const NFS_VERSION: u32 = 4;
const NULL: u32 = 0;
const AUTH_NONE: u32 = 0;
/// The flag of a record's last fragment.
const LAST: u32 = 0x8000_0000;

/// Whether the server at an IPv4 address answers, even with a refusal.
pub(crate) fn answers(server: &str, port: Option<u16>) -> bool {
    let Ok(address) = server.parse::<Ipv4Addr>() else { return false };
    let at = SocketAddr::from((address, port.unwrap_or(PORT)));
    for attempt in 1..=ATTEMPTS {
        if call(at).is_ok() {
            return true;
        }
        if attempt < ATTEMPTS {
            std::thread::sleep(PAUSE);
        }
    }
    false
}

fn call(at: SocketAddr) -> io::Result<()> {
    let mut line = TcpStream::connect_timeout(&at, PATIENCE)?;
    line.set_read_timeout(Some(PATIENCE))?;
    line.set_write_timeout(Some(PATIENCE))?;
    let words = [XID, CALL, RPC_VERSION, NFS, NFS_VERSION, NULL, AUTH_NONE, 0, AUTH_NONE, 0];
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    let marker = LAST | u32::try_from(bytes.len()).unwrap_or_default();
    line.write_all(&marker.to_be_bytes())?;
    line.write_all(&bytes)?;
    // Record marker, our transaction number, and the message type.
    let mut answer = [0; 12];
    line.read_exact(&mut answer)?;
    let word = |at: usize| answer[at..at + 4].try_into().map(u32::from_be_bytes).unwrap_or_default();
    if (word(4), word(8)) == (XID, REPLY) { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}

#[cfg(test)]
mod tests {
    use super::{REPLY, XID, answers, call};
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread::spawn;

    #[test]
    fn one_that_answers_is_told_from_one_that_is_not_there_or_no_server() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let serving = spawn(move || {
            for word in [REPLY, 7] {
                let (mut line, _) = listener.accept().unwrap();
                let mut asked = [0; 44];
                line.read_exact(&mut asked).unwrap();
                assert_eq!((asked[0], asked[3], &asked[16..20]), (0x80, 40, &[0, 1, 0x86, 0xa3][..]));
                for word in [0x8000_0018, XID, word, 0] {
                    line.write_all(&u32::to_be_bytes(word)).unwrap();
                }
            }
        });
        assert!(call(at).is_ok());
        assert!(call(at).is_err(), "no reply");
        serving.join().unwrap();
        assert!(!answers("127.0.0.1", Some(at.port())), "nobody listens any more");
        assert!(!answers("no address", None));
    }
}
