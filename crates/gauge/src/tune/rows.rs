//! What is of each setting: present, wanted, and what would have to be written
//! where.

use super::machine::{CARDS, Machine, card_setting};
use super::settings::{Place, Profile, Reach, Setting, Want, all};
use crate::ethtool;

/// A core sleeps no longer than this where latency matters.
const MAX_EXIT_LATENCY_US: u64 = 3;

/// What is made of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    Ok,
    Differs,
    /// There is nothing that tells.
    Unknown,
    Cannot(String),
    /// This kernel has it no more.
    Gone,
    /// It differs, and helps some and hurts others; or it is only told.
    Advice,
}

impl State {
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Differs => "differs",
            Self::Unknown => "unknown",
            Self::Cannot(_) => "cannot",
            Self::Gone => "gone",
            Self::Advice => "advice",
        }
    }
}

/// A file that would be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Write {
    pub(super) path: String,
    pub(super) old: String,
    pub(super) new: String,
}

/// A setting on this machine.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) id: &'static str,
    pub(super) present: String,
    pub(super) wanted: String,
    pub(super) source: &'static str,
    pub(super) state: State,
    /// What a person would type.
    pub(super) command: String,
    pub(super) reach: Reach,
    pub(super) writes: Vec<Write>,
}

/// What is asked.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) profile: Profile,
    /// Cores that are kept for what is fast.
    pub(super) cores: Vec<usize>,
    /// How many there are.
    pub(super) core_count: usize,
    pub(super) interface: Option<String>,
    pub(super) only: Vec<String>,
    /// A tree of files tells nothing of processes and limits.
    pub(super) is_tree: bool,
}

/// A row for each setting that the profile wants something of.
pub(super) fn rows(machine: &dyn Machine, question: &Question) -> Vec<Row> {
    let is_wanted = |setting: &&Setting| {
        let named = question.only.is_empty() || question.only.iter().any(|id| id == setting.id);
        named && setting.want(question.profile) != Want::Nothing
    };
    all().filter(is_wanted).map(|setting| row(machine, question, setting)).collect()
}

fn wanted_text(want: Want) -> String {
    match want {
        Want::Nothing => String::new(),
        Want::AtLeast(least) => format!("≥ {least}"),
        Want::Is(text) => text.to_owned(),
        Want::Ports(count) => format!("≥ {count} ports"),
        Want::Told => "told".to_owned(),
    }
}

fn row(machine: &dyn Machine, question: &Question, setting: &'static Setting) -> Row {
    let want = setting.want(question.profile);
    let mut row = Row {
        id: setting.id,
        present: "-".to_owned(),
        wanted: wanted_text(want),
        source: setting.source,
        state: State::Unknown,
        command: String::new(),
        reach: setting.reach,
        writes: Vec::new(),
    };
    match setting.place {
        Place::File(path, part) => of_files(machine, &[path.to_owned()], part, want, &mut row),
        Place::Chosen(path) => of_chosen(machine, path, want, &mut row),
        Place::Each(folder, below) => {
            let paths: Vec<String> = machine
                .list(folder)
                .into_iter()
                .filter(|name| is_numbered(name, "cpu"))
                .map(|name| format!("{folder}/{name}/{below}"))
                .collect();
            of_files(machine, &paths, 0, want, &mut row);
        }
        Place::Interface(below) => {
            let path =
                question.interface.as_ref().map(|name| format!("sys/class/net/{name}/{below}"));
            of_files(machine, path.as_slice(), 0, want, &mut row);
        }
        Place::Card(setting) => {
            let path = question.interface.as_ref().map(|name| format!("{CARDS}{name}/{setting}"));
            of_files(machine, path.as_slice(), 0, want, &mut row);
            if matches!(row.state, State::Cannot(_)) {
                let why = "ethtool does not tell it: it is not here, or the card has none";
                row.state = State::Cannot(why.to_owned());
            }
        }
        Place::Queues(front, below) => {
            let folder =
                question.interface.as_ref().map(|name| format!("sys/class/net/{name}/queues"));
            let paths: Vec<String> = folder
                .iter()
                .flat_map(|folder| {
                    let names = machine.list(folder).into_iter();
                    names
                        .filter(move |name| name.starts_with(front))
                        .map(move |name| format!("{folder}/{name}/{below}"))
                })
                .collect();
            of_masks(machine, &paths, &mut row, |mask| mask == 0, |_| 0);
        }
        Place::Cores(path) => of_cores(machine, question, &[path.to_owned()], &mut row),
        Place::Interrupts => of_interrupts(machine, question, &mut row),
        Place::IdleStates => of_idle_states(machine, &mut row),
        Place::KernelParameter(word) => of_parameter(machine, word, &mut row),
        Place::Service(name) => of_service(machine, question, name, &mut row),
        Place::Limit(name) => of_limit(machine, question, name, want, &mut row),
        Place::CpuFlag(flag) => of_flag(machine, flag, want, &mut row),
        Place::Nowhere => row.state = State::Advice,
    }
    if setting.is_advice && row.state == State::Differs {
        row.state = State::Advice;
    }
    if matches!(setting.reach, Reach::Boot | Reach::Told) {
        // Nothing of these is set by a program.
        row.writes.clear();
    }
    row
}

fn is_numbered(name: &str, front: &str) -> bool {
    let digits = name.strip_prefix(front).unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn command(writes: &[Write]) -> String {
    let Some(first) = writes.first() else { return String::new() };
    let more =
        if writes.len() > 1 { format!("  (and {} more)", writes.len() - 1) } else { String::new() };
    match first.path.strip_prefix("proc/sys/") {
        Some(key) if first.new.contains([' ', '\t']) => {
            format!("sysctl -w {}=\"{}\"{more}", key.replace('/', "."), first.new)
        }
        Some(key) => format!("sysctl -w {}={}{more}", key.replace('/', "."), first.new),
        None => match card_setting(&first.path) {
            Some((interface, setting)) => ethtool::command(interface, setting, &first.new),
            None => format!("echo {} > /{}{more}", first.new, first.path),
        },
    }
}

fn finished(row: &mut Row, present: Vec<String>, writes: Vec<Write>, is_ok: bool) {
    let mut present = present;
    present.dedup();
    row.present = if present.is_empty() { "-".to_owned() } else { present.join(", ") };
    row.state = if is_ok { State::Ok } else { State::Differs };
    row.command = command(&writes);
    row.writes = writes;
}

/// What the text of a file would be instead; `None` if it is well as it is.
fn better(text: &str, part: usize, want: Want) -> Option<String> {
    match want {
        Want::Is(wanted) => (text != wanted).then(|| wanted.to_owned()),
        Want::AtLeast(least) => {
            let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            // What cannot be read as a number, as `max`, is not lowered.
            let present: u64 = words.get(part)?.parse().ok()?;
            if present >= least {
                return None;
            }
            words[part] = least.to_string();
            Some(words.join("\t"))
        }
        Want::Ports(count) => {
            let bounds: Vec<u64> =
                text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
            let [low, high] = bounds[..] else { return None };
            // Never fewer than there are: both ends only move outwards.
            (high.saturating_sub(low) + 1 < count)
                .then(|| format!("{}\t{}", low.min(32_768), high.max(61_000)))
        }
        Want::Nothing | Want::Told => None,
    }
}

fn of_files(machine: &dyn Machine, paths: &[String], part: usize, want: Want, row: &mut Row) {
    let read: Vec<(&String, String)> =
        paths.iter().filter_map(|path| machine.read(path).map(|text| (path, text))).collect();
    if read.is_empty() {
        let is_old = row.id == "net.ipv4.tcp_low_latency" || row.id == "net.ipv4.tcp_dma_copybreak";
        row.state = match () {
            () if is_old => State::Gone,
            () if row.id == "net.ipv4.tcp_mem" => State::Unknown,
            () => State::Cannot("this machine has no such file".to_owned()),
        };
        return;
    }
    let present =
        read.iter().map(|(_, text)| text.split_whitespace().collect::<Vec<_>>().join(" "));
    let present: Vec<String> = present.collect();
    if want == Want::Told {
        finished(row, present, Vec::new(), true);
        row.state = if row.id.starts_with("net.ipv4.tcp_low") || row.id.ends_with("copybreak") {
            State::Gone
        } else {
            State::Advice
        };
        return;
    }
    let writes: Vec<Write> = read
        .into_iter()
        .filter_map(|(path, text)| {
            let new = better(&text, part, want)?;
            Some(Write { path: path.clone(), old: text, new })
        })
        .collect();
    let is_ok = writes.is_empty();
    finished(row, present, writes, is_ok);
}

/// `always [madvise] never`
fn of_chosen(machine: &dyn Machine, path: &str, want: Want, row: &mut Row) {
    let Some(text) = machine.read(path) else {
        row.state = State::Cannot("this machine has no such file".to_owned());
        return;
    };
    let chosen = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    let present = chosen.unwrap_or(&text).to_owned();
    let Want::Is(wanted) = want else { return };
    let writes = match present == wanted {
        true => Vec::new(),
        false => {
            vec![Write { path: path.to_owned(), old: present.clone(), new: wanted.to_owned() }]
        }
    };
    let is_ok = writes.is_empty();
    finished(row, vec![present], writes, is_ok);
}

/// `00000000,0000000f`
fn mask(text: &str) -> Option<u128> {
    u128::from_str_radix(&text.replace(',', ""), 16).ok()
}

fn of_masks(
    machine: &dyn Machine,
    paths: &[String],
    row: &mut Row,
    is_ok: impl Fn(u128) -> bool,
    new: impl Fn(u128) -> u128,
) {
    let read: Vec<(&String, String, u128)> = paths
        .iter()
        .filter_map(|path| {
            let text = machine.read(path)?;
            let mask = mask(&text)?;
            Some((path, text, mask))
        })
        .collect();
    if read.is_empty() {
        row.state = State::Cannot("this machine has no such file".to_owned());
        return;
    }
    let present = read.iter().map(|(_, text, _)| text.clone()).collect();
    let writes: Vec<Write> = read
        .into_iter()
        .filter(|(_, _, mask)| !is_ok(*mask))
        .map(|(path, old, mask)| Write { path: path.clone(), old, new: format!("{:x}", new(mask)) })
        .collect();
    let is_fine = writes.is_empty();
    finished(row, present, writes, is_fine);
}

fn kept_mask(question: &Question) -> (u128, u128) {
    let of = |cores: &[usize]| {
        cores.iter().filter(|core| **core < 128).fold(0, |all, core| all | 1 << core)
    };
    let all: Vec<usize> = (0..question.core_count).collect();
    (of(&question.cores), of(&all))
}

fn of_cores(machine: &dyn Machine, question: &Question, paths: &[String], row: &mut Row) {
    let (kept, all) = kept_mask(question);
    if kept == 0 {
        row.present = paths.first().and_then(|path| machine.read(path)).unwrap_or("-".to_owned());
        row.state = State::Advice;
        "name the fast cores: --cores LIST".clone_into(&mut row.command);
        return;
    }
    if kept & all == all {
        row.state = State::Cannot("--cores leaves no core for others".to_owned());
        return;
    }
    of_masks(machine, paths, row, |mask| mask & kept == 0, |_| all & !kept);
}

fn of_interrupts(machine: &dyn Machine, question: &Question, row: &mut Row) {
    let lists: Vec<(String, String)> = machine
        .list("proc/irq")
        .into_iter()
        .filter(|name| is_numbered(name, ""))
        .filter_map(|name| {
            let path = format!("proc/irq/{name}/smp_affinity_list");
            machine.read(&path).map(|text| (path, text))
        })
        .collect();
    row.present = format!("{} interrupts", lists.len());
    if question.cores.is_empty() {
        row.state = State::Advice;
        "name the fast cores: --cores LIST".clone_into(&mut row.command);
        return;
    }
    let others: Vec<String> = (0..question.core_count)
        .filter(|core| !question.cores.contains(core))
        .map(|core| core.to_string())
        .collect();
    if others.is_empty() {
        row.state = State::Cannot("--cores leaves no core for others".to_owned());
        return;
    }
    let is_on = |text: &str| {
        let cores = tapeline_measure::processor::cores(text).unwrap_or_default();
        cores.iter().any(|core| question.cores.contains(core))
    };
    let writes: Vec<Write> = lists
        .into_iter()
        .filter(|(_, text)| is_on(text))
        .map(|(path, old)| Write { path, old, new: others.join(",") })
        .collect();
    let (is_ok, present) = (writes.is_empty(), row.present.clone());
    finished(row, vec![format!("{present}, {} on these cores", writes.len())], writes, is_ok);
}

fn of_idle_states(machine: &dyn Machine, row: &mut Row) {
    let folder = "sys/devices/system/cpu";
    let (mut names, mut writes, mut has_states) = (Vec::new(), Vec::new(), false);
    for cpu in machine.list(folder).into_iter().filter(|name| is_numbered(name, "cpu")) {
        let below = format!("{folder}/{cpu}/cpuidle");
        for state in machine.list(&below).into_iter().filter(|name| is_numbered(name, "state")) {
            has_states = true;
            let read = |file: &str| machine.read(&format!("{below}/{state}/{file}"));
            let latency: u64 = read("latency").and_then(|text| text.parse().ok()).unwrap_or(0);
            let path = format!("{below}/{state}/disable");
            if latency > MAX_EXIT_LATENCY_US && read("disable").is_some_and(|text| text == "0") {
                names.push(read("name").unwrap_or(state));
                writes.push(Write { path, old: "0".to_owned(), new: "1".to_owned() });
            }
        }
    }
    if !has_states {
        let driver = machine.read(&format!("{folder}/cpuidle/current_driver"));
        row.present = driver.clone().unwrap_or("-".to_owned());
        row.state = State::Cannot(match driver.as_deref() {
            Some("haltpoll" | "none") | None => "the hypervisor sleeps, not this kernel".to_owned(),
            Some(_) => "this kernel tells of no idle states".to_owned(),
        });
        return;
    }
    let is_ok = writes.is_empty();
    finished(row, names, writes, is_ok);
}

fn of_parameter(machine: &dyn Machine, word: &str, row: &mut Row) {
    let Some(line) = machine.read("proc/cmdline") else {
        row.state = State::Unknown;
        return;
    };
    let has = |given: &&str| *given == word || given.split('=').next() == Some(word);
    match line.split_whitespace().find(has) {
        Some(given) => {
            given.clone_into(&mut row.present);
            row.state = State::Ok;
        }
        None => {
            row.state = State::Advice;
            row.command = match word.contains('=') || word == "nosoftlockup" {
                true => format!("kernel parameter {word}"),
                false => format!("kernel parameter {word}=CORES"),
            };
        }
    }
}

fn of_service(machine: &dyn Machine, question: &Question, name: &str, row: &mut Row) {
    if question.is_tree {
        return;
    }
    let runs = machine
        .list("proc")
        .into_iter()
        .filter(|pid| is_numbered(pid, ""))
        .any(|pid| machine.read(&format!("proc/{pid}/comm")).is_some_and(|comm| comm == name));
    if runs { "runs" } else { "not running" }.clone_into(&mut row.present);
    row.state = if runs { State::Differs } else { State::Ok };
    if runs {
        row.command = format!("systemctl stop {name}");
    }
}

fn of_limit(machine: &dyn Machine, question: &Question, name: &str, want: Want, row: &mut Row) {
    if question.is_tree {
        return;
    }
    let text = machine.read("proc/self/limits").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let Some(soft) = line.and_then(|line| line.split_whitespace().next()) else { return };
    soft.clone_into(&mut row.present);
    let is_ok = soft == "unlimited"
        || matches!(want, Want::AtLeast(least) if soft.parse().is_ok_and(|soft: u64| soft >= least));
    row.state = if is_ok { State::Ok } else { State::Differs };
    if !is_ok {
        "limits.conf, or LimitXXX= of the service".clone_into(&mut row.command);
    }
}

fn of_flag(machine: &dyn Machine, flag: &str, want: Want, row: &mut Row) {
    let Some(text) = machine.read("proc/cpuinfo") else { return };
    let flags = text.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let has = flags.split_whitespace().any(|word| word == flag);
    if has { "yes" } else { "no" }.clone_into(&mut row.present);
    let is_ok = want == Want::Is(if has { "yes" } else { "no" });
    row.state = match (is_ok, flag) {
        (true, _) => State::Ok,
        (false, "hypervisor") => State::Advice,
        (false, _) => State::Cannot("the processor does not promise it".to_owned()),
    };
}

#[cfg(test)]
mod tests {
    use super::super::machine::tests::Memory;
    use super::*;

    fn question(profile: Profile) -> Question {
        Question {
            profile,
            cores: vec![1],
            core_count: 4,
            interface: Some("eth0".to_owned()),
            only: Vec::new(),
            is_tree: true,
        }
    }

    fn machine(files: &[(&str, &str)]) -> Memory {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        Memory { files: files.collect(), ..Memory::default() }
    }

    #[track_caller]
    fn only(machine: &Memory, id: &str, profile: Profile) -> Row {
        let rows = rows(machine, &Question { only: vec![id.to_owned()], ..question(profile) });
        assert_eq!(rows.len(), 1, "{id}");
        rows.into_iter().next().unwrap()
    }

    #[test]
    fn what_is_larger_is_never_lowered() {
        let file = "proc/sys/net/ipv4/tcp_rmem";
        let larger = machine(&[(file, "4096\t131072\t33554432")]);
        assert_eq!(only(&larger, "net.ipv4.tcp_rmem", Profile::Latency).state, State::Ok);
        let smaller = machine(&[(file, "4096\t131072\t6291456")]);
        let row = only(&smaller, "net.ipv4.tcp_rmem", Profile::Latency);
        assert_eq!((&row.state, &row.present[..]), (&State::Differs, "4096 131072 6291456"));
        assert_eq!(row.writes[0].new, "4096\t131072\t16777216");
        assert_eq!(row.command, "sysctl -w net.ipv4.tcp_rmem=\"4096\t131072\t16777216\"");
        for setting in all() {
            let Place::File(path, part) = setting.place else { continue };
            let huge = vec!["99999999999"; part + 1].join(" ");
            for profile in [Profile::Latency, Profile::Throughput, Profile::RealTime] {
                if matches!(setting.want(profile), Want::AtLeast(_)) {
                    let row = only(&machine(&[(path, &huge)]), setting.id, profile);
                    assert!(row.writes.is_empty(), "{}", setting.id);
                }
            }
        }
    }

    #[test]
    fn ports_move_outwards_only() {
        let of = |text| better(text, 0, Want::Ports(28_000));
        assert_eq!(of("32768 60999"), None);
        assert_eq!(of("40000 50000").unwrap(), "32768\t61000");
        assert_eq!(of("1024 9000").unwrap(), "1024\t61000");
    }

    #[test]
    fn choices_masks_interrupts_and_idle_states_are_read() {
        let of = machine(&[
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never"),
            ("proc/irq/default_smp_affinity", "f"),
            ("proc/irq/7/smp_affinity_list", "0-3"),
            ("proc/irq/9/smp_affinity_list", "0"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state1/latency", "2"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state1/disable", "0"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state2/latency", "90"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state2/disable", "0"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state2/name", "C6"),
            ("sys/class/net/eth0/queues/rx-0/rps_cpus", "3"),
            ("proc/cmdline", "quiet isolcpus=1 nohz_full"),
        ]);
        let row = |id| only(&of, id, Profile::Latency);
        assert_eq!(row("transparent_hugepage").writes[0].new, "never");
        assert_eq!(only(&of, "transparent_hugepage", Profile::Throughput).state, State::Ok);
        assert_eq!(row("default_smp_affinity").writes[0].new, "d");
        let interrupts = row("irq affinity");
        assert_eq!((interrupts.writes.len(), &interrupts.writes[0].new[..]), (1, "0,2,3"));
        let idle = row("cpu idle states");
        assert_eq!((idle.writes.len(), &idle.present[..]), (1, "C6"));
        assert_eq!(row("rps_cpus").writes[0].new, "0");
        assert_eq!((row("isolcpus").state, row("nohz_full").state), (State::Ok, State::Ok));
        assert_eq!(row("rcu_nocbs").command, "kernel parameter rcu_nocbs=CORES");
    }

    #[test]
    fn what_is_not_there_says_why() {
        let nothing = Memory::default();
        let state = |id| only(&nothing, id, Profile::Latency).state;
        assert_eq!(
            state("cpu idle states"),
            State::Cannot("the hypervisor sleeps, not this kernel".to_owned())
        );
        assert_eq!(state("net.ipv4.tcp_low_latency"), State::Gone);
        assert!(matches!(state("scaling_governor"), State::Cannot(_)));
        // Every row of the table is told, whatever is missing.
        let count = |profile| rows(&nothing, &question(profile)).len();
        assert!(count(Profile::Latency) > 70 && count(Profile::Throughput) > 40);
    }
}
