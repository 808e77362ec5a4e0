//! Debian's `aws`, forked from a process that has imported it once (tests/cloud/aws_relay.py).

use host::{CommandFailure, Invocation, Output, Runner};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// Runs what the driver would start as `setpriv --pdeathsig KILL /usr/bin/aws ...`.
pub(crate) struct Relay {
    pub(crate) socket: PathBuf,
}

impl Runner for Relay {
    fn run(&self, cmd: &Invocation) -> Result<Output, CommandFailure> {
        let argv = cmd.argv();
        assert_eq!(argv[..3], ["setpriv", "--pdeathsig", "KILL"], "aws must end with the driver");
        let mut env = json!({"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"});
        for (name, value) in &cmd.env {
            env[name.to_string_lossy().as_ref()] = json!(value.to_string_lossy());
        }
        let reply = ask(&self.socket, &json!({"args": argv[4..], "env": env}))
            .map_err(|source| CommandFailure::Spawn { argv: argv.clone(), source })?;
        let text = |key: &str| reply[key].as_str().unwrap().to_owned();
        let (stdout, stderr) = (text("stdout"), text("stderr"));
        match i32::try_from(reply["status"].as_i64().unwrap()).unwrap() {
            0 => Ok(Output { stdout, stderr, argv, status: 0 }),
            status => Err(CommandFailure::Failed { argv, status, stdout, stderr }),
        }
    }
}

fn ask(socket: &PathBuf, call: &Value) -> std::io::Result<Value> {
    let mut stream = UnixStream::connect(socket)?;
    writeln!(stream, "{call}")?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply)?;
    Ok(serde_json::from_str(&reply)?)
}
