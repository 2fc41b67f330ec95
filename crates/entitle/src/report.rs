//! Reports of usage: what the exchanges are told.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use time::OffsetDateTime;

use crate::document::Count;
use crate::journal::{Kind, Usage};
use crate::lock::Lock;
use crate::policy::Policy;

/// A month, as 2026-10.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReportMonth {
    year: i32,
    month: u8,
}

impl ReportMonth {
    /// Reads `2026-10`.
    pub fn parse(text: &str) -> Option<Self> {
        let (year, month) = text.split_once('-')?;
        let (year, month) = (year.parse().ok()?, month.parse().ok()?);
        (1..=12).contains(&month).then_some(Self { year, month })
    }

    /// The month of a moment, in UTC.
    fn of(time_ms: u64) -> Option<Self> {
        let moment = OffsetDateTime::from_unix_timestamp((time_ms / 1000) as i64).ok()?;
        Some(Self { year: moment.year(), month: moment.month().into() })
    }
}

/// User, position, application, service and item of a watch.
type Watch<'a> = [&'a str; 5];

/// What is counted of one product.
#[derive(Debug, Default)]
struct Tally<'a> {
    users: BTreeSet<&'a str>,
    units: BTreeSet<&'a str>,
    by_application: BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// How many watches each unit has open.
    open: BTreeMap<&'a str, u32>,
    peak: usize,
    snapshots: u64,
}

impl<'a> Tally<'a> {
    fn count(&mut self, watch: &Watch<'a>, unit: Option<&'a str>) {
        let [user, _, application, ..] = *watch;
        self.users.insert(user);
        self.by_application.entry(application).or_default().insert(user);
        self.units.extend(unit);
    }
}

/// Usage by product in a month, added up record by record, in the order of
/// time; journals of several servers are merged before, so that whoever uses
/// two is counted once.
#[derive(Debug)]
pub struct Report<'a> {
    policy: &'a Policy,
    month: ReportMonth,
    has_begun: bool,
    tallies: Vec<Tally<'a>>,
    /// The watches that are open: how many mounts of the position have each, and
    /// the products that it uses.
    open: BTreeMap<Watch<'a>, (u32, Vec<usize>)>,
}

impl<'a> Report<'a> {
    /// A report of a month, by the products of a policy.
    pub fn new(policy: &'a Policy, month: ReportMonth) -> Self {
        let tallies = policy.products().iter().map(|_| Tally::default()).collect();
        Self { policy, month, has_begun: false, tallies, open: BTreeMap::new() }
    }

    /// Adds a record. Those before the month tell what was open at its start,
    /// those behind it nothing.
    pub fn add(&mut self, usage: &Usage<'a>) {
        let Some(month) = ReportMonth::of(usage.time_ms).filter(|month| *month <= self.month)
        else {
            return;
        };
        if month == self.month {
            self.begin();
        }
        let Usage { user, position, application, service, item, .. } = *usage;
        let watch = [user, position, application, service, item];
        match usage.kind {
            Kind::StartWatch | Kind::ContinueWatch => self.start(watch, usage),
            Kind::StopWatch => self.stop(&watch),
            // Whoever is gone watches nothing any more.
            Kind::Logout => {
                let is_of = |open: &&Watch<'a>| open[..3] == watch[..3];
                let ended: Vec<Watch<'a>> = self.open.keys().filter(is_of).copied().collect();
                for watch in &ended {
                    self.end(watch);
                }
            }
            Kind::Snapshot if self.has_begun => {
                for product in self.products(usage) {
                    let unit = self.unit(product, &watch);
                    self.tallies[product].snapshots += 1;
                    self.tallies[product].count(&watch, unit);
                }
            }
            _ => {}
        }
    }

    /// What is open when the month begins is used in it.
    fn begin(&mut self) {
        if std::mem::replace(&mut self.has_begun, true) {
            return;
        }
        let open = std::mem::take(&mut self.open);
        for (watch, (_, products)) in &open {
            for product in products {
                let unit = self.unit(*product, watch);
                self.tallies[*product].count(watch, unit);
            }
        }
        self.tallies.iter_mut().for_each(|tally| tally.peak = tally.open.len());
        self.open = open;
    }

    fn start(&mut self, watch: Watch<'a>, usage: &Usage<'a>) {
        if let Some((mounts, _)) = self.open.get_mut(&watch) {
            *mounts += u32::from(usage.kind == Kind::StartWatch);
            return;
        }
        let products = self.products(usage);
        for product in &products {
            let unit = self.unit(*product, &watch);
            let tally = &mut self.tallies[*product];
            if let Some(unit) = unit {
                *tally.open.entry(unit).or_default() += 1;
            }
            if self.has_begun {
                tally.count(&watch, unit);
                tally.peak = tally.peak.max(tally.open.len());
            }
        }
        self.open.insert(watch, (1, products));
    }

    fn stop(&mut self, watch: &Watch<'a>) {
        match self.open.get_mut(watch) {
            Some((mounts, _)) if *mounts > 1 => *mounts -= 1,
            _ => self.end(watch),
        }
    }

    fn end(&mut self, watch: &Watch<'a>) {
        let (_, products) = self.open.remove(watch).unwrap_or_default();
        for product in products {
            let Some(unit) = self.unit(product, watch) else { continue };
            let open = &mut self.tallies[product].open;
            if let Some(watches) = open.get_mut(unit) {
                *watches -= 1;
                if *watches == 0 {
                    open.remove(unit);
                }
            }
        }
    }

    /// The products by which the user may see the item: those with a code of
    /// its lock, and that the user's roles have.
    fn products(&self, usage: &Usage<'_>) -> Vec<usize> {
        let policy = self.policy;
        let lock = Lock::decode(usage.lock, policy.document.lock_sources);
        let (Some(profile), Ok(lock)) = (policy.profile_of(usage.user), lock) else {
            return Vec::new();
        };
        let owned: Vec<&str> =
            policy.products_of(profile).map(|product| product.name.as_str()).collect();
        let is_used = |at: &usize| {
            let product = &policy.products()[*at];
            let has = |code: &u32| {
                product.codes.iter().any(|(first, last)| first <= code && code <= last)
            };
            owned.contains(&product.name.as_str())
                && lock.demands().iter().any(|demand| {
                    let service = policy.lock_services.get(&demand.service);
                    service.map_or(usage.service, String::as_str) == product.service
                        && demand.groups.iter().flatten().any(has)
                })
        };
        (0..policy.products().len()).filter(is_used).collect()
    }

    fn unit(&self, product: usize, watch: &Watch<'a>) -> Option<&'a str> {
        let [user, position, application, ..] = *watch;
        match self.policy.products()[product].count {
            Count::User => Some(user),
            Count::Position => Some(position),
            Count::Application => Some(application),
            Count::None => None,
        }
    }

    /// One line for each product, with a line of names above: who is
    /// permissioned, who used it, how many units its exchange counts, the most
    /// of them at a time, snapshots.
    pub fn products_csv(&mut self) -> String {
        self.begin();
        let mut csv = "exchange,product,permissioned,used,count,units,peak,snapshots\n".to_owned();
        for (product, tally) in self.policy.products().iter().zip(&self.tallies) {
            let count = match product.count {
                Count::User => "user",
                Count::Position => "position",
                Count::Application => "application",
                Count::None => "none",
            };
            let permissioned = self.permissioned(&product.name).len();
            let (exchange, name) = (quoted(&product.exchange), quoted(&product.name));
            let (used, units) = (tally.users.len(), tally.units.len());
            let (peak, snapshots) = (tally.peak, tally.snapshots);
            let line = format!(
                "{exchange},{name},{permissioned},{used},{count},{units},{peak},{snapshots}\n"
            );
            csv.push_str(&line);
        }
        csv
    }

    /// One line for each user of a product through an application, and for
    /// each who may use it and did not (`unused`).
    pub fn users_csv(&mut self) -> String {
        self.begin();
        let mut csv = "exchange,product,user,application,usage\n".to_owned();
        for (product, tally) in self.policy.products().iter().zip(&self.tallies) {
            let (exchange, name) = (quoted(&product.exchange), quoted(&product.name));
            for (application, users) in &tally.by_application {
                for user in users {
                    let (user, application) = (quoted(user), quoted(application));
                    let _ = writeln!(csv, "{exchange},{name},{user},{application},used");
                }
            }
            for user in self.permissioned(&product.name) {
                if !tally.users.contains(user) {
                    let _ = writeln!(csv, "{exchange},{name},{},,unused", quoted(user));
                }
            }
        }
        csv
    }

    fn permissioned(&self, product: &str) -> Vec<&'a str> {
        let policy = self.policy;
        let has = |user: &&str| {
            let profile = policy.profile_of(user);
            profile
                .is_some_and(|profile| policy.products_of(profile).any(|one| one.name == product))
        };
        policy.users().filter(has).collect()
    }
}

/// A text as a cell: in quotes where it has to be.
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: &str = r#"version = 1
[[lock-service]]
id = 257
service = "FEED"
[[product]]
name = "LSE, one"
exchange = "LSE"
service = "FEED"
pe = [62]
[[product]]
name = "DESKS"
service = "FEED"
pe = [62]
count = "position"
[[product]]
name = "L2"
service = "FEED"
pe = [63]
[[role]]
name = "all"
products = ["LSE, one", "DESKS", "L2"]
[[user]]
name = "ann"
roles = ["all"]
[[user]]
name = "bob"
roles = ["all"]
[[user]]
name = "eve"
roles = ["all"]
"#;
    const LOCK: [u8; 5] = [3, 1, 1, 0x62, 0xC0];
    /// 2026-10-01.
    const OCTOBER_MS: u64 = 1_790_812_800_000;

    fn usage(
        kind: Kind,
        minute: i64,
        user: &'static str,
        position: &'static str,
    ) -> Usage<'static> {
        let time_ms = OCTOBER_MS.saturating_add_signed(minute * 60_000);
        let (application, service, item) = ("256", "FEED", "VOD.L");
        Usage { kind, time_ms, user, position, application, service, item, lock: &LOCK }
    }

    #[test]
    fn a_scripted_month_is_what_the_script_says() {
        let policy = Policy::parse("p", POLICY).expect("it is in order");
        let mut report = Report::new(&policy, ReportMonth::parse("2026-10").expect("a month"));
        for record in [
            // Open since September, and closed before bob comes.
            usage(Kind::StartWatch, -5, "ann", "a"),
            usage(Kind::StartWatch, -4, "eve", "e"),
            usage(Kind::Logout, -3, "eve", "e"),
            usage(Kind::StopWatch, 5, "ann", "a"),
            usage(Kind::StopWatch, 6, "ann", "a"),
            usage(Kind::StartWatch, 7, "bob", "b"),
            usage(Kind::ContinueWatch, 8, "bob", "b"),
            usage(Kind::StartWatch, 9, "bob", "c"),
            usage(Kind::Snapshot, 10, "ann", "a"),
            usage(Kind::AccessDenied, 11, "eve", "e"),
            // November.
            usage(Kind::StartWatch, 31 * 24 * 60, "eve", "e"),
        ] {
            report.add(&record);
        }
        assert_eq!(
            report.products_csv(),
            "exchange,product,permissioned,used,count,units,peak,snapshots\n\
             LSE,\"LSE, one\",3,2,user,2,1,1\n\
             DESKS,DESKS,3,2,position,3,2,1\n\
             L2,L2,3,0,user,0,0,0\n"
        );
        let users = report.users_csv();
        for line in
            ["LSE,\"LSE, one\",bob,256,used", "DESKS,DESKS,eve,,unused", "L2,L2,ann,,unused"]
        {
            assert!(users.lines().any(|one| one == line), "{line} in {users}");
        }
        assert_eq!(users.lines().count(), 1 + 3 + 3 + 3);
    }

    #[test]
    fn a_watch_of_two_mounts_ends_with_the_second() {
        let policy = Policy::parse("p", POLICY).expect("it is in order");
        let mut report = Report::new(&policy, ReportMonth::parse("2026-10").expect("a month"));
        for kind in [Kind::StartWatch, Kind::StartWatch, Kind::ContinueWatch, Kind::StopWatch] {
            report.add(&usage(kind, 1, "ann", "a"));
        }
        report.add(&usage(Kind::StartWatch, 2, "bob", "b"));
        assert!(report.products_csv().contains("DESKS,DESKS,3,2,position,2,2,0\n"));
        report.add(&usage(Kind::StopWatch, 3, "ann", "a"));
        assert!(report.open.len() == 1, "bob's");
    }

    #[test]
    fn what_is_open_all_the_month_is_used() {
        let policy = Policy::parse("p", POLICY).expect("it is in order");
        let mut report = Report::new(&policy, ReportMonth::parse("2026-10").expect("a month"));
        report.add(&usage(Kind::StartWatch, -5, "ann", "a"));
        assert!(report.products_csv().contains("DESKS,DESKS,3,1,position,1,1,0\n"));
        assert_eq!(ReportMonth::parse("2026-13"), None);
    }
}
