//! What a media driver counts, as tables.

use std::path::Path;

use super::cnc::{self, Counter, StreamKey};
use super::losses::Loss;

tapeline_counters::rows! {
    /// The media driver of a process, by Aeron's own counters: what it did since its
    /// start for all streams together.
    pub struct DriverRow = "driver" {
        /// Its folder.
        "folder" => folder: String;
        /// NAKs sent: what was missing here was asked for again.
        "naksSent" => naks_sent: u64;
        /// NAKs received: something of ours was missing elsewhere.
        "naksReceived" => naks_received: u64;
        /// Retransmits sent.
        "retransmitsSent" => retransmits_sent: u64;
        /// Bytes of them.
        "retransmittedBytes" => retransmitted_bytes: u64, in bytes;
        /// Retransmits that were left out, as too many were under way.
        "retransmitOverflows" => retransmit_overflows: u64;
        /// Gaps that were filled with nothing, as what was missing did not come: frames
        /// are lost.
        "lossGapFills" => loss_gap_fills: u64;
        /// Status messages sent, by which senders learn how far receivers are,
        "statusMessagesSent" => status_messages_sent: u64;
        /// and received.
        "statusMessagesReceived" => status_messages_received: u64;
        /// Times that a sender stood still, as receivers had no more room.
        "flowControlLimits" => flow_control_limits: u64;
        /// Packets behind what was read already,
        "flowControlUnderRuns" => flow_control_under_runs: u64;
        /// and packets beyond the room of a receiver, which are dropped.
        "flowControlOverRuns" => flow_control_over_runs: u64;
        /// Packets that were none of Aeron's.
        "invalidPackets" => invalid_packets: u64;
        /// Packets that a socket did not take whole.
        "shortSends" => short_sends: u64;
        /// Errors, whose texts are in the driver's own log.
        "errors" => errors: u64;
        /// Clients that were given up, as they stood still.
        "clientTimeouts" => client_timeouts: u64;
        /// Bytes sent,
        "bytesSent" => bytes_sent: u64, in bytes;
        /// and received.
        "bytesReceived" => bytes_received: u64, in bytes;
        /// Bytes of memory that its files take now.
        "mappedBytes" => mapped_bytes: u64, in bytes;
    }
}

tapeline_counters::rows! {
    /// Streams of a media driver: what it sends, and what it receives of each peer, with
    /// Aeron's loss report.
    pub struct DriverStreamRow = "driver-streams" {
        /// `in` or `out`.
        "direction" => direction: &'static str;
        /// The number of its sender: `sessions` of `peers` say whose it is.
        "session" => session: i64;
        /// The number of the stream.
        "stream" => stream: i64;
        /// Where it is sent, or listened for.
        "channel" => channel: String;
        /// Bytes from its beginning that were sent, or received up to the highest.
        "position" => position: u64, in bytes;
        /// Bytes of these that were received without a gap; of one that is sent, up to
        /// where receivers have room.
        "limit" => limit: Option<u64>, in bytes;
        /// NAKs that were sent for it, or received of whoever reads it.
        "naks" => naks: u64;
        /// How often something of it was missing, by the loss report,
        "losses" => losses: u64;
        /// how many bytes that were in all, most of which came again,
        "lostBytes" => lost_bytes: u64, in bytes;
        /// and how many seconds ago the last of it was.
        "lastLossSeconds" => last_loss_seconds: Option<u64>;
        /// The address of its sender, where something was lost.
        "source" => source: Option<String>;
    }
}

impl DriverRow {
    /// From the counters of the whole driver, by Aeron's numbers of them.
    pub(super) fn of(folder: &Path, counters: &[Counter]) -> Self {
        let count = |id: i32| {
            let counter = counters.iter().find(|counter| counter.system_id() == Some(id));
            counter.and_then(|counter| u64::try_from(counter.value).ok()).unwrap_or(0)
        };
        Self {
            folder: folder.display().to_string(),
            bytes_sent: count(0),
            bytes_received: count(1),
            naks_sent: count(5),
            naks_received: count(6),
            status_messages_sent: count(7),
            status_messages_received: count(8),
            retransmits_sent: count(11),
            flow_control_under_runs: count(12),
            flow_control_over_runs: count(13),
            invalid_packets: count(14),
            errors: count(15),
            short_sends: count(16),
            flow_control_limits: count(18),
            loss_gap_fills: count(23),
            client_timeouts: count(24),
            mapped_bytes: count(MAPPED_BYTES),
            retransmitted_bytes: count(RETRANSMITTED_BYTES),
            retransmit_overflows: count(RETRANSMIT_OVERFLOWS),
        }
    }
}

const MAPPED_BYTES: i32 = 35;
const RETRANSMITTED_BYTES: i32 = 36;
const RETRANSMIT_OVERFLOWS: i32 = 37;

/// The streams of all counters, in order, with what was lost of each. `now_ms` is since
/// 1970.
pub(super) fn streams(counters: &[Counter], losses: &[Loss], now_ms: u64) -> Vec<DriverStreamRow> {
    let mut rows: Vec<DriverStreamRow> = Vec::new();
    for counter in counters {
        let Some(StreamKey { session, stream, channel }) = counter.stream() else { continue };
        let direction = direction(counter.type_id);
        let row = row_of(&mut rows, (direction, session, stream), channel);
        let value = u64::try_from(counter.value).unwrap_or(0);
        match counter.type_id {
            cnc::NAKS_SENT | cnc::NAKS_RECEIVED => row.naks += value,
            cnc::RECEIVER_POSITION | cnc::SENDER_LIMIT => row.limit = Some(value),
            _ => row.position = row.position.max(value),
        }
    }
    for loss in losses {
        let row = row_of(&mut rows, ("in", loss.session, loss.stream), loss.channel.clone());
        row.losses += loss.observations;
        row.lost_bytes += loss.bytes;
        let seconds = now_ms.saturating_sub(loss.last_ms) / 1_000;
        row.last_loss_seconds = Some(row.last_loss_seconds.map_or(seconds, |it| it.min(seconds)));
        row.source = Some(loss.source.clone());
    }
    rows.sort_by_key(|row| (row.direction, row.stream, row.session));
    rows
}

const fn direction(type_id: i32) -> &'static str {
    match type_id {
        cnc::SENDER_POSITION | cnc::SENDER_LIMIT | cnc::PUBLISHER_POSITION | cnc::NAKS_RECEIVED => {
            "out"
        }
        _ => "in",
    }
}

/// The row of a stream, which is made if there is none yet.
fn row_of<'a>(
    rows: &'a mut Vec<DriverStreamRow>,
    (direction, session, stream): (&'static str, i32, i32),
    channel: String,
) -> &'a mut DriverStreamRow {
    let (session, stream) = (i64::from(session), i64::from(stream));
    let is_it = |row: &DriverStreamRow| {
        (row.direction, row.session, row.stream) == (direction, session, stream)
    };
    let at = rows.iter().position(is_it).unwrap_or_else(|| {
        rows.push(DriverStreamRow {
            direction,
            session,
            stream,
            channel,
            position: 0,
            limit: None,
            naks: 0,
            losses: 0,
            lost_bytes: 0,
            last_loss_seconds: None,
            source: None,
        });
        rows.len() - 1
    });
    &mut rows[at]
}

#[cfg(test)]
mod tests {
    use super::super::cnc::made as made_counters;
    use super::super::losses::made as made_losses;
    use super::*;

    fn counters(all: &[made_counters::Made<'_>]) -> Vec<Counter> {
        let (metadata, values) = made_counters::counters(all);
        cnc::counters(&metadata, &values)
    }

    #[test]
    fn counters_of_the_driver_are_found_by_their_numbers() {
        let system =
            |id: i32, label, value| (1, cnc::SYSTEM, id.to_ne_bytes().into(), label, value);
        let row = DriverRow::of(
            Path::new("/x"),
            &counters(&[
                system(5, "NAKs sent", 7),
                system(6, "NAKs received", 8),
                system(11, "Retransmits sent", 9),
                system(36, "Retransmitted bytes", 10),
                system(23, "Loss gap fills", -1),
            ]),
        );
        let said = [row.naks_sent, row.naks_received, row.retransmits_sent];
        assert_eq!((said, row.retransmitted_bytes, row.loss_gap_fills), ([7, 8, 9], 10, 0));
    }

    #[test]
    fn a_stream_has_its_counters_and_its_losses_in_one_row() {
        let of = |type_id, session, value| {
            (1, type_id, made_counters::key(session, 1_001, "aeron:udp"), "", value)
        };
        let counters = counters(&[
            of(cnc::RECEIVER_HIGH_WATER_MARK, 5, 900),
            of(cnc::RECEIVER_POSITION, 5, 800),
            of(cnc::NAKS_SENT, 5, 2),
            of(cnc::SENDER_POSITION, 6, 70),
            of(cnc::PUBLISHER_POSITION, 6, 80),
            of(cnc::SENDER_LIMIT, 6, 100),
            of(cnc::NAKS_RECEIVED, 6, 3),
            of(7, 1, 1),
        ]);
        let losses = [
            made_losses::loss(5, "aeron:udp", "10.0.0.12:4000"),
            made_losses::loss(9, "aeron:udp", "10.0.0.13:4000"),
        ];
        let rows = streams(&counters, &losses, losses[0].last_ms + 2_500);
        let said: Vec<_> = rows
            .iter()
            .map(|row| (row.direction, row.session, row.position, row.limit, row.naks))
            .collect();
        let expected =
            [("in", 5, 900, Some(800), 2), ("in", 9, 0, None, 0), ("out", 6, 80, Some(100), 3)];
        assert_eq!(said, expected);
        let first = &rows[0];
        let lost = (first.losses, first.lost_bytes, first.last_loss_seconds);
        assert_eq!(lost, (3, 4_096, Some(2)));
        assert_eq!(rows[1].source.as_deref(), Some("10.0.0.13:4000"));
        assert_eq!(rows[2].last_loss_seconds, None);
    }
}
