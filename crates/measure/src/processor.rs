//! Which cores do what, and how long they did it.

use std::fmt;
use std::fs;
use std::str::FromStr;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use thiserror::Error;

/// A core that is to be used cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("core {core} is not there: this process may use {cores:?}; name others, or `none`")]
pub struct NoSuchCore {
    /// Which.
    pub core: usize,
    /// Those that it may use.
    pub cores: Vec<usize>,
}

/// The cores of the two sides, written `A;B`: what measures is on the cores of
/// A, what is measured on those of B. Each is a list as `0` or `0,2-3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Affinity {
    /// Cores of what measures: a client, or a source and its clients.
    pub ours: Vec<usize>,
    /// Cores of what is measured.
    pub theirs: Vec<usize>,
}

impl Affinity {
    /// The first core for what measures, all others for what is measured.
    /// `None` on a machine with a single core.
    pub fn of_machine() -> Option<Self> {
        let set = sched_getaffinity(None).ok()?;
        let mut all = (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu));
        let ours = vec![all.next()?];
        let theirs: Vec<usize> = all.collect();
        (!theirs.is_empty()).then_some(Self { ours, theirs })
    }

    /// Whether this process may use all of these cores.
    ///
    /// Errors: one of them is not there, or is kept from this process.
    pub fn check(&self) -> Result<(), NoSuchCore> {
        // Where the kernel does not tell, it cannot be held against anybody.
        let Ok(set) = sched_getaffinity(None) else { return Ok(()) };
        let is_missing = |core: &&usize| **core >= CpuSet::MAX_CPU || !set.is_set(**core);
        match self.ours.iter().chain(&self.theirs).find(is_missing) {
            Some(core) => Err(NoSuchCore {
                core: *core,
                cores: (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect(),
            }),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Affinity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text =
            |cores: &[usize]| cores.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        write!(f, "{};{}", text(&self.ours), text(&self.theirs))
    }
}

impl FromStr for Affinity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` names no cores; give A;B, as in 0;1 or 0,2;1,3-5");
        let (ours, theirs) = text.split_once(';').ok_or_else(wrong)?;
        let cores = |list| cores(list).ok_or_else(wrong);
        Ok(Self { ours: cores(ours)?, theirs: cores(theirs)? })
    }
}

/// A list of cores, as `0` or `0,2-3`; `None` of anything else.
pub fn cores(list: &str) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<usize>().ok();
        let (first, last) = (number(first)?, number(last)?);
        if first > last || last >= CpuSet::MAX_CPU {
            return None;
        }
        all.extend(first..=last);
    }
    Some(all)
}

/// The cores that this process may use; none where the kernel does not tell.
pub fn allowed_cores() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect()
}

/// Keeps the calling thread, and what it starts from now on, on these cores.
/// Without any it stays where it is. Which are there was looked at before:
/// [`Affinity::check`].
pub fn pin(cores: Option<&[usize]>) {
    let Some(cores) = cores else { return };
    let mut set = CpuSet::new();
    for core in cores {
        set.set(*core);
    }
    let _ = sched_setaffinity(None, &set);
}

/// The calling thread is on other cores until this is dropped.
pub struct Pinned {
    before: Option<CpuSet>,
}

impl Pinned {
    /// To these cores; nowhere else without them.
    pub fn to(cores: Option<&[usize]>) -> Self {
        let before = cores.and_then(|_| sched_getaffinity(None).ok());
        pin(cores);
        Self { before }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = sched_setaffinity(None, before);
        }
    }
}

/// The kernel's number of the calling thread.
pub fn thread_id() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// Seconds that a thread of this process was on a processor; `None` where the
/// kernel does not tell.
pub fn thread_seconds(thread: i32) -> Option<f64> {
    on_processor(&format!("/proc/self/task/{thread}/schedstat"))
}

/// Seconds that all threads of a process were on a processor, those that have
/// ended left out; `None` where the kernel does not tell of any.
pub fn process_seconds(process: u32) -> Option<f64> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let of = |task: fs::DirEntry| on_processor(&task.path().join("schedstat").to_string_lossy());
    tasks.filter_map(Result::ok).filter_map(of).reduce(|sum, seconds| sum + seconds)
}

/// The first figure of `schedstat`: nanoseconds on a processor.
fn on_processor(path: &str) -> Option<f64> {
    let text = fs::read_to_string(path).ok()?;
    let nanos: u64 = text.split_whitespace().next()?.parse().ok()?;
    Some(nanos as f64 / 1e9)
}

/// Bytes of memory of its own that a process has touched: no files, no shared
/// memory, no buffers of the kernel.
pub fn own_memory_bytes(process: u32) -> Option<u64> {
    anonymous_bytes(&fs::read_to_string(format!("/proc/{process}/status")).ok()?)
}

fn anonymous_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_written_in_two_lists() {
        let affinity: Affinity = "0,2;1,3-5".parse().unwrap();
        assert_eq!(affinity, Affinity { ours: vec![0, 2], theirs: vec![1, 3, 4, 5] });
        assert_eq!(affinity.to_string(), "0,2;1,3,4,5");
        for wrong in ["", "0", "0;", ";1", "1-0;2", "a;b", "0;99999999"] {
            assert!(wrong.parse::<Affinity>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_core_that_is_not_there_is_named() {
        let Some(here) = Affinity::of_machine() else { return };
        here.check().unwrap();
        let far = CpuSet::MAX_CPU - 1;
        for wrong in [
            Affinity { ours: vec![far], ..here.clone() },
            Affinity { theirs: vec![here.theirs[0], far], ..here },
        ] {
            let error = wrong.check().unwrap_err().to_string();
            assert!(error.starts_with(&format!("core {far} is not there: ")), "{error}");
        }
    }

    #[test]
    fn a_thread_that_works_is_on_a_processor() {
        let seconds = || thread_seconds(thread_id()).unwrap();
        let before = seconds();
        let mut sum = 0_u64;
        while seconds() - before < 0.005 {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        // The sum over the threads that live: this one is among them.
        assert!(process_seconds(std::process::id()) >= Some(0.005));
    }

    #[test]
    fn what_the_kernel_does_not_tell_is_not_known() {
        assert_eq!((thread_seconds(-1), process_seconds(u32::MAX)), (None, None));
    }

    #[test]
    fn the_memory_of_a_process_is_told() {
        let status = "VmRSS:\t   10 kB\nRssAnon:\t   1234 kB\nRssFile:\t 5 kB\n";
        assert_eq!(anonymous_bytes(status), Some(1234 * 1024));
        assert_eq!(anonymous_bytes("VmRSS: 5 kB\n"), None);
        assert!(own_memory_bytes(std::process::id()).is_some_and(|bytes| bytes > 100_000));
    }
}
