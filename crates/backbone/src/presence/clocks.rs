//! How far the clock of a peer is from ours, by round trips of presence.
//!
//! ```text
//!  ours    ── t1 ─────────────────────── t4 ──▶
//!              ╲ presence    presence  ╱
//!               ╲                     ╱
//!  theirs  ────── t2 ───────────── t3 ────────▶
//! ```
//!
//! A presence says when it was sent and, of one peer, when that one's last presence was
//! sent (t1) and heard (t2). With the moment at which it is heard itself (t4), their clock
//! is ahead of ours by
//!
//! ```text
//!  ((t2 - t1) + (t3 - t4)) / 2     give or take     ((t4 - t1) - (t3 - t2)) / 2
//! ```
//!
//! whatever the ways there and back take (as NTP does it, RFC 5905 section 8): the error is
//! half of what was on the way, all of which may have been on one of the two. The best round
//! trip counts, until clocks may have drifted so far apart that a later one is better.

/// How far two clocks may drift apart: a part in 10,000. Those of PCs do half of it.
const DRIFT_PART: u64 = 10_000;

/// How far the clock of a peer is from ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockOffset {
    /// So much it is ahead of ours, in nanoseconds.
    pub offset_ns: i64,
    /// And so much that may be wrong, in nanoseconds.
    pub error_ns: u64,
}

/// What a presence says of moments, all in nanoseconds of its sender's clock.
///
/// ```text
///  0       8      12          20           28
///  | sent  | peer | its sent  | heard      |
///    u64     u32    u64         u64          little endian
/// ```
///
/// The peer is the one whose last presence was sent and heard then; 0 for none. Of
/// several peers each has its turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moments {
    pub(crate) sent_ns: u64,
    pub(crate) peer: u32,
    /// By the clock of that peer.
    pub(crate) its_sent_ns: u64,
    pub(crate) heard_ns: u64,
}

impl Moments {
    pub(super) const BYTES: usize = 28;

    pub(super) fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.sent_ns.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.peer.to_le_bytes());
        bytes[12..20].copy_from_slice(&self.its_sent_ns.to_le_bytes());
        bytes[20..].copy_from_slice(&self.heard_ns.to_le_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8; Self::BYTES]) -> Self {
        let at = |place: usize| {
            bytes[place..].first_chunk().map_or(0, |moment| u64::from_le_bytes(*moment))
        };
        let peer = bytes[8..].first_chunk().map_or(0, |peer| u32::from_le_bytes(*peer));
        Self { sent_ns: at(0), peer, its_sent_ns: at(12), heard_ns: at(20) }
    }
}

/// What is known of the clock of a peer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    /// When its last presence was sent, by its clock, and heard, by ours.
    pub(super) last: Option<(u64, u64)>,
    /// The best round trip, and when it ended, by our clock.
    best: Option<(ClockOffset, u64)>,
}

impl Clock {
    /// A presence of the peer is heard at `heard_ns`; it is about us if `is_about_us`.
    pub(super) fn hear(&mut self, moments: &Moments, is_about_us: bool, heard_ns: u64) {
        self.last = Some((moments.sent_ns, heard_ns));
        if !is_about_us {
            return;
        }
        let [t1, t2] = [moments.its_sent_ns, moments.heard_ns].map(i128::from);
        let [t3, t4] = [moments.sent_ns, heard_ns].map(i128::from);
        let on_the_way = (t4 - t1) - (t3 - t2);
        let offset = i128::midpoint(t2 - t1, t3 - t4);
        // A clock that was set, or a peer that says what cannot be.
        let (Ok(on_the_way), Ok(offset_ns)) = (u64::try_from(on_the_way), i64::try_from(offset))
        else {
            return;
        };
        // While one waited for the other, their clocks went on.
        let waited_ns = u64::try_from(t4 - t1).unwrap_or(0);
        let error_ns = on_the_way / 2 + 1 + waited_ns / DRIFT_PART;
        let known = self.at(heard_ns).map_or(u64::MAX, |known| known.error_ns);
        if error_ns <= known {
            self.best = Some((ClockOffset { offset_ns, error_ns }, heard_ns));
        }
    }

    /// What is known at a moment of ours.
    pub(super) fn at(&self, now_ns: u64) -> Option<ClockOffset> {
        let (known, ended_ns) = self.best?;
        let drift_ns = now_ns.saturating_sub(ended_ns) / DRIFT_PART;
        Some(ClockOffset { error_ns: known.error_ns.saturating_add(drift_ns), ..known })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Presences to and fro, with what the ways take; what is known at the end.
    fn after(ahead_ns: i64, ways_ns: &[(u64, u64)]) -> (Clock, u64) {
        let (mut clock, mut now) = (Clock::default(), 1_000_000_000_u64);
        let theirs = |ours: u64| ours.checked_add_signed(ahead_ns).expect("in range");
        for (there, back) in ways_ns {
            let (sent, arrives) = (now, now + there);
            let answers = arrives + 50_000_000;
            let moments = Moments {
                sent_ns: theirs(answers),
                peer: 7,
                its_sent_ns: sent,
                heard_ns: theirs(arrives),
            };
            now = answers + back;
            clock.hear(&moments, true, now);
        }
        (clock, now)
    }

    #[test]
    fn what_is_wrong_is_never_more_than_is_said() {
        for ahead in [0, 5, -700_000_000, 86_400_000_000_000] {
            let ways: [&[(u64, u64)]; 4] = [
                &[(20_000, 20_000)],
                &[(1_000, 9_000_000)],
                &[(9_000_000, 1_000)],
                &[(500_000, 90_000), (30_000, 40_000), (7_000_000, 10)],
            ];
            for ways in ways {
                let (clock, now) = after(ahead, ways);
                let known = clock.at(now).expect("a round trip");
                let wrong = known.offset_ns.abs_diff(ahead);
                assert!(wrong <= known.error_ns, "{ahead} {ways:?}: {known:?}");
            }
        }
    }

    #[test]
    fn the_best_round_trip_counts_until_clocks_have_drifted() {
        let (clock, now) = after(1_000_000, &[(20_000, 20_000), (800_000, 100_000)]);
        let known = clock.at(now).expect("a round trip");
        assert_eq!(known.offset_ns, 1_000_000);
        assert!((25_000..35_000).contains(&known.error_ns), "{known:?}");
        let later = clock.at(now + 60_000_000_000).expect("it is not forgotten");
        assert_eq!(later.error_ns - known.error_ns, 6_000_000);
        // Ten minutes later the same long round trip is the better one.
        let mut clock = clock;
        let t1 = now + 600_000_000_000;
        let moments =
            Moments { sent_ns: t1 + 2_000_000, peer: 7, its_sent_ns: t1, heard_ns: t1 + 1_800_000 };
        clock.hear(&moments, true, t1 + 1_100_000);
        assert!(clock.at(t1 + 1_100_000).expect("known").error_ns < 1_000_000);
    }

    #[test]
    fn what_cannot_be_is_not_believed() {
        let mut clock = Clock::default();
        clock.hear(&Moments { sent_ns: u64::MAX, ..Moments::default() }, true, 5);
        clock.hear(&Moments { sent_ns: 9, its_sent_ns: 3, heard_ns: 4, peer: 1 }, true, 5);
        assert!(clock.at(5).is_none(), "it came before it was sent: {clock:?}");
        clock.hear(&Moments { sent_ns: 100, peer: 9, its_sent_ns: 1, heard_ns: 50 }, false, 60);
        assert!(clock.at(60).is_none(), "it is about another one");
        assert_eq!(clock.last, Some((100, 60)));
    }

    #[test]
    fn moments_are_read_back() {
        let moments = Moments { sent_ns: 1, peer: 2, its_sent_ns: u64::MAX, heard_ns: 4 << 40 };
        let bytes = moments.encode();
        assert_eq!(bytes[..12], [1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(Moments::decode(&bytes), moments);
    }
}
