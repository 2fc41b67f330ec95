//! A policy in force: who is shown what, from files to clients and back to files.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tapeline_api::{Consumer, ConsumerConfig, ConsumerEvent, ItemSpec, Login, Requests, Server};
use tapeline_entitle::{Journal, Kind};
use tapeline_omm::StateBuf;
use tempfile::TempDir;

use super::support::{Run, Running, arg, file, folder, run};

/// How long a test may take before it has failed.
const PATIENCE: Duration = Duration::from_secs(60);

const POLICY: &str = r#"
version = 1
[[product]]
name = "L1"
service = "FEED"
pe = [62]
[[role]]
name = "names"
grants = [{ service = "FEED", subjects = ["TAPE*"] }]
[[user]]
name = "ann"
roles = ["names"]
[[user]]
name = "bob"
[[test]]
user = "ann"
item = "FEED/TAPE1.X"
expect = "allow"
"#;

fn source() -> Running {
    let args = ["source", "--listen", "127.0.0.1:0", "-I", "0", "-S", "FEED", "-U", "50"];
    Running::start(&args)
}

fn client(server: &str, user: &str) -> Run {
    let args = ["client", "--server", server, "--user", user, "TAPE1.X", "--exit-after-image"];
    run(&[&args[..], &["--seconds", "40", "--json"]].concat())
}

#[test]
fn a_policy_says_who_logs_in_and_what_is_shown() {
    let folder = folder();
    let policy = file(&folder, "policy.toml", POLICY);
    let source = source();
    let address = source.address("rssl").to_string();
    let args = ["run", "--ni-port", "off", "--rssl-port", "0", "--source", &address];
    let node = Running::start(&[&args[..], &["--policy", arg(&policy)]].concat());
    let server = node.address("rssl").to_string();
    let done = client(&server, "ann");
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
    let done = client(&server, "bob");
    assert!(done.out.contains("Access Denied: service FEED"), "{}{}", done.out, done.err);
    let done = client(&server, "eve");
    assert!(done.err.contains("User eve is unknown."), "{}{}", done.out, done.err);
}

/// Turns a consumer until what it hears is this.
fn await_event(
    consumer: &mut Consumer,
    what: &str,
    mut is_it: impl FnMut(&ConsumerEvent<'_>) -> bool,
) {
    let until = Instant::now() + PATIENCE;
    let mut found = false;
    while !found {
        assert!(Instant::now() < until, "it never came: {what}");
        let mut hear = |event: ConsumerEvent<'_>, _: &mut Requests<'_>| found |= is_it(&event);
        consumer.poll(Some(Duration::from_millis(20)), &mut hear);
    }
}

#[test]
fn a_policy_that_is_edited_ends_streams_and_logins() {
    let folder = folder();
    let policy = file(&folder, "policy.toml", POLICY);
    let source = source();
    let address = source.address("rssl").to_string();
    let args = ["run", "--ni-port", "off", "--rssl-port", "0", "--source", &address];
    let node = Running::start(&[&args[..], &["--policy", arg(&policy)]].concat());
    let server: Server = node.address("rssl").to_string().parse().expect("an address");
    let config = ConsumerConfig::new([server], Login::new("ann"));
    let mut consumer = Consumer::new(config).expect("it starts");
    consumer.open(&ItemSpec::new("FEED", "TAPE1.X")).expect("it may be opened");
    await_event(&mut consumer, "an image", |event| matches!(event, ConsumerEvent::Refresh { .. }));
    fs::write(
        &policy,
        POLICY.replace("TAPE*", "OTHER*").replace("expect = \"allow\"", "expect = \"deny\""),
    )
    .expect("room");
    let mut text = String::new();
    await_event(&mut consumer, "the end of the stream", |event| match event {
        ConsumerEvent::Status { msg, .. } => {
            text = msg.state.map(|state| StateBuf::from(state).to_string()).unwrap_or_default();
            text.contains("Access Denied")
        }
        _ => false,
    });
    assert!(text.contains("Closed / Suspect / NotAuthorized"), "{text}");
    fs::write(&policy, "version = 1\n[[user]]\nname = \"bob\"\n").expect("room");
    await_event(&mut consumer, "the end of the login", |event| match event {
        ConsumerEvent::Login { state, .. } => {
            StateBuf::from(*state).to_string().contains("Force Logout from DACS.")
        }
        _ => false,
    });
}

#[test]
fn what_was_used_is_in_a_report_although_the_server_was_killed() {
    let folder = folder();
    let policy = file(&folder, "policy.toml", POLICY);
    let usage = folder.path().join("usage");
    let source = source();
    let address = source.address("rssl").to_string();
    let args = ["run", "--ni-port", "off", "--rssl-port", "0", "--source", &address];
    let more = ["--policy", arg(&policy), "--usage-dir", arg(&usage)];
    let node = Running::start(&[&args[..], &more].concat());
    let server = node.address("rssl").to_string();
    for user in ["ann", "bob"] {
        client(&server, user);
    }
    let journal = || -> Vec<u8> { fs::read(journal_of(&usage)).expect("it can be read") };
    let until = Instant::now() + PATIENCE;
    let has = |kind| Journal::new(&journal()).filter(|it| it.kind == kind).count();
    while has(Kind::Logout) < 2 {
        assert!(Instant::now() < until, "not all was written");
        std::thread::yield_now();
    }
    node.kill();
    let kinds = [Kind::Login, Kind::StartWatch, Kind::StopWatch, Kind::AccessDenied];
    let counts = kinds.map(has);
    assert_eq!(counts, [2, 1, 1, 1]);
    asks_the_journal(&folder, &policy, &journal_of(&usage));
}

/// The only journal of a folder.
fn journal_of(folder: &Path) -> PathBuf {
    let mut files = fs::read_dir(folder).expect("it was made");
    files.next().expect("a journal").expect("it can be read").path()
}

/// What the subcommands say of a journal in which ann had an item, and bob was
/// refused it.
fn asks_the_journal(folder: &TempDir, policy: &Path, journal: &Path) {
    let name = journal.file_stem().and_then(|name| name.to_str()).expect("a name");
    let month = &name[name.len() - "2026-11".len()..];
    let more = ["--policy", arg(policy), "--month", month, arg(journal)];
    let done = run(&[&["entitle", "report"][..], &more].concat());
    assert!(done.out.ends_with(",L1,0,0,user,0,0,0\n"), "a grant is no product: {}", done.out);
    let done = run(&["entitle", "journal", "--denied", "--user", "bob", arg(journal)]);
    let [line] = &done.out.lines().collect::<Vec<_>>()[..] else { panic!("{}", done.out) };
    let said: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
    assert_eq!((&said["event"], &said["user"]), (&"access-denied".into(), &"bob".into()));
    assert_eq!((&said["item"], &said["code"]), (&"TAPE1.X".into(), &3.into()));
    assert_eq!(said["reason"], "Access Denied: service FEED");
    let rule = said["rule"].as_str().expect("a text");
    assert!(rule.ends_with("policy.toml: no rule of the roles [] allows it"), "{rule}");
    let all = run(&["entitle", "journal", arg(journal)]);
    assert_eq!(all.out.lines().count(), 8, "{}", all.out);
    // A policy by which they change places.
    let swapped = POLICY.replace("\"ann\"\nroles = [\"names\"]", "\"ann\"");
    let swapped = swapped.replace("\"bob\"", "\"bob\"\nroles = [\"names\"]");
    let swapped = file(folder, "swapped.toml", &swapped);
    let more = ["--policy", arg(policy), arg(&swapped), "--journal", arg(journal)];
    let done = run(&[&["entitle", "what-if"][..], &more].concat());
    let said: Vec<_> = done.out.lines().collect();
    let expected = [
        "ann: other rights",
        "bob: other rights",
        "ann loses FEED/TAPE1.X: Access Denied: service FEED",
        "bob gains FEED/TAPE1.X",
        "2 users change, 1 watches gained, 1 lost",
    ];
    assert_eq!(said, expected);
    // A byte in the middle that is another one: what it hits is told, the rest is read.
    let mut bytes = fs::read(journal).expect("it can be read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(journal, bytes).expect("room");
    let done = run(&["entitle", "journal", arg(journal)]);
    assert!(done.err.contains("bytes between records are damaged; left out"), "{}", done.err);
    assert_eq!(done.out.lines().count(), 7, "{}", done.out);
}

#[test]
fn a_policy_that_is_faulty_keeps_the_program_from_starting() {
    let folder = folder();
    let policy = file(&folder, "policy.toml", "version = 1\n[[usr]]\n");
    let done = run(&["run", "--rssl-port", "0", "--policy", arg(&policy)]);
    assert_eq!(done.status, Some(2));
    assert!(done.err.contains("policy.toml:2: unknown table or key `usr`"), "{}", done.err);
}

/// A web server that answers each request by what is in it.
fn authoriser(allowed: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/v1/data/tapeline/login", listener.local_addr().expect("bound"));
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let Ok(mut socket) = socket else { return };
            let (mut bytes, mut room) = (Vec::new(), [0; 4096]);
            while !bytes.ends_with(b"}}") {
                match socket.read(&mut room) {
                    Ok(count) if count > 0 => bytes.extend_from_slice(&room[..count]),
                    _ => break,
                }
            }
            let is_allowed = String::from_utf8_lossy(&bytes).contains(allowed);
            let body = format!(
                r#"{{"result":{{"allow":{is_allowed},"roles":["names"]}},"decision_id":"d-7"}}"#
            );
            let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: ";
            let _ = socket.write_all(format!("{head}{}\r\n\r\n{body}", body.len()).as_bytes());
        }
    });
    url
}

#[test]
fn an_authoriser_outside_says_who_logs_in_and_with_which_roles() {
    let folder = folder();
    let policy = file(&folder, "policy.toml", POLICY);
    let url = authoriser("\"user\":\"dora\"");
    let usage = folder.path().join("usage");
    let entitle =
        format!("[entitle]\npolicy = \"{}\"\nusage-dir = \"{}\"\n", arg(&policy), arg(&usage));
    let config = format!("[authoriser]\nurl = \"{url}\"\n{entitle}");
    let config = file(&folder, "tapeline.toml", &config);
    let source = source();
    let address = source.address("rssl").to_string();
    let args = ["run", "--ni-port", "off", "--rssl-port", "0", "--source", &address];
    let more = ["--config", arg(&config)];
    let node = Running::start(&[&args[..], &more].concat());
    let server = node.address("rssl").to_string();
    // The policy does not know her, and has the role.
    let done = client(&server, "dora");
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
    let done = client(&server, "ann");
    assert!(done.err.contains("Login denied: the authoriser refuses it"), "{}", done.err);
    // Both decisions have the number that the authoriser's own log has.
    let until = Instant::now() + PATIENCE;
    loop {
        let journal = run(&["entitle", "journal", arg(&journal_of(&usage))]);
        let has = |event| {
            let event = format!("\"event\":\"{event}\"");
            let mut lines = journal.out.lines();
            lines.any(|line| line.contains(&event) && line.contains("\"decision\":\"d-7\""))
        };
        if has("login") && has("login-denied") {
            break;
        }
        assert!(Instant::now() < until, "{}", journal.out);
    }
}
