//! The log: a line for each event on standard error, as `key=value` or as JSON.
//!
//! ```text
//! time=2026-11-22T01:02:03.000004Z level=info component=hub msg="source is up" source=a:14002
//! {"time":"2026-11-22T01:02:03.000004Z","level":"info","component":"hub","msg":"source is up"}
//! ```
//!
//! Who listens at the admin port gets the same lines, as JSON.

use std::io;

use tapeline_admin::EventFeed;
use tapeline_logline::{CRATE_PREFIX, Lines};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::Registry;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::reload::{self, Handle};
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{Level, Log, LogFormat};
use crate::failure::Failure;

impl From<Level> for LevelFilter {
    fn from(level: Level) -> Self {
        match level {
            Level::Off => Self::OFF,
            Level::Error => Self::ERROR,
            Level::Warn => Self::WARN,
            Level::Info => Self::INFO,
            Level::Debug => Self::DEBUG,
            Level::Trace => Self::TRACE,
        }
    }
}

/// What is logged, which can change.
#[derive(Clone)]
pub(crate) struct Levels {
    handle: Handle<Targets, Registry>,
    /// What `--log` says.
    words: String,
}

impl Levels {
    /// Has other levels from now on. What `--log` says goes before them.
    pub(crate) fn set(&self, log: &Log) {
        // The words were good at the start, and those of the file are looked at when
        // it is read.
        let targets = targets(log, &self.words);
        debug_assert!(targets.is_ok(), "levels are looked at when a file is read");
        if let Ok(targets) = targets
            && let Err(error) = self.handle.reload(targets)
        {
            tracing::error!(%error, "the levels of the log stay as they were");
        }
    }
}

/// Whether the levels of a configuration make sense.
pub(crate) fn check(log: &Log) -> Result<(), String> {
    targets(log, "").map(drop)
}

/// What is logged, by component.
fn targets(log: &Log, words: &str) -> Result<Targets, String> {
    let mut level = log.level;
    let mut components = parse(&log.components)?;
    for (component, own) in parse(words)? {
        match component {
            Some(name) => components.push((Some(name), own)),
            None => level = own,
        }
    }
    let mut targets = Targets::new().with_default(LevelFilter::from(level));
    for (component, own) in components {
        let target = match component {
            Some("tapeline") => "tapeline".to_owned(),
            Some(name) => format!("{CRATE_PREFIX}{name}"),
            None => continue,
        };
        targets = targets.with_target(target, LevelFilter::from(own));
        if component == Some("tapeline") {
            // The target is a prefix of all the others.
            targets = keep_others(targets, level);
        }
    }
    Ok(targets)
}

/// Starts the log; `words` is what `--log` says, and `events` where lines go for
/// who listens at the admin port.
pub(crate) fn start(
    log: &Log,
    words: Option<&str>,
    events: Option<&EventFeed>,
) -> Result<Levels, Failure> {
    let words = words.unwrap_or_default().to_owned();
    let (filter, handle) = reload::Layer::new(targets(log, &words).map_err(Failure::Log)?);
    let lines = Lines { is_json: log.format == LogFormat::Json };
    let lines = tracing_subscriber::fmt::layer().event_format(lines).with_writer(io::stderr);
    let told = events.cloned().map(Told);
    // A second start in one process changes nothing.
    let _ = tracing_subscriber::registry().with(filter).with(lines).with(told).try_init();
    Ok(Levels { handle, words })
}

/// Components other than the program itself stay at the general level.
fn keep_others(targets: Targets, level: Level) -> Targets {
    let is_set = targets.iter().any(|(target, _)| target == CRATE_PREFIX);
    if is_set { targets } else { targets.with_target(CRATE_PREFIX, LevelFilter::from(level)) }
}

/// Levels in words: `debug`, `hub=debug,server=warn`.
fn parse(words: &str) -> Result<Vec<(Option<&str>, Level)>, String> {
    let mut levels = Vec::new();
    for word in words.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let (component, level) = match word.split_once('=') {
            Some((component, level)) => (Some(component.trim()), level.trim()),
            None => (None, word),
        };
        let level: Level = level.parse().map_err(|error| format!("log level {error}"))?;
        levels.push((component, level));
    }
    Ok(levels)
}

/// Gives lines to who listens at the admin port.
struct Told(EventFeed);

impl<S: Subscriber> Layer<S> for Told {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() <= tracing::Level::INFO {
            self.0.tell(&tapeline_logline::json(event));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_levels() {
        assert_eq!(
            parse("debug, hub=trace"),
            Ok(vec![(None, Level::Debug), (Some("hub"), Level::Trace)])
        );
        assert_eq!(
            parse("hub=loud"),
            Err("log level is `loud`; give one of off, error, warn, info, debug, trace".to_owned())
        );
    }
}
