//! Exchanges as processes, their clients, and what these were told.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use tapeline_layout::Text;
use tapeline_ntg::client::NewOrder;
use tapeline_ntg::session::{Logon, MissedMessageRequest};
use tapeline_ntg::{Frames, Message};
use tempfile::TempDir;

/// How long anything may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_tapeline-exchange");

/// A market with its journal in a folder.
pub(crate) struct House {
    pub(crate) dir: TempDir,
    pub(crate) starts: u32,
    /// The journal is on a disk of so many KiB, which only the process sees.
    pub(crate) disk_kib: Option<u32>,
}

/// An address of this host that no other test uses.
pub(crate) fn own_address() -> Ipv4Addr {
    static LAST: AtomicU8 = AtomicU8::new(0);
    let [_, _, high, low] = process::id().to_be_bytes();
    let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    Ipv4Addr::new(127, 64 + high % 64, low, number)
}

impl House {
    pub(crate) fn new(journal: &str) -> Self {
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

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A market of three replicas: each has a journal of its own.
    pub(crate) fn of_replicas(journal: &str, commit: &str, election_ms: u32) -> Self {
        let house = Self::new(journal);
        let path = house.path("market.toml");
        // The system chooses, and the replicas bind what it chose: at an address of
        // their own, where nobody else is given the same port meanwhile.
        let ip = own_address();
        let free = || TcpListener::bind((ip, 0)).expect("a port");
        let at = |listener: &TcpListener| listener.local_addr().expect("bound").to_string();
        let chosen = [free(), free(), free()];
        let members: Vec<String> = chosen.iter().map(at).collect();
        let text = fs::read_to_string(&path).expect("a file");
        let replicas = format!(
            "[replicas]\nmembers = {members:?}\ncommit = \"{commit}\"\nelection-ms = {election_ms}\n"
        );
        fs::write(path, replicas + &text).expect("room");
        house
    }

    /// A market, or three replicas of one, with two gateways in processes of their own.
    pub(crate) fn of_gateways(journal: &str, replicas: bool, terms: &str) -> Self {
        let house = match replicas {
            true => Self::of_replicas(journal, "memory", 500),
            false => Self::new(journal),
        };
        let path = house.path("market.toml");
        let ip = own_address();
        let free = || TcpListener::bind((ip, 0)).expect("a port");
        let at = |listener: &TcpListener| listener.local_addr().expect("bound").to_string();
        let chosen: Vec<TcpListener> = (0..if replicas { 3 } else { 1 }).map(|_| free()).collect();
        let markets: Vec<String> = chosen.iter().map(at).collect();
        let apart = |number| {
            format!(
                "[[gateways.apart]]\nnumber = {number}\norders-port = 1\nrecovery-port = 2\n\
                 fix-port = 3\n"
            )
        };
        let gateways =
            format!("[gateways]\nmarkets = {markets:?}\n{terms}\n{}{}", apart(1), apart(2));
        let text = fs::read_to_string(&path).expect("a file");
        fs::write(path, gateways + &text).expect("room");
        house
    }

    /// A market, or three replicas of one, with two distributions in processes of their
    /// own, and these lines.
    pub(crate) fn of_distributions(
        journal: &str,
        replicas: bool,
        terms: &str,
        lines: [SocketAddr; 2],
    ) -> Self {
        let house = match replicas {
            true => Self::of_replicas(journal, "memory", 500),
            false => Self::new(journal),
        };
        let path = house.path("market.toml");
        let ip = own_address();
        let free = || TcpListener::bind((ip, 0)).expect("a port");
        let at = |listener: &TcpListener| listener.local_addr().expect("bound").to_string();
        let chosen: Vec<TcpListener> = (0..if replicas { 3 } else { 1 }).map(|_| free()).collect();
        let markets: Vec<String> = chosen.iter().map(at).collect();
        let apart = |number| {
            format!(
                "[[distribution.apart]]\nnumber = {number}\nreplay-port = 1\nsnapshot-port = 2\n"
            )
        };
        let section =
            format!("[distribution]\nmarkets = {markets:?}\n{terms}\n{}{}", apart(1), apart(2));
        let text = fs::read_to_string(&path).expect("a file");
        let [a, b] = lines;
        let text = text.replace("line-a = \"127.0.0.1:9\"", &format!("line-a = \"{a}\""));
        let text = text.replace("line-b = \"127.0.0.1:9\"", &format!("line-b = \"{b}\""));
        fs::write(path, section + &text).expect("room");
        house
    }

    /// Starts one of the distributions.
    pub(crate) fn start_distribution(&mut self, number: usize) -> Running {
        let mut command = Command::new(PROGRAM);
        command.args(["distribution", "--any-port", "--log", "info"]);
        command.args(["--number", &number.to_string()]);
        self.run(command, &[])
    }

    /// Starts one of the gateways.
    pub(crate) fn start_gateway(&mut self, number: usize) -> Running {
        let mut command = Command::new(PROGRAM);
        command.args(["gateway", "--any-port", "--log", "info", "--number", &number.to_string()]);
        self.run(command, &[])
    }

    /// Starts it without a journal.
    pub(crate) fn start_forgetful(&mut self) -> Running {
        let mut command = Command::new(PROGRAM);
        command.args(["run", "--any-port", "--log", "info"]);
        self.run(command, &[])
    }

    /// Starts one of the replicas.
    pub(crate) fn start_replica(&mut self, number: usize) -> Running {
        let args = ["--replica".to_owned(), number.to_string()];
        self.start_with(&format!("journal-{number}"), &args)
    }

    pub(crate) fn start(&mut self) -> Running {
        self.start_with("journal", &[])
    }

    /// Starts it with an admin port.
    pub(crate) fn start_watched(&mut self) -> Running {
        self.start_with("journal", &["--admin-port".to_owned(), "0".to_owned()])
    }

    fn start_with(&mut self, journal: &str, args: &[String]) -> Running {
        let mut command = match self.disk_kib {
            None => Command::new(PROGRAM),
            Some(kib) => {
                fs::create_dir_all(self.path(journal)).expect("room");
                let mount = format!("mount -t tmpfs -o size={kib}k tmpfs \"$0\" && exec \"$@\"");
                let mut command = Command::new("unshare");
                command.args(["-rm", "sh", "-c", &mount]).arg(self.path(journal)).arg(PROGRAM);
                command
            }
        };
        command.args(["run", "--any-port", "--log", "info", "--journal"]).arg(self.path(journal));
        self.run(command, args)
    }

    /// Starts a process, and waits until it listens.
    fn run(&mut self, mut command: Command, args: &[String]) -> Running {
        self.starts += 1;
        let ready = self.path(&format!("ready-{}", self.starts));
        let log = self.path(&format!("log-{}", self.starts));
        let child = command
            .args([Path::new("--ready-file"), &ready])
            .args(args)
            .arg(self.path("market.toml"))
            .stdout(Stdio::null())
            .stderr(fs::File::create(&log).expect("room"))
            .spawn()
            .expect("the program");
        let mut running = Running { child, ports: BTreeMap::new(), log };
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
    pub(crate) fn files(&self, suffix: &str) -> Vec<String> {
        let all = fs::read_dir(self.path("journal")).expect("a folder");
        let mut names: Vec<String> = all
            .map(|file| file.expect("a file").file_name().into_string().expect("a name"))
            .filter(|name| name.ends_with(suffix))
            .collect();
        names.sort();
        names
    }

    /// What `replay` prints: the orders that the journal has, and its summary.
    pub(crate) fn replay(&self) -> (Vec<String>, serde_json::Value) {
        self.replay_of("journal")
    }

    pub(crate) fn replay_of(&self, journal: &str) -> (Vec<String>, serde_json::Value) {
        let output = Command::new(PROGRAM)
            .args(["replay", "--orders", "--json", "--journal"])
            .args([self.path(journal), self.path("market.toml")])
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

pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
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
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) ports: BTreeMap<String, String>,
    pub(crate) log: PathBuf,
}

impl Running {
    /// A signal, by its name.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let asked = Command::new("kill").args(["-s", name, &pid]).status().expect("kill");
        assert!(asked.success(), "it does not run");
    }

    /// Whether it has logged something.
    pub(crate) fn has_said(&self, what: &str) -> bool {
        fs::read_to_string(&self.log).is_ok_and(|log| log.contains(what))
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a child").is_some()
    }

    /// SIGTERM, and its end.
    pub(crate) fn terminate(&mut self) {
        self.signal("TERM");
        assert!(self.child.wait().expect("a child").success());
    }

    /// SIGKILL, and its end.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("a child");
    }

    pub(crate) fn connect(&self, door: &str, user: &str) -> Client {
        self.try_connect(door, user).expect("not let in")
    }

    /// A client that is let in; `None` if it is not, or nobody is there.
    pub(crate) fn try_connect(&self, door: &str, user: &str) -> Option<Client> {
        let stream = TcpStream::connect(&self.ports[door]).ok()?;
        stream.set_nodelay(true).ok()?;
        let mut client = Client { stream, frames: Frames::default(), heard: Vec::new() };
        client.say(&Message::Logon(Logon {
            user: Text::new(user),
            password: Text::new(&format!("{}-secret1", user[..1].to_lowercase())),
            new_password: Text::default(),
            version: 1,
        }));
        wait_for("a logon reply", || {
            let is_there = client.listen();
            let reply = client.heard.pop().and_then(|reply| Message::read(&reply));
            match reply {
                Some(Message::LogonReply(reply)) => Some(reply.reject_code == 0),
                _ if is_there => None,
                _ => Some(false),
            }
        })
        .then_some(client)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}", fs::read_to_string(&self.log).unwrap_or_default());
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    pub(crate) frames: Frames,
    pub(crate) heard: Vec<Vec<u8>>,
}

impl Client {
    pub(crate) fn say(&mut self, message: &Message) {
        let mut bytes = Vec::new();
        message.append(&mut bytes);
        // Who is dead does not hear it.
        let _ = self.stream.write_all(&bytes);
    }

    /// What has come, for a millisecond. Returns whether the other side is there.
    pub(crate) fn listen(&mut self) -> bool {
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
pub(crate) fn order(number: u64) -> NewOrder {
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
pub(crate) struct Log {
    pub(crate) sent: u64,
    /// Names of orders of which a report came.
    pub(crate) accepted: BTreeSet<String>,
    /// Names of orders that were refused since the exchange is down.
    pub(crate) refused: BTreeSet<String>,
    /// Reports by their numbers.
    pub(crate) reports: BTreeMap<i32, Vec<u8>>,
}

impl Log {
    pub(crate) fn note(&mut self, client: &mut Client) {
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
    pub(crate) fn trade(&mut self, client: &mut Client, more: usize) {
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
pub(crate) fn recovered(running: &Running, user: &str) -> BTreeMap<i32, Vec<u8>> {
    recovered_by(running.connect("recovery", user))
}

/// The same, of a client that is let in at the recovery channel.
pub(crate) fn recovered_by(mut client: Client) -> BTreeMap<i32, Vec<u8>> {
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
