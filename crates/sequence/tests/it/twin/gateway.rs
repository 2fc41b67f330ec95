//! A gateway of the world: it sends again what it is not told of, with the same
//! numbers.

use tapeline_sequence::NotTaken;

use super::host::Host;

#[derive(Debug)]
pub(super) struct Gateway {
    source: u16,
    made: u64,
    /// Numbers up to this one are acknowledged, all of them.
    told: u64,
    /// The host that it sends to, in which life and term, and up to which number.
    at: Option<(usize, (u32, u32))>,
    sent: u64,
}

impl Gateway {
    pub(super) fn new(source: u16) -> Self {
        Self { source, made: 0, told: 0, at: None, sent: 0 }
    }

    pub(super) fn source(&self) -> u16 {
        self.source
    }

    pub(super) fn make(&mut self, more: u64) {
        self.made += more;
    }

    /// Whom it sends to, if that one still leads.
    pub(super) fn present(&self, hosts: &[Host]) -> Option<usize> {
        let (host, reign) = self.at?;
        (hosts[host].is_leading() && hosts[host].reign() == reign).then_some(host)
    }

    /// Sends what is not sent yet, or to another one all that is not acknowledged.
    pub(super) fn send(&mut self, host: &mut Host, at: usize) {
        if !host.is_leading() {
            return;
        }
        let reign = host.reign();
        if self.at != Some((at, reign)) {
            (self.at, self.sent) = (Some((at, reign)), self.told);
        }
        while self.sent < self.made {
            match host.offer(self.source, self.sent + 1) {
                Ok(()) => {}
                // What was taken before its term is decided, and done.
                Err(NotTaken::Double) => self.told(self.sent + 1),
                Err(_) => return,
            }
            self.sent += 1;
        }
    }

    /// Something is done, and what was sent before it, too.
    pub(super) fn told(&mut self, number: u64) {
        self.told = self.told.max(number);
    }

    pub(super) fn acknowledged(&self) -> std::ops::RangeInclusive<u64> {
        1..=self.told
    }

    pub(super) fn waits(&self) -> u64 {
        self.made - self.told
    }
}
