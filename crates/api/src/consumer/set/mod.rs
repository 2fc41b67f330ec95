//! Several servers that serve one consumer, one of them active and the others
//! standing by.
//!
//! ```text
//!               one set of handles
//!  application ◀───────────────────▶ set ─┬─▶ core ─▶ the active server
//!        events of the active server      ├─▶ core ─▶ one that stands by
//!        requests to all                  └─▶ core ─▶ another one
//! ```
//!
//! Each server has a core of its own, which is that of a consumer of one
//! connection; items have the same handles in all of them. The set hears what the
//! cores tell, passes on what comes from the active server of an item, and has
//! servers told their roles.

mod hearing;
mod requests;
mod sameness;
mod state;
mod succession;
mod turn;

use tapeline_time::Time;

use super::config::ConsumerConfig;
use super::core::{ConsumerCore, ConsumerInput, ConsumerOutputs};
use super::event::ConsumerHandler;
use super::requests::Requests;
use super::standby::StandbySet;
use crate::{ConsumerCounters, Login, Server};
use hearing::Hearing;
pub(super) use requests::Peers;
use state::SetState;
use turn::Turn;

/// The logic of a consumer of several servers.
#[derive(Debug)]
pub(super) struct SetCore {
    state: SetState,
    /// One for each server: the first goes through the list of the configuration.
    cores: Vec<ConsumerCore>,
}

/// A core and its [`Peers`].
macro_rules! split {
    ($set:expr, $place:expr) => {{
        let (before, rest) = $set.cores.split_at_mut($place);
        let (core, after) = rest.split_first_mut().expect("a place of the set");
        (core, Peers { set: &mut $set.state, place: $place, before, after })
    }};
}

impl SetCore {
    /// A set that begins with this one of the servers in the list.
    pub(super) fn new(config: &ConsumerConfig, standby: &StandbySet, first: usize) -> Self {
        let own = ConsumerConfig { standby: None, login: in_set(&config.login), ..config.clone() };
        let standing_by = standby.servers.iter().map(|it| {
            let servers = vec![it.server.clone()];
            ConsumerCore::new(ConsumerConfig { servers, ..own.clone() })
        });
        let standing_by: Vec<_> = standing_by.collect();
        let mut cores = vec![ConsumerCore::beginning_with(own, first)];
        cores.extend(standing_by);
        Self { state: SetState::new(config, standby), cores }
    }

    /// A server of one of the places.
    pub(super) fn server(&self, place: usize, server: usize) -> Option<&Server> {
        self.cores.get(place)?.server(server)
    }

    /// Something happened at one of the places.
    pub(super) fn handle(
        &mut self,
        place: usize,
        now: Time,
        input: ConsumerInput<'_>,
        out: &mut dyn ConsumerOutputs,
        handler: &mut dyn ConsumerHandler,
    ) {
        out.turn_to(place);
        let (core, peers) = split!(self, place);
        core.handle(now, input, out, &mut Hearing { peers, handler });
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do.
    pub(super) fn next_deadline(&mut self) -> Option<Time> {
        let started = self.started();
        let cores = self.cores[..started].iter_mut().filter_map(ConsumerCore::next_deadline).min();
        [cores, self.state.deadline()].into_iter().flatten().min()
    }

    /// Servers stand by once there is one to stand by for.
    fn started(&self) -> usize {
        if self.state.is_started { self.cores.len() } else { 1 }
    }

    /// Time has passed.
    pub(super) fn handle_timeout(
        &mut self,
        now: Time,
        out: &mut dyn ConsumerOutputs,
        handler: &mut dyn ConsumerHandler,
    ) {
        for place in 0..self.started() {
            let deadline = self.cores[place].next_deadline();
            if deadline.is_none_or(|deadline| deadline > now) {
                continue;
            }
            out.turn_to(place);
            let (core, peers) = split!(self, place);
            core.handle_timeout(now, out, &mut Hearing { peers, handler });
        }
        if self.state.deadline().is_some_and(|deadline| deadline <= now) {
            let all = self.requests(now, out);
            Turn { all, handler }.timeouts();
        }
    }

    /// What can be asked of the consumer now.
    pub(super) fn requests<'c>(
        &'c mut self,
        now: Time,
        out: &'c mut dyn ConsumerOutputs,
    ) -> Requests<'c> {
        out.turn_to(0);
        let (core, peers) = split!(self, 0);
        Requests { core, now, out, peers: Some(peers) }
    }

    /// What it has done so far at all of its servers, and what there is now.
    pub(super) fn counters(&self) -> ConsumerCounters {
        let mut sum = self.state.counts;
        sum.items = self.state.items.len();
        for core in &self.cores {
            let one = core.counters();
            sum.servers += one.servers;
            sum.outstanding_posts += one.outstanding_posts;
            sum.connected += one.connected;
            sum.lost += one.lost;
            sum.requests += one.requests;
            sum.refreshes += one.refreshes;
            sum.updates += one.updates;
            sum.statuses += one.statuses;
            sum.posts += one.posts;
            sum.posts_failed += one.posts_failed;
            sum.malformed += one.malformed;
        }
        sum
    }
}

/// A login in a set: items are recovered by the servers and by the set, or none
/// could stand in for another.
fn in_set(login: &Login) -> Login {
    let mut login = login.clone();
    login.attributes.single_open = Some(true);
    login
}
