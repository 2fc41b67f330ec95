//! Reports of usage: what the exchanges are told.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::{self, Write};
use std::ops::RangeInclusive;

use time::{Date, OffsetDateTime};

use crate::document::{Count, Product};
use crate::lock::Lock;
use crate::policy::Policy;
use crate::usage::{Kind, Usage};

/// A month, as 2026-10.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReportMonth {
    year: i32,
    month: u8,
}

impl fmt::Display for ReportMonth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:02}", self.year, self.month)
    }
}

impl ReportMonth {
    /// Reads `2026-10`.
    pub fn parse(text: &str) -> Option<Self> {
        let (year, month) = text.split_once('-')?;
        let (year, month) = (year.parse().ok()?, month.parse().ok()?);
        (1..=12).contains(&month).then_some(Self { year, month })
    }

    /// The month of a moment in milliseconds since 1970, in UTC.
    pub fn of(time_ms: u64) -> Option<Self> {
        let moment = OffsetDateTime::from_unix_timestamp((time_ms / 1000) as i64).ok()?;
        Some(Self { year: moment.year(), month: moment.month().into() })
    }

    /// When the month after it begins, in milliseconds since 1970.
    pub fn end_ms(self) -> Option<u64> {
        let (year, month) = match self.month {
            12 => (self.year + 1, 1),
            month => (self.year, month + 1),
        };
        let first = Date::from_calendar_date(year, month.try_into().ok()?, 1).ok()?;
        u64::try_from(first.midnight().assume_utc().unix_timestamp()).ok()?.checked_mul(1000)
    }
}

/// Who watches: user, position and application.
type Who<'a> = [&'a str; 3];

/// A stream: run, mount and number. A mount's are side by side, as are a run's.
type StreamOf = (u64, u64, i32);

/// A watch that is open, and the products that it uses.
#[derive(Debug)]
struct Open<'a> {
    who: Who<'a>,
    products: Vec<usize>,
    /// How many mounts have it, where records do not say which.
    mounts: u32,
    /// It is among what its products have open.
    is_counted: bool,
}

/// A row of the report.
#[derive(Debug)]
struct Row<'a> {
    name: &'a str,
    exchange: &'a str,
    count: Count,
    tally: Tally<'a>,
}

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

impl<'a> Row<'a> {
    fn unit(&self, [user, position, application]: Who<'a>) -> Option<&'a str> {
        match self.count {
            Count::User => Some(user),
            Count::Position => Some(position),
            Count::Application => Some(application),
            Count::None => None,
        }
    }

    fn count(&mut self, who: Who<'a>) {
        let [user, _, application] = who;
        let unit = self.unit(who);
        self.tally.users.insert(user);
        self.tally.by_application.entry(application).or_default().insert(user);
        self.tally.units.extend(unit);
    }

    fn start(&mut self, who: Who<'a>) {
        if let Some(unit) = self.unit(who) {
            *self.tally.open.entry(unit).or_default() += 1;
        }
        self.tally.peak = self.tally.peak.max(self.tally.open.len());
        self.count(who);
    }

    fn end(&mut self, who: Who<'a>) {
        let Some(unit) = self.unit(who) else { return };
        let open = &mut self.tally.open;
        if let Some(watches) = open.get_mut(unit) {
            *watches -= 1;
            if *watches == 0 {
                open.remove(unit);
            }
        }
    }
}

/// Usage by product in a month, added up record by record, in the order of
/// time; journals of several servers are merged before, so that whoever uses
/// two is counted once.
///
/// What a watch uses is what its record says: a policy that is another one since
/// changes nothing of it.
#[derive(Debug)]
pub struct Report<'a> {
    policy: &'a Policy,
    month: ReportMonth,
    has_begun: bool,
    /// Those of the policy in its order, then others that records name.
    rows: Vec<Row<'a>>,
    by_name: HashMap<&'a str, usize>,
    /// The watches that are open.
    open: BTreeMap<StreamOf, Open<'a>>,
    /// The same, of records of the layout before: by who, service and item.
    open_before: BTreeMap<(Who<'a>, &'a str, &'a str), Open<'a>>,
    /// Runs of which there is a record in the month. What others had open before
    /// it may have ended unseen.
    runs: BTreeSet<u64>,
}

impl<'a> Report<'a> {
    /// A report of a month, with the products of a policy.
    pub fn new(policy: &'a Policy, month: ReportMonth) -> Self {
        let rows: Vec<Row<'a>> = policy.products().iter().map(row).collect();
        let by_name = rows.iter().enumerate().map(|(at, row)| (row.name, at)).collect();
        Self {
            policy,
            month,
            has_begun: false,
            rows,
            by_name,
            open: BTreeMap::new(),
            open_before: BTreeMap::new(),
            runs: BTreeSet::new(),
        }
    }

    /// Adds a record. Those before the month tell what was open at its start,
    /// those behind it nothing.
    pub fn add(&mut self, usage: &Usage<'a>) {
        let Some(month) = ReportMonth::of(usage.time_ms).filter(|month| *month <= self.month)
        else {
            return;
        };
        if usage.kind == Kind::ServerStart {
            self.end_run(usage.mount);
        }
        if month == self.month {
            self.begin();
            self.note_run(usage.run);
        }
        match usage.kind {
            Kind::StartWatch | Kind::ContinueWatch => self.start(usage),
            Kind::StopWatch => self.stop(usage),
            // A number of a mount is another's after it: whoever comes has nothing
            // open, whatever was lost before.
            Kind::Logout | Kind::Login => self.end_mount(usage),
            Kind::Snapshot if self.has_begun => {
                for product in self.products(usage) {
                    self.rows[product].tally.snapshots += 1;
                    self.rows[product].count(who(usage));
                }
            }
            _ => {}
        }
    }

    /// What is open when the month begins is used in it. Of runs that is known
    /// once there is a record of them.
    fn begin(&mut self) {
        if std::mem::replace(&mut self.has_begun, true) {
            return;
        }
        for open in self.open_before.values_mut() {
            count_open(&mut self.rows, open);
        }
    }

    fn note_run(&mut self, run: u64) {
        if self.runs.insert(run) {
            for open in self.open.range_mut(of_run(run)).map(|(_, open)| open) {
                count_open(&mut self.rows, open);
            }
        }
    }

    fn start(&mut self, usage: &Usage<'a>) {
        let (who, products) = (who(usage), self.products(usage));
        let mut open = Open { who, products, mounts: 1, is_counted: false };
        let before = match usage.run {
            0 => {
                let watch = (who, usage.service, usage.item);
                if let Some(known) = self.open_before.get_mut(&watch) {
                    known.mounts += u32::from(usage.kind == Kind::StartWatch);
                    return;
                }
                None
            }
            _ => self.open.remove(&stream_of(usage)),
        };
        if let Some(before) = before {
            count_end(&mut self.rows, &before);
        }
        if self.has_begun {
            count_open(&mut self.rows, &mut open);
        }
        match usage.run {
            0 => self.open_before.insert((who, usage.service, usage.item), open),
            _ => self.open.insert(stream_of(usage), open),
        };
    }

    fn stop(&mut self, usage: &Usage<'a>) {
        let ended = match usage.run {
            0 => {
                let watch = (who(usage), usage.service, usage.item);
                match self.open_before.get_mut(&watch) {
                    Some(open) if open.mounts > 1 => {
                        open.mounts -= 1;
                        None
                    }
                    _ => self.open_before.remove(&watch),
                }
            }
            _ => self.open.remove(&stream_of(usage)),
        };
        if let Some(open) = ended {
            count_end(&mut self.rows, &open);
        }
    }

    /// Whoever is gone watches nothing any more.
    fn end_mount(&mut self, usage: &Usage<'a>) {
        if usage.run != 0 {
            let (run, mount) = (usage.run, usage.mount);
            return self.end_all((run, mount, i32::MIN)..=(run, mount, i32::MAX));
        }
        if usage.kind == Kind::Login {
            return;
        }
        let rows = &mut self.rows;
        self.open_before.retain(|(of, ..), open| {
            let is_over = *of == who(usage);
            if is_over {
                count_end(rows, open);
            }
            !is_over
        });
    }

    /// A run was killed.
    fn end_run(&mut self, run: u64) {
        self.end_all(of_run(run));
    }

    fn end_all(&mut self, streams: RangeInclusive<StreamOf>) {
        let ended: Vec<StreamOf> = self.open.range(streams).map(|(stream, _)| *stream).collect();
        for stream in ended {
            if let Some(open) = self.open.remove(&stream) {
                count_end(&mut self.rows, &open);
            }
        }
    }

    /// The products that a record names. One of the layout before names none: they
    /// are those with a code of the item's lock that the user's roles have now.
    fn products(&mut self, usage: &Usage<'a>) -> Vec<usize> {
        if usage.run == 0 {
            return self.products_by_policy(usage);
        }
        let names = usage.products.lines();
        names.map(|name| self.row_of(name)).collect()
    }

    /// The row of a product, which the policy may have no more.
    fn row_of(&mut self, name: &'a str) -> usize {
        let Self { rows, by_name, .. } = self;
        *by_name.entry(name).or_insert_with(|| {
            rows.push(Row { name, exchange: "", count: Count::User, tally: Tally::default() });
            rows.len() - 1
        })
    }

    fn products_by_policy(&self, usage: &Usage<'_>) -> Vec<usize> {
        let policy = self.policy;
        let lock = Lock::decode(usage.lock, policy.document.lock_sources);
        let (Some(profile), Ok(lock)) = (policy.profile_of(usage.user), lock) else {
            return Vec::new();
        };
        let owned: Vec<&str> =
            policy.products_of(profile).map(|product| product.name.as_str()).collect();
        let is_used = |at: &usize| {
            let product = &policy.products()[*at];
            owned.contains(&product.name.as_str())
                && lock.demands().iter().any(|demand| {
                    let service = policy.lock_services.get(&demand.service);
                    service.map_or(usage.service, String::as_str) == product.service
                        && demand.groups.iter().flatten().any(|code| product.has(*code))
                })
        };
        (0..policy.products().len()).filter(is_used).collect()
    }

    /// One line for each product, with a line of names above: who is
    /// permissioned, who used it, how many units its exchange counts, the most
    /// of them at a time, snapshots.
    pub fn products_csv(&mut self) -> String {
        self.begin();
        let mut csv = "exchange,product,permissioned,used,count,units,peak,snapshots\n".to_owned();
        for row in &self.rows {
            let Row { tally, .. } = row;
            let count = match row.count {
                Count::User => "user",
                Count::Position => "position",
                Count::Application => "application",
                Count::None => "none",
            };
            let permissioned = self.permissioned(row).len();
            let (exchange, name) = (quoted(row.exchange), quoted(row.name));
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
        for row in &self.rows {
            let Row { tally, .. } = row;
            let (exchange, name) = (quoted(row.exchange), quoted(row.name));
            for (application, users) in &tally.by_application {
                for user in users {
                    let (user, application) = (quoted(user), quoted(application));
                    let _ = writeln!(csv, "{exchange},{name},{user},{application},used");
                }
            }
            for user in self.permissioned(row) {
                if !tally.users.contains(user) {
                    let _ = writeln!(csv, "{exchange},{name},{},,unused", quoted(user));
                }
            }
        }
        csv
    }

    /// Who may use a product by the policy, and who did by one before it, or by
    /// roles that somebody else said.
    fn permissioned<'s>(&'s self, row: &'s Row<'a>) -> BTreeSet<&'a str> {
        let policy = self.policy;
        let has = |user: &&str| {
            let profile = policy.profile_of(user);
            profile
                .is_some_and(|profile| policy.products_of(profile).any(|one| one.name == row.name))
        };
        policy.users().filter(has).chain(row.tally.users.iter().copied()).collect()
    }
}

fn row(product: &Product) -> Row<'_> {
    let Product { name, exchange, count, .. } = product;
    Row { name, exchange, count: *count, tally: Tally::default() }
}

fn who<'a>(usage: &Usage<'a>) -> Who<'a> {
    [usage.user, usage.position, usage.application]
}

fn stream_of(usage: &Usage<'_>) -> StreamOf {
    (usage.run, usage.mount, usage.stream_id)
}

fn of_run(run: u64) -> RangeInclusive<StreamOf> {
    (run, u64::MIN, i32::MIN)..=(run, u64::MAX, i32::MAX)
}

fn count_open<'a>(rows: &mut [Row<'a>], open: &mut Open<'a>) {
    open.is_counted = true;
    open.products.iter().for_each(|product| rows[*product].start(open.who));
}

fn count_end<'a>(rows: &mut [Row<'a>], open: &Open<'a>) {
    if open.is_counted {
        open.products.iter().for_each(|product| rows[*product].end(open.who));
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
mod tests;
