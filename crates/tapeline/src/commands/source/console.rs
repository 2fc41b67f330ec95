//! What is typed and what is printed while a source runs.

use std::io;

use tapeline_time::MonotonicClock;

use super::Args;
use super::statistics::Statistics;
use crate::failure::warn;
use tapeline_ending::Stop;
use tapeline_playback::{Commands, Order, Playing};

/// Standard input and output of a source.
pub(super) struct Console {
    orders: Commands,
    statistics: Statistics,
}

impl Console {
    pub(super) fn new(args: &Args) -> Self {
        let statistics = Statistics::new(args.interval, args.json);
        Self { orders: Commands::read(), statistics }
    }

    /// Does what was typed, and prints what it is time to.
    pub(super) fn turn(
        &mut self,
        source: &mut impl Playing,
        clock: &MonotonicClock,
        stop: &Stop,
    ) -> io::Result<()> {
        while let Some(order) = self.orders.next() {
            match order {
                Order::Rate(rate) => {
                    source.set_rate(clock.now(), rate);
                    tracing::info!(rate, "rate changed");
                }
                Order::StampRate(rate) => match source.set_stamp_rate(clock.now(), rate) {
                    true => tracing::info!(rate, "rate of time stamps changed"),
                    false => warn("a recording carries no time stamps"),
                },
                Order::Help => warn(Order::HELP),
                Order::Quit => stop.ask(),
                Order::Unknown(line) => warn(&format!("`{line}` is no command; {}", Order::HELP)),
            }
        }
        self.statistics.turn(|| source.counts())
    }
}
