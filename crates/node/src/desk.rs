//! Questions of other threads, answered a slice at a time.

use std::time::Duration;

use tapeline_counters::{Act, Answer, Ask, Query, QueryQueue, Rates, Scan};
use tapeline_server::TraceWanted;
use tapeline_time::Time;

use crate::Agent;

/// How often a busy thread looks for questions, and does a slice of one.
const INTERVAL: Duration = Duration::from_millis(1);

/// Places of a table that are looked at before the clock is.
const PLACES_PER_LOOK: u32 = 64;

/// How long a slice takes.
const SLICE: Duration = Duration::from_micros(50);

/// The desk at which a thread answers questions, one at a time.
#[derive(Debug)]
pub(super) struct Desk {
    queue: QueryQueue,
    looked: Time,
    /// The question that is being answered.
    inquiry: Option<Inquiry>,
    /// What looks noted of views with a rate, by the place of the agent on the thread.
    rates: Vec<(usize, Rates)>,
}

#[derive(Debug)]
struct Inquiry {
    query: Query,
    /// The agent that is asked now, by its place on the thread.
    agent: usize,
    scan: Option<Scan>,
    answers: Vec<Answer>,
}

impl Desk {
    /// One for the questions of a queue.
    pub(super) const fn new(queue: QueryQueue) -> Self {
        Self { queue, looked: Time::ZERO, inquiry: None, rates: Vec::new() }
    }

    /// Whether a slice is to be done at `now`, behind a turn that did `work`. A
    /// thread with nothing else to do gives all its time.
    pub(super) fn is_due(&self, now: Time, work: usize) -> bool {
        let is_idle = work == 0 && self.inquiry.is_some();
        is_idle || now.since(self.looked) >= INTERVAL
    }

    /// Whether anything is asked now.
    pub(super) fn has_question(&mut self, now: Time) -> bool {
        self.looked = now;
        if self.inquiry.is_none() {
            self.forget_rates(now);
            self.inquiry = self.queue.next().map(Inquiry::new);
        }
        self.inquiry.is_some()
    }

    /// Lets go of what nobody asks for any more, a piece at a time.
    fn forget_rates(&mut self, now: Time) {
        let now_ms = millis(now);
        self.rates.retain_mut(|(_, rates)| !rates.is_forgotten(now_ms) || !rates.release());
    }

    /// Does a slice of what is asked.
    pub(super) fn work(
        &mut self,
        now: Time,
        agents: &mut [&mut dyn Agent],
        mut clock: impl FnMut() -> Time,
    ) {
        let Some(inquiry) = &mut self.inquiry else { return };
        let began = clock();
        let is_done = inquiry.work(now, agents, &mut self.rates, || clock().since(began) >= SLICE);
        if is_done && let Some(Inquiry { query, answers, .. }) = self.inquiry.take() {
            query.answer(answers);
        }
    }
}

impl Inquiry {
    fn new(query: Query) -> Self {
        Self { query, agent: 0, scan: None, answers: Vec::new() }
    }

    /// Whether it is answered.
    fn work(
        &mut self,
        now: Time,
        agents: &mut [&mut dyn Agent],
        known_rates: &mut Vec<(usize, Rates)>,
        mut is_time_over: impl FnMut() -> bool,
    ) -> bool {
        if let Ask::Act(act) = &self.query.ask {
            self.answers.extend(agents.iter_mut().map(|agent| done(now, &mut **agent, act)));
            return true;
        }
        let Ask::Rows(rows) = &self.query.ask else { return true };
        while let Some(agent) = agents.get(self.agent) {
            let is_asked = rows.at.is_empty() || rows.at == agent.name();
            if self.scan.is_none() && is_asked {
                let of = self.agent;
                let known = |view| {
                    let is_its =
                        |(agent, rates): &(usize, Rates)| *agent == of && rates.view() == view;
                    let place = known_rates.iter().position(is_its);
                    place.map_or_else(|| Rates::new(view), |at| known_rates.swap_remove(at).1)
                };
                self.scan =
                    Scan::new(rows, &**agent).map(|scan| scan.with_rates(known, millis(now)));
            }
            if let Some(scan) = &mut self.scan {
                while !scan.step(&**agent, PLACES_PER_LOOK) {
                    if is_time_over() {
                        return false;
                    }
                }
            }
            if let Some(mut scan) = self.scan.take() {
                self.answers.push(scan.finish(agent.name(), &**agent));
                known_rates.extend(scan.take_rates().map(|rates| (self.agent, rates)));
            }
            self.agent += 1;
        }
        true
    }
}

const fn millis(now: Time) -> u64 {
    now.as_nanos() / 1_000_000
}

/// What an agent did of an act.
fn done(now: Time, agent: &mut dyn Agent, act: &Act) -> Answer {
    let done = match act {
        Act::CloseMount { server, channel, reason } if server == agent.name() => {
            usize::from(agent.close_mount(now, channel, reason))
        }
        Act::Logout { user } => agent.log_out(user),
        Act::Drain { server, per_s } if server.is_empty() || server == agent.name() => {
            agent.drain(now, *per_s)
        }
        Act::DrainSource { name, drains } => usize::from(agent.drain_source(now, name, *drains)),
        Act::Trace { item, service, for_ms } => {
            let (item, service) = (item.clone(), service.clone());
            let wanted = TraceWanted { item, service, for_ms: *for_ms };
            usize::from(agent.trace(now, wanted))
        }
        Act::CloseMount { .. } | Act::Drain { .. } | Act::Operate { .. } => 0,
    };
    Answer::of_act(agent.name(), done)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;
    use tapeline_backbone::Role;
    use tapeline_counters::{QuerySender, Registry, Row, Rows, Value, View, Viewed};

    const VIEW: &View = &View { name: "numbers", about: &[], columns: &[] };

    /// One with as many rows as it says.
    struct Numbers(u32, &'static str);

    impl Viewed for Numbers {
        fn views(&self) -> &'static [&'static View] {
            &[VIEW]
        }

        fn places(&self, _: &View) -> u32 {
            self.0
        }

        fn row(&self, _: &View, place: u32) -> Option<Row> {
            // Few are wanted, so that all are looked at.
            place.is_multiple_of(100_000).then(|| vec![Value::from(place)])
        }
    }

    impl Agent for Numbers {
        fn name(&self) -> &str {
            self.1
        }

        fn role(&self) -> Role {
            Role::Server
        }

        fn duty_cycle(&mut self, _: Time) -> usize {
            0
        }

        fn is_quiet(&mut self) -> bool {
            true
        }

        fn next_deadline(&self) -> Option<Time> {
            None
        }

        fn counts(&self) -> Vec<(&'static str, u64)> {
            Vec::new()
        }

        fn close_mount(&mut self, _: Time, session: &str, _: &str) -> bool {
            session == "3.1"
        }

        fn shutdown(&mut self, _: Time) {}

        fn is_over(&self) -> bool {
            true
        }
    }

    fn desk() -> (Desk, QuerySender) {
        let registry = Registry::default();
        let desk = Desk::new(registry.open_queue("main").expect("room"));
        let sender = registry.queues().next().expect("it is there").clone();
        (desk, sender)
    }

    fn ask(sender: &QuerySender, ask: Ask) -> Receiver<Vec<Answer>> {
        let (reply, answers) = channel();
        let query = Query::new(ask, move |all| reply.send(all).expect("somebody waits"));
        sender.ask(query).expect("there is room");
        answers
    }

    #[test]
    fn a_million_rows_are_looked_at_in_slices_of_a_twentieth_of_a_millisecond() {
        let (mut desk, sender) = desk();
        let rows = Rows { view: "numbers".to_owned(), limit: 1_000, ..Rows::default() };
        let answers = ask(&sender, Ask::Rows(rows));
        let mut numbers = [Numbers(1_000_000, "a"), Numbers(100_000, "b")];
        let [first, second] = &mut numbers;
        let mut agents: [&mut dyn Agent; 2] = [first, second];
        let (mut now, mut slices, mut longest) = (Time::ZERO, 0, Duration::ZERO);
        while desk.has_question(now) {
            let began = now;
            // Each look at the clock is 64 places later, of some 30 ns.
            desk.work(began, &mut agents, || {
                now = now.after(Duration::from_micros(2));
                now
            });
            longest = longest.max(now.since(began));
            slices += 1;
        }
        assert!(longest <= SLICE + Duration::from_micros(4), "{longest:?}");
        assert!((300..1_000).contains(&slices), "{slices} slices");
        let answers = answers.try_recv().expect("answered");
        let found: Vec<_> = answers.iter().map(|it| (&*it.of, it.rows.len())).collect();
        assert_eq!(found, [("a", 10), ("b", 1)]);
    }

    #[test]
    fn a_busy_thread_looks_once_a_millisecond_and_an_idle_one_goes_on_at_once() {
        let (mut desk, sender) = desk();
        let at = |us| Time::ZERO.after(Duration::from_micros(us));
        assert!(desk.is_due(at(1_000), 5) && !desk.has_question(at(1_000)));
        assert!(!desk.is_due(at(1_999), 5) && !desk.is_due(at(1_999), 0));
        let _answers = ask(&sender, Ask::Rows(Rows::default()));
        assert!(desk.is_due(at(2_000), 5) && desk.has_question(at(2_000)));
        assert!(!desk.is_due(at(2_001), 5) && desk.is_due(at(2_001), 0));
    }

    #[test]
    fn a_mount_is_closed_where_it_is() {
        let (mut desk, sender) = desk();
        let act = |server: &str| {
            let (server, channel) = (server.to_owned(), "3.1".to_owned());
            Ask::Act(Act::CloseMount { server, channel, reason: String::new() })
        };
        let answers = [ask(&sender, act("b")), ask(&sender, act("c"))];
        let mut numbers = [Numbers(0, "a"), Numbers(0, "b")];
        let [first, second] = &mut numbers;
        let mut agents: [&mut dyn Agent; 2] = [first, second];
        while desk.has_question(Time::ZERO) {
            desk.work(Time::ZERO, &mut agents, || Time::ZERO);
        }
        let done = answers.map(|answers| {
            let all = answers.try_recv().expect("answered");
            all.iter().map(|answer| answer.done).sum::<usize>()
        });
        assert_eq!(done, [1, 0]);
    }
}
