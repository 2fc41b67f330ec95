//! Sources and consumers as processes: what they do, and how they are talked
//! to. A line of text goes either way, over standard input and output; a party
//! whose input ends is to end too.

use std::io::{self, BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::sync::{Arc, Mutex};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use tapeline_api::Protocol;
use tapeline_time::host_now;

use crate::ledger::{Ledger, Line};
use crate::market::{Account, Heard, Listener, SERVICE, Source, Standing, Tape};
use crate::program::PATIENCE;

/// Microseconds since the host's start.
pub fn now_us() -> u64 {
    host_now().as_nanos() / 1_000
}

/// Is a source until the input ends: a provider at an address, which prints
/// `listening ADDRESS` and takes `rate N` (updates a second over all items),
/// `skip ITEM` (it forgets to send one update) and `numbers`.
pub fn be_source(address: SocketAddr, items: usize) {
    let tape = Tape::by_clock(items);
    let source = Source::start(&tape, address);
    say(&format_args!("listening {}", source.address));
    for line in io::stdin().lines().map_while(Result::ok) {
        match line.split_once(' ') {
            Some(("rate", rate)) => tape.set_rate(rate.parse().expect("a rate")),
            Some(("skip", item)) => tape.skip(item.parse().expect("an item")),
            _ if line == "numbers" => say(&Line::Numbers(tape.open_numbers().collect())),
            _ => panic!("no command of a source: {line}"),
        }
    }
}

/// Is a consumer of all items until the input ends; prints [`Line`]s, and takes
/// `numbers`.
pub fn be_consumer(servers: &[SocketAddr], protocol: Protocol, items: usize) {
    let commands = input();
    let mut listener = Listener::open(SERVICE, protocol, servers, items);
    let mut accounts = vec![Account::default(); items];
    loop {
        match commands.try_recv() {
            Ok(_) => {
                let number = |account: &Account| {
                    (account.standing() == Standing::Ok).then(|| account.number())
                };
                say(&Line::Numbers(accounts.iter().map(number).collect()));
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return,
        }
        listener.poll(&mut |heard| hear(heard, &mut accounts));
    }
}

/// Settles what was heard with the accounts, and says what changed.
fn hear(heard: Heard, accounts: &mut [Account]) {
    let items = match heard {
        Heard::Image { item, .. } | Heard::Update { item, .. } | Heard::State { item, .. } => {
            item..item + 1
        }
        Heard::Down => 0..accounts.len(),
    };
    let at_us = now_us();
    for item in items {
        let account = &mut accounts[item];
        let before = account.standing();
        let breach = match heard {
            Heard::Image { number, is_ok, .. } => account.image(number, is_ok),
            Heard::Update { number, is_merged, .. } => account.update(number, is_merged),
            Heard::State { is_final: true, .. } => Some(crate::market::Breach::Closed),
            Heard::State { is_ok, .. } => is_ok.and_then(|is_ok| account.state(is_ok)),
            Heard::Down => {
                account.down();
                None
            }
        };
        if let Some(breach) = breach {
            say(&Line::Breach(item, at_us, breach.to_string()));
        }
        let (was_ok, is_ok) = (before == Standing::Ok, account.standing() == Standing::Ok);
        match (was_ok, is_ok) {
            (false, true) => say(&Line::Ok(item, at_us)),
            (true, false) => say(&Line::Told(item, at_us)),
            _ => {}
        }
    }
}

/// That nobody reads it is seen at the end of the input.
fn say(line: &impl std::fmt::Display) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Lines of the input, as they come.
fn input() -> Receiver<String> {
    let (lines, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in io::stdin().lines().map_while(Result::ok) {
            if lines.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// A source or a consumer as a process. Killed when dropped.
#[derive(Debug)]
pub struct Party {
    child: Child,
    input: ChildStdin,
    /// Answers to what it is asked.
    answers: Receiver<String>,
    /// What a consumer was told.
    ledger: Arc<Mutex<Ledger>>,
}

impl Party {
    /// Starts it with a command, which has its arguments.
    pub fn start(mut command: Command, items: usize) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a party of the harness starts");
        let input = child.stdin.take().expect("piped");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let ledger = Arc::new(Mutex::new(Ledger::new(items)));
        let (sender, answers) = mpsc::channel();
        let of_thread = Arc::clone(&ledger);
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let is_answer = line.starts_with("numbers") || line.starts_with("listening");
                match (is_answer, line.parse::<Line>()) {
                    (true, _) => drop(sender.send(line)),
                    (false, Ok(said)) => of_thread.lock().expect("not poisoned").note(&said),
                    (false, Err(error)) => panic!("{error}"),
                }
            }
        });
        Self { child, input, answers, ledger }
    }

    /// Waits until a source listens.
    pub fn wait_listening(&self) {
        let line = self.answers.recv_timeout(PATIENCE).expect("a source that listens");
        assert!(line.starts_with("listening "), "{line}");
    }

    /// Has a source publish so many updates a second.
    pub fn set_rate(&mut self, updates_per_second: u64) {
        self.tell(&format!("rate {updates_per_second}"));
    }

    /// Has a source forget to send an update.
    pub fn skip(&mut self, item: usize) {
        self.tell(&format!("skip {item}"));
    }

    /// The last number of each item: of those that are open at a source, of
    /// those that are ok at a consumer.
    pub fn numbers(&mut self) -> Vec<Option<u32>> {
        self.tell("numbers");
        let answer = self.answers.recv_timeout(PATIENCE).expect("an answer of a party");
        match answer.parse() {
            Ok(Line::Numbers(numbers)) => numbers,
            _ => panic!("no answer: {answer}"),
        }
    }

    /// What it was told, to read or to change.
    pub fn ledger(&self) -> std::sync::MutexGuard<'_, Ledger> {
        self.ledger.lock().expect("not poisoned")
    }

    /// Stops it where it stands.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets it go on.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn tell(&mut self, line: &str) {
        // One that is gone is seen at the answer that does not come.
        let _ = writeln!(self.input, "{line}").and_then(|()| self.input.flush());
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("a running process");
    }
}

impl Drop for Party {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
