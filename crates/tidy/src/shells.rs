//! What holds for the shells of hubs, servers and applications: they do nothing
//! over the operating system's sockets that they do not do over simulated ones.
//!
//! Each shell has its system as a parameter. So there are two ways in which it
//! could have a path that no simulated world takes: code for the
//! [kernel](../../channel/src/kernel.rs) alone, and calls of the operating
//! system past that parameter.

use crate::{Tree, is_kind};

/// Crates whose types have their system as a parameter.
const CRATES: [&str; 4] = ["api", "channel", "hub", "server"];

/// The types that have.
const SHELLS: [&str; 6] = ["Consumer", "Hub", "Provider", "Publisher", "Reactor", "Server"];

/// What is the operating system's, or waits for it: below the parameter, or
/// around the shells; and what reads certificates, which no world has.
const KERNEL: [&str; 7] = [
    "crates/channel/src/idle.rs",
    "crates/channel/src/kernel.rs",
    "crates/channel/src/lookup.rs",
    "crates/channel/src/socket.rs",
    "crates/channel/src/tcp.rs",
    "crates/channel/src/tls.rs",
    "crates/channel/src/wait.rs",
];

/// What only the operating system has.
const PAST_THE_PARAMETER: [&str; 12] = [
    "Instant::",
    "SystemTime",
    "TcpListener",
    "TcpStream",
    "UdpSocket",
    "libc::",
    "mio::",
    "rustix::",
    "socket2::",
    "std::env",
    "std::fs",
    "std::thread",
];

/// How a path parts from another.
const BRANCHES: [&str; 6] = ["else", "for", "if", "loop", "match", "while"];

pub(crate) fn findings(_: &Tree, path: &str, text: &str) -> Vec<String> {
    let parts: Vec<&str> = path.split('/').collect();
    let is_shell = matches!(parts[..], ["crates", name, "src", ..] if CRATES.contains(&name));
    if !is_shell || !is_kind(path, "rs") || KERNEL.contains(&path) {
        return Vec::new();
    }
    // Cores have no system at all, and types of the same names.
    let is_core = parts.contains(&"core");
    let mut found = Vec::new();
    // Whether the block that is open is of one system alone.
    let mut is_of_one = false;
    for (at, line) in (1..).zip(text.lines()) {
        // What follows is for tests.
        if line == "#[cfg(test)]" {
            break;
        }
        let code = line.split("//").next().unwrap_or_default();
        let is_head = code.starts_with("impl");
        is_of_one = is_head && !is_core && is_of_one_system(code)
            || is_of_one && !is_head && !code.starts_with('}');
        if is_of_one && !is_head && words(code).any(|word| BRANCHES.contains(&word)) {
            found.push(format!(
                "{path}:{at}: a path of one system alone; move it to the `impl` that has any \
                 system, so that simulated worlds take it"
            ));
        }
        if let Some(word) = PAST_THE_PARAMETER.iter().find(|word| code.contains(**word)) {
            found.push(format!(
                "{path}:{at}: `{word}` is past the simulated system; put it behind \
                 `channel::System`"
            ));
        }
        let is_for_tests = code.trim() == "#[cfg(test)]";
        if (code.contains("cfg(") || code.contains("cfg!(")) && !is_for_tests {
            found.push(format!(
                "{path}:{at}: a path that only some builds have, and no simulated world takes"
            ));
        }
    }
    found
}

/// Whether an `impl` is for the operating system alone.
fn is_of_one_system(head: &str) -> bool {
    let is_own = !head.contains(" for ") && words(head).any(|word| SHELLS.contains(&word));
    words(head).any(|word| word == "Kernel") || is_own && !words(head).any(|word| word == "System")
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHELL: &str = "crates/hub/src/shell.rs";

    fn of(path: &str, text: &str) -> Vec<String> {
        findings(&Tree::default(), path, text)
    }

    #[test]
    fn what_has_any_system_may_branch_and_what_has_one_may_not() {
        let block = |head: &str| format!("{head} {{\n    fn of(self) {{ if true {{}} }}\n}}\n");
        for fine in ["impl<B: Bus, S: System> Hub<B, S>", "impl Note", "impl Debug for Hub<B, S>"] {
            assert_eq!(of(SHELL, &block(fine)), [""; 0], "{fine}");
        }
        for alone in
            ["impl<B: Bus> Hub<B>", "impl Consumer", "impl<P> Outputs for Shell<'_, P, Kernel>"]
        {
            let found = of(SHELL, &block(alone));
            assert!(found[0].starts_with("crates/hub/src/shell.rs:2: a path of one"), "{alone}");
        }
        assert_eq!(of("crates/hub/src/core/hubs.rs", &block("impl Hub")), [""; 0]);
        let made = "impl Hub {\n    fn new() -> Self { Self::with_system(Kernel::new()) }\n}\n";
        assert_eq!(of(SHELL, made), [""; 0]);
    }

    #[test]
    fn calls_past_the_simulated_system_are_found() {
        for past in ["let at = Instant::now();", "use std::thread;", "#[cfg(unix)]"] {
            assert_eq!(of(SHELL, past).len(), 1, "{past}");
            assert_eq!(of(SHELL, &format!("// {past}")), [""; 0]);
            assert_eq!(of(SHELL, &format!("#[cfg(test)]\nmod tests {{\n{past}\n}}")), [""; 0]);
            assert_eq!(of(KERNEL[0], past), [""; 0]);
            assert_eq!(of("crates/node/src/node.rs", past), [""; 0]);
        }
    }
}
