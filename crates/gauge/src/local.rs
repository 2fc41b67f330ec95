//! The other side of a measurement, as a process of this host.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use crate::mux::timespec;

/// Starts a process that takes part over the socket that it gets as its
/// standard input.
pub type StartProcess<'a> = dyn Fn(OwnedFd) -> io::Result<Child> + 'a;

/// How long a process that was asked to end may take for it. One that waits for
/// the other end of a link looks whether it is to end every 100 ms.
const PATIENCE: Duration = Duration::from_secs(2);

/// A process that was started here, and goes with what it was started for.
///
/// It is asked to end, so that it tidies up what it has made; only one that
/// stands still is killed, and tidied up for.
pub(crate) struct LocalProcess(Child);

impl LocalProcess {
    pub(crate) const fn new(child: Child) -> Self {
        Self(child)
    }

    /// Waits for its end; false if it has not come in time.
    fn ends_within(&self, wait: Duration) -> bool {
        // Where the kernel has no descriptors of processes, nobody can wait for
        // a process for a while only.
        let Ok(process) = pidfd_open(Pid::from_child(&self.0), PidfdFlags::empty()) else {
            return false;
        };
        let mut one = [PollFd::new(&process, PollFlags::IN)];
        poll(&mut one, Some(&timespec(wait))).is_ok_and(|ready| ready > 0)
    }
}

impl Drop for LocalProcess {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
        if !self.ends_within(PATIENCE) {
            let _ = self.0.kill();
        }
        let id = self.0.id();
        let _ = self.0.wait();
        for folder in folders_of(&shared_folder(), id) {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// Where folders are whose files are shared by processes: in memory, if there
/// is such a place.
pub(crate) fn shared_folder() -> PathBuf {
    let shared = Path::new("/dev/shm");
    if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() }
}

/// What the names of a process's folders begin with.
pub(crate) fn folder_prefix(process: u32) -> String {
    format!("tapeline-gauge-{process}-")
}

/// The folders that a process has left.
fn folders_of(place: &Path, process: u32) -> Vec<PathBuf> {
    let prefix = folder_prefix(process);
    let entries = fs::read_dir(place).into_iter().flatten().filter_map(Result::ok);
    let is_of_it = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(&prefix);
    entries.filter(is_of_it).map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    use std::time::Instant;

    use super::*;

    /// A process that has made a folder and does `at_term` when it is to end.
    fn started(at_term: &str) -> (Child, PathBuf) {
        let script = format!(
            "trap '{at_term}' TERM; mkdir \"$0-$$-0\"; echo ready; while :; do sleep 0.1; done"
        );
        let prefix = shared_folder().join("tapeline-gauge");
        let mut child = Command::new("sh")
            .args(["-c", &script, &prefix.to_string_lossy()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let folder = shared_folder().join(format!("{}0", folder_prefix(child.id())));
        assert!(line == "ready\n" && folder.is_dir());
        (child, folder)
    }

    #[test]
    fn a_process_is_let_end_by_itself() {
        // It tidies up another folder than the one that is looked for.
        let (child, folder) = started(r#"mv "$0-$$-0" "$0-$$.moved"; exit"#);
        let moved = shared_folder().join(format!("tapeline-gauge-{}.moved", child.id()));
        drop(LocalProcess::new(child));
        assert!(moved.is_dir() && !folder.exists());
        fs::remove_dir(moved).unwrap();
    }

    #[test]
    fn one_that_stands_still_is_killed_and_leaves_nothing() {
        let (child, folder) = started("");
        let began = Instant::now();
        drop(LocalProcess::new(child));
        assert!(began.elapsed() >= PATIENCE && !folder.exists());
    }
}
