//! The log: a line for each event on standard error, as `key=value` or as JSON.
//!
//! ```text
//! time=2026-11-22T01:02:03.000004Z level=info component=hub msg="source is up" source=a:14002
//! {"time":"2026-11-22T01:02:03.000004Z","level":"info","component":"hub","msg":"source is up"}
//! ```
//!
//! Who listens at the admin port gets the same lines, as JSON.

use std::fmt::{self, Write as _};
use std::io;

use serde_json::Value as Json;
use tapeline_admin::EventFeed;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::Registry;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::reload::{self, Handle};
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{Level, Log, LogFormat};
use crate::failure::Failure;

/// What stands before the component in the target of an event.
const CRATE_PREFIX: &str = "tapeline_";

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

/// The time, as lines have it.
pub(crate) fn now() -> String {
    let mut time = String::new();
    let _ = SystemTime.format_time(&mut Writer::new(&mut time));
    time
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
    let lines = Lines { format: log.format };
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
            self.0.tell(&LineFields::of(event).json(&now(), event));
        }
    }
}

/// The form of a line.
struct Lines {
    format: LogFormat,
}

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let time = now();
        let fields = LineFields::of(event);
        match self.format {
            LogFormat::Logfmt => writeln!(writer, "{}", fields.logfmt(&time, event)),
            LogFormat::Json => writeln!(writer, "{}", fields.json(&time, event)),
        }
    }
}

fn level(event: &Event<'_>) -> String {
    event.metadata().level().as_str().to_ascii_lowercase()
}

fn component(event: &Event<'_>) -> &'static str {
    let target = event.metadata().target();
    let component = target.split("::").next().unwrap_or(target);
    component.strip_prefix(CRATE_PREFIX).unwrap_or(component)
}

/// The fields of an event, the message apart from the others.
#[derive(Default)]
struct LineFields {
    message: String,
    others: Vec<(&'static str, Json)>,
}

impl LineFields {
    fn of(event: &Event<'_>) -> Self {
        let mut fields = Self::default();
        event.record(&mut fields);
        fields
    }

    fn logfmt(&self, time: &str, event: &Event<'_>) -> String {
        let (level, component, message) = (level(event), component(event), Value(&self.message));
        let mut line = format!("time={time} level={level} component={component} msg={message}");
        for (name, value) in &self.others {
            let _ = match value.as_str() {
                Some(text) => write!(line, " {name}={}", Value(text)),
                None => write!(line, " {name}={value}"),
            };
        }
        line
    }

    fn json(self, time: &str, event: &Event<'_>) -> String {
        let head = [
            ("time", time.into()),
            ("level", level(event).into()),
            ("component", component(event).into()),
            ("msg", self.message.into()),
        ];
        let fields = head.into_iter().chain(self.others);
        Json::Object(fields.map(|(name, value)| (name.to_owned(), value)).collect()).to_string()
    }
}

impl Visit for LineFields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => value.clone_into(&mut self.message),
            name => self.others.push((name, value.into())),
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.others.push((field.name(), value.into()));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.others.push((field.name(), value.into()));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.others.push((field.name(), value.into()));
    }
}

/// A value, in quotes if it would not be one word without them.
struct Value<'v>(&'v str);

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_word = !self.0.is_empty()
            && !self.0.contains(|c: char| c.is_whitespace() || c.is_control() || "\"=".contains(c));
        if is_word { f.write_str(self.0) } else { write!(f, "{:?}", self.0) }
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

    #[test]
    fn values_of_several_words_are_quoted() {
        let shown = ["a:1", "", "a b", "a=\"b\"", "a\nb"].map(|text| Value(text).to_string());
        assert_eq!(shown, ["a:1", "\"\"", "\"a b\"", "\"a=\\\"b\\\"\"", "\"a\\nb\""]);
    }
}
