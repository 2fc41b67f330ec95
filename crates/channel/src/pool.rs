//! What the output of all sessions takes together.

/// No session is slow for the sake of others with less than this.
const LEAST_SHARE_BYTES: usize = 64 * 1024;

/// Bytes that wait for all open sessions together, and their bound.
///
/// ```text
///   0 ............. half ................................ limit
///     each may have    whoever has more than its share of     the largest is to
///     what its own     a quarter is slow                       be closed
///     limits say
/// ```
#[derive(Debug)]
pub(crate) struct OutputPool {
    limit: usize,
    bytes: usize,
    most: usize,
    /// Sessions for which more waits than the least share.
    holders: usize,
    /// What waits in other pools that have the limit together with this one.
    elsewhere: usize,
    /// How many pools have it, this one among them.
    pools: usize,
}

impl OutputPool {
    pub(crate) const fn new(limit: usize) -> Self {
        Self { limit, bytes: 0, most: 0, holders: 0, elsewhere: 0, pools: 1 }
    }

    /// Has another bound from now on.
    pub(crate) const fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// For a session so much waits now, and so much was counted before.
    pub(crate) fn change(&mut self, counted: &mut usize, now: usize) {
        let is_holder = |bytes: usize| usize::from(bytes > LEAST_SHARE_BYTES);
        self.holders = self.holders - is_holder(*counted) + is_holder(now);
        self.bytes = self.bytes - *counted + now;
        self.most = self.most.max(self.bytes);
        *counted = now;
    }

    /// With how much a session is slow whose own limit is this.
    pub(crate) fn breach_bytes(&self, own: usize) -> usize {
        match self.of_all() > self.limit / 2 {
            false => own,
            true => {
                let share = self.limit / 4 / self.pools / self.holders.max(1);
                own.min(share.max(LEAST_SHARE_BYTES))
            }
        }
    }

    /// Whether there is too much, and not less here than in others.
    pub(crate) const fn is_over(&self) -> bool {
        let of_all = self.of_all();
        of_all > self.limit && self.bytes >= of_all / self.pools
    }

    /// Others have so much, in so many pools with this one.
    pub(crate) fn share(&mut self, elsewhere: usize, pools: usize) {
        self.elsewhere = elsewhere;
        self.pools = pools.max(1);
    }

    const fn of_all(&self) -> usize {
        self.bytes.saturating_add(self.elsewhere)
    }

    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The most that ever waited.
    pub(crate) const fn most(&self) -> usize {
        self.most
    }
}

impl Default for OutputPool {
    fn default() -> Self {
        Self::new(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_that_share_a_limit_look_at_what_all_have() {
        let mut pool = OutputPool::new(8_000_000);
        let mut counted = [0; 2];
        pool.change(&mut counted[0], 1_000_000);
        pool.share(2_000_000, 2);
        assert_eq!(pool.breach_bytes(2_000_000), 2_000_000);
        pool.share(4_000_000, 2);
        assert_eq!(pool.breach_bytes(2_000_000), 1_000_000, "half of a quarter");
        pool.share(7_500_000, 2);
        assert!(!pool.is_over(), "the other one has more");
        pool.change(&mut counted[1], 6_000_000);
        pool.share(1_500_000, 2);
        assert!(pool.is_over());
        pool.share(0, 1);
        assert!(!pool.is_over());
    }

    #[test]
    fn above_half_of_it_each_has_its_share_of_a_quarter() {
        let mut pool = OutputPool::new(8_000_000);
        let mut counted = [0; 4];
        for counted in &mut counted[..3] {
            pool.change(counted, 1_000_000);
            assert_eq!(pool.breach_bytes(2_000_000), 2_000_000);
        }
        pool.change(&mut counted[0], 3_000_000);
        assert_eq!(pool.breach_bytes(2_000_000), 2_000_000 / 3);
        assert_eq!(pool.breach_bytes(10_000), 10_000, "its own is lower");
        pool.change(&mut counted[3], 3_000_000);
        assert!(!pool.is_over());
        assert_eq!(pool.breach_bytes(2_000_000), 500_000);
        pool.change(&mut counted[3], 3_000_001);
        assert!(pool.is_over());
        for counted in &mut counted {
            pool.change(counted, 0);
        }
        assert_eq!((pool.bytes(), pool.most(), pool.holders), (0, 8_000_001, 0));
    }

    #[test]
    fn shares_do_not_become_nothing() {
        let mut pool = OutputPool::new(1_000_000);
        let mut counted = [0; 10];
        for counted in &mut counted {
            pool.change(counted, 90_000);
        }
        assert_eq!(pool.breach_bytes(2_000_000), LEAST_SHARE_BYTES);
    }
}
