//! `tapeline exchange distribution`: market data by a process of its own.

use tapeline_ending::Verdict;
use tapeline_exchange::{DistributionCounts, DistributorVenue};
use tapeline_time::{MonotonicClock, Time};

use super::Common;
use super::failure::Failure;
use super::ready::Ready;
use super::run::{Counts, Named, PUBLISH, now_ns};

/// Run a distribution of market data of an exchange in a process of its own
///
/// It gets each entry that the market has committed, from the market that the file names
/// in [distribution], or from who leads its replicas, and does it as a replica does: so
/// it has the same messages under the same numbers, and the same books. Readers have
/// replay and snapshots from it. The market names one of those that have caught up to
/// publish, the lowest number, on the lines of [market-data]; the others stand by. When
/// that one dies, the next one goes on behind the last message that was out; when all do,
/// the market publishes.
///
/// Exit status: 0 after SIGTERM, SIGINT or --seconds, 2 if it could not start, came to
/// other events than the market, or cannot have the market's first entries.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,

    /// Be this one of [[distribution.apart]]
    #[arg(long, value_name = "N", default_value_t = 1)]
    number: u16,

    /// Choose all ports yourself: for tests and for several on one host
    #[arg(long)]
    any_port: bool,
}

impl Named for DistributionCounts {
    fn all(&self) -> Vec<(&'static str, u64)> {
        self.named().to_vec()
    }
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args) -> Result<Verdict, Failure> {
    let (config, mut watch) = args.common.start()?;
    let stop = args.common.stop()?;
    let epoch_ns = now_ns();
    let market = config.venue(epoch_ns)?.exchange;
    let lines = config.lines();
    let mut venue_config = config.distribution.venue(args.number, &market, lines, epoch_ns)?;
    venue_config.busy_poll = config.gateway.busy_poll();
    if args.any_port {
        venue_config.ports = [0; 2];
    }
    let clock = MonotonicClock::start();
    let start = clock.now();
    let clock = move || Time::from_nanos(clock.now().as_nanos() - start.as_nanos());
    let mut venue = DistributorVenue::start(&venue_config, clock())?;
    let mut ready = Ready::default();
    for (door, address) in venue.listening() {
        ready.add(door.name(), address);
    }
    watch.announce(&mut ready);
    for to in venue.lines() {
        tracing::info!(%to, "market data goes, when this one publishes");
    }
    ready.write(args.common.ready_file.as_deref())?;
    let limits = [("orders", u64::from(config.limits.max_orders))];
    let mut counts = Counts::new(&watch, "distribution", &limits)?;
    while !stop.is_asked() {
        venue.turn(clock(), PUBLISH, clock);
        counts.publish(clock(), || venue.counts());
        if let Some(trouble) = venue.trouble() {
            counts.tell(&venue.counts());
            return Err(trouble.into());
        }
    }
    counts.tell(&venue.counts());
    Ok(Verdict::Good)
}
