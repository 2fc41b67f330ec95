//! Who of several servers is the active one.

use std::time::Duration;

use tapeline_omm::login::WarmStandbyMode;
use tapeline_time::Time;

/// Roles that servers are to be told, in this order.
pub(super) type Roles = Vec<(usize, WarmStandbyMode)>;

/// How a server is, for what it may become active with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    /// It cannot be active now.
    Down,
    /// It can.
    Up,
    /// It is left out for good.
    Out,
}

/// How a server went down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fall {
    /// It can still be told that it is to stand by: only its service is down.
    Reachable,
    /// It forgets its role: the connection or the service is gone.
    Gone,
}

/// Which of the servers of a set is the active one: for everything, or for one
/// service.
///
/// ```text
///  the starting one up, or it failed and another is up ─▶ active
///  another one up                                      ─▶ standby
///  the active one down    ─▶ the first other that is up is active
///  it comes back          ─▶ standby; or, the starting one being preferred,
///                            active again after a while
/// ```
///
/// An active server that is down, with nobody in its place, stays the one that
/// is listened to: it is the one that says why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Succession {
    servers: Vec<Place>,
    active: Option<usize>,
    /// Who is to be active first.
    starting: usize,
    /// It was up, or is known not to be: others need not wait for it.
    is_settled: bool,
    /// How long the starting one is to be up before it is active again.
    back_after: Option<Duration>,
    back_at: Option<Time>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    standing: Standing,
    /// What it was told, and knows.
    told_active: Option<bool>,
}

impl Succession {
    /// So many servers, all of them down.
    pub(super) fn new(servers: usize, starting: usize, back_after: Option<Duration>) -> Self {
        debug_assert!(starting < servers, "the configuration was checked");
        Self {
            servers: vec![Place { standing: Standing::Down, told_active: None }; servers],
            active: None,
            starting,
            is_settled: false,
            back_after,
            back_at: None,
        }
    }

    /// Who is listened to.
    pub(super) const fn active(&self) -> Option<usize> {
        self.active
    }

    /// Whether a server can be active.
    pub(super) fn is_anybody_up(&self) -> bool {
        (0..self.servers.len()).any(|server| self.is_up(server))
    }

    /// Who is to be active first.
    pub(super) const fn starting(&self) -> usize {
        self.starting
    }

    /// When [`timeout`](Self::timeout) has something to do.
    pub(super) const fn deadline(&self) -> Option<Time> {
        self.back_at
    }

    /// A server can be active.
    pub(super) fn up(&mut self, server: usize, now: Time) -> Roles {
        let mut roles = Roles::new();
        let place = &mut self.servers[server];
        if place.standing != Standing::Down {
            return roles;
        }
        place.standing = Standing::Up;
        self.is_settled |= server == self.starting;
        match self.active {
            Some(active) if active != server && self.is_up(active) => {
                self.tell(server, false, &mut roles);
                if let Some(after) = self.back_after.filter(|_| server == self.starting) {
                    self.back_at = Some(now.after(after));
                }
            }
            _ if !self.is_settled => self.tell(server, false, &mut roles),
            _ => self.activate(server, &mut roles),
        }
        roles
    }

    /// A server cannot be active any more, or could not be reached.
    pub(super) fn down(&mut self, server: usize, fall: Fall) -> Roles {
        let mut roles = Roles::new();
        let place = &mut self.servers[server];
        if place.standing != Standing::Out {
            place.standing = Standing::Down;
        }
        if fall == Fall::Gone {
            place.told_active = None;
        }
        if server == self.starting {
            self.is_settled = true;
            self.back_at = None;
        }
        self.succeed(&mut roles);
        roles
    }

    /// A server is left out for good.
    pub(super) fn out(&mut self, server: usize) -> Roles {
        let mut roles = self.down(server, Fall::Gone);
        self.servers[server].standing = Standing::Out;
        if self.active == Some(server) {
            debug_assert!(roles.is_empty(), "somebody else would be active");
            self.active = None;
        }
        self.succeed(&mut roles);
        roles
    }

    /// It is known whether the starting server is up.
    pub(super) fn settle(&mut self) -> Roles {
        let mut roles = Roles::new();
        self.is_settled = true;
        self.succeed(&mut roles);
        roles
    }

    /// Time has passed.
    pub(super) fn timeout(&mut self, now: Time) -> Roles {
        let mut roles = Roles::new();
        if self.back_at.is_some_and(|at| at <= now) {
            self.back_at = None;
            if self.is_up(self.starting) && self.active != Some(self.starting) {
                self.activate(self.starting, &mut roles);
            }
        }
        roles
    }

    fn is_up(&self, server: usize) -> bool {
        self.servers[server].standing == Standing::Up
    }

    /// Whoever is active can be, if anybody can.
    fn succeed(&mut self, roles: &mut Roles) {
        let is_served = self.active.is_some_and(|active| self.is_up(active));
        if is_served || !self.is_settled {
            return;
        }
        if let Some(next) = (0..self.servers.len()).find(|server| self.is_up(*server)) {
            self.activate(next, roles);
        }
    }

    /// The one before, if it can still hear it, is told first: two that send at
    /// a time are worse than none.
    fn activate(&mut self, server: usize, roles: &mut Roles) {
        if let Some(before) = self.active.filter(|before| *before != server)
            && self.servers[before].told_active == Some(true)
        {
            self.tell(before, false, roles);
        }
        self.active = Some(server);
        if server == self.starting {
            self.back_at = None;
        }
        self.tell(server, true, roles);
    }

    fn tell(&mut self, server: usize, active: bool, roles: &mut Roles) {
        let told = &mut self.servers[server].told_active;
        if *told != Some(active) {
            *told = Some(active);
            let mode = if active { WarmStandbyMode::Active } else { WarmStandbyMode::Standby };
            roles.push((server, mode));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const BACK_AFTER: Duration = Duration::from_secs(1);
    const SERVERS: usize = 3;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Up(usize),
        Lost(usize),
        ServiceDown(usize),
        Out(usize),
        Settle,
        Wait,
    }

    fn steps() -> Vec<Step> {
        let each = |of: fn(usize) -> Step| (0..SERVERS).map(of);
        let mut steps: Vec<_> = each(Step::Up).collect();
        steps.extend(each(Step::Lost).chain(each(Step::ServiceDown)).chain(each(Step::Out)));
        steps.extend([Step::Settle, Step::Wait]);
        steps
    }

    fn take(it: &mut Succession, step: Step) -> Roles {
        match step {
            Step::Up(server) => it.up(server, Time::ZERO),
            Step::Lost(server) => it.down(server, Fall::Gone),
            Step::ServiceDown(server) => it.down(server, Fall::Reachable),
            Step::Out(server) => it.out(server),
            Step::Settle => it.settle(),
            Step::Wait => it.timeout(Time::ZERO.after(BACK_AFTER)),
        }
    }

    fn check(before: &Succession, it: &Succession, step: Step, roles: &Roles) {
        let case = || format!("{before:?} {step:?} -> {roles:?} {it:?}");
        let up: Vec<_> = (0..SERVERS).filter(|server| it.is_up(*server)).collect();
        let told_active: Vec<_> =
            (0..SERVERS).filter(|server| it.servers[*server].told_active == Some(true)).collect();
        assert!(told_active.len() <= 1, "two are active: {}", case());
        if it.is_settled && !up.is_empty() {
            let active = it.active.unwrap_or_else(|| panic!("nobody is active: {}", case()));
            assert!(up.contains(&active), "{}", case());
            assert_eq!(told_active, [active], "{}", case());
        }
        for server in up {
            assert!(it.servers[server].told_active.is_some(), "no role: {}", case());
        }
        if let Some(active) = it.active {
            assert_ne!(it.servers[active].standing, Standing::Out, "{}", case());
        }
        // Nobody who works well loses its part, but to the preferred one in its time.
        if let Some(was) = before.active.filter(|was| it.is_up(*was) && before.is_up(*was))
            && it.active != Some(was)
        {
            assert!(matches!(step, Step::Wait), "{}", case());
            assert!(it.back_after.is_some() && it.active == Some(it.starting), "{}", case());
        }
        if matches!(step, Step::Wait) && it.back_after.is_some() && it.is_up(it.starting) {
            assert_eq!(it.active, Some(it.starting), "{}", case());
        }
        // Who gives a part up is told before who takes it.
        let actives = roles.iter().position(|(_, mode)| *mode == WarmStandbyMode::Active);
        let standbys = roles.iter().rposition(|(_, mode)| *mode == WarmStandbyMode::Standby);
        if let (Some(active), Some(standby)) = (actives, standbys) {
            assert!(standby < active, "{}", case());
        }
    }

    /// Every state that can be reached, by every step.
    #[test]
    fn whatever_happens_one_that_can_is_active_and_no_two_are() {
        for back_after in [None, Some(BACK_AFTER)] {
            for starting in 0..SERVERS {
                let first = Succession::new(SERVERS, starting, back_after);
                let mut seen = BTreeSet::from([first.clone()]);
                let mut open = vec![first];
                while let Some(before) = open.pop() {
                    for step in steps() {
                        let mut it = before.clone();
                        let roles = take(&mut it, step);
                        check(&before, &it, step, &roles);
                        if seen.insert(it.clone()) {
                            open.push(it);
                        }
                    }
                }
                assert!(seen.len() > 100, "{} states", seen.len());
            }
        }
    }

    fn words(roles: &Roles) -> Vec<String> {
        roles.iter().map(|(server, mode)| format!("{server} {mode:?}")).collect()
    }

    #[test]
    fn others_wait_for_the_starting_one_until_it_is_there_or_is_known_not_to_be() {
        let mut it = Succession::new(SERVERS, 0, None);
        assert_eq!(words(&it.up(1, Time::ZERO)), ["1 Standby"]);
        assert_eq!(it.active(), None);
        assert_eq!(words(&it.clone().up(0, Time::ZERO)), ["0 Active"]);
        assert_eq!(words(&it.down(0, Fall::Gone)), ["1 Active"]);
        assert_eq!(words(&it.up(0, Time::ZERO)), ["0 Standby"], "it comes too late");
    }

    #[test]
    fn the_active_one_is_followed_by_the_first_that_is_up() {
        let mut it = Succession::new(SERVERS, 0, None);
        for server in 0..SERVERS {
            it.up(server, Time::ZERO);
        }
        assert_eq!(words(&it.down(0, Fall::Gone)), ["1 Active"]);
        assert_eq!(words(&it.down(1, Fall::Reachable)), ["1 Standby", "2 Active"]);
        assert_eq!(words(&it.down(2, Fall::Gone)), [""; 0]);
        assert_eq!(it.active(), Some(2), "nobody else says why");
        assert_eq!(words(&it.up(1, Time::ZERO)), ["1 Active"]);
    }

    #[test]
    fn the_preferred_one_is_active_again_after_its_time() {
        let mut it = Succession::new(SERVERS, 0, Some(BACK_AFTER));
        for server in 0..SERVERS {
            it.up(server, Time::ZERO);
        }
        it.down(0, Fall::Gone);
        let back = Time::ZERO.after(BACK_AFTER);
        assert_eq!(words(&it.up(0, back)), ["0 Standby"]);
        assert_eq!(it.deadline(), Some(back.after(BACK_AFTER)));
        assert_eq!(words(&it.timeout(back)), [""; 0]);
        assert_eq!(words(&it.timeout(back.after(BACK_AFTER))), ["1 Standby", "0 Active"]);
        assert_eq!(it.deadline(), None);
    }
}
