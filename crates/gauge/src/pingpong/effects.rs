//! Every option of sfnt-pingpong, and what sees that it has an effect: a look
//! here, or the test that is named.

use std::net::Ipv4Addr;
use std::time::Duration;
use std::{io, thread};

use tapeline_measure::processor::allowed_cores;
use tapeline_measure::record::{Tool, ToolLine};

use super::client::hello_of;
use super::options::{KNOWN, Options};
use super::{StartServer, ends, run};
use crate::mux::Idle;
use crate::output::Output;
use crate::statistics::Classic;
use crate::wire::{Transport, Wire};

/// So few messages that a busy machine does them in time.
const BRIEF: &str = "--format=classic --threads --noise=0 --minms=0 --maxms=0 --miniter=20 \
                     --maxiter=40 --warmupms=0 --warmupiter=10";

/// What sees an option.
enum Seen {
    /// This does, by running with it.
    Here(fn()),
    /// A test of this name.
    By(&'static str),
    /// Nothing can: why.
    Not(&'static str),
}

use Seen::{By, Here, Not};

const OPTIONS: [(&str, Seen); 45] = [
    ("sizes", Here(|| assert_eq!(sizes("--sizes=3,5-6"), [3, 5, 6]))),
    ("minmsg", Here(|| assert_eq!(sizes("--minmsg=20000"), [32_768, 65_536]))),
    ("maxmsg", Here(|| assert_eq!(sizes("--maxmsg=4"), [1, 2, 4]))),
    ("minms", Here(|| assert!(of("--minms=30 --maxiter=1000000").tool.seconds >= 0.03))),
    ("maxms", Here(|| assert!(of("--maxms=20 --maxiter=100000").row.iter > 40))),
    ("miniter", Here(|| assert_eq!(of("--miniter=33").row.iter, 33))),
    ("maxiter", Here(|| assert_eq!(of("--minms=20 --maxms=20 --maxiter=60").row.iter, 60))),
    ("warmupiter", Here(warm_up_has_its_iterations)),
    ("warmupms", Here(|| assert!(of("--warmupms=30").tool.warm_up_dropped_s >= 0.03))),
    ("spin", Here(who_spins_does_not_sleep)),
    ("muxer", By("mux::tests::each_asks_the_kernel_in_its_own_way")),
    ("timeout", By("it pingpong::a_server_that_waited_in_vain_says_so_to_its_client")),
    ("nodelay", By("pingpong::ends::tests::sockets_have_the_options_of_their_side")),
    ("busy-poll", By("pingpong::ends::tests::sockets_have_the_options_of_their_side")),
    ("connect", By("pingpong::ends::tests::sockets_have_the_options_of_their_side")),
    ("more", By("wire::socket::tests::a_message_waits_for_the_one_that_follows")),
    ("n-pings", By("pingpong::client::tests::an_iteration_has_its_pings_and_pongs")),
    ("n-pongs", By("pingpong::client::tests::an_iteration_has_its_pings_and_pongs")),
    ("sleep-gap", Here(|| assert!(of("--sleep-gap=1000").tool.seconds >= 0.02))),
    ("spin-gap", Here(|| assert!(of("--spin-gap=1000").tool.seconds >= 0.02))),
    ("n-pipe", Here(|| assert_eq!(idle("n-pipe", None), 3))),
    ("n-unix-d", Here(|| assert_eq!(idle("n-unix-d", None), 3))),
    ("n-unix-s", Here(|| assert_eq!(idle("n-unix-s", None), 3))),
    ("n-udp", Here(|| assert_eq!(idle("n-udp", None), 3))),
    ("n-tcpl", Here(|| assert_eq!(idle("n-tcpl", None), 3))),
    ("n-tcpc", Here(idle_connections_lead_where_they_are_to)),
    ("tcpc-serv", Here(idle_connections_lead_where_they_are_to)),
    ("port", By("it pingpong::a_server_serves_one_client_and_ends")),
    ("bind", By("pingpong::ends::tests::sockets_have_the_options_of_their_side")),
    ("bindtodev", By("pingpong::ends::tests::sockets_have_the_options_of_their_side")),
    ("ipv4", By("pingpong::client::tests::addresses_are_of_the_family_that_was_asked_for")),
    ("ipv6", By("pingpong::client::tests::addresses_are_of_the_family_that_was_asked_for")),
    ("v6only", By("pingpong::ends::tests::sockets_have_the_options_of_their_side")),
    ("mcast", By("it pingpong::a_group_is_a_way")),
    ("mcastintf", By("pingpong::ends::tests::a_socket_of_a_group_has_its_options")),
    ("mcastloop", By("pingpong::ends::tests::a_socket_of_a_group_has_its_options")),
    ("ttl", By("pingpong::ends::tests::a_socket_of_a_group_has_its_options")),
    ("affinity", Here(who_measures_is_on_its_core)),
    ("forkboth", Not("the server is a process of its own in any case, and the client stays one")),
    ("rtt", Here(|| assert_eq!(of("--rtt").tool.unit, "round"))),
    ("percentile", Here(the_percentile_is_the_one_asked_for)),
    ("raw", By("it pingpong::samples_and_records_are_written")),
    ("quiet", Here(|| assert!(!of("-q").text.contains('#')))),
    ("verbose", Here(|| assert!(of("-v").said.iter().any(|line| line.starts_with("size 9: "))))),
    ("version", Here(|| assert!(told("--version").text.starts_with(env!("CARGO_PKG_VERSION"))))),
];

/// Ours beside them, as far as they say how a ping-pong is made.
const OURS: [(&str, Seen); 12] = [
    ("seconds", Here(|| assert!(of("--seconds=0.03 --maxiter=1000000").tool.seconds >= 0.03))),
    ("warm-up", Here(|| assert!(of("--warm-up=0.03").tool.warm_up_dropped_s >= 0.03))),
    ("rounds", By("it pingpong::whole_round_trips_and_gaps_between_them_are_asked_for")),
    ("clock", Here(|| assert_eq!(of("--clock=monotonic").tool.clock, "monotonic"))),
    ("noise", Here(|| assert!(of("--noise=0.01").tool.noise.is_some()))),
    (
        "format",
        Here(|| assert!(told(&format!("{BRIEF} --format=human tcp")).text.contains("p99.9"))),
    ),
    ("json", By("it pingpong::samples_and_records_are_written")),
    ("check", By("it pingpong::a_plan_measures_nothing")),
    ("keep", By("it pingpong::a_server_that_keeps_on_serves_the_next_after_garbage")),
    ("sessions", By("it pingpong::sessions_take_turns")),
    ("timestamps", Here(moments_of_the_kernel_are_told)),
    ("channel", Here(a_channel_of_the_network_is_told_with_its_port)),
];

#[derive(Default)]
struct Told {
    text: String,
    said: Vec<String>,
}

impl Output for Told {
    fn text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn say(&mut self, text: &str) {
        self.said.push(text.to_owned());
    }
}

fn told(line: &str) -> Told {
    let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let mut out = Told::default();
    let done = run(&arguments, false, &StartServer::Thread, &mut out);
    done.unwrap_or_else(|error| panic!("{line}: {error}"));
    out
}

/// What a brief run over TCP had.
struct Ran {
    row: Classic,
    tool: Tool,
    text: String,
    said: Vec<String>,
}

fn of(options: &str) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("out.jsonl");
    let affinity = if options.contains("--affinity") { "" } else { "--affinity=any" };
    let line = format!("{BRIEF} {affinity} --sizes=9 {options} --json={} tcp", json.display());
    let Told { text, said } = told(&line);
    let (_, row) = text.lines().find_map(Classic::of_row).unwrap();
    let records = std::fs::read_to_string(json).unwrap();
    let tool = records.lines().find_map(|line| match serde_json::from_str(line) {
        Ok(ToolLine::Tool(tool)) => Some(*tool),
        _ => None,
    });
    Ran { row, tool: tool.unwrap(), text, said }
}

fn sizes(options: &str) -> Vec<usize> {
    let text = told(&format!("{BRIEF} --affinity=any {options} tcp")).text;
    text.lines().filter_map(Classic::of_row).map(|(size, _)| size).collect()
}

fn idle(kind: &str, tcp_server: Option<String>) -> usize {
    let counts = [(kind.to_owned(), 3)].into();
    Idle { counts, tcp_server }.open().unwrap().descriptors.len()
}

fn idle_connections_lead_where_they_are_to() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    assert_eq!(idle("n-tcpc", Some(address)), 3);
    assert!((0..3).all(|_| listener.accept().is_ok()));
}

fn warm_up_has_its_iterations() {
    // Each of them is followed by a millisecond.
    let warm_up = of("--warmupiter=60 --sleep-gap=1000").tool.warm_up_dropped_s;
    assert!(warm_up >= 0.06, "{warm_up}");
}

/// How often the calling thread has given the core up by itself.
fn sleeps() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.unwrap().trim().parse().unwrap()
}

fn who_spins_does_not_sleep() {
    let options = Options::read(&["--spin=1;0".to_owned(), "udp".to_owned()], true).unwrap();
    // Nobody sends, so that each side waits whoever else is scheduled: how an
    // answer finds the client of a busy machine is chance.
    let slept = [0, 1].map(|side| {
        let hello = hello_of(&options, Transport::Udp, side);
        let bound = ends::udp(&hello, Ipv4Addr::LOCALHOST.into()).unwrap();
        let to = bound.local_addr().unwrap();
        let mut end = ends::datagrams(&hello, bound, to, Duration::from_millis(30)).unwrap();
        let before = sleeps();
        let nothing = end.receive(&mut [0; 9]).unwrap_err().kind();
        assert_eq!(nothing, io::ErrorKind::TimedOut);
        sleeps() - before
    });
    assert!(slept[0] == 0 && slept[1] > 0, "{slept:?}");
}

fn who_measures_is_on_its_core() {
    let cores = allowed_cores();
    let core = *cores.last().unwrap();
    let measuring = thread::spawn(move || {
        of(&format!("--affinity={core};any"));
        allowed_cores()
    });
    assert_eq!(measuring.join().unwrap(), [core]);
}

fn the_percentile_is_the_one_asked_for() {
    let (lowest, highest) = (of("--percentile=0").row, of("--percentile=100").row);
    assert_eq!((lowest.percentile, highest.percentile), (lowest.min, highest.max));
}

fn moments_of_the_kernel_are_told() {
    const LONGER: &str = "--timestamps=kernel --minms=200 --maxms=200 --maxiter=1000000";
    let without = of("");
    assert!(without.tool.hops.is_empty() && !without.text.contains("# stamps"));
    // The kernel begins with them a little after it was asked.
    let told = of(LONGER);
    let names: Vec<&str> = told.tool.hops.iter().map(|hop| &hop.name[..]).collect();
    assert_eq!(names, ["send", "outside", "receive"]);
    // None takes longer than the longest round trip; a hundredth is between the clocks.
    let most_ns = 2 * (told.row.max + 1) * 101 / 100;
    assert!(told.tool.hops.iter().all(|hop| (1..=most_ns).contains(&hop.p50_ns)));
    assert!(told.tool.counts["untold"] < told.row.iter, "{:?}", told.tool.counts);
    assert!(told.text.contains("\n# stamps 9: send p50="), "{}", told.text);
    let human = format!("{BRIEF} --format=human --sizes=9 {LONGER} tcp");
    let human = self::told(&human).text;
    assert!(human.contains("\n receive  "), "{human}");
}

fn a_channel_of_the_network_is_told_with_its_port() {
    let line = format!("{BRIEF} --affinity=any --sizes=9 --channel=aeron:udp aeron");
    let text = told(&line).text;
    assert!(text.contains("transport=aeron channel=aeron:udp "), "{text}");
}

#[test]
fn every_option_of_the_classic_tool_has_an_effect_that_is_seen() {
    // From the first to the version: what stands behind is ours.
    let theirs = KNOWN.iter().map(|known| known.name).take_while(|name| *name != "seconds");
    for name in theirs.filter(|name| *name != "help") {
        let seen = OPTIONS.iter().find(|(of, _)| *of == name);
        let (_, seen) = seen.unwrap_or_else(|| panic!("nothing looks at --{name}"));
        look(name, seen);
    }
    assert!(OPTIONS.iter().all(|(name, _)| KNOWN.iter().any(|known| known.name == *name)));
}

#[test]
fn options_of_ours_have_an_effect_that_is_seen() {
    for (name, seen) in &OURS {
        assert!(KNOWN.iter().any(|known| known.name == *name), "--{name}");
        look(name, seen);
    }
}

fn look(name: &str, seen: &Seen) {
    match seen {
        Here(look) => look(),
        By(test) => assert!(test.contains("::"), "--{name}"),
        Not(why) => assert!(!why.is_empty(), "--{name}"),
    }
}

/// Tests that are named above are there: their sources are looked at.
#[test]
fn the_tests_that_are_named_are_there() {
    let sources = [
        ("mux::tests", include_str!("../mux.rs")),
        ("pingpong::ends::tests", include_str!("ends.rs")),
        ("pingpong::client::tests", include_str!("client.rs")),
        ("wire::socket::tests", include_str!("../wire/socket.rs")),
        ("it pingpong", include_str!("../../tests/it/pingpong.rs")),
    ];
    for (name, seen) in OPTIONS.iter().chain(&OURS) {
        let By(test) = seen else { continue };
        let (module, function) = test.rsplit_once("::").unwrap();
        let source = sources
            .iter()
            .find(|(of, _)| *of == module)
            .unwrap_or_else(|| panic!("--{name}: {module} is not looked at"));
        assert!(source.1.contains(&format!("fn {function}()")), "--{name}: {test}");
    }
}
