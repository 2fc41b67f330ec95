//! What Aeron says, and what it is told.

use std::ffi::CString;
use std::path::Path;
use std::time::Duration;

use rusteron_media_driver::AeronCError;

use crate::error::BackboneError;

pub(super) fn failed(action: &'static str, place: &Path, error: &AeronCError) -> BackboneError {
    BackboneError::Aeron {
        action,
        place: place.to_owned(),
        text: one_line(error.get_last_err_message()),
    }
}

/// What Aeron says about an error.
pub(super) fn words(error: &AeronCError) -> String {
    one_line(error.get_last_err_message())
}

/// Aeron reports in lines, each with the place in its source where it passed.
///
/// ```text
/// (99) Cannot assign requested address
/// [aeron_bind, aeron_socket.c:93] failed to bind(7, 192.0.2.1:41231)
/// ```
pub(super) fn one_line(report: &str) -> String {
    let without_place = |line: &'_ str| match line.split_once("] ") {
        Some((place, text)) if place.starts_with('[') => text.trim().to_owned(),
        _ => line.trim().to_owned(),
    };
    let mut lines: Vec<_> = report.lines().map(without_place).collect();
    lines.retain(|line| !line.is_empty() && !line.contains("see message"));
    lines.join("; ")
}

/// Text for C. None of ours has a NUL inside; what has one ends there.
pub(super) fn c_string(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}

pub(super) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_becomes_one_line_without_places() {
        let report = "(-11) generic error, see message\n[a, a.c:1] (99) Cannot assign\n\
                      [aeron_bind, aeron_socket.c:93] failed to bind(7, [::1]:41231)\n[b, b.c:2] \n\n";
        assert_eq!(one_line(report), "(99) Cannot assign; failed to bind(7, [::1]:41231)");
        assert_eq!(one_line("plain"), "plain");
        assert_eq!(one_line(""), "");
    }

    #[test]
    fn text_for_c_ends_at_a_nul() {
        assert_eq!(c_string("/dev/shm/x\0y").to_bytes(), b"/dev/shm/x");
    }
}
