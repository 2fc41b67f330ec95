//! Another configuration while the process runs: planned, applied, taken back, and
//! what is left of it when the process is killed.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value as Json;
use tapeline_api::{Consumer, ConsumerConfig, ConsumerEvent, ItemSpec, Login, Requests, Server};
use tempfile::TempDir;

use super::support::{Run, Running, arg, await_state, file, folder, run, tapeline};

/// How long a test may take before it has failed.
const PATIENCE: Duration = Duration::from_secs(60);

const OLD: &str = "[hub]\nni-port = \"off\"\n[server]\nrssl-port = 0\nshards = 2\n\
                   listen = \"127.0.0.1\"\nmax-mounts = 50\n";

/// A source of FEED.
fn source() -> Running {
    Running::start(&["source", "--listen", "127.0.0.1:0", "-I", "0", "-S", "FEED", "-U", "50"])
}

/// A process with a file, and a source for it.
struct Site {
    folder: TempDir,
    config: PathBuf,
    _source: Running,
    node: Running,
}

impl Site {
    fn start() -> Self {
        let folder = folder();
        let config = file(&folder, "site.toml", OLD);
        let source = source();
        let address = source.address("rssl").to_string();
        let args = ["run", "--config", arg(&config), "--source", &address, "--admin-port", "0"];
        let node = Running::start(&args);
        Self { folder, config, _source: source, node }
    }

    /// Runs `tapeline config` at its admin port.
    fn config(&self, args: &[&str]) -> Run {
        let admin = self.node.address("admin").to_string();
        run(&[&["config"], args, &["--admin", &admin]].concat())
    }

    /// Another file.
    fn written(&self, name: &str, change: impl Fn(&str) -> String) -> PathBuf {
        file(&self.folder, name, &change(OLD))
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.config).expect("it is there")
    }

    fn counters(&self) -> Json {
        let admin = self.node.address("admin").to_string();
        let done = run(&["admin", "--admin", &admin, "counters"]);
        serde_json::from_str(&done.out).expect("JSON")
    }

    /// The configuration that each thread has.
    fn epochs(&self) -> Vec<u64> {
        let counters = self.counters();
        let threads = counters["thread"].as_object().expect("there are threads");
        threads.values().filter_map(|it| it["config_epoch"].as_u64()).collect()
    }

    fn consumer(&self, user: &str) -> Consumer {
        consumer(self.node.address("rssl"), user)
    }
}

fn consumer(server: SocketAddr, user: &str) -> Consumer {
    let server = Server::new(server.ip().to_string(), server.port());
    let mut consumer =
        Consumer::new(ConsumerConfig::new([server], Login::new(user))).expect("a reactor");
    consumer.open(&ItemSpec::new("FEED", "TAPE1.X")).expect("room");
    consumer
}

/// Turns a consumer until it hears this; what it was told that is not data.
fn hear_until(consumer: &mut Consumer, is_it: impl Fn(&ConsumerEvent<'_>) -> bool) -> Vec<String> {
    let until = Instant::now() + PATIENCE;
    let (mut found, mut told) = (false, Vec::new());
    while !found {
        assert!(Instant::now() < until, "it never came; {told:?}");
        let mut hear = |event: ConsumerEvent<'_>, _: &mut Requests<'_>| {
            found |= is_it(&event);
            match event {
                ConsumerEvent::Update { .. } | ConsumerEvent::Refresh { .. } => {}
                other => told.push(format!("{other:?}")),
            }
        };
        consumer.poll(Some(Duration::from_millis(20)), &mut hear);
    }
    told
}

fn is_image(event: &ConsumerEvent<'_>) -> bool {
    matches!(event, ConsumerEvent::Refresh { .. })
}

fn is_update(event: &ConsumerEvent<'_>) -> bool {
    matches!(event, ConsumerEvent::Update { .. })
}

#[test]
fn a_change_holds_in_all_threads_and_mounts_notice_nothing() {
    let site = Site::start();
    let mut consumer = site.consumer("ann");
    hear_until(&mut consumer, is_image);
    let new = site.written("new.toml", |old| old.replace("max-mounts = 50", "max-mounts = 60"));
    let planned = "live  server.max-mounts  50 -> 60\n\
                   touched: nobody: 1 mount and 1 item stay as they are\n";
    // Counts are published each 10 ms.
    await_state("the mount and its item are counted", || {
        site.config(&["plan", arg(&new)]).out == planned
    });
    assert_eq!(site.epochs(), [0, 0]);

    let done = site.config(&["apply", arg(&new), "--watch", "0"]);
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
    assert!(done.out.ends_with("epoch 1 holds\nkept\n"), "{}", done.out);
    assert_eq!(site.epochs(), [1, 1]);
    assert_eq!(site.counters()["server"]["server.1"]["mounts_limit"], 60);
    assert_eq!(site.text(), fs::read_to_string(&new).expect("it is there"));
    assert_eq!(hear_until(&mut consumer, is_update), [""; 0]);

    let done = site.config(&["rollback"]);
    assert_eq!(done.status, Some(0), "{}", done.err);
    assert_eq!((site.epochs(), site.text()), (vec![2, 2], OLD.to_owned()));
    assert_eq!(site.counters()["server"]["server"]["mounts_limit"], 50);
    let done = site.config(&["history"]);
    let how: Vec<_> = done.out.lines().filter_map(|line| line.split_whitespace().nth(3)).collect();
    assert_eq!(how, ["how", "start", "apply", "rollback"], "{}", done.out);
    assert_eq!(hear_until(&mut consumer, is_update), [""; 0]);
}

#[test]
fn ports_come_and_go_and_their_mounts_stay() {
    let site = Site::start();
    let mut consumer = site.consumer("ann");
    hear_until(&mut consumer, is_image);
    let before = site.node.address("rssl");
    // A port that nobody has: it was the system's to give a moment ago.
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound");
    let port = format!("rssl-port = {}", free.port());
    let new = site.written("new.toml", |old| old.replace("rssl-port = 0", &port));
    let done = site.config(&["apply", arg(&new), "--watch", "0"]);
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
    hear_until(&mut self::consumer(free, "bob"), is_image);
    assert!(TcpStream::connect(before).is_err(), "the port before is closed");
    assert_eq!(hear_until(&mut consumer, is_update), [""; 0]);
}

#[test]
fn what_is_wrong_or_cannot_be_changes_nothing() {
    let site = Site::start();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("bound").port();
    let cases = [
        ("max-mounts = 50", "max-mounts = 0".to_owned(), "new.toml:7:14: `max-mounts` is 0"),
        ("shards = 2", "shards = 3".to_owned(), "server.shards cannot change without a restart"),
        ("rssl-port = 0", format!("rssl-port = {port}"), "nothing was changed"),
    ];
    for (from, to, why) in cases {
        let new = site.written("new.toml", |old| old.replace(from, &to));
        let done = site.config(&["apply", arg(&new), "--watch", "0"]);
        assert_eq!(done.status, Some(2), "{}", done.out);
        assert!(done.err.contains(why), "{}", done.err);
    }
    let done = site.config(&["rollback"]);
    assert!(done.err.contains("there is no configuration before this one"), "{}", done.err);
    assert_eq!((site.epochs(), site.text()), (vec![0, 0], OLD.to_owned()));
    hear_until(&mut site.consumer("ann"), is_image);
}

#[test]
fn a_change_by_which_clients_are_refused_is_taken_back() {
    let site = Site::start();
    let mut consumer = site.consumer("ann");
    hear_until(&mut consumer, is_image);
    let new = site.written("new.toml", |old| old.to_owned() + "max-mounts-per-user = 1\n");
    let server = site.node.address("rssl");
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let comer = thread::spawn(move || {
        // Until nobody is there to tell to stop.
        while stopped.try_recv() != Err(std::sync::mpsc::TryRecvError::Disconnected) {
            let mut second = self::consumer(server, "ann");
            hear_until(&mut second, |event| matches!(event, ConsumerEvent::Login { .. }));
        }
    });
    let done = site.config(&["apply", arg(&new), "--watch", "60s"]);
    drop(stop);
    comer.join().expect("no panic");
    assert_eq!(done.status, Some(1), "{}{}", done.out, done.err);
    assert!(done.out.contains("taken back: ") && done.out.contains("are refused"), "{}", done.out);
    assert_eq!((site.epochs(), site.text()), (vec![2, 2], OLD.to_owned()));
    assert_eq!(hear_until(&mut consumer, is_update), [""; 0]);
}

#[test]
fn sighup_takes_the_file_as_it_is_now() {
    let mut site = Site::start();
    fs::write(&site.config, "[server]\nmax-mounts = many\n").expect("room");
    site.node.signal(Signal::HUP);
    let line = site.node.log_until("SIGHUP: the configuration stays as it is");
    assert!(line.contains("site.toml"), "{line}");
    let more = "max-mounts-per-user = 7\n[log]\nlevel = \"debug\"\n";
    fs::write(&site.config, OLD.to_owned() + more).expect("room");
    site.node.signal(Signal::HUP);
    let line = site.node.log_until("msg=\"another configuration\"");
    assert!(line.contains("keys=\"log.level server.max-mounts-per-user\""), "{line}");
    let mut consumer = site.consumer("ann");
    hear_until(&mut consumer, is_image);
    let admin = site.node.address("admin").to_string();
    let done = run(&["admin", "--admin", &admin, "logout", "ann"]);
    assert_eq!(done.status, Some(0), "{}", done.err);
    site.node.log_until("msg=\"a user is logged out\"");
    assert_eq!(site.text(), OLD.to_owned() + more);
}

#[test]
fn a_bound_of_memory_that_is_lifted_lets_items_be_opened_again() {
    let mut site = Site::start();
    let short = site.written("short.toml", |old| old.to_owned() + "memory-max-bytes = 1000\n");
    let done = site.config(&["apply", arg(&short), "--watch", "0"]);
    assert_eq!(done.status, Some(0), "{}", done.err);
    // Each of the two shards says so.
    (0..2).for_each(|_| _ = site.node.log_until("memory is short"));
    let lifted = site.written("lifted.toml", str::to_owned);
    let done = site.config(&["apply", arg(&lifted), "--watch", "0"]);
    assert_eq!(done.status, Some(0), "{}", done.err);
    (0..2).for_each(|_| _ = site.node.log_until("memory is enough again"));
    let mut consumer = site.consumer("ann");
    hear_until(&mut consumer, is_image);
}

/// A file with these sources, each by its name and where it is.
fn with_sources(sources: &[(&str, &Running)]) -> String {
    let table = |(name, source): &(&str, &Running)| {
        let host = source.address("rssl");
        format!("[[hub.source]]\nname = {name:?}\nhosts = [\"{host}\"]\n")
    };
    OLD.to_owned() + &sources.iter().map(table).collect::<String>()
}

#[test]
fn sources_are_added_drained_moved_and_removed_and_no_consumer_sees_it() {
    let folder = folder();
    let (first, second, third) = (source(), source(), source());
    let before = with_sources(&[("a", &first)]);
    let config = file(&folder, "site.toml", &before);
    let mut node = Running::start(&["run", "--config", arg(&config), "--admin-port", "0"]);
    let mut consumer = consumer(node.address("rssl"), "ann");
    hear_until(&mut consumer, is_image);
    let admin = node.address("admin").to_string();
    let apply = |text: &str| {
        let new = file(&folder, "new.toml", text);
        let done = run(&["config", "apply", arg(&new), "--watch", "0", "--admin", &admin]);
        assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
    };
    let sources = || {
        let done = run(&["admin", "--admin", &admin, "get", "sources", "--json"]);
        let json: Json = serde_json::from_str(&done.out).expect("JSON");
        let rows = json["rows"].as_array().expect("rows").clone();
        let shown = |row: &Json| {
            let texts = [&row["name"], &row["host"], &row["preference"]];
            let [name, host, preference] = texts.map(|it| it.as_str().expect("a text"));
            format!("{name} {host} {preference} items={}", row["items"])
        };
        let mut up: Vec<_> = rows.iter().filter(|row| row["up"] == true).map(shown).collect();
        up.sort();
        up
    };
    let mut told = Vec::new();
    let mut await_sources = |what: &str, expected: &[String]| {
        let until = Instant::now() + PATIENCE;
        while sources() != expected {
            assert!(Instant::now() < until, "{what}: {:?}, not {expected:?}", sources());
            told.extend(hear_until(&mut consumer, is_update));
        }
        // It goes on with what there is then.
        told.extend(hear_until(&mut consumer, is_update));
    };
    let row = |name: &str, source: &Running, rest: &str| {
        format!("{name} {} {rest}", source.address("rssl"))
    };
    await_sources("one", &[row("a", &first, "0 1 items=1")]);
    apply(&with_sources(&[("a", &first), ("b", &second)]));
    let both = [row("a", &first, "0 1 items=1"), row("b", &second, "0 1 items=0")];
    await_sources("added", &both);
    apply(&(with_sources(&[("b", &second), ("a", &first)]) + "drain = true\n"));
    let both = [row("a", &first, "0 1 drains items=1"), row("b", &second, "0 1 items=0")];
    await_sources("drained", &both);
    apply(&with_sources(&[("b", &second)]));
    await_sources("removed", &[row("b", &second, "0 1 items=1")]);
    apply(&with_sources(&[("b", &third)]));
    await_sources("moved", &[row("b", &third, "0 1 items=1")]);
    drop((first, second));
    hear_until(&mut consumer, is_update);
    assert_eq!(told, [""; 0], "images and updates are all that it heard");
    let line = node.log_until("a source leaves");
    assert!(line.contains("route=a"), "{line}");
}

/// How far a change is: the file, and the log of the history beside it.
struct Progress {
    file: String,
    log: String,
}

impl Progress {
    fn of(config: &Path) -> Self {
        let log = config.with_extension("toml.history").join("history.log");
        let file = fs::read_to_string(config).expect("it is there");
        Self { file, log: fs::read_to_string(log).unwrap_or_default() }
    }
}

#[test]
fn a_process_that_is_killed_in_a_change_has_the_old_file_or_the_new_one() {
    let text = OLD.replace("max-mounts = 50", "max-mounts = 60");
    let new = text.as_str();
    let killed_when = |watch_s: &str, is_so: &dyn Fn(&Progress) -> bool| {
        let site = Site::start();
        let path = site.written("new.toml", |_| text.clone());
        let admin = site.node.address("admin").to_string();
        let mut apply =
            tapeline(&["config", "apply", arg(&path), "--watch", watch_s, "--admin", &admin]);
        apply.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let mut apply = apply.spawn().expect("it starts");
        let Site { folder: _folder, config, node, .. } = site;
        await_state("the moment", || is_so(&Progress::of(&config)));
        node.kill();
        let _ = apply.wait();
        let found = Progress::of(&config).file;
        assert!(found == OLD || found == new, "neither of both: {found}");
        let done = run(&["run", "--config", arg(&config), "--seconds", "0"]);
        assert_eq!(done.status, Some(0), "{}", done.err);
        found
    };
    // Whatever it has done by then.
    for step in 0..3 {
        let began = Instant::now();
        killed_when("0", &|_| began.elapsed() >= Duration::from_millis(5 * step));
    }
    // The history begins with the configuration that holds.
    let is_entered = |it: &Progress| it.log.matches("hash").count() == 2;
    killed_when("0", &is_entered);
    // What is watched is not yet what the next start has.
    assert_eq!(killed_when("60", &is_entered), OLD);
    // What has taken its place stays there.
    assert_eq!(killed_when("0", &|it| it.file == new), new);
    assert_eq!(killed_when("0", &|it| it.log.matches("kept").count() == 2), new);
}
