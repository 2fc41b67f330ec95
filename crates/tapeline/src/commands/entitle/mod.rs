//! `tapeline entitle`: ask a policy who may see what.

mod journals;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Subcommand;
use tapeline_entitle::{
    Asked, Engine, Fault, Policy, Protection, Report, ReportMonth, Usage, Verdict as Answer,
    changed_users, changes, hex_of, read_watchlist, watches_recorded,
};
use tapeline_omm::view::FieldMask;

use self::journals::{Journals, json};
use crate::failure::{Failure, Verdict};

/// Ask an entitlement policy who may see what
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Say whether a user may see an item, and which rule says so; exit status 1 if not
    Check {
        /// The policy
        #[arg(long)]
        policy: PathBuf,
        /// The user
        user: String,
        /// The item, as SERVICE/NAME
        item: String,
        /// The item's lock in hexadecimal
        #[arg(long, conflicts_with = "prod_perm")]
        lock: Option<String>,
        /// The code in the field `PROD_PERM` of the item
        #[arg(long)]
        prod_perm: Option<u32>,
        /// The item's domain
        #[arg(long, default_value_t = tapeline_entitle::MARKET_PRICE)]
        domain: u8,
    },
    /// Say whose rights a new policy changes, and which watches
    WhatIf {
        /// The policy that is in force
        #[arg(long)]
        policy: PathBuf,
        /// The policy that may come
        new: PathBuf,
        /// Lines of USER SERVICE/NAME, then a LOCK if there is one: who has what open
        #[arg(long)]
        watchlist: Option<PathBuf>,
        /// Usage journals: who had what open, or asked for it in vain
        #[arg(long, conflicts_with = "watchlist", num_args = 1..)]
        journal: Vec<PathBuf>,
    },
    /// Run the tests of a policy; exit status 1 if one fails
    Test {
        /// The policy
        policy: PathBuf,
    },
    /// Print the usage of a month as CSV, by exchange and product
    Report {
        /// The policy
        #[arg(long)]
        policy: PathBuf,
        /// The month, as 2026-10
        #[arg(long)]
        month: String,
        /// A line for each user and application instead, with unused permissions
        #[arg(long)]
        users: bool,
        /// The usage journals of all servers
        #[arg(required = true)]
        journals: Vec<PathBuf>,
    },
    /// Print usage journals, a line of JSON for each record
    Journal {
        /// What was refused only
        #[arg(long)]
        denied: bool,
        /// What this user did only
        #[arg(long)]
        user: Option<String>,
        /// The usage journals
        #[arg(required = true)]
        journals: Vec<PathBuf>,
    },
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args) -> Result<Verdict, Failure> {
    let mut out = io::stdout().lock();
    match &args.action {
        Action::Check { policy, user, item, lock, prod_perm, domain } => {
            let mut engine = Engine::new(load(policy)?);
            let (service, name) = item.split_once('/').ok_or_else(|| {
                Failure::Setting(format!("`{item}` is no item; give SERVICE/NAME"))
            })?;
            let lock = lock.as_deref().map(|digits| {
                hex_of(digits).ok_or_else(|| {
                    Failure::Setting(format!("`{digits}` is no lock; give it in hexadecimal"))
                })
            });
            let lock = lock.transpose()?;
            let protection = match (&lock, prod_perm) {
                (Some(lock), _) => Protection::Lock(lock),
                (None, Some(code)) => Protection::ProdPerm(*code),
                (None, None) => Protection::None,
            };
            let asked = Asked { service, domain: *domain, name };
            let explanation = engine.explain(user, asked, protection);
            writeln!(out, "{}", answer(&explanation.verdict))?;
            writeln!(out, "{}", explanation.reason)?;
            if explanation.verdict.is_allowed()
                && let Some(mask) = mask_of(engine.policy(), user)
            {
                writeln!(out, "fields: {mask}")?;
            }
            Ok(verdict(explanation.verdict.is_allowed()))
        }
        Action::WhatIf { policy, new, watchlist, journal } => {
            let (old, new) = (load(policy)?, load(new)?);
            let changes = what_if(&mut out, (&old, &new), watchlist.as_deref(), journal)?;
            writeln!(out, "{changes}")?;
            Ok(Verdict::Good)
        }
        Action::Test { policy: path } => {
            let policy = load(path)?;
            let faults = policy.run_tests();
            for fault in &faults {
                writeln!(out, "{fault}")?;
            }
            let (tests, failed) = (policy.tests(), faults.len());
            writeln!(out, "{}: {tests} tests, {failed} failed", path.display())?;
            Ok(verdict(faults.is_empty()))
        }
        Action::Report { policy, month, users, journals } => {
            let month = ReportMonth::parse(month).ok_or_else(|| {
                Failure::Setting(format!("`{month}` is no month; give it as 2026-10"))
            })?;
            let policy = load(policy)?;
            let csv = report(&policy, month, journals, *users)?;
            out.write_all(csv.as_bytes())?;
            Ok(Verdict::Good)
        }
        Action::Journal { denied, user, journals } => {
            let is_wanted = |usage: &Usage<'_>| {
                (!denied || usage.kind.is_denial())
                    && user.as_ref().is_none_or(|user| user == usage.user)
            };
            for usage in Journals::read(journals)?.records() {
                if is_wanted(&usage) {
                    writeln!(out, "{}", json(&usage))?;
                }
            }
            Ok(Verdict::Good)
        }
    }
}

/// The report of the journals of all servers, merged by time.
fn report(
    policy: &Policy,
    month: ReportMonth,
    journals: &[PathBuf],
    is_by_user: bool,
) -> Result<String, Failure> {
    let journals = Journals::read(journals)?;
    let records = journals.records();
    let mut report = Report::new(policy, month);
    for usage in &records {
        report.add(usage);
    }
    Ok(if is_by_user { report.users_csv() } else { report.products_csv() })
}

/// Says whose rights change, and which watches; then their numbers.
fn what_if(
    out: &mut impl Write,
    (old, new): (&Arc<Policy>, &Arc<Policy>),
    watchlist: Option<&Path>,
    journals: &[PathBuf],
) -> Result<String, Failure> {
    let users = changed_users(old, new);
    for user in &users {
        let what = match user.must_log_in {
            true => "the login is decided anew",
            false => "other rights",
        };
        writeln!(out, "{}: {what}", user.name)?;
        let (before, after) = (mask_of(old, &user.name), mask_of(new, &user.name));
        if before != after {
            let shown =
                |mask: Option<&FieldMask>| mask.map_or("all".to_owned(), ToString::to_string);
            writeln!(out, "{}: fields: {}, before {}", user.name, shown(after), shown(before))?;
        }
    }
    let entries = match watchlist {
        None => Vec::new(),
        Some(path) => read_watchlist(&path.to_string_lossy(), &text(path)?)
            .map_err(|faults| faulty(&faults))?,
    };
    let journals = Journals::read(journals)?;
    let records = journals.records();
    let watches = entries.iter().map(tapeline_entitle::Entry::watch);
    let watches = watches.chain(watches_recorded(&records));
    let (mut before, mut after) = (Engine::new(Arc::clone(old)), Engine::new(Arc::clone(new)));
    let (mut gained, mut lost) = (0, 0);
    for change in changes(&mut before, &mut after, watches) {
        let (is_gain, watch) = (change.after.is_allowed(), change.watch);
        *(if is_gain { &mut gained } else { &mut lost }) += 1;
        let verb = if is_gain { "gains" } else { "loses" };
        let asked = watch.asked;
        write!(out, "{} {verb} {}/{}", watch.user, asked.service, asked.name)?;
        match change.after {
            Answer::Allow => writeln!(out)?,
            Answer::Deny(denial) => writeln!(out, ": {}", denial.text)?,
        }
    }
    Ok(format!("{} users change, {gained} watches gained, {lost} lost", users.len()))
}

/// The fields that a user is shown, where it is not all.
fn mask_of<'p>(policy: &'p Policy, user: &str) -> Option<&'p FieldMask> {
    Some(policy.field_mask(policy.profile_of(user)?)?)
}

fn answer(verdict: &Answer) -> String {
    match verdict {
        Answer::Allow => "allowed".to_owned(),
        Answer::Deny(denial) => format!("denied: {}", denial.text),
    }
}

fn verdict(is_good: bool) -> Verdict {
    if is_good { Verdict::Good } else { Verdict::Bad }
}

fn text(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(Failure::read(path))
}

fn load(path: &Path) -> Result<Arc<Policy>, Failure> {
    let policy = Policy::parse(&path.to_string_lossy(), &text(path)?);
    policy.map(Arc::new).map_err(|faults| faulty(&faults))
}

fn faulty(faults: &[Fault]) -> Failure {
    let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
    Failure::Setting(lines.join("\n"))
}
