//! What is told at the end of the demonstration.

use std::time::Duration;

use crate::console::rate;
use crate::measure::Summary as Latencies;

/// What the client saw, from the start to the end.
#[derive(Clone, Debug)]
pub(super) struct Summary {
    pub(super) time: Duration,
    /// Items that were asked for.
    pub(super) items: usize,
    /// Those of them that had their image.
    pub(super) images: usize,
    /// When the last one had it, from the start.
    pub(super) images_after: Option<Duration>,
    pub(super) updates: u64,
    /// From source to client.
    pub(super) latencies: Option<Latencies>,
}

impl Summary {
    /// The lines, for a program that is called by this name.
    pub(super) fn lines(&self, program: &str) -> Vec<String> {
        let mut lines = vec![String::new(), format!("Seen in {}", seconds(self.time))];
        lines.extend(self.seen().into_iter().map(|line| format!("  {line}")));
        if self.updates == 0 {
            lines.push(format!("No update came; `{program} demo --log info` says more."));
            return lines;
        }
        lines.push(String::new());
        lines.push("Each went source -> hub -> backbone -> server -> client. Next".to_owned());
        let next = [
            ("demo --rate 100000 --seconds 10", "a hundred times as much"),
            ("source --port 14100 --service FEED &", "the same as programs of their own:"),
            ("run --source 127.0.0.1:14100 --ws-port 15000 &", "  hub and server"),
            ("client --service FEED TAPE1.X XXA=", "  or http://localhost:15000/ in a browser"),
        ];
        let width = next.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
        lines.extend(next.map(|(command, what)| format!("  {program} {command:<width$}   {what}")));
        lines.push("and in the checkout, `make bench-quick`: what this machine can do".to_owned());
        lines
    }

    fn seen(&self) -> Vec<String> {
        let Self { items, images, updates, .. } = self;
        let mut seen = vec![format!("items     {images} of {items} with their image")];
        if let Some(after) = self.images_after {
            seen[0] = format!("{}, after {} ms", seen[0], after.as_millis());
        }
        let per_s = *updates as f64 / self.time.as_secs_f64().max(0.001);
        seen.push(format!("updates   {}, {} a second", rate(*updates), rate(per_s.round() as u64)));
        if let Some(latencies) = &self.latencies {
            let Latencies { p50_us, p99_us, p999_us, max_us, .. } = latencies;
            seen.push(format!(
                "latency   p50 {p50_us} us, p99 {p99_us} us, p99.9 {p999_us} us, max {max_us} us, \
                 from source to client"
            ));
        }
        seen
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Latency;

    fn summary() -> Summary {
        let mut latency = Latency::new();
        (1..=100).for_each(|micros| latency.record_us(micros));
        Summary {
            time: Duration::from_millis(10_040),
            items: 5,
            images: 5,
            images_after: Some(Duration::from_millis(12)),
            updates: 10_040,
            latencies: latency.summary(),
        }
    }

    #[test]
    fn it_says_what_was_seen_and_what_to_try() {
        let lines = summary().lines("tapeline");
        assert_eq!(
            lines[..5],
            [
                "",
                "Seen in 10.0 s",
                "  items     5 of 5 with their image, after 12 ms",
                "  updates   10 040, 1 000 a second",
                "  latency   p50 50 us, p99 99 us, p99.9 100 us, max 100 us, from source to client",
            ]
        );
        assert!(lines.iter().any(|line| line.contains("tapeline client --service FEED")));
        assert!(lines.iter().all(|line| line.chars().count() < 110), "{lines:?}");
    }

    #[test]
    fn without_an_update_it_says_where_to_look() {
        let summary = Summary { updates: 0, latencies: None, images_after: None, ..summary() };
        let lines = summary.lines("tapeline");
        assert_eq!(
            lines.last().map(String::as_str),
            Some("No update came; `tapeline demo --log info` says more.")
        );
    }
}
