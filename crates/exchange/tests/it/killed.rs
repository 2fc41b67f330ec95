//! An exchange as a process with a journal that is killed while clients trade: what
//! clients were told holds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tapeline_layout::Text;
use tapeline_ntg::client::NewOrder;
use tapeline_ntg::session::{Logon, MissedMessageRequest};
use tapeline_ntg::{Frames, Message};
use tempfile::TempDir;

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

const PROGRAM: &str = env!("CARGO_BIN_EXE_tapeline-exchange");

/// A market with its journal in a folder.
struct House {
    dir: TempDir,
    starts: u32,
    /// The journal is on a disk of so many KiB, which only the process sees.
    disk_kib: Option<u32>,
}

impl House {
    fn new(journal: &str) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let text = format!(
            "[gateway]\nthrottle-per-s = 1000000\n[limits]\nmax-orders = 20000\n\
             [market-data]\nline-a = \"127.0.0.1:9\"\nline-b = \"127.0.0.1:9\"\n\
             [journal]\n{journal}\n\
             [[instrument]]\nid = 7\nname = \"VOD.L\"\ntick = \"0.01\"\n\
             [[user]]\nname = \"ANN\"\npassword = \"a-secret1\"\nfirm = 1\n\
             [[user]]\nname = \"BOB\"\npassword = \"b-secret1\"\nfirm = 2\n"
        );
        fs::write(dir.path().join("market.toml"), text).expect("room");
        Self { dir, starts: 0, disk_kib: None }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn start(&mut self) -> Running {
        self.starts += 1;
        let ready = self.path(&format!("ready-{}", self.starts));
        let mut command = match self.disk_kib {
            None => Command::new(PROGRAM),
            Some(kib) => {
                fs::create_dir_all(self.path("journal")).expect("room");
                let mount = format!("mount -t tmpfs -o size={kib}k tmpfs \"$0\" && exec \"$@\"");
                let mut command = Command::new("unshare");
                command.args(["-rm", "sh", "-c", &mount]).arg(self.path("journal")).arg(PROGRAM);
                command
            }
        };
        let child = command
            .args(["run", "--any-port", "--log", "warn", "--journal"])
            .args([&self.path("journal"), Path::new("--ready-file"), &ready])
            .arg(self.path("market.toml"))
            .stdout(Stdio::null())
            .spawn()
            .expect("the program");
        let mut running = Running { child, ports: BTreeMap::new() };
        let text = wait_for("the exchange to listen", || {
            assert_eq!(running.child.try_wait().expect("a child"), None, "it ended");
            fs::read_to_string(&ready).ok()
        });
        for line in text.lines() {
            let (name, address) = line.split_once('=').expect("a line");
            running.ports.insert(name.to_owned(), address.to_owned());
        }
        running
    }

    /// Files of the journal that end so, in order.
    fn files(&self, suffix: &str) -> Vec<String> {
        let all = fs::read_dir(self.path("journal")).expect("a folder");
        let mut names: Vec<String> = all
            .map(|file| file.expect("a file").file_name().into_string().expect("a name"))
            .filter(|name| name.ends_with(suffix))
            .collect();
        names.sort();
        names
    }

    /// What `replay` prints: the orders that the journal has, and its summary.
    fn replay(&self) -> (Vec<String>, serde_json::Value) {
        let output = Command::new(PROGRAM)
            .args(["replay", "--orders", "--json", "--journal"])
            .args([self.path("journal"), self.path("market.toml")])
            .output()
            .expect("the program");
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut lines: Vec<&str> = text.lines().collect();
        let summary = serde_json::from_str(lines.pop().expect("a summary")).expect("JSON");
        let name = |line: &str| line.rsplit(' ').next().expect("a name").to_owned();
        (lines.into_iter().map(name).collect(), summary)
    }
}

fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

/// A process that is killed when the test is done with it.
struct Running {
    child: Child,
    ports: BTreeMap<String, String>,
}

impl Running {
    /// SIGKILL, and its end.
    fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("a child");
    }

    fn connect(&self, door: &str, user: &str) -> Client {
        let stream = TcpStream::connect(&self.ports[door]).expect("it listens");
        stream.set_nodelay(true).expect("a socket");
        let mut client = Client { stream, frames: Frames::default(), heard: Vec::new() };
        client.say(&Message::Logon(Logon {
            user: Text::new(user),
            password: Text::new(&format!("{}-secret1", user[..1].to_lowercase())),
            new_password: Text::default(),
            version: 1,
        }));
        wait_for("a logon reply", || {
            client.listen();
            let reply = client.heard.pop()?;
            let is_in = matches!(
                Message::read(&reply),
                Some(Message::LogonReply(reply)) if reply.reject_code == 0
            );
            assert!(is_in, "not let in");
            Some(())
        });
        client
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Client {
    stream: TcpStream,
    frames: Frames,
    heard: Vec<Vec<u8>>,
}

impl Client {
    fn say(&mut self, message: &Message) {
        let mut bytes = Vec::new();
        message.append(&mut bytes);
        // Who is dead does not hear it.
        let _ = self.stream.write_all(&bytes);
    }

    /// What has come, for a millisecond. Returns whether the other side is there.
    fn listen(&mut self) -> bool {
        self.stream.set_read_timeout(Some(Duration::from_millis(1))).expect("a socket");
        let mut room = [0; 8 << 10];
        match self.stream.read(&mut room) {
            Ok(0) => false,
            Ok(len) => {
                let Self { frames, heard, .. } = self;
                let read = frames.read(&room[..len], |frame| {
                    heard.push(frame.to_vec());
                    true
                });
                read.expect("messages");
                true
            }
            Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        }
    }
}

/// An order whose side and price come from its number: half of them trade.
fn order(number: u64) -> NewOrder {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    NewOrder {
        cl_ord_id: Text::new(&format!("N{number}")),
        clearing_account: 1,
        instrument_id: 7,
        order_type: 2,
        side: 1 + (mixed % 2) as u8,
        quantity: 1 + (mixed % 97) as i32,
        display: 1 + (mixed % 97) as i32,
        limit: 1_000_000_000 + (mixed % 5) as i64 * 1_000_000,
        capacity: 2,
        auto_cancel: 0,
        ..NewOrder::default()
    }
}

/// What clients sent and heard, over all lives of the exchange.
#[derive(Default)]
struct Log {
    sent: u64,
    /// Names of orders of which a report came.
    accepted: BTreeSet<String>,
    /// Names of orders that were refused since the exchange is down.
    refused: BTreeSet<String>,
    /// Reports by their numbers.
    reports: BTreeMap<i32, Vec<u8>>,
}

impl Log {
    fn note(&mut self, client: &mut Client) {
        for frame in client.heard.drain(..) {
            match Message::read(&frame).expect("a message") {
                Message::ExecutionReport(report) => {
                    assert!(report.reject_code == 0, "{report:?}");
                    self.accepted.insert(report.cl_ord_id.as_str().to_owned());
                    let before = self.reports.insert(report.sequence, frame.clone());
                    assert!(before.is_none_or(|before| before == frame), "two of a number");
                }
                Message::BusinessReject(reject) => {
                    assert_eq!((reject.code, reject.app_id, reject.sequence), (9998, 0, 0));
                    self.refused.insert(reject.cl_ord_id.as_str().to_owned());
                }
                Message::Heartbeat(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Sends orders, in bursts as large as what is not answered allows, until so many
    /// more are accepted.
    fn trade(&mut self, client: &mut Client, more: usize) {
        let until = self.accepted.len() + more;
        wait_for("orders to be accepted", || {
            for _ in 0..20 {
                self.sent += 1;
                client.say(&Message::NewOrder(order(self.sent)));
            }
            assert!(client.listen(), "the connection ended");
            self.note(client);
            (self.accepted.len() >= until).then_some(())
        });
    }
}

/// Everything that a user can have again.
fn recovered(running: &Running, user: &str) -> BTreeMap<i32, Vec<u8>> {
    let mut client = running.connect("recovery", user);
    client
        .say(&Message::MissedMessageRequest(MissedMessageRequest { app_id: 1, last_sequence: 1 }));
    let mut reports = BTreeMap::new();
    wait_for("what was missed", || {
        assert!(client.listen(), "the connection ended");
        let mut is_over = false;
        for frame in client.heard.drain(..) {
            match Message::read(&frame).expect("a message") {
                Message::ExecutionReport(report) => {
                    reports.insert(report.sequence, frame);
                }
                Message::MissedMessageAck(ack) => assert_eq!(ack.status, 0),
                Message::MissedMessageReport(report) => {
                    assert_eq!(report.status, 0, "all of it is kept");
                    is_over = true;
                }
                other => panic!("{other:?}"),
            }
        }
        is_over.then_some(())
    });
    reports
}

#[test]
fn no_accepted_order_is_lost_or_doubled_by_twenty_kills_under_load() {
    // Most starts begin with a snapshot, and write one.
    let mut house = House::new("segment-bytes = 2097152\nsnapshot-entries = 20");
    let mut log = Log::default();
    let mut longest = Duration::ZERO;
    for life in 0..20_u64 {
        let begun = Instant::now();
        let mut running = house.start();
        let mut ann = running.connect("orders", "ANN");
        longest = longest.max(begun.elapsed());
        if life > 0 {
            // What was told before is what it still says.
            let again = recovered(&running, "ANN");
            for (number, report) in &log.reports {
                assert_eq!(again.get(number), Some(report), "report {number}, life {life}");
            }
        }
        log.trade(&mut ann, 30 + (life * 37 % 101) as usize);
        running.kill();
        // What it said before it died still comes.
        while ann.listen() {}
        log.note(&mut ann);
    }
    let (in_journal, summary) = house.replay();
    let once: BTreeSet<&String> = in_journal.iter().collect();
    assert_eq!(once.len(), in_journal.len(), "an order is in the journal twice");
    let lost: Vec<_> = log.accepted.iter().filter(|name| !once.contains(name)).collect();
    assert!(lost.is_empty(), "{} of {} are lost: {lost:?}", lost.len(), log.accepted.len());
    assert!(log.accepted.len() > 1_000, "{} orders", log.accepted.len());
    assert!(summary["trades"].as_u64().is_some_and(|trades| trades > 100), "{summary}");
    let snapshots = house.files(".snapshot");
    assert_eq!(snapshots.len(), 2, "{snapshots:?}");
    // Once more, and it comes to the same.
    assert_eq!(house.replay().1["hash"], summary["hash"]);
    println!(
        "{} accepted of {} sent, {} entries; from the start to a logon {longest:?} at most",
        log.accepted.len(),
        log.sent,
        summary["entries"]
    );
}

/// Trades until the exchange is down, and a little longer.
fn trade_until_down(running: &Running) -> Log {
    let mut ann = running.connect("orders", "ANN");
    let mut log = Log::default();
    wait_for("the journal to be full", || {
        for _ in 0..50 {
            log.sent += 1;
            ann.say(&Message::NewOrder(order(log.sent)));
        }
        assert!(ann.listen(), "the connection ended");
        log.note(&mut ann);
        (!log.refused.is_empty()).then_some(())
    });
    // What comes behind is refused, too, and nothing is acknowledged any more.
    let accepted = log.accepted.len();
    log.sent += 1;
    let last = format!("N{}", log.sent);
    ann.say(&Message::NewOrder(order(log.sent)));
    wait_for("the last one to be refused", || {
        assert!(ann.listen(), "the connection ended");
        log.note(&mut ann);
        log.refused.contains(&last).then_some(())
    });
    assert_eq!(log.accepted.len(), accepted);
    assert!(log.accepted.is_disjoint(&log.refused));
    assert_eq!((log.accepted.len() + log.refused.len()) as u64, log.sent);
    log
}

#[test]
fn with_its_journal_full_an_exchange_refuses_and_acknowledges_nothing() {
    let mut house = House::new("segment-bytes = 1048640\nmax-segments = 1");
    let mut running = house.start();
    let log = trade_until_down(&running);
    running.kill();
    let (in_journal, _) = house.replay();
    let in_journal: BTreeSet<String> = in_journal.into_iter().collect();
    assert!(log.accepted.is_subset(&in_journal), "an accepted order is not in the journal");
    assert!(log.refused.is_disjoint(&in_journal), "a refused order is in the journal");
}

#[test]
fn with_its_disk_full_an_exchange_refuses_and_acknowledges_nothing() {
    let disk = ["-rm", "sh", "-c", "mount -t tmpfs tmpfs /tmp"];
    if !Command::new("unshare").args(disk).status().is_ok_and(|status| status.success()) {
        println!("left out: unshare cannot mount a disk of memory here");
        return;
    }
    // There is room for one segment, and not for the second.
    let mut house = House::new("segment-bytes = 1048640");
    house.disk_kib = Some(1_600);
    let running = house.start();
    let log = trade_until_down(&running);
    assert!(log.accepted.len() > 1_000, "{} orders", log.accepted.len());
}

#[test]
fn a_damaged_journal_and_one_in_use_are_refused_with_their_place() {
    let mut house = House::new("segment-bytes = 2097152");
    let mut running = house.start();
    let mut ann = running.connect("orders", "ANN");
    Log::default().trade(&mut ann, 50);
    let second = Command::new(PROGRAM)
        .args(["replay", "--journal"])
        .args([house.path("journal"), house.path("market.toml")])
        .output()
        .expect("the program");
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(second.status.code() == Some(2) && said.contains("another process has"), "{said}");
    running.kill();
    let segment = house.path("journal").join("00000000000000000001.journal");
    let mut bytes = fs::read(&segment).expect("a segment");
    bytes[500] ^= 1;
    fs::write(&segment, bytes).expect("room");
    let refused = Command::new(PROGRAM)
        .args(["run", "--any-port", "--journal"])
        .args([house.path("journal"), house.path("market.toml")])
        .output()
        .expect("the program");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("00000000000000000001.journal is damaged at byte "), "{said}");
}

#[test]
fn behind_snapshots_old_segments_go_and_what_was_told_holds() {
    let mut house = House::new("segment-bytes = 1048640\nsnapshot-entries = 20");
    let mut log = Log::default();
    for _ in 0..3 {
        let mut running = house.start();
        let mut ann = running.connect("orders", "ANN");
        log.trade(&mut ann, 7_000);
        running.kill();
        while ann.listen() {}
        log.note(&mut ann);
    }
    let running = house.start();
    let segments = house.files(".journal");
    assert!(segments[0].as_str() > "00000000000000000001.journal", "{segments:?}");
    let again = {
        let _ann = running.connect("orders", "ANN");
        recovered(&running, "ANN")
    };
    assert!(log.reports.len() > 20_000, "{} reports", log.reports.len());
    for (number, report) in &log.reports {
        assert_eq!(again.get(number), Some(report), "report {number}");
    }
    drop(running);
    // From the older snapshot on and from the newer one it comes to the same.
    let (_, summary) = house.replay();
    assert!(summary["snapshot"].as_u64().is_some_and(|index| index > 0), "{summary}");
    let newest = house.files(".snapshot").pop().expect("a snapshot");
    fs::remove_file(house.path("journal").join(newest)).expect("it is there");
    let (_, from_older) = house.replay();
    assert!(from_older["snapshot"].as_u64() < summary["snapshot"].as_u64(), "{from_older}");
    assert_eq!(from_older["hash"], summary["hash"]);
    let oldest = house.files(".snapshot").pop().expect("a snapshot");
    fs::remove_file(house.path("journal").join(oldest)).expect("it is there");
    let refused = Command::new(PROGRAM)
        .args(["replay", "--journal"])
        .args([house.path("journal"), house.path("market.toml")])
        .output()
        .expect("the program");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("is the first segment, and no snapshot has"), "{said}");
}
