//! What happens to a system.

use std::time::{Duration, Instant};

use crate::Failure;
use crate::clients::Universe;
use crate::meter::own_memory_bytes;
use crate::source::Source;
use crate::world::{Phase, Plan, World};

/// Updates of the source in one turn, while some do not read.
const UPDATES_PER_TURN: usize = 64;

/// What was found.
pub(crate) struct Found {
    pub(crate) phases: Vec<Phase>,
    /// Memory of the process at moments that have a name, in bytes.
    pub(crate) memory: Vec<(&'static str, u64)>,
}

impl From<Vec<Phase>> for Found {
    fn from(phases: Vec<Phase>) -> Self {
        Self { phases, memory: Vec::new() }
    }
}

/// How large things are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// Of what each scenario is told to be, for a look that is quick.
    pub(crate) percent: usize,
    /// Mounts of the scenario that is about memory.
    pub(crate) mounts: usize,
}

impl Scale {
    fn of(self, whole: usize) -> usize {
        (whole * self.percent / 100).max(50)
    }
}

fn plan(hubs: usize, services: usize, items: usize) -> Plan {
    let items_per_service = items.div_ceil(services);
    let universe = Universe { services, items_per_service };
    Plan { hubs, universe, open_limit: None, socket_bytes: None }
}

/// Opens one mount with all items.
fn open_all(world: &mut World, items: usize) -> Result<Phase, Failure> {
    world.phase(
        "opened",
        |world| {
            world.clients.add(0..items);
            Ok(())
        },
        |world| world.clients.tally().images >= items as u64,
    )
}

/// A source of 500,000 items is lost, and comes back.
pub(crate) fn source_lost(scale: Scale) -> Result<Found, Failure> {
    let items = scale.of(500_000);
    let mut world = World::start(plan(1, 1, items))?;
    let opened = open_all(&mut world, items)?;
    let address = world.source()?.address();
    let lost = world.phase(
        "lost",
        |world| {
            world.sources.clear();
            Ok(())
        },
        |world| world.clients.tally().suspect >= items as u64,
    )?;
    let back = world.phase(
        "back",
        |world| {
            world.sources.push(Some(Source::listen(1, None, address.port())?));
            Ok(())
        },
        |world| world.clients.tally().images >= 2 * items as u64,
    )?;
    Ok(vec![opened, lost, back].into())
}

/// A mount of 100,000 items is gone.
pub(crate) fn mount_gone(scale: Scale) -> Result<Found, Failure> {
    let items = scale.of(100_000);
    let mut world = World::start(plan(1, 1, items))?;
    let opened = open_all(&mut world, items)?;
    let gone = gone(&mut world)?;
    Ok(vec![opened, gone].into())
}

/// 400 mounts of 5,000 items each open them, and are gone at once. Each has
/// nine tenths of its items in common with the next one.
pub(crate) fn mounts_gone(scale: Scale) -> Result<Found, Failure> {
    let (mounts, items) = (400, scale.of(5_000));
    let step = items / 10;
    let mut world = World::start(plan(1, 1, (mounts - 1) * step + items))?;
    let opened = world.phase(
        "opened",
        |world| {
            (0..mounts).for_each(|mount| world.clients.add(mount * step..mount * step + items));
            Ok(())
        },
        |world| world.clients.tally().images >= (mounts * items) as u64,
    )?;
    let gone = gone(&mut world)?;
    Ok(vec![opened, gone].into())
}

fn gone(world: &mut World) -> Result<Phase, Failure> {
    world.phase("gone", World::drop_clients, |world| {
        (world.statistics().mounts, world.statistics().items, world.hub_items()) == (0, 0, 0)
    })
}

/// Two hubs offer the same 50 services; a mount has 500,000 items of them. One
/// source tells another load of each, then that all are down, then up again.
pub(crate) fn directory(scale: Scale) -> Result<Found, Failure> {
    let items = scale.of(500_000);
    let mut world = World::start(plan(2, 50, items))?;
    let opened = open_all(&mut world, items)?;
    let load = world.phase(
        "load changed",
        |world| {
            world.source()?.change_load(7);
            Ok(())
        },
        |_| true,
    )?;
    let down = world.phase(
        "services down",
        |world| {
            world.source()?.change_state(false);
            Ok(())
        },
        |_| true,
    )?;
    let up = world.phase(
        "services up",
        |world| {
            world.source()?.change_state(true);
            Ok(())
        },
        |_| true,
    )?;
    Ok(vec![opened, load, down, up].into())
}

/// The source takes half of what a mount wants, 500,000 items of 50 services,
/// and tells another load of each.
pub(crate) fn open_limit(scale: Scale) -> Result<Found, Failure> {
    let items = scale.of(500_000);
    let taken = (items / 50 / 2) as u64;
    let mut world = World::start(Plan { open_limit: Some(taken), ..plan(1, 50, items) })?;
    let opened = world.phase(
        "opened",
        |world| {
            world.clients.add(0..items);
            Ok(())
        },
        |world| world.clients.tally().images >= taken * 50,
    )?;
    let load = world.phase(
        "load changed",
        |world| {
            world.source()?.change_load(7);
            Ok(())
        },
        |_| true,
    )?;
    Ok(vec![opened, load].into())
}

/// 50 mounts of 5,000 items stop reading until all their items are conflated,
/// and go on. Ten others read all the time.
pub(crate) fn resume(scale: Scale) -> Result<Found, Failure> {
    stopped(50, scale.of(5_000))
}

/// The memory of 1,000 mounts of 5,000 items that stop reading, and the same
/// afterwards.
pub(crate) fn memory(scale: Scale) -> Result<Found, Failure> {
    stopped(scale.mounts, scale.of(5_000))
}

fn stopped(mounts: usize, items: usize) -> Result<Found, Failure> {
    let mut world = World::start(Plan { socket_bytes: Some(64 << 10), ..plan(1, 1, items) })?;
    let readers = 10;
    let opened = world.phase(
        "opened",
        |world| {
            (0..readers).for_each(|_| world.clients.add(0..items));
            (0..mounts).for_each(|_| world.stoppable.add(0..items));
            Ok(())
        },
        |world| {
            let (reading, stoppable) = (world.clients.tally(), world.stoppable.tally());
            reading.images >= (readers * items) as u64
                && stoppable.images >= (mounts * items) as u64
        },
    )?;
    let mut memory = vec![("opened", own_memory_bytes())];
    // Until every item of each was merged twice, or they are cut.
    let wanted = (2 * mounts * items) as u64;
    let filling = world.phase_with(
        "filling",
        |world| {
            world.is_stopped = true;
            Ok(())
        },
        send_updates,
        |world| {
            let statistics = world.statistics();
            statistics.updates_merged >= wanted || statistics.mounts_cut >= mounts as u64
        },
    )?;
    memory.push(("stopped", own_memory_bytes()));
    let began = Instant::now();
    let still = world.phase_with(
        "stopped",
        |_| Ok(()),
        send_updates,
        |_| began.elapsed() > Duration::from_secs(2),
    )?;
    let resumed = world.phase(
        "resumed",
        |world| {
            world.is_stopped = false;
            Ok(())
        },
        |_| true,
    )?;
    memory.push(("resumed", own_memory_bytes()));
    Ok(Found { phases: vec![opened, filling, still, resumed], memory })
}

fn send_updates(world: &mut World) {
    for source in world.sources.iter_mut().flatten() {
        source.update(UPDATES_PER_TURN);
    }
}
