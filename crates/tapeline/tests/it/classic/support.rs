//! Source, hub with server, and client of a test.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Stdio};

use serde_json::Value;

use crate::program::support::tapeline;
pub(crate) use crate::program::support::{Run, Running, arg, file, folder, run};

/// A source, started with classic options beside these: the service RDFD, at
/// any port.
pub(crate) fn source(args: &[&str]) -> Running {
    let mut all = vec!["source", "-S", "RDFD", "-N", "0", "-I", "0"];
    all.extend(args);
    Running::start(&all)
}

/// A hub with server that takes its items from a source.
pub(crate) fn node(source: &Running) -> Running {
    let address = source.address("rssl").to_string();
    Running::start(&["run", "--rssl-port", "0", "--ni-port", "0", "--source", &address])
}

/// The command line of a client of a server.
fn client_args<'a>(host: &'a str, port: &'a str, args: &[&'a str]) -> Vec<&'a str> {
    let mut all = vec!["client", "-S", "RDFD", "-h", host, "-p", port, "--seconds", "30"];
    all.extend(args);
    all
}

/// Runs a client to its end.
pub(crate) fn client(node: &Running, args: &[&str]) -> Run {
    let address = node.address("rssl");
    run(&client_args(&address.ip().to_string(), &address.port().to_string(), args))
}

/// Runs the program to its end, with a text on its standard input.
pub(crate) fn run_typing(args: &[&str], text: &str) -> Run {
    let mut command = tapeline(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(text.as_bytes()).expect("the program reads");
    Run::of(&child.wait_with_output().expect("the program ends"))
}

/// A client that measures until it is dropped.
pub(crate) struct Meter {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Meter {
    pub(crate) fn start(node: &Running, args: &[&str]) -> Self {
        let address = node.address("rssl");
        let (host, port) = (address.ip().to_string(), address.port().to_string());
        let mut all = client_args(&host, &port, args);
        all.extend(["-I", "1", "--json"]);
        let mut command = tapeline(&all);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let out = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, out }
    }

    /// Waits for an interval of which something is true.
    pub(crate) fn until(&mut self, is_so: impl Fn(&Value) -> bool) -> Value {
        let mut seen = String::new();
        loop {
            let from = seen.len();
            let len = self.out.read_line(&mut seen).expect("text");
            assert!(len > 0, "the client ended before it was so:\n{seen}");
            let interval: Value = serde_json::from_str(&seen[from..]).expect("JSON");
            if is_so(&interval) {
                return interval;
            }
        }
    }

    /// Waits for an interval with this many updates a second, or a few more or
    /// less.
    pub(crate) fn until_rate(&mut self, updates_per_s: u64) {
        let near = updates_per_s * 9 / 10..=updates_per_s * 11 / 10;
        self.until(|interval| {
            interval["updatesPerSecond"].as_u64().is_some_and(|rate| near.contains(&rate))
        });
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
