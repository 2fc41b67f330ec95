//! Metrics in the text format from before `OpenMetrics`, for whoever asks for that.

use std::collections::HashSet;
use std::fmt::Write as _;

use axum::http::{HeaderMap, HeaderValue, header};

/// The type of what [`text()`] returns.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Whether a request asks for it: it says `text/plain`, and `OpenMetrics` not at all.
pub(crate) fn is_wanted(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).map(HeaderValue::to_str);
    let Some(Ok(accept)) = accept else { return false };
    accept.contains("text/plain") && !accept.contains("application/openmetrics-text")
}

/// Metrics of `OpenMetrics` in the older format: there, a counter has `_total` in its type
/// and help, too, and nothing says units or where the text ends.
pub(crate) fn text(openmetrics: &str) -> String {
    let is_counter = |line| str::strip_suffix(str::strip_prefix(line, "# TYPE ")?, " counter");
    let counters: HashSet<&str> = openmetrics.lines().filter_map(is_counter).collect();
    let mut text = String::with_capacity(openmetrics.len());
    for line in openmetrics.lines() {
        let about = ["# HELP ", "# TYPE "].iter().find_map(|it| Some((it, line.strip_prefix(it)?)));
        let _ = match about.and_then(|(it, rest)| Some((it, rest.split_once(' ')?))) {
            Some((it, (name, rest))) if counters.contains(name) => {
                writeln!(text, "{it}{name}_total {rest}")
            }
            _ if line.starts_with("# UNIT ") || line == "# EOF" => Ok(()),
            _ => writeln!(text, "{line}"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_have_their_whole_name_everywhere() {
        let openmetrics = "\
# HELP tapeline_busy_seconds Time at work.
# TYPE tapeline_busy_seconds counter
# UNIT tapeline_busy_seconds seconds
tapeline_busy_seconds_total{name=\"a b\"} 1.5
# HELP tapeline_mounts Mounts.
# TYPE tapeline_mounts gauge
tapeline_mounts 3
# EOF
";
        let plain = "\
# HELP tapeline_busy_seconds_total Time at work.
# TYPE tapeline_busy_seconds_total counter
tapeline_busy_seconds_total{name=\"a b\"} 1.5
# HELP tapeline_mounts Mounts.
# TYPE tapeline_mounts gauge
tapeline_mounts 3
";
        assert_eq!(text(openmetrics), plain);
    }

    #[test]
    fn only_who_asks_for_it_gets_it() {
        let wanted = |accept: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, accept.parse().expect("good"));
            is_wanted(&headers)
        };
        assert!(wanted("text/plain") && wanted("text/plain;version=0.0.4;q=0.5,*/*;q=0.1"));
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.3";
        assert!(!wanted(prometheus) && !wanted("*/*") && !is_wanted(&HeaderMap::new()));
    }
}
