//! Measures what each thing costs.

use tapeline_measure::disturbance::{Disturbance, Watch};
use tapeline_measure::histogram::median;

use super::ledger::{Ledger, SpentNs};
use super::others::Want;
use super::{Costs, HubCosts, ServerCosts};
use crate::clients::Reading;
use crate::plan::Plan;
use crate::procedures::memory_bytes;
use crate::record::Environment;
use crate::update::Update;
use crate::{BenchError, Options, Output};

/// Items of the mounts that updates are for.
const ITEMS: usize = 1_000;

/// Items over which the opening of one is told, at most.
const OPENED_MOST: usize = 20_000;

/// Mounts that log in at once.
const LOGINS: usize = 200;

/// Updates of a round.
const UPDATES: u64 = 6_400;

/// Mounts that want something else, and the items that they watch.
const OTHERS: usize = 20;
const OTHER_ITEMS: usize = 100;

/// The length of a message in a packed frame.
const LENGTH_BYTES: usize = 2;

/// What one round found.
struct Round {
    first_watcher: SpentNs,
    further_watcher: SpentNs,
    login: SpentNs,
    /// An update to one mount, and to all.
    narrow: SpentNs,
    wide: SpentNs,
    /// What the server takes for an update of which somebody wants another form, and for
    /// each who wants it.
    json: Form,
    view: Form,
}

/// What the server takes for another form of an update.
#[derive(Clone, Copy)]
struct Form {
    first_ns: f64,
    copy_ns: f64,
}

/// Measures all costs, times in as many rounds as the options say, of which the middle
/// counts. Memory is that of processes: the program `tapeline` must be there.
///
/// Errors: the system cannot be started, or somebody wants the program to end.
pub fn measure(options: &Options, out: &mut dyn Output) -> Result<Costs, BenchError> {
    let watch = Watch::start(&[]);
    let bytes = memory_bytes(options, out)?;
    let mut rounds = Vec::new();
    for number in 1..=options.rounds.max(1) {
        out.progress(&format!("size: times, round {number}"));
        rounds.push(round(options)?);
    }
    let middle = |figure: &dyn Fn(&Round) -> f64| median(rounds.iter().map(figure));
    let further_mounts = options.mounts.max(2) as f64 - 1.0;
    let copy_ns = middle(&|it| (it.wide.server - it.narrow.server) / further_mounts);
    Ok(Costs {
        processor: Environment::read().cpu.model.unwrap_or_else(|| "not told".to_owned()),
        conditions: conditions(watch.ended()),
        update_wire_bytes: (Update::new().len() + LENGTH_BYTES) as f64,
        hub: HubCosts {
            item_bytes: bytes.item_in_hub,
            item_open_ns: middle(&|it| it.first_watcher.hub + it.first_watcher.backbone),
            image_ns: middle(&|it| it.further_watcher.hub + it.further_watcher.backbone),
            update_ns: middle(&|it| f64::midpoint(it.narrow.hub, it.wide.hub)),
        },
        backbone_update_ns: middle(&|it| f64::midpoint(it.narrow.backbone, it.wide.backbone)),
        server: ServerCosts {
            mount_bytes: bytes.mount_of_one - bytes.watcher,
            item_bytes: bytes.item_in_server,
            watcher_bytes: bytes.watcher,
            login_ns: middle(&|it| it.login.server),
            item_open_ns: middle(&|it| it.first_watcher.server),
            watcher_open_ns: middle(&|it| it.further_watcher.server),
            update_ns: middle(&|it| it.narrow.server) - copy_ns,
            copy_ns,
            json_ns: middle(&|it| it.json.first_ns),
            json_copy_ns: middle(&|it| it.json.copy_ns),
            view_ns: middle(&|it| it.view.first_ns),
            view_copy_ns: middle(&|it| it.view.copy_ns),
        },
    })
}

/// What a reader must know of the figures.
fn conditions(others: Option<Disturbance>) -> String {
    let build = match cfg!(debug_assertions) {
        true => "A build with debug assertions: times are too long, measure again with `--release`",
        false => "A release build",
    };
    match others {
        Some(others) if others.is_worth_telling() => {
            format!("{build}; {others}: measure again on quiet cores")
        }
        Some(_) => format!("{build}, on quiet cores"),
        None => format!("{build}; what else ran is not told"),
    }
}

/// With one mount that wants another form, and with many, beside an update that nobody
/// wants so.
fn form(want: Want, options: &Options) -> Result<Form, BenchError> {
    let plan = Plan::alike(1, OTHER_ITEMS, Reading::InPlace);
    let server_ns = |others: usize| {
        let mut ledger = Ledger::open(&plan, options)?;
        ledger.add_others(want, others, OTHER_ITEMS)?;
        ledger.update(UPDATES / 10)?;
        Ok::<_, BenchError>(ledger.update(UPDATES / 2)?.server)
    };
    // An update of an item that nobody has open does not come: one watches all as they are.
    let none = server_ns(0)?;
    let (one, many) = (server_ns(1)?, server_ns(OTHERS)?);
    let copy_ns = (many - one) / (OTHERS - 1) as f64;
    Ok(Form { first_ns: one - none - copy_ns, copy_ns })
}

fn round(options: &Options) -> Result<Round, BenchError> {
    let opened = options.items.min(OPENED_MOST);
    let mut plan = Plan::one_client(opened, Reading::InPlace);
    let all = std::mem::replace(&mut plan.watchlists, vec![vec![0]]).swap_remove(0);
    let mut ledger = Ledger::open(&plan, options)?;
    let first_watcher = ledger.add(1, &all, opened)?;
    let further_watcher = ledger.add(1, &all, opened)?;
    let login = ledger.add(LOGINS, &[0], LOGINS)?;
    drop(ledger);
    Ok(Round {
        first_watcher,
        further_watcher,
        login,
        narrow: updates(1, options)?,
        wide: updates(options.mounts.max(2), options)?,
        json: form(Want::Json, options)?,
        view: form(Want::View, options)?,
    })
}

/// What an update to so many mounts takes.
fn updates(mounts: usize, options: &Options) -> Result<SpentNs, BenchError> {
    let plan = Plan::alike(mounts, ITEMS, Reading::InPlace);
    let mut ledger = Ledger::open(&plan, options)?;
    // What grows with the first updates is no part of the others.
    ledger.update(UPDATES / 10)?;
    ledger.update(UPDATES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_reads_the_figures_is_told_what_they_were_made_with() {
        let calm = conditions(Some(Disturbance::default()));
        assert!(calm.ends_with(", on quiet cores"), "{calm}");
        let busy = Disturbance { others_percent: 40.0, stolen_percent: 0.0 };
        let told = conditions(Some(busy));
        let expected = "other programs had 40.0 % of the cores: measure again on quiet cores";
        assert!(told.ends_with(expected), "{told}");
        assert_eq!(told.contains("--release"), cfg!(debug_assertions), "{told}");
    }
}
