//! Sponsors: who watches firms by drop copy and answers for them. When a sponsor's
//! session is gone for longer than it has said, the users of these firms are stopped:
//! their orders go, and they may cancel and do nothing else until it is back.
//!
//! How long a session is gone is seen by the process that it was at; that users are
//! stopped is an entry, so that everybody who has the entries agrees.

use std::time::Duration;

use tapeline_layout::{Sections, append_section, message};
use tapeline_matching::{Command, MassCancel};
use tapeline_time::Time;

use super::floor::{Floor, Moment};
use super::gate::Gate;
use super::reports::Asked;
use super::users::Users;
use super::{ExchangeConfig, Outputs};

/// The payload of an entry about a sponsor.
const GONE: u8 = 1;
const BACK: u8 = 0;

message! {
    /// A sponsor whose users are stopped.
    Stopped: 2, fill 0 {
        0 => user: u16,
    }
}

#[derive(Debug)]
struct Sponsor {
    user: u16,
    firms: Vec<u16>,
    after: Duration,
    /// Since when its session is gone, as this process has seen.
    gone: Option<Time>,
    /// What the sequencer was told last: that it is gone, or back.
    said: Option<u8>,
    /// Its users are stopped, by what entries say.
    has_stopped: bool,
}

/// All sponsors.
#[derive(Debug)]
pub(super) struct Sponsors(Vec<Sponsor>);

impl Sponsors {
    pub(super) fn new(config: &ExchangeConfig) -> Self {
        let users = (0..).zip(&config.users);
        let sponsors = users.filter_map(|(user, of)| {
            let (firms, gone, said) = (of.copies.clone(), None, None);
            of.stop_after.map(|after| Sponsor {
                user,
                firms,
                after,
                gone,
                said,
                has_stopped: false,
            })
        });
        Self(sponsors.collect())
    }

    /// Whether users of a firm are stopped.
    #[inline]
    pub(super) fn have_stopped(&self, firm: u16) -> bool {
        self.0.iter().any(|sponsor| sponsor.has_stopped && sponsor.firms.contains(&firm))
    }

    /// Time has passed: who is gone for too long, or back, is an entry.
    pub(super) fn look(&mut self, now: Time, users: &Users, gate: &mut Gate) {
        for sponsor in &mut self.0 {
            let is_there = users.get(sponsor.user).is_some_and(|user| user.session.is_some());
            let is_over = match is_there {
                true => {
                    sponsor.gone = None;
                    false
                }
                false => now.since(*sponsor.gone.get_or_insert(now)) >= sponsor.after,
            };
            // Gone, and not for long enough: as it is.
            let is_news = sponsor.has_stopped != is_over && (is_there || is_over);
            let says = if is_over { GONE } else { BACK };
            if is_news
                && sponsor.said != Some(says)
                && gate.sponsor(now, sponsor.user, says).is_ok()
            {
                sponsor.said = Some(says);
            }
        }
    }

    /// Appends who has stopped its users.
    pub(super) fn save(&self, out: &mut Vec<u8>) {
        let stopped = self.0.iter().filter(|sponsor| sponsor.has_stopped);
        append_section(out, stopped.map(|sponsor| Stopped { user: sponsor.user }));
    }

    /// Takes it up.
    pub(super) fn restore(&mut self, sections: &mut Sections<'_>) -> Option<()> {
        let stopped: Vec<Stopped> = sections.records()?;
        for of in stopped {
            self.0.iter_mut().find(|sponsor| sponsor.user == of.user)?.has_stopped = true;
        }
        Some(())
    }
}

impl Floor {
    /// A sponsor is gone for too long, or back.
    pub(super) fn sponsor(
        &mut self,
        at: Moment,
        user: u16,
        payload: &[u8],
        out: &mut impl Outputs,
    ) {
        let is_gone = payload.first() == Some(&GONE);
        let Some(sponsor) = self.sponsors.0.iter_mut().find(|sponsor| sponsor.user == user) else {
            return;
        };
        sponsor.has_stopped = is_gone;
        let firms = if is_gone { sponsor.firms.clone() } else { Vec::new() };
        let before = self.counts.reports;
        for firm in firms {
            let all = Command::MassCancel(MassCancel { firm, ..MassCancel::default() });
            self.run(at, &all, Asked::ByExchange, out);
        }
        let cancelled = self.counts.reports - before;
        let name = self.users.get(user).map(|user| user.name).unwrap_or_default();
        match is_gone {
            true => {
                self.counts.sponsor_stops += 1;
                tracing::warn!(sponsor = name.as_str(), cancelled, "gone: its users are stopped");
            }
            false => tracing::info!(sponsor = name.as_str(), "back: its users may trade again"),
        }
    }

    /// Whether a user is stopped.
    pub(super) fn is_stopped(&self, user: u16) -> bool {
        let firm = self.users.get(user).map(|user| user.owner.firm);
        firm.is_some_and(|firm| self.sponsors.have_stopped(firm))
    }
}
