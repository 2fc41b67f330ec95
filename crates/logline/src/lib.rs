//! The log: a line for each event, as `key=value` or as JSON.
//!
//! ```text
//! time=2026-11-22T01:02:03.000004Z level=info component=hub msg="source is up" source=a:14002
//! {"time":"2026-11-22T01:02:03.000004Z","level":"info","component":"hub","msg":"source is up"}
//! ```
//!
//! A line of one of the further servers of a process says which: `thread=shard-1`.
//!
//! All programs write it so. What is logged, and where it goes, is theirs to say.

use std::fmt::{self, Write as _};

use serde_json::Value as Json;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// What stands before the component in the target of an event.
pub const CRATE_PREFIX: &str = "tapeline_";

/// What the names of threads begin with on which the further servers of a process are:
/// their sessions have the numbers that those of others have, so that lines name them.
const SHARD: &str = "shard-";
const THREAD: &str = "thread";

/// The time, as lines have it.
pub fn now() -> String {
    let mut time = String::new();
    let _ = SystemTime.format_time(&mut Writer::new(&mut time));
    time
}

/// An event as JSON.
pub fn json(event: &Event<'_>) -> String {
    LineFields::of(event).json(&now(), event)
}

/// The form of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// As JSON, else as `key=value`.
    pub is_json: bool,
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
        match self.is_json {
            false => writeln!(writer, "{}", fields.logfmt(&time, event)),
            true => writeln!(writer, "{}", fields.json(&time, event)),
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
        if let Some(shard) = std::thread::current().name().filter(|name| name.starts_with(SHARD))
            && fields.others.iter().all(|(name, _)| *name != THREAD)
        {
            fields.others.push((THREAD, shard.into()));
        }
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
    fn values_of_several_words_are_quoted() {
        let shown = ["a:1", "", "a b", "a=\"b\"", "a\nb"].map(|text| Value(text).to_string());
        assert_eq!(shown, ["a:1", "\"\"", "\"a b\"", "\"a=\\\"b\\\"\"", "\"a\\nb\""]);
    }

    #[derive(Clone, Default)]
    struct Sink(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

    impl std::io::Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("not poisoned").write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// What a thread of this name logs, from behind the component on.
    fn logged(thread: &str, log: impl FnOnce() + Send + 'static) -> String {
        let sink = Sink::default();
        let writer = sink.clone();
        let work = move || {
            let lines = tracing_subscriber::fmt().event_format(Lines::default());
            let lines = lines.with_writer(move || writer.clone()).finish();
            tracing::subscriber::with_default(lines, log);
        };
        let thread = std::thread::Builder::new().name(thread.to_owned()).spawn(work);
        thread.expect("a thread").join().expect("no panic");
        let text = String::from_utf8(sink.0.lock().expect("not poisoned").clone());
        let text = text.expect("text");
        text.split_once(" msg=").map_or(String::new(), |(_, rest)| rest.trim_end().to_owned())
    }

    #[test]
    fn a_line_of_a_further_server_says_of_which() {
        let open = || tracing::info!(session = "0.0", "open");
        assert_eq!(logged("shard-3", open), "open session=0.0 thread=shard-3");
        assert_eq!(logged("edge", open), "open session=0.0");
        let near = || tracing::warn!(thread = "shard-3", "near");
        assert_eq!(logged("shard-3", near), "near thread=shard-3", "it is said once");
    }
}
