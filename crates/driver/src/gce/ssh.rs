//! The sshd of a machine: waits for it, and learns its keys through the API.

use super::api::Api;
use super::failure::CallError;
use super::inventory::Instance;
use super::pace::Pace;
use record::printable::printable;
use serde::Deserialize;
use std::io::Read as _;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

/// How long one try to connect may take.
const TRY: Duration = Duration::from_secs(5);
/// How often the host keys are asked for: the guest's agent may write them a little later than sshd answers.
const LOOKS: u32 = 3;

/// Waits until an sshd answers. The error says what was last in its way.
pub(super) fn await_sshd(address: &str, port: u16, pace: &Pace) -> Result<(), String> {
    let begun = Instant::now();
    let mut made = 0;
    loop {
        let why = match greets(address, port) {
            Ok(()) => return Ok(()),
            Err(why) => why,
        };
        if begun.elapsed() > pace.patience {
            return Err(why);
        }
        made += 1;
        std::thread::sleep(pace.pause(made));
    }
}

fn greets(address: &str, port: u16) -> Result<(), String> {
    let said = |error: std::io::Error| error.to_string();
    let found = (address, port).to_socket_addrs().map_err(said)?.next().ok_or("the address is no address")?;
    let mut stream = TcpStream::connect_timeout(&found, TRY).map_err(said)?;
    stream.set_read_timeout(Some(TRY)).map_err(said)?;
    let mut greeting = [0; 4];
    stream.read_exact(&mut greeting).map_err(said)?;
    if &greeting == b"SSH-" { Ok(()) } else { Err("what listens there is no sshd".to_owned()) }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Attributes {
    query_value: Values,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Values {
    items: Vec<Attribute>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Attribute {
    key: String,
    value: String,
}

/// The public keys of a machine's sshd, as its image told the API; empty: it doesn't.
pub(super) fn host_keys(api: &Api<'_>, instance: &Instance) -> Result<Vec<String>, CallError> {
    let path = format!("{}/getGuestAttributes", instance.path());
    for look in 1..=LOOKS {
        match api.get::<Attributes>(&path, &[("queryPath", "hostkeys/")]) {
            Ok(told) => {
                let keys: Vec<_> = told.query_value.items.iter().filter_map(key).collect();
                if !keys.is_empty() {
                    return Ok(keys);
                }
            }
            // There are none yet, or the account may not read them.
            Err(error) if matches!(error.status(), Some(404 | 403)) => {}
            Err(error) => return Err(error),
        }
        if look < LOOKS {
            std::thread::sleep(api.pace.pause(look));
        }
    }
    Ok(Vec::new())
}

fn key(attribute: &Attribute) -> Option<String> {
    let is_word = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    let value = attribute.value.trim();
    (is_word(&attribute.key) && is_word(value)).then(|| format!("{} {value}", printable(&attribute.key)))
}
