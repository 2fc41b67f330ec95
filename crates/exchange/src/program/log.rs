//! The log, as all programs write it.

use std::io;

use tapeline_admin::EventFeed;
use tapeline_logline::Lines;
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// Gives lines to who listens at the admin port.
struct Told(EventFeed);

impl<S: Subscriber> Layer<S> for Told {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() <= tracing::Level::INFO {
            self.0.tell(&tapeline_logline::json(event));
        }
    }
}

/// Starts the log.
pub(super) fn start(level: LevelFilter, events: Option<EventFeed>) {
    let lines = tracing_subscriber::fmt::layer()
        .event_format(Lines { is_json: false })
        .with_writer(io::stderr);
    // A second start in one process changes nothing.
    let log = tracing_subscriber::registry().with(level).with(lines);
    let _ = log.with(events.map(Told)).try_init();
}

/// What is logged, as `--log` says it.
pub(super) fn level(text: &str) -> Result<LevelFilter, String> {
    text.parse().map_err(|_| "give one of off, error, warn, info, debug, trace".to_owned())
}
