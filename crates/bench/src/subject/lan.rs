//! Two hosts on one machine: network namespaces joined by a cable.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::BenchError;

/// Port of the backbone, and the next one.
pub(super) const PORT: u16 = 40_456;

/// The channel of hub and servers on this network.
pub(super) const CHANNEL: &str = "aeron:udp?endpoint=239.78.0.1:40456|interface=10.78.0.0/24";

static LANS: AtomicU32 = AtomicU32::new(0);

/// A network of two hosts that nothing else can reach. When it is dropped, it
/// is gone and the thread is back where it was.
pub(super) struct Lan {
    prefix: String,
    home: File,
    /// Whether anything is lost on purpose.
    loses: bool,
}

fn failed(text: String) -> BenchError {
    BenchError::Namespaces(text)
}

/// Runs a program. Returns what it said.
/// Where `ip` and `nft` are, also for those who do not have it in their path: as
/// scripts/prerequisites.sh looks for them.
fn path() -> OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(":/usr/sbin:/sbin");
    path
}

fn run(program: &str, arguments: &str) -> Result<String, BenchError> {
    let output = Command::new(program)
        .env("PATH", path())
        .args(arguments.split_whitespace())
        .output()
        .map_err(|error| failed(format!("{program}: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(failed(format!("{program} {arguments}: {}", said.trim())))
}

impl Lan {
    /// Two hosts; this share of the backbone's datagrams is lost on arrival.
    pub(super) fn new(loss_percent: f64) -> Result<Self, BenchError> {
        let number = LANS.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("tlb{}x{number}", std::process::id());
        let home = File::open("/proc/thread-self/ns/net")?;
        let lan = Self { prefix, home, loses: loss_percent > 0.0 };
        let (hub, server) = (lan.name("hub"), lan.name("server"));
        for host in [&hub, &server] {
            run("ip", &format!("netns add {host}"))?;
            run("ip", &format!("-n {host} link set lo up"))?;
        }
        run("ip", &format!("-n {hub} link add eth0 type veth peer name eth0 netns {server}"))?;
        for (number, host) in [&hub, &server].into_iter().enumerate() {
            run("ip", &format!("-n {host} address add 10.78.0.{}/24 dev eth0", number + 1))?;
            run("ip", &format!("-n {host} link set eth0 up"))?;
            run("ip", &format!("-n {host} route add 224.0.0.0/4 dev eth0"))?;
            if loss_percent > 0.0 {
                lose(host, loss_percent)?;
            }
        }
        Ok(lan)
    }

    /// Datagrams that were dropped so far; `None` if none are to be.
    pub(super) fn dropped(&self) -> Option<u64> {
        let at = |host: &str| {
            let list = format!("netns exec {} nft list chain inet loss arriving", self.name(host));
            dropped_of(&run("ip", &list).ok()?)
        };
        self.loses.then(|| Some(at("hub")? + at("server")?))?
    }

    fn name(&self, host: &str) -> String {
        format!("{}{host}", self.prefix)
    }

    /// Takes the calling thread to the hub's host: what it opens and starts
    /// from now on is there.
    pub(super) fn enter_hub(&self) -> Result<(), BenchError> {
        enter(&File::open(format!("/run/netns/{}", self.name("hub")))?)
    }

    /// The same for the server's host.
    pub(super) fn enter_server(&self) -> Result<(), BenchError> {
        enter(&File::open(format!("/run/netns/{}", self.name("server")))?)
    }
}

fn enter(namespace: &File) -> Result<(), BenchError> {
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))
        .map_err(|error| failed(io::Error::from(error).to_string()))
}

/// The packets of `… counter packets 12 bytes 1234 drop`.
fn dropped_of(chain: &str) -> Option<u64> {
    let (_, behind) = chain.split_once("counter packets ")?;
    behind.split_whitespace().next()?.parse().ok()
}

fn lose(host: &str, percent: f64) -> Result<(), BenchError> {
    let of_ten_thousand = (percent * 100.0).round() as u32;
    run("ip", &format!("netns exec {host} nft add table inet loss"))?;
    let rules = format!(
        "add chain inet loss arriving {{ type filter hook input priority 0; }}
         add rule inet loss arriving udp dport {PORT}-{} numgen random mod 10000 < {of_ten_thousand} counter drop",
        PORT + 1
    );
    let output = Command::new("ip")
        .env("PATH", path())
        .args(["netns", "exec", host, "nft", &rules])
        .output()
        .map_err(|error| failed(format!("nft: {error}")))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(failed(format!("nft: {}", String::from_utf8_lossy(&output.stderr).trim()))),
    }
}

impl Drop for Lan {
    fn drop(&mut self) {
        let _ = enter(&self.home);
        for host in ["hub", "server"] {
            let _ = run("ip", &format!("netns delete {}", self.name(host)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_datagrams_are_counted_by_the_rule() {
        let chain = "chain arriving {\n type filter hook input priority filter; policy accept;\n \
                     udp dport 40456-40457 numgen random mod 10000 < 100 \
                     counter packets 271 bytes 39012 drop\n}";
        assert_eq!(dropped_of(chain), Some(271));
        assert_eq!(dropped_of("chain arriving { drop }"), None);
    }
}
