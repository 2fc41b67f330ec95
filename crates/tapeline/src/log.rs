//! The log: lines of `key=value` on standard error.
//!
//! ```text
//! time=2026-11-22T01:02:03.000004Z level=info component=hub msg="source is up" source=a:14002
//! ```

use std::fmt::{self, Write as _};
use std::io;

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{Level, Log};
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

/// Starts the log; `words` is what `--log` says.
pub(crate) fn start(log: &Log, words: Option<&str>) -> Result<(), Failure> {
    let mut level = log.level;
    let mut components = parse(&log.components).map_err(Failure::Log)?;
    for (component, own) in parse(words.unwrap_or_default()).map_err(Failure::Log)? {
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
    let lines = tracing_subscriber::fmt::layer().event_format(Lines).with_writer(io::stderr);
    // A second start in one process changes nothing.
    let _ = tracing_subscriber::registry().with(lines).with(targets).try_init();
    Ok(())
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

/// The form of a line.
struct Lines;

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
        let metadata = event.metadata();
        writer.write_str("time=")?;
        SystemTime.format_time(&mut writer)?;
        let level = metadata.level().as_str().to_ascii_lowercase();
        let target = metadata.target();
        let component = target.split("::").next().unwrap_or(target);
        let component = component.strip_prefix(CRATE_PREFIX).unwrap_or(component);
        write!(writer, " level={level} component={component}")?;
        let mut fields = LineFields { message: String::new(), others: String::new() };
        event.record(&mut fields);
        write!(writer, " msg={}", Value(&fields.message))?;
        writer.write_str(&fields.others)?;
        writeln!(writer)
    }
}

/// The fields of an event, the message apart from the others.
struct LineFields {
    message: String,
    others: String,
}

impl Visit for LineFields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let text = format!("{value:?}");
        if field.name() == "message" {
            self.message = text;
        } else {
            let _ = write!(self.others, " {}={}", field.name(), Value(&text));
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
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
