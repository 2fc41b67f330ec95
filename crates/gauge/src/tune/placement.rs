//! Where the threads of a market data system run, beside where the measured
//! systems had theirs: a core each, FIFO 55, clients 49, and never two that spin
//! on one core or on siblings of one.
//!
//! Two looks at the kernel's tables, so long apart, tell who is at work; what is
//! wrong follows from them without I/O.

use std::collections::BTreeMap;

use tapeline_measure::processor::cores;

use super::machine::Machine;
use super::rows::State;

/// A thread with more of a core than this is at work, in percent.
const AT_WORK_PERCENT: f64 = 1.0;

/// A thread that wants more of a core than this does not rest, in percent: two
/// of them on one core have half of it each.
const SPINS_PERCENT: f64 = 90.0;

/// Names of our programs begin so.
const OURS: &str = "tapeline";

/// Parts of a system that only take updates.
const CLIENTS: [&str; 2] = ["client", "rmdstestclient"];

/// Who had cores of their own, and who had what priority.
const CORES_SOURCE: &str = "S0 2.2.8 S1 S3: a core each";
const PRIORITY_SOURCE: &str = "S0: FIFO 55, clients 49";

/// `SCHED_FIFO` and `SCHED_RR`.
const FIFO: u32 = 1;
const ROUND_ROBIN: u32 = 2;

/// A thread as one look has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    process: u32,
    thread: u32,
    /// `server`, or the program's name.
    role: String,
    name: String,
    cores: Vec<usize>,
    policy: u32,
    priority: u32,
    on_core_ns: u64,
    /// Ready to run, and not let.
    waited_ns: u64,
}

/// Threads of our programs, and of those with these names.
pub(super) fn look(machine: &dyn Machine, programs: &[String]) -> Vec<Seen> {
    let own = std::process::id();
    let processes = machine.list("proc").into_iter().filter_map(|name| name.parse::<u32>().ok());
    let mut all = Vec::new();
    for process in processes.filter(|process| *process != own) {
        let Some(program) = machine.read(&format!("proc/{process}/comm")) else { continue };
        if !program.starts_with(OURS) && !programs.contains(&program) {
            continue;
        }
        let line = machine.read(&format!("proc/{process}/cmdline")).unwrap_or_default();
        let role = role(&program, &line);
        for thread in machine.list(&format!("proc/{process}/task")) {
            let folder = format!("proc/{process}/task/{thread}");
            let Ok(thread) = thread.parse() else { continue };
            all.extend(thread_of(machine, &folder, (process, thread), &role));
        }
    }
    all
}

/// What a process is to the system: our subcommand, or the program.
fn role(program: &str, command_line: &str) -> String {
    let mut words = command_line.split('\0').skip(1);
    match words.next().filter(|word| program.starts_with(OURS) && !word.starts_with('-')) {
        Some(word) if !word.is_empty() => word.to_owned(),
        _ => program.to_owned(),
    }
}

fn thread_of(
    machine: &dyn Machine,
    folder: &str,
    (process, thread): (u32, u32),
    role: &str,
) -> Option<Seen> {
    let file = |name: &str| machine.read(&format!("{folder}/{name}"));
    let status = file("status")?;
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let stat = file("stat")?;
    // The name in parentheses may have blanks; rt_priority and policy are the
    // fields 40 and 41.
    let behind: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |field: usize| behind.get(field - 3).and_then(|word| word.parse().ok());
    let schedstat = file("schedstat")?;
    let mut nanos = schedstat.split_whitespace().map_while(|word| word.parse().ok());
    Some(Seen {
        process,
        thread,
        role: role.to_owned(),
        name: file("comm").unwrap_or_default(),
        cores: cores(allowed.trim())?,
        policy: number(41)?,
        priority: number(40)?,
        on_core_ns: nanos.next()?,
        waited_ns: nanos.next()?,
    })
}

/// For each core, itself and those that share its execution units.
pub(super) fn siblings(machine: &dyn Machine, count: usize) -> BTreeMap<usize, Vec<usize>> {
    let of = |core: usize| {
        let path = format!("sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list");
        let listed = machine.read(&path).and_then(|text| cores(&text));
        (core, listed.unwrap_or_else(|| vec![core]))
    };
    (0..count).map(of).collect()
}

/// A thread that is at work, and what is to be said of it.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    seen: Seen,
    /// What it had of a core, and with that what it would have had alone.
    busy_percent: f64,
    wanted_percent: f64,
    /// Worst first.
    pub(super) findings: Vec<Finding>,
}

/// What is to be said of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) state: State,
    pub(super) what: String,
    pub(super) source: &'static str,
    /// What a person would type.
    pub(super) command: String,
}

impl Placed {
    fn is_spinning(&self) -> bool {
        self.wanted_percent >= SPINS_PERCENT
    }

    /// The one core that it may run on.
    fn own_core(&self) -> Option<usize> {
        match self.seen.cores[..] {
            [core] => Some(core),
            _ => None,
        }
    }

    pub(super) fn who(&self) -> String {
        let Seen { process, role, name, .. } = &self.seen;
        format!("{role} {process}/{name}")
    }

    pub(super) fn cores(&self) -> String {
        self.seen.cores.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    }

    pub(super) fn policy(&self) -> String {
        match self.seen.policy {
            FIFO => format!("FIFO {}", self.seen.priority),
            ROUND_ROBIN => format!("RR {}", self.seen.priority),
            _ => "shared".to_owned(),
        }
    }

    pub(super) fn busy(&self) -> String {
        format!("{:.0}", self.busy_percent)
    }

    pub(super) fn wanted(&self) -> String {
        format!("{:.0}", self.wanted_percent)
    }

    /// The worst that is to be said.
    pub(super) fn state(&self) -> State {
        self.findings.first().map_or(State::Ok, |finding| finding.state.clone())
    }
}

/// What two looks, so many seconds apart, tell of those that are at work.
pub(super) fn judged(
    before: &[Seen],
    after: &[Seen],
    seconds: f64,
    siblings: &BTreeMap<usize, Vec<usize>>,
) -> Vec<Placed> {
    let mut all: Vec<Placed> = after
        .iter()
        .filter_map(|seen| {
            let was = before.iter().find(|was| was.thread == seen.thread)?;
            let percent = |nanos: u64| nanos as f64 / 1e7 / seconds.max(1e-9);
            let busy_percent = percent(seen.on_core_ns.saturating_sub(was.on_core_ns));
            let waited = percent(seen.waited_ns.saturating_sub(was.waited_ns));
            let wanted_percent = busy_percent + waited;
            let (seen, findings) = (seen.clone(), Vec::new());
            let placed = Placed { seen, busy_percent, wanted_percent, findings };
            (busy_percent >= AT_WORK_PERCENT).then_some(placed)
        })
        .collect();
    let taken: Vec<usize> = all.iter().filter_map(Placed::own_core).collect();
    let mut free = siblings.keys().copied().filter(|core| !taken.contains(core));
    let findings: Vec<Vec<Finding>> =
        all.iter().map(|of| findings(of, &all, siblings, &mut free)).collect();
    for (placed, findings) in all.iter_mut().zip(findings) {
        placed.findings = findings;
    }
    all
}

fn findings(
    of: &Placed,
    all: &[Placed],
    siblings: &BTreeMap<usize, Vec<usize>>,
    free: &mut dyn Iterator<Item = usize>,
) -> Vec<Finding> {
    let Seen { thread, .. } = of.seen;
    let mut found = Vec::new();
    let move_it = |free: &mut dyn Iterator<Item = usize>| match free.next() {
        Some(core) => format!("taskset -cp {core} {thread}"),
        None => "no core is free".to_owned(),
    };
    match of.own_core() {
        None => {
            let is_spinning = of.is_spinning();
            found.push(Finding {
                state: if is_spinning { State::Differs } else { State::Advice },
                what: match is_spinning {
                    true => "spins, and has no core of its own".to_owned(),
                    false => "has no core of its own".to_owned(),
                },
                source: CORES_SOURCE,
                command: move_it(free),
            });
        }
        Some(core) => {
            let beside = siblings.get(&core).cloned().unwrap_or_else(|| vec![core]);
            let is_near = |other: &&Placed| {
                other.seen.thread != thread
                    && other.is_spinning()
                    && other.own_core().is_some_and(|core| beside.contains(&core))
            };
            if let Some(other) = all.iter().find(is_near) {
                let place = match other.own_core() == Some(core) {
                    true => format!("core {core}"),
                    false => format!("a sibling of core {core}"),
                };
                let verb = if of.is_spinning() { "spins" } else { "waits" };
                found.push(Finding {
                    state: State::Differs,
                    what: format!("{verb} where {} spins: {place}", other.who()),
                    source: CORES_SOURCE,
                    command: move_it(free),
                });
            }
        }
    }
    let wanted = if CLIENTS.contains(&of.seen.role.as_str()) { 49 } else { 55 };
    if of.seen.policy != FIFO {
        found.push(Finding {
            state: State::Advice,
            what: format!("others may take its core: not FIFO {wanted}"),
            source: PRIORITY_SOURCE,
            command: format!("chrt -f -p {wanted} {thread}"),
        });
    }
    found.sort_by_key(|finding| finding.state != State::Differs);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::machine::Tree;

    fn seen(thread: u32, role: &str, cores: &[usize], on_core_ns: u64) -> Seen {
        Seen {
            process: 7,
            thread,
            role: role.to_owned(),
            name: "tick".to_owned(),
            cores: cores.to_vec(),
            policy: FIFO,
            priority: 55,
            on_core_ns,
            waited_ns: 0,
        }
    }

    const S: u64 = 1_000_000_000;

    fn smt() -> BTreeMap<usize, Vec<usize>> {
        (0..4).map(|core| (core, vec![core % 2, core % 2 + 2])).collect()
    }

    fn told(threads: &[Seen]) -> Vec<Vec<String>> {
        let at_first = |of: &Seen| Seen { on_core_ns: 0, waited_ns: 0, ..of.clone() };
        let before: Vec<Seen> = threads.iter().map(at_first).collect();
        let placed = judged(&before, threads, 1.0, &smt());
        placed
            .iter()
            .map(|of| {
                let text =
                    |of: &Finding| format!("{}: {}; {}", of.state.name(), of.what, of.command);
                of.findings.iter().map(text).collect()
            })
            .collect()
    }

    #[test]
    fn a_core_each_is_as_it_should_be() {
        assert_eq!(told(&[seen(1, "hub", &[0], S), seen(2, "server", &[1], S)]), [[""; 0]; 2]);
    }

    #[test]
    fn two_that_spin_on_one_core_or_on_siblings_are_told_with_a_free_core() {
        let expected = [
            ["differs: spins where server 7/tick spins: core 0; taskset -cp 1 1"],
            ["differs: spins where hub 7/tick spins: core 0; taskset -cp 2 2"],
        ];
        // Each has half of it.
        let half = |of: Seen| Seen { on_core_ns: S / 2, waited_ns: S / 2, ..of };
        let both = [seen(1, "hub", &[0], S), seen(2, "server", &[0], S)].map(half);
        assert_eq!(told(&both), expected);
        let on_siblings = told(&[seen(1, "hub", &[0], S), seen(2, "server", &[2], S)]);
        assert_eq!(
            on_siblings[1],
            ["differs: spins where hub 7/tick spins: a sibling of core 2; taskset -cp 3 2"]
        );
        let waits = told(&[seen(1, "hub", &[0], S), seen(2, "client", &[0], S / 10)]);
        assert_eq!(waits[0], [""; 0]);
        assert_eq!(waits[1], ["differs: waits where hub 7/tick spins: core 0; taskset -cp 1 2"]);
    }

    #[test]
    fn who_may_be_anywhere_is_told_and_who_rests_is_not() {
        let shared = Seen { policy: 0, priority: 0, ..seen(1, "client", &[0, 1], S / 2) };
        let all = told(&[shared, seen(2, "server", &[0, 1, 2, 3], S), seen(3, "hub", &[0], 1000)]);
        let expected: [&[&str]; 2] = [
            &[
                "advice: has no core of its own; taskset -cp 0 1",
                "advice: others may take its core: not FIFO 49; chrt -f -p 49 1",
            ],
            &["differs: spins, and has no core of its own; taskset -cp 1 2"],
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn threads_are_read_from_the_kernels_tables() {
        let folder = tempfile::tempdir().unwrap();
        let file = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let stat = |policy: u32| format!("12 (a) b) S {} 55 {policy} 0 0", "0 ".repeat(36));
        for (process, comm, line) in [
            (11, "tapeline", "/bin/tapeline\0server\0--port\0"),
            (12, "ads", "ads\0-x\0"),
            (13, "bash", "bash\0"),
        ] {
            file(&format!("proc/{process}/comm"), comm);
            file(&format!("proc/{process}/cmdline"), line);
            let task = format!("proc/{process}/task/{process}");
            file(&format!("{task}/comm"), "tick 0");
            file(&format!("{task}/status"), "Name:\tx\nCpus_allowed_list:\t0,2-3\n");
            file(&format!("{task}/stat"), &stat(1));
            file(&format!("{task}/schedstat"), "900 5 1");
        }
        file("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0,2");
        let machine = Tree { root: folder.path().to_owned(), state: folder.path().join("s") };
        let of = Seen {
            process: 11,
            thread: 11,
            name: "tick 0".to_owned(),
            waited_ns: 5,
            ..seen(11, "server", &[0, 2, 3], 900)
        };
        assert_eq!(look(&machine, &[]), std::slice::from_ref(&of));
        let both = look(&machine, &["ads".to_owned()]);
        let ads = Seen { process: 12, thread: 12, role: "ads".to_owned(), ..of.clone() };
        assert_eq!(both, [of, ads]);
        assert_eq!(siblings(&machine, 2), [(0, vec![0, 2]), (1, vec![1])].into());
    }
}
