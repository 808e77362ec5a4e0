//! A child process that does something to a device; it is ended by its process id.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

pub struct Child(std::process::Child);

impl Child {
    /// Starts a program that prints a line when it is ready, and waits for that line.
    pub fn start(program: &str, args: &[&str]) -> Self {
        let mut child = Command::new(program).args(args).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line.trim(), "ready", "{program} {args:?} did not get ready");
        Self(child)
    }

    /// Starts a program that prints several lines, and waits for this word.
    pub fn start_and_find(program: &str, args: &[&str], word: &str) -> Self {
        let mut child = Command::new(program).args(args).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let said = lines.map_while(Result::ok).any(|line| line.contains(word));
        let child = Self(child);
        assert!(said, "{program} {args:?} did not say {word}");
        child
    }

    /// Perl is in every Debian, and can open files with any flags.
    pub fn perl(script: &str, args: &[&str]) -> Self {
        let script = format!("use Fcntl qw(:DEFAULT :flock); $|=1; {script}; print \"ready\\n\"; sleep 600;");
        let mut all = vec!["-e", script.as_str()];
        all.extend(args);
        Self::start("perl", &all)
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
