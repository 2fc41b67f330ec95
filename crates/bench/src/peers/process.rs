//! A server as a process of its own.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use tapeline_measure::stop;

use super::error::PeerError;
use crate::child::Child;

/// How long a process may take to get ready, and to answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// How often is looked, while it is waited for an answer, whether to go on.
const LOOK: Duration = Duration::from_millis(100);

/// A process that ends when this is dropped.
pub(super) struct Process {
    name: String,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Process {
    /// Starts it on these cores. What it writes to its standard output can be
    /// taken line by line; its standard error is ours.
    pub(super) fn start(
        name: &str,
        command: &mut Command,
        cores: Option<&[usize]>,
    ) -> Result<Self, PeerError> {
        let failed = |error| PeerError::Start { program: name.to_owned(), error };
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = Child::start(command, cores).map_err(failed)?;
        let (tell, lines) = mpsc::channel();
        if let Some(stdout) = child.process.stdout.take() {
            thread::spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    if tell.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        let stdin = child.process.stdin.take();
        Ok(Self { name: name.to_owned(), child, stdin, lines })
    }

    /// Something is wrong with it.
    pub(super) fn fault(&self, what: impl Into<String>) -> PeerError {
        PeerError::Process { program: self.name.clone(), what: what.into() }
    }

    /// What follows `word` in the next line that begins with it.
    pub(super) fn answer(&self, word: &str) -> Result<String, PeerError> {
        let began = Instant::now();
        loop {
            stop::check()?;
            match self.lines.recv_timeout(LOOK) {
                Ok(line) => {
                    if let Some(rest) = line.strip_prefix(word) {
                        return Ok(rest.trim().to_owned());
                    }
                }
                Err(RecvTimeoutError::Timeout) if began.elapsed() < PATIENCE => {}
                Err(_) => return Err(self.fault(format!("did not say `{word}`"))),
            }
        }
    }

    /// The same, if it is there already.
    pub(super) fn answered(&self, word: &str) -> Option<String> {
        self.lines.try_iter().find_map(|line| Some(line.strip_prefix(word)?.trim().to_owned()))
    }

    /// Writes a line to its standard input.
    pub(super) fn tell(&mut self, line: &str) -> Result<(), PeerError> {
        let sent = self.stdin.as_mut().map(|stdin| stdin.write_all(format!("{line}\n").as_bytes()));
        match sent {
            Some(Ok(())) => Ok(()),
            _ => Err(self.fault("does not listen any more")),
        }
    }

    /// Whether it has ended.
    pub(super) fn is_over(&mut self) -> bool {
        self.child.is_over()
    }

    /// Seconds that its threads were on a processor so far; `None` where the
    /// kernel does not tell.
    pub(super) fn seconds(&self) -> Option<f64> {
        self.child.seconds()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_hears_and_answers() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo noise; echo ready 7; read line; echo got $line; exec sleep 60"]);
        let mut process = Process::start("sh", &mut command, None).unwrap();
        assert_eq!(process.answer("ready").unwrap(), "7");
        process.tell("hello").unwrap();
        assert_eq!(process.answer("got").unwrap(), "hello");
        assert!(!process.is_over());
        assert_eq!(process.answered("more"), None);
    }

    #[test]
    fn a_process_that_is_not_there_is_named() {
        let error = Process::start("it", &mut Command::new("/nowhere/it"), None).err().unwrap();
        assert!(error.to_string().starts_with("it does not start: "), "{error}");
    }

    #[test]
    fn a_process_that_ended_without_a_word_is_noticed_at_once() {
        let mut process = Process::start("true", &mut Command::new("true"), None).unwrap();
        let error = process.answer("ready").unwrap_err();
        assert_eq!(error.to_string(), "true did not say `ready`");
        process.child.process.wait().unwrap();
        assert!(process.is_over());
    }
}
