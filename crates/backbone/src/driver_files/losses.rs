//! Aeron's loss report as it lies in the file `loss-report.dat` of a media driver's
//! folder: an entry for each stream that lost something, and none behind the last.
//!
//! ```text
//!  0            8       16      24      32        36       40
//!  | how often  | bytes | first | last  | session | stream | channel | source
//!      i64        i64     ms      ms      i32       i32      length and text each
//! ```

use super::cnc::{i32_at, i64_at};

const TEXTS: usize = 40;

/// Entries begin at multiples of this.
const ALIGNMENT: usize = 64;

/// What was lost of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Loss {
    /// How often something was seen to be missing.
    pub(super) observations: u64,
    pub(super) bytes: u64,
    /// Milliseconds since 1970.
    pub(super) last_ms: u64,
    pub(super) session: i32,
    pub(super) stream: i32,
    pub(super) channel: String,
    /// Where it comes from.
    pub(super) source: String,
}

/// A text with its length in front, and where it ends.
fn text_at(report: &[u8], at: usize) -> Option<(String, usize)> {
    let length = usize::try_from(i32_at(report, at)?).ok()?;
    let end = at.checked_add(4)?.checked_add(length)?;
    let text = String::from_utf8_lossy(report.get(at + 4..end)?).into_owned();
    Some((text, end))
}

/// The entry in front, and how many bytes it takes.
fn entry(report: &[u8]) -> Option<(Loss, usize)> {
    let number = |at| u64::try_from(i64_at(report, at)?).ok();
    let observations = number(0).filter(|count| *count > 0)?;
    let (channel, end) = text_at(report, TEXTS)?;
    let (source, end) = text_at(report, end.next_multiple_of(4))?;
    let loss = Loss {
        observations,
        bytes: number(8)?,
        last_ms: number(24)?,
        session: i32_at(report, 32)?,
        stream: i32_at(report, 36)?,
        channel,
        source,
    };
    Some((loss, end.next_multiple_of(ALIGNMENT)))
}

/// All entries, up to the first that is none.
pub(super) fn losses(report: &[u8]) -> Vec<Loss> {
    let (mut all, mut at) = (Vec::new(), 0);
    while let Some((loss, bytes)) = report.get(at..).and_then(entry) {
        all.push(loss);
        at += bytes;
    }
    all
}

#[cfg(test)]
pub(super) mod made {
    use super::*;

    /// The bytes of an entry.
    pub(in super::super) fn entry(loss: &Loss) -> Vec<u8> {
        let mut entry = Vec::new();
        for number in [loss.observations, loss.bytes, 1, loss.last_ms] {
            entry.extend_from_slice(&(number as i64).to_ne_bytes());
        }
        entry.extend_from_slice(&loss.session.to_ne_bytes());
        entry.extend_from_slice(&loss.stream.to_ne_bytes());
        for text in [&loss.channel, &loss.source] {
            entry.resize(entry.len().next_multiple_of(4), 0);
            entry.extend_from_slice(&(text.len() as i32).to_ne_bytes());
            entry.extend_from_slice(text.as_bytes());
        }
        entry.resize(entry.len().next_multiple_of(ALIGNMENT), 0);
        entry
    }

    pub(in super::super) fn loss(session: i32, channel: &str, source: &str) -> Loss {
        Loss {
            observations: 3,
            bytes: 4_096,
            last_ms: 1_700_000_000_000,
            session,
            stream: 1_001,
            channel: channel.to_owned(),
            source: source.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_up_to_the_first_that_is_none() {
        // Texts of all lengths modulo four.
        let all: Vec<_> = (1..9)
            .map(|session| {
                let channel = "aeron:udp?endpoint=239.0.0.1:4000"[..24 + session].to_owned();
                made::loss(session as i32, &channel, &"10.0.0.12:40123"[..7 + session])
            })
            .collect();
        let mut report: Vec<u8> = all.iter().flat_map(made::entry).collect();
        report.resize(report.len() + 256, 0);
        assert_eq!(losses(&report), all);
        assert_eq!(losses(&[0; 4_096]), []);
    }

    #[test]
    fn damage_ends_the_report() {
        let good = made::entry(&made::loss(1, "aeron:ipc", "here"));
        let mut report = [good.clone(), good.clone()].concat();
        let second = good.len();
        report[second + TEXTS..][..4].copy_from_slice(&i32::MAX.to_ne_bytes());
        assert_eq!(losses(&report).len(), 1);
        report[second + TEXTS..][..4].copy_from_slice(&(-1_i32).to_ne_bytes());
        assert_eq!(losses(&report).len(), 1);
        for end in 0..good.len() {
            assert!(losses(&good[..end]).len() <= 1);
        }
    }
}
