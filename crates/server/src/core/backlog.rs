//! Work that grows with items or mounts, done a slice at a time.
//!
//! A hub that dies may have had 500,000 items here, a mount that leaves as many
//! streams. Whoever does all that at once keeps everybody else waiting
//! meanwhile, its hubs too, which take the server for gone. So an event that
//! brings much to do leaves a [`Job`] behind, and each
//! [`handle_timeout`](super::Core::handle_timeout) does a slice of what is
//! left, which is [due](super::Core::next_deadline) at once for as long as
//! there is any. Between two slices events come as ever: each job says what
//! they find.

use std::collections::VecDeque;

use tapeline_channel::{SessionId, join_freed};
use tapeline_planted::planted;
use tapeline_rwf::MapAction;
use tapeline_time::Time;

use super::Core;
use super::item::HubIndex;
use super::leave::Leaving;
use super::review::Review;
use super::rows::Cell;
use super::services::ServiceChanges;
use crate::Outputs;

/// What may be done in one slice, in steps of a microsecond or a few. The shell looks at
/// the clock between two slices.
const SLICE_STEPS: usize = 32;

/// What may be done at once to make room for one more item.
const STEPS_FOR_ROOM: usize = 128;

/// What a job may do before the next one of its kind has its turn.
const TURN_STEPS: usize = 32;

/// Telling one more watcher costs this part of a step.
const WATCHERS_PER_STEP: usize = 4;

/// Something to be done in steps.
#[derive(Debug)]
pub(super) enum Job {
    /// A hub is gone: posts on their way there are refused, and its items go on
    /// elsewhere.
    LoseHub(HubIndex),
    /// A service is down at this hub and up at another: its items move. So many
    /// are yet to be looked at.
    Move { hub: HubIndex, service_id: u16, left: usize },
    /// A service is up: the items that are at no hub, so many, are asked for.
    Ask { service_id: u16, left: usize },
    /// A service is up: requests that wait for it are tried again, from this
    /// mount's stream on.
    Retry { service_id: u16, next: (u32, i32) },
    /// A service is gone for good, with its items: those at this hub, or at
    /// none, so many.
    Delete { hub: HubIndex, service_id: u16, left: usize },
    /// Mounts are told what changed of the services.
    TellNews,
    /// Services became known: requests that wait for them are asked for,
    /// those behind this one.
    RetryUnplaced { next: Option<(Time, u32, i32)> },
    /// The batch of a mount, and what it said since.
    Batch(SessionId),
    /// Updates of a mount were held back: its streams get new images.
    Refresh(SessionId),
    /// A client said which part the server plays: its streams follow.
    Roles(SessionId),
    /// The server ends: so do all mounts, from this number on.
    EndAll { next: u32 },
    /// The streams of a mount that is gone or has logged out.
    Leave(Box<Leaving>),
    /// Who is logged in, and what is open, is looked at by another policy.
    Review(Review),
    /// Those who watch an item with another guard are looked at, from a cell on.
    Recheck { slot: u32, next: Cell },
    /// An operator ended the logins of a user, of whom these mounts are left.
    LogOut { user: Box<str>, sessions: Vec<SessionId> },
    /// A month begins: the watches of items from this one on, from a cell on, are
    /// written down anew.
    GoOn { slot: u32, next: Cell },
}

/// What jobs are about. Each kind has its share of a slice: a thousand mounts
/// that leave do not keep the items of a dead hub from being called stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    News,
    Hubs,
    Mounts,
    Leaving,
    Rights,
}

impl Kind {
    const ALL: [Self; 5] = [Self::News, Self::Rights, Self::Hubs, Self::Mounts, Self::Leaving];
}

impl Job {
    const fn kind(&self) -> Kind {
        match self {
            Self::LoseHub(_)
            | Self::Move { .. }
            | Self::Ask { .. }
            | Self::Retry { .. }
            | Self::Delete { .. }
            | Self::RetryUnplaced { .. } => Kind::Hubs,
            Self::TellNews => Kind::News,
            Self::Review(_) | Self::Recheck { .. } | Self::GoOn { .. } | Self::LogOut { .. } => {
                Kind::Rights
            }
            Self::Batch(_) | Self::Refresh(_) | Self::Roles(_) | Self::EndAll { .. } => {
                Kind::Mounts
            }
            Self::Leave(_) => Kind::Leaving,
        }
    }

    /// Takes over what a later job about the same is to do. Whether it was one.
    fn absorb(&mut self, later: &Self) -> bool {
        match (self, later) {
            (
                Self::Move { hub, service_id, left },
                Self::Move { hub: at, service_id: of, left: all },
            )
            | (
                Self::Delete { hub, service_id, left },
                Self::Delete { hub: at, service_id: of, left: all },
            ) if *hub == *at && *service_id == *of => *left = *all,
            (Self::Ask { service_id, left }, Self::Ask { service_id: of, left: all })
                if *service_id == *of =>
            {
                *left = *all;
            }
            (Self::Retry { service_id, next }, Self::Retry { service_id: of, next: first })
                if *service_id == *of =>
            {
                *next = *first;
            }
            (Self::Review(review), Self::Review(later)) => return review.absorb(later),
            (Self::Recheck { slot, next }, Self::Recheck { slot: of, next: first })
                if *slot == *of =>
            {
                *next = *first;
            }
            (Self::RetryUnplaced { next }, Self::RetryUnplaced { next: first }) => *next = *first,
            _ => return false,
        }
        true
    }
}

/// The jobs that are not done, those of each kind in turn.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    queues: [VecDeque<Job>; Kind::ALL.len()],
}

impl Backlog {
    pub(super) fn len(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queues.iter().all(VecDeque::is_empty)
    }

    /// Adds a job, unless there is one that does the same then.
    pub(super) fn add(&mut self, job: Job) {
        let queue = &mut self.queues[job.kind() as usize];
        let is_absorbed = matches!(job.kind(), Kind::Hubs | Kind::Rights)
            && queue.iter_mut().any(|known| known.absorb(&job));
        if !is_absorbed {
            queue.push_back(job);
        }
    }

    pub(super) fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.queues.iter().flatten()
    }

    fn next(&mut self, kind: Kind) -> Option<Job> {
        let queue = &mut self.queues[kind as usize];
        let job = queue.pop_front();
        if queue.is_empty() {
            *queue = VecDeque::new();
        }
        job
    }
}

/// What it costs to tell so many something.
pub(super) const fn steps_to_tell(watchers: usize) -> usize {
    1 + watchers / WATCHERS_PER_STEP
}

impl Core {
    /// Does a slice of what is left to do.
    pub(super) fn work_off<O: Outputs>(&mut self, out: &mut O) {
        let share = SLICE_STEPS / Kind::ALL.len();
        let mut left = SLICE_STEPS;
        for kind in Kind::ALL {
            left = left.saturating_sub(self.work_off_kind(kind, share, out));
        }
        // What a kind does not need is for the others.
        for kind in Kind::ALL {
            left = left.saturating_sub(self.work_off_kind(kind, left, out));
        }
        if left < SLICE_STEPS {
            join_freed();
        }
    }

    /// Does the first steps of the jobs of mounts at once.
    pub(super) fn begin_jobs_of_mounts<O: Outputs>(&mut self, out: &mut O) {
        self.work_off_kind(Kind::Mounts, TURN_STEPS, out);
    }

    /// Does so many steps of jobs of a kind. Returns how many it were.
    fn work_off_kind<O: Outputs>(&mut self, kind: Kind, steps: usize, out: &mut O) -> usize {
        let mut done = 0;
        while done < steps
            && let Some(mut job) = self.backlog.next(kind)
        {
            let turn = (done + TURN_STEPS).min(steps);
            loop {
                // To find that a job is done is a step as well: a thousand mounts
                // that leave with nothing are.
                let cost = self.step(&mut job, out);
                done += cost.unwrap_or(1);
                if cost.is_none() {
                    break;
                }
                if done >= turn {
                    if !planted!(ForgottenRest) {
                        self.backlog.queues[kind as usize].push_back(job);
                    }
                    break;
                }
            }
        }
        done
    }

    /// Does a step of a job. Returns what it cost; `None`: the job is done.
    fn step<O: Outputs>(&mut self, job: &mut Job, out: &mut O) -> Option<usize> {
        match job {
            Job::LoseHub(hub) => self.lose_hub_step(*hub, out),
            Job::Move { hub, service_id, left } => self.move_step(*hub, *service_id, left, out),
            Job::Ask { service_id, left } => self.ask_step(*service_id, left, out),
            Job::Retry { service_id, next } => self.retry_step(*service_id, next, out),
            Job::Delete { hub, service_id, left } => self.delete_step(*hub, *service_id, left, out),
            Job::TellNews => self.news_step(out),
            Job::RetryUnplaced { next } => self.retry_unplaced_step(next, out),
            Job::Batch(session) => self.batch_step(*session, out),
            Job::Refresh(session) => self.refresh_step(*session, out),
            Job::Roles(session) => self.roles_step(*session, out),
            Job::EndAll { next } => self.end_step(next, out),
            Job::Leave(leaving) => self.leave_step(leaving, out),
            Job::Review(review) => self.review_step(review, out),
            Job::Recheck { slot, next } => self.recheck_step(*slot, next, out),
            Job::LogOut { user, sessions } => self.log_out_step(user, sessions, out),
            Job::GoOn { slot, next } => self.go_on_step((slot, next), out),
        }
    }

    /// Whether the server has room for one more item.
    pub(super) fn has_room<O: Outputs>(&mut self, out: &mut O) -> bool {
        self.has_room_in(None, out)
    }

    /// Whether there is room for one more item, of the server or of a service: mounts
    /// that leave make some.
    pub(super) fn has_room_in<O: Outputs>(&mut self, service: Option<u16>, out: &mut O) -> bool {
        let is_full = |core: &Self| match service {
            None => core.items.count.total() >= core.config.limits.max_items,
            Some(service_id) => core.items.bounds.is_full(service_id),
        };
        let mut left = STEPS_FOR_ROOM;
        while is_full(self) && left > 0 {
            let done = self.work_off_kind(Kind::Leaving, left.min(TURN_STEPS), out);
            left = if done == 0 { 0 } else { left.saturating_sub(done) };
        }
        !is_full(self)
    }

    /// Leaves behind what is to be done for items and requests of services that
    /// changed.
    pub(super) fn owe_services(&mut self, changes: &ServiceChanges) {
        for entry in &changes.entries {
            if entry.action == MapAction::DELETE {
                let service_id = entry.service_id;
                for (hub, left) in self.items.at_hubs().counts(service_id) {
                    self.backlog.add(Job::Delete { hub, service_id, left });
                }
            }
        }
        for service_id in &changes.services {
            if self.services.is_usable(*service_id) {
                self.owe_usable(*service_id);
            }
        }
    }

    /// Leaves behind what is to be done for a service that can be used.
    pub(super) fn owe_usable(&mut self, service_id: u16) {
        for hub in self.hubs.indexes() {
            let left = self.items.at_hubs().count((hub, service_id));
            if left > 0 && self.is_down_at(hub, service_id) {
                self.backlog.add(Job::Move { hub, service_id, left });
            }
        }
        let left = self.items.count_nowhere(service_id);
        if left > 0 {
            self.backlog.add(Job::Ask { service_id, left });
        }
        let first = (0, i32::MIN);
        if self.waiting.next_pending(service_id, first).is_some() {
            self.backlog.add(Job::Retry { service_id, next: first });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_is_there_already_begins_anew() {
        let mut backlog = Backlog::default();
        backlog.add(Job::Ask { service_id: 1, left: 5 });
        backlog.add(Job::Ask { service_id: 2, left: 5 });
        backlog.add(Job::Ask { service_id: 1, left: 7 });
        backlog.add(Job::Move { hub: 0, service_id: 1, left: 1 });
        backlog.add(Job::Move { hub: 1, service_id: 1, left: 2 });
        backlog.add(Job::Move { hub: 1, service_id: 1, left: 3 });
        backlog.add(Job::Retry { service_id: 1, next: (3, 4) });
        backlog.add(Job::Retry { service_id: 1, next: (0, 0) });
        assert_eq!(backlog.len(), 5);
        let jobs: Vec<_> = std::iter::from_fn(|| backlog.next(Kind::Hubs)).collect();
        assert!(matches!(
            jobs[..],
            [
                Job::Ask { service_id: 1, left: 7 },
                Job::Ask { service_id: 2, left: 5 },
                Job::Move { hub: 0, left: 1, .. },
                Job::Move { hub: 1, left: 3, .. },
                Job::Retry { next: (0, 0), .. },
            ]
        ));
        assert!(backlog.is_empty());
    }

    #[test]
    fn to_tell_nobody_is_a_step() {
        assert_eq!([0, 3, 4, 400].map(steps_to_tell), [1, 1, 2, 101]);
    }
}
