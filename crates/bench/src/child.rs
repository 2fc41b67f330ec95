//! A process that ends with its owner.

use std::io;
use std::process::{Child as Process, Command};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tapeline_measure::processor::{self, Pinned};

/// How long a process may take to end before it is killed.
const END: Duration = Duration::from_secs(3);

/// How often is looked whether something has become so.
pub(crate) const LOOK: Duration = Duration::from_millis(1);

/// A process. It is ended when this is dropped.
pub(crate) struct Child {
    pub(crate) process: Process,
}

impl Child {
    /// Starts it on these cores, or where the calling thread is.
    pub(crate) fn start(command: &mut Command, cores: Option<&[usize]>) -> io::Result<Self> {
        let _there = Pinned::to(cores);
        Ok(Self { process: command.spawn()? })
    }

    /// Its number.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Whether it has ended.
    pub(crate) fn is_over(&mut self) -> bool {
        !matches!(self.process.try_wait(), Ok(None))
    }

    /// Seconds that its threads were on a processor so far; `None` where the
    /// kernel does not tell.
    pub(crate) fn seconds(&self) -> Option<f64> {
        processor::process_seconds(self.id())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // The number of one that has ended may be another's by now.
        if !self.is_over() {
            // A process that is killed leaves its shared memory behind.
            let _ = kill_process(Pid::from_child(&self.process), Signal::TERM);
        }
        let began = Instant::now();
        while !self.is_over() && began.elapsed() < END {
            thread::park_timeout(LOOK);
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_ends_with_its_owner() {
        let mut child = Child::start(Command::new("sleep").arg("1000"), None).unwrap();
        assert!(!child.is_over());
        let place = format!("/proc/{}", child.id());
        assert!(std::path::Path::new(&place).exists());
        drop(child);
        assert!(!std::path::Path::new(&place).exists());
    }
}
