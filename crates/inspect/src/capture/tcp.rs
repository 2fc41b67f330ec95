//! TCP streams from packets: in order, without repetitions.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;

/// A TCP segment out of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'p> {
    /// Who sent it.
    pub source: SocketAddr,
    /// Who it is for.
    pub destination: SocketAddr,
    /// Sequence number of the first byte, or of the SYN.
    pub sequence: u32,
    /// The connection begins.
    pub is_syn: bool,
    /// It answers something: a SYN with it is a server's.
    pub is_ack: bool,
    /// The connection ends at once.
    pub is_reset: bool,
    /// Content.
    pub payload: &'p [u8],
}

/// What becomes of segments. `connection` counts from 0 in the order in which
/// connections are first seen; `end` is 0 for the one that sent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpEvent<'p> {
    /// A connection that was not seen before, from end 0 to end 1.
    Opened {
        /// Its number.
        connection: usize,
        /// Both ends.
        ends: [SocketAddr; 2],
        /// The end that is the client, if the handshake tells.
        client: Option<usize>,
    },
    /// The next bytes of a direction.
    Bytes {
        /// The connection's number.
        connection: usize,
        /// Which end sent them.
        end: usize,
        /// The bytes.
        bytes: &'p [u8],
    },
    /// Bytes that are not in the capture.
    Lost {
        /// The connection's number.
        connection: usize,
        /// Which end sent them.
        end: usize,
        /// How many.
        count: u64,
    },
}

/// Bounds of the reassembly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpLimits {
    /// Connections that are followed; further ones are not.
    pub max_connections: usize,
    /// Bytes of one direction that wait for earlier ones. When more come, the
    /// earlier ones are taken as lost.
    pub max_held_bytes: usize,
}

impl Default for TcpLimits {
    /// 65,536 connections; 4 MiB, more than a TCP window in a local network.
    fn default() -> Self {
        Self { max_connections: 65_536, max_held_bytes: 4 << 20 }
    }
}

#[derive(Default)]
struct Stream {
    /// The sequence number that comes next; `None` before the first segment.
    next: Option<u32>,
    /// Segments ahead of it, by how far ahead they were when they came.
    held: BTreeMap<u64, Vec<u8>>,
    held_bytes: usize,
    /// How many bytes were delivered, as a position that does not wrap.
    position: u64,
}

struct Connection {
    number: usize,
    ends: [SocketAddr; 2],
    streams: [Stream; 2],
}

/// Puts segments of many connections in order.
#[derive(Default)]
pub struct Reassembly {
    limits: TcpLimits,
    connections: HashMap<[SocketAddr; 2], Connection>,
    count: usize,
    unfollowed_packets: u64,
}

impl Reassembly {
    /// A reassembly with bounds.
    pub fn new(limits: TcpLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Segments of connections above [`TcpLimits::max_connections`].
    pub const fn unfollowed_packets(&self) -> u64 {
        self.unfollowed_packets
    }

    /// Takes a segment.
    pub fn segment(&mut self, segment: &Segment<'_>, emit: &mut dyn FnMut(TcpEvent<'_>)) {
        let mut key = [segment.source, segment.destination];
        key.sort();
        let is_new_client = segment.is_syn && !segment.is_ack;
        let is_known = self
            .connections
            .get(&key)
            .is_some_and(|connection| !(is_new_client && connection.is_over(segment)));
        if !is_known {
            if self.count >= self.limits.max_connections {
                self.unfollowed_packets += 1;
                return;
            }
            if segment.is_reset {
                return;
            }
            let ends = [segment.source, segment.destination];
            let number = self.count;
            self.count += 1;
            let streams = [Stream::default(), Stream::default()];
            if let Some(mut old) =
                self.connections.insert(key, Connection { number, ends, streams })
            {
                old.finish(emit);
            }
            let client = segment.is_syn.then_some(usize::from(segment.is_ack));
            emit(TcpEvent::Opened { connection: number, ends, client });
        }
        if let Some(connection) = self.connections.get_mut(&key) {
            connection.segment(segment, self.limits.max_held_bytes, emit);
        }
    }

    /// Ends all streams: what waits for bytes that did not come is delivered
    /// behind a gap.
    pub fn finish(&mut self, emit: &mut dyn FnMut(TcpEvent<'_>)) {
        let mut connections: Vec<_> = self.connections.drain().map(|(_, c)| c).collect();
        connections.sort_by_key(|connection| connection.number);
        for mut connection in connections {
            connection.finish(emit);
        }
    }
}

impl Connection {
    /// Whether a client's SYN begins another connection of the same ends: one
    /// that repeats the first SYN does not.
    fn is_over(&self, segment: &Segment<'_>) -> bool {
        let end = usize::from(self.ends[0] != segment.source);
        let stream = &self.streams[end];
        let start = segment.sequence.wrapping_add(1);
        stream.next.is_some_and(|next| next.wrapping_sub(stream.position as u32) != start)
    }

    fn segment(
        &mut self,
        segment: &Segment<'_>,
        max_held_bytes: usize,
        emit: &mut dyn FnMut(TcpEvent<'_>),
    ) {
        let end = usize::from(self.ends[0] != segment.source);
        let connection = self.number;
        let stream = &mut self.streams[end];
        let first = segment.sequence.wrapping_add(u32::from(segment.is_syn));
        let next = *stream.next.get_or_insert(first);
        if segment.payload.is_empty() {
            return;
        }
        // Half of the number space is ahead, the other half is behind.
        let ahead = i64::from(first.wrapping_sub(next) as i32);
        if ahead > 0 {
            stream.hold(ahead as u64, segment.payload);
        } else if let Some(fresh) = segment.payload.get(ahead.unsigned_abs() as usize..) {
            stream.deliver(fresh, &mut |bytes| emit(TcpEvent::Bytes { connection, end, bytes }));
        }
        while stream.held_bytes > max_held_bytes {
            stream.skip(connection, end, emit);
        }
    }

    fn finish(&mut self, emit: &mut dyn FnMut(TcpEvent<'_>)) {
        for (end, stream) in self.streams.iter_mut().enumerate() {
            while !stream.held.is_empty() {
                stream.skip(self.number, end, emit);
            }
        }
    }
}

impl Stream {
    fn hold(&mut self, ahead: u64, payload: &[u8]) {
        let position = self.position + ahead;
        let held = self.held.entry(position).or_default();
        if payload.len() > held.len() {
            self.held_bytes += payload.len() - held.len();
            *held = payload.to_vec();
        }
    }

    /// Delivers the next bytes and all that were waiting for them.
    fn deliver(&mut self, fresh: &[u8], emit: &mut dyn FnMut(&[u8])) {
        self.advance(fresh, emit);
        while let Some(entry) = self.held.first_entry() {
            if *entry.key() > self.position {
                break;
            }
            let behind = (self.position - entry.key()) as usize;
            let bytes = entry.remove();
            self.held_bytes -= bytes.len();
            if let Some(fresh) = bytes.get(behind..) {
                self.advance(fresh, emit);
            }
        }
    }

    fn advance(&mut self, fresh: &[u8], emit: &mut dyn FnMut(&[u8])) {
        if fresh.is_empty() {
            return;
        }
        self.position += fresh.len() as u64;
        self.next = self.next.map(|next| next.wrapping_add(fresh.len() as u32));
        emit(fresh);
    }

    /// Gives up the bytes before the first held segment.
    fn skip(&mut self, connection: usize, end: usize, emit: &mut dyn FnMut(TcpEvent<'_>)) {
        let Some((position, _)) = self.held.first_key_value() else { return };
        let count = position.saturating_sub(self.position);
        self.position = *position;
        self.next = self.next.map(|next| next.wrapping_add(count as u32));
        emit(TcpEvent::Lost { connection, end, count });
        self.deliver(&[], &mut |bytes| emit(TcpEvent::Bytes { connection, end, bytes }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends() -> [SocketAddr; 2] {
        [SocketAddr::from(([10, 0, 0, 1], 40000)), SocketAddr::from(([10, 0, 0, 2], 14002))]
    }

    fn data(sequence: u32, payload: &[u8]) -> Segment<'_> {
        let [source, destination] = ends();
        let (is_syn, is_ack, is_reset) = (false, true, false);
        Segment { source, destination, sequence, is_syn, is_ack, is_reset, payload }
    }

    fn syn(sequence: u32) -> Segment<'static> {
        Segment { is_syn: true, is_ack: false, ..data(sequence, &[]) }
    }

    /// What comes out, losses as a number in brackets.
    fn run(limits: TcpLimits, segments: &[Segment<'_>]) -> String {
        let mut out = String::new();
        let mut emit = |event: TcpEvent<'_>| match event {
            TcpEvent::Opened { .. } => out.push('|'),
            TcpEvent::Bytes { bytes, .. } => out.push_str(&String::from_utf8_lossy(bytes)),
            TcpEvent::Lost { count, .. } => out.extend(["[", &count.to_string(), "]"]),
        };
        let mut reassembly = Reassembly::new(limits);
        for segment in segments {
            reassembly.segment(segment, &mut emit);
        }
        reassembly.finish(&mut emit);
        out
    }

    fn ordered(segments: &[Segment<'_>]) -> String {
        run(TcpLimits::default(), segments)
    }

    #[test]
    fn any_order_and_any_repetition_gives_the_same_stream() {
        // The numbers wrap in the middle.
        let start = u32::MAX - 3;
        let at = |offset: u32| start.wrapping_add(1 + offset);
        let pieces =
            [data(at(0), b"abc"), data(at(3), b"def"), data(at(6), b"ghi"), data(at(2), b"cdefg")];
        let orders: [&[usize]; 5] =
            [&[0, 1, 2, 3], &[2, 1, 0, 3], &[3, 2, 0, 1], &[0, 0, 2, 3, 3], &[1, 2, 3, 0, 2]];
        for order in orders {
            let mut segments = vec![syn(start)];
            segments.extend(order.iter().map(|at| pieces[*at]));
            assert_eq!(ordered(&segments), "|abcdefghi", "{order:?}");
        }
    }

    #[test]
    fn a_hole_is_told_and_what_follows_is_kept() {
        assert_eq!(ordered(&[data(100, b"abc"), data(107, b"hi")]), "|abc[4]hi");
        let limits = TcpLimits { max_held_bytes: 3, ..TcpLimits::default() };
        let segments = [data(0, b"a"), data(5, b"bc"), data(7, b"de"), data(9, b"f")];
        assert_eq!(run(limits, &segments), "|a[4]bcdef");
    }

    #[test]
    fn a_repeated_syn_is_no_new_connection_and_another_one_is() {
        assert_eq!(ordered(&[syn(5), syn(5), data(6, b"a"), syn(5), data(7, b"b")]), "|ab");
        assert_eq!(ordered(&[syn(5), data(6, b"a"), syn(900), data(901, b"b")]), "|a|b");
    }

    #[test]
    fn connections_above_the_limit_are_left_out() {
        let limits = TcpLimits { max_connections: 0, ..TcpLimits::default() };
        assert_eq!(run(limits, &[syn(5), data(6, b"a")]), "");
    }
}
