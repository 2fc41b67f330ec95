//! When to dial which server.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tapeline_time::Time;

/// How long to wait between attempts to connect, and how often to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReconnectPolicy {
    /// The wait after the first round of the server list that failed. A
    /// connection that is logged in for as long as this counts as a success.
    /// Default 1 s.
    pub first_delay: Duration,
    /// The longest wait; each is twice the one before. Default 5 s.
    pub max_delay: Duration,
    /// How many attempts in a row may fail; `None` for no limit, the default.
    pub max_attempts: Option<u32>,
}

impl Default for ReconnectPolicy {
    fn default() -> Self {
        Self {
            first_delay: Duration::from_secs(1),
            max_delay: Duration::from_secs(5),
            max_attempts: None,
        }
    }
}

/// Which server, of as many as there may be, the next consumer of the process
/// begins with. The first one begins anywhere, so that processes of one consumer
/// each are spread too.
pub(crate) fn next_in_turn(seed: u64) -> usize {
    static FIRST: OnceLock<usize> = OnceLock::new();
    static TURNS: AtomicUsize = AtomicUsize::new(0);
    let first = *FIRST.get_or_init(|| (seed >> 32) as usize);
    first.wrapping_add(TURNS.fetch_add(1, Ordering::Relaxed))
}

/// Goes round a list of servers. Within a round the next server is tried at
/// once; before each further round there is a wait that grows.
///
/// ```text
/// A fails ─▶ B fails ─▶ wait 1 s ─▶ A fails ─▶ B fails ─▶ wait 2 s ─▶ A …
///                                   A up, lost after an hour ─▶ B at once
/// ```
#[derive(Clone, Debug)]
pub(crate) struct Reconnect {
    policy: ReconnectPolicy,
    servers: usize,
    /// The server to try next.
    next: usize,
    /// Attempts of this round that failed.
    failed_in_round: usize,
    /// Attempts in a row that failed.
    failed: u32,
    delay: Duration,
    up_since: Option<Time>,
}

impl Reconnect {
    /// So many servers, of which this one is tried first.
    pub(crate) fn new(policy: ReconnectPolicy, servers: usize, first: usize) -> Self {
        let servers = servers.max(1);
        Self {
            policy,
            servers,
            next: first % servers,
            failed_in_round: 0,
            failed: 0,
            delay: policy.first_delay,
            up_since: None,
        }
    }

    /// The server to dial now; the one after it is next.
    pub(crate) fn dial(&mut self) -> usize {
        let server = self.next;
        self.next = (server + 1) % self.servers;
        server
    }

    /// The connection is logged in.
    pub(crate) fn up(&mut self, now: Time) {
        self.up_since.get_or_insert(now);
    }

    /// The attempt failed, or the connection is lost. When to dial next; `None`
    /// for never again.
    pub(crate) fn down(&mut self, now: Time) -> Option<Time> {
        let up_since = self.up_since.take();
        if up_since.is_some_and(|since| now.since(since) >= self.policy.first_delay) {
            self.failed_in_round = 0;
            self.failed = 0;
            self.delay = self.policy.first_delay;
        }
        self.failed += 1;
        self.failed_in_round += 1;
        if self.policy.max_attempts.is_some_and(|max| self.failed >= max) {
            return None;
        }
        if self.failed_in_round < self.servers {
            return Some(now);
        }
        let delay = self.delay;
        self.failed_in_round = 0;
        self.delay = (delay * 2).min(self.policy.max_delay);
        Some(now.after(delay))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn waits(reconnect: &mut Reconnect, times: usize) -> Vec<(usize, Option<u64>)> {
        let mut now = Time::ZERO;
        (0..times)
            .map(|_| {
                let server = reconnect.dial();
                let next = reconnect.down(now);
                let wait = next.map(|next| next.since(now).as_secs());
                now = next.unwrap_or(now);
                (server, wait)
            })
            .collect()
    }

    #[test]
    fn the_wait_comes_after_each_round_and_doubles_up_to_its_limit() {
        let mut two = Reconnect::new(ReconnectPolicy::default(), 2, 0);
        let seen = waits(&mut two, 8);
        let expected = [(0, 0), (1, 1), (0, 0), (1, 2), (0, 0), (1, 4), (0, 0), (1, 5)];
        assert_eq!(seen, expected.map(|(server, wait)| (server, Some(wait))));
    }

    #[test]
    fn a_connection_that_held_starts_over_and_one_that_did_not_does_not() {
        let mut one = Reconnect::new(ReconnectPolicy::default(), 1, 0);
        waits(&mut one, 3);
        let mut now = Time::ZERO;
        one.up(now);
        now = now.after(SECOND / 2);
        assert_eq!(one.down(now), Some(now.after(5 * SECOND)), "cut off after login");
        one.up(now);
        now = now.after(SECOND);
        assert_eq!(one.down(now), Some(now.after(SECOND)));
    }

    #[test]
    fn a_lost_connection_goes_to_the_next_server_at_once() {
        let mut two = Reconnect::new(ReconnectPolicy::default(), 2, 0);
        assert_eq!(two.dial(), 0);
        two.up(Time::ZERO);
        let lost = Time::ZERO.after(3 * SECOND);
        assert_eq!(two.down(lost), Some(lost));
        assert_eq!(two.dial(), 1);
    }

    #[test]
    fn a_round_begins_anywhere_and_has_all_servers() {
        let mut three = Reconnect::new(ReconnectPolicy::default(), 3, 5);
        let seen = waits(&mut three, 4);
        assert_eq!(seen, [(2, 0), (0, 0), (1, 1), (2, 0)].map(|(it, wait)| (it, Some(wait))));
    }

    #[test]
    fn attempts_can_be_limited() {
        let policy = ReconnectPolicy { max_attempts: Some(2), ..ReconnectPolicy::default() };
        let seen = waits(&mut Reconnect::new(policy, 1, 0), 2);
        assert_eq!(seen, [(0, Some(1)), (0, None)]);
    }
}
