//! Bytes of memory for each mount, item and watcher.
//!
//! Hub and server are processes. What they have touched of memory of their own
//! is read before and after something was added in large numbers; the
//! difference is divided by the number. The kernel's socket buffers and the
//! backbone's shared memory are not in it: both have a size of their own that
//! does not depend on items.

use std::time::Duration;

use tapeline_measure::table::Table;

use crate::clients::Reading;
use crate::plan::Plan;
use crate::record::Measurement;
use crate::setup::{Setup, Topology};
use crate::system::System;
use crate::{BenchError, Options, Output};

/// Items of each mount whose memory is told.
const ITEMS_PER_MOUNT: usize = 1_000;

/// Watchers of each item whose memory is told, beyond the first two: what the
/// burst of the second one leaves behind is used again by the others.
const FURTHER_WATCHERS: usize = 4;

/// How long hub and server are left alone before they are looked at: longer
/// than a session keeps the memory of a burst.
const SETTLE: Duration = Duration::from_millis(1_500);

/// What was found, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bytes {
    /// A further mount that has 1,000 items open which others have too.
    pub(crate) mount: f64,
    /// A further mount that has one item open.
    pub(crate) mount_of_one: f64,
    pub(crate) item_in_hub: f64,
    /// An item in the server with its one watcher.
    pub(crate) item_in_server: f64,
    /// One of several more, after the second.
    pub(crate) watcher: f64,
}

/// Measures over `options.items` items, and `options.mounts` mounts.
pub(crate) fn memory(options: &Options, out: &mut dyn Output) -> Result<(), BenchError> {
    let bytes = measure(options, out)?;
    let what = if options.setup.cache { "with" } else { "without" };
    let mut table = Table::new(&["memory, bytes", "each"]);
    let rows = rows(bytes);
    for (name, figure) in &rows {
        table.row(vec![(*name).to_owned(), format!("{figure:.0}")]);
    }
    out.table(&format!("{what} images kept\n{table}"));
    out.record(Measurement {
        procedure: "memory".to_owned(),
        topology: Topology::Ipc.to_string(),
        items: Some(options.items as u64),
        mounts: Some(options.mounts as u64),
        valid: true,
        bytes: rows.into_iter().map(|(name, figure)| (name.to_owned(), figure)).collect(),
        ..Measurement::default()
    });
    Ok(())
}

fn rows(bytes: Bytes) -> [(&'static str, f64); 5] {
    [
        ("mount with 1,000 items", bytes.mount),
        ("mount with one item", bytes.mount_of_one),
        ("item in the hub", bytes.item_in_hub),
        ("item in the server, with one watcher", bytes.item_in_server),
        ("further watcher of an item", bytes.watcher),
    ]
}

pub(crate) fn measure(options: &Options, out: &mut dyn Output) -> Result<Bytes, BenchError> {
    let setup = Setup { topology: Topology::Ipc, servers: 1, ..options.setup.clone() };
    let (items, mounts) = (options.items, options.mounts.max(2));
    out.progress("memory: items and watchers");
    // One watcher of one item first, so that all that is made once is there.
    let mut plan = Plan::one_client(items, Reading::Headers);
    plan.watchlists = vec![vec![0]];
    let mut system = System::start(&plan, &setup, options.patience)?;
    let all: Vec<u32> = (0..items as u32).collect();
    let before = look(&mut system)?;
    system.add_client(&all, options.patience)?;
    let one = look(&mut system)?;
    system.add_client(&all, options.patience)?;
    let two = look(&mut system)?;
    for _ in 0..FURTHER_WATCHERS {
        system.add_client(&all, options.patience)?;
    }
    let further = look(&mut system)?;
    drop(system);
    out.progress("memory: mounts");
    let mut plan = Plan::alike(1, ITEMS_PER_MOUNT, Reading::Headers);
    plan.watchlists.truncate(1);
    let mut system = System::start(&plan, &setup, options.patience)?;
    let watchlist = plan.watchlists[0].clone();
    let first = look(&mut system)?;
    for _ in 0..mounts {
        system.add_client(&watchlist, options.patience)?;
    }
    let last = look(&mut system)?;
    drop(system);
    // Of its own, so that mounts do not live in what the bursts of others left behind.
    out.progress("memory: mounts with one item");
    plan.watchlists = vec![watchlist[..1].to_vec()];
    let mut system = System::start(&plan, &setup, options.patience)?;
    let none = look(&mut system)?;
    for _ in 0..mounts {
        system.add_client(&watchlist[..1], options.patience)?;
    }
    let bare = look(&mut system)?;
    let each = |from: u64, to: u64, count: usize| (to as f64 - from as f64) / count.max(1) as f64;
    Ok(Bytes {
        mount: each(first.server, last.server, mounts),
        mount_of_one: each(none.server, bare.server, mounts),
        item_in_hub: each(before.hub, one.hub, items),
        item_in_server: each(before.server, one.server, items),
        watcher: each(two.server, further.server, FURTHER_WATCHERS * items),
    })
}

struct Touched {
    hub: u64,
    server: u64,
}

fn look(system: &mut System) -> Result<Touched, BenchError> {
    system.idle_for(SETTLE);
    let (hub, server) = system
        .memory_bytes()
        .ok_or_else(|| BenchError::Ended("the kernel does not tell its memory".to_owned()))?;
    Ok(Touched { hub, server })
}
