//! `tapeline exchange gateway`: a gateway in a process of its own.

use tapeline_ending::Verdict;
use tapeline_exchange::{GatewayCounts, GatewayVenue};
use tapeline_time::{MonotonicClock, Time};

use super::Common;
use super::failure::Failure;
use super::ready::Ready;
use super::run::{Counts, Named, PUBLISH, now_ns};

/// Run a gateway of an exchange in a process of its own
///
/// Clients log on here by the native gateway's protocol, for orders and at the recovery
/// channel, and by FIX where the file gives it a fix-port; what they ask for goes to the
/// market that the file names in [gateways], or to who leads its replicas. When that one
/// dies, clients stay, orders wait for up to failover-ms and are refused with 9998 then,
/// and what was not decided is said again to the next leader. When the gateway dies, its
/// sessions end, as when a client goes.
///
/// Exit status: 0 after SIGTERM, SIGINT or --seconds, 2 if it could not start.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,

    /// Be this one of [[gateways.apart]]
    #[arg(long, value_name = "N", default_value_t = 1)]
    number: u16,

    /// Choose all ports yourself: for tests and for several on one host
    #[arg(long)]
    any_port: bool,
}

impl Named for GatewayCounts {
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
    let mut venue_config = config.gateways.venue(args.number, &market, epoch_ns)?;
    venue_config.busy_poll = config.gateway.busy_poll();
    if args.any_port {
        venue_config.ports = [0; 2];
        venue_config.fix_port = venue_config.fix_port.map(|_| 0);
    }
    let clock = MonotonicClock::start();
    let start = clock.now();
    let clock = move || Time::from_nanos(clock.now().as_nanos() - start.as_nanos());
    let mut venue = GatewayVenue::start(&venue_config, clock())?;
    let mut ready = Ready::default();
    for (door, address) in venue.listening() {
        ready.add(door.name(), address);
    }
    watch.announce(&mut ready);
    ready.write(args.common.ready_file.as_deref())?;
    let limits = [
        ("clients", config.limits.max_sessions as u64),
        ("undecided", config.gateways.max_undecided as u64),
    ];
    let mut counts = Counts::new(&watch, "gateway", &limits)?;
    while !stop.is_asked() {
        venue.turn(clock(), PUBLISH, clock);
        counts.publish(clock(), || venue.counts());
    }
    counts.tell(&venue.counts());
    venue.close();
    Ok(Verdict::Good)
}
