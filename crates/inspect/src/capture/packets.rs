//! TCP segments and UDP datagrams out of capture files.

use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};
use std::ops::ControlFlow;

use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use pcap_parser::traits::{PcapNGPacketBlock, PcapReaderIterator};
use pcap_parser::{Block, LegacyPcapReader, Linktype, PcapBlockOwned, PcapError, PcapNGReader};
use thiserror::Error;

use super::tcp::Segment;

/// Bytes of the file that are read at a time: more than a packet has.
const BUFFER_BYTES: usize = 1 << 20;
/// The largest block that the buffer is grown for.
const MAX_BLOCK_BYTES: usize = 64 << 20;

/// Why a capture file could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The file is no pcap and no pcapng.
    #[error("this is no pcap or pcapng file")]
    NotACapture,
    /// The file ends inside a packet. What came before was read.
    #[error("the capture ends in the middle of a packet; what came before it is shown")]
    CutOff,
    /// A block that does not add up.
    #[error("block {number} of the capture is malformed; what came before it is shown")]
    Malformed {
        /// The block, from 1.
        number: u64,
    },
    /// The file could not be read.
    #[error("the capture cannot be read any further; what came before is shown")]
    Read,
}

/// How packets of one interface are stored.
#[derive(Clone, Copy)]
struct Interface {
    link: Linktype,
    /// Units of a timestamp in a second.
    units_per_s: u64,
    offset_s: i64,
}

/// Who takes a segment with its time, and says whether to go on.
pub type OnSegment<'s> = &'s mut dyn FnMut(u64, &Segment<'_>) -> ControlFlow<()>;

/// A UDP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'p> {
    /// Who sent it.
    pub source: SocketAddr,
    /// To whom, or to which group.
    pub destination: SocketAddr,
    /// What it carries.
    pub payload: &'p [u8],
}

/// Who takes a datagram with its time, and says whether to go on.
pub type OnDatagram<'s> = &'s mut dyn FnMut(u64, &Datagram<'_>) -> ControlFlow<()>;

/// Who takes a packet with its time, if it holds what is looked for, and says whether
/// to go on.
type OnPacket<'s> = &'s mut dyn FnMut(u64, &SlicedPacket<'_>) -> Option<ControlFlow<()>>;

/// Reads packets; gives each TCP segment with its time in nanoseconds since
/// 1970, until `on_segment` breaks. Returns how many packets hold something
/// else or nothing readable.
pub fn read_segments(
    reader: impl Read + Send,
    on_segment: OnSegment<'_>,
) -> Result<u64, CaptureError> {
    read_packets(reader, &mut |time_ns, packet| {
        segment(packet).map(|segment| on_segment(time_ns, &segment))
    })
}

/// The same of UDP datagrams; those that IP has cut to pieces count as unreadable.
pub fn read_datagrams(
    reader: impl Read + Send,
    on_datagram: OnDatagram<'_>,
) -> Result<u64, CaptureError> {
    read_packets(reader, &mut |time_ns, packet| {
        datagram(packet).map(|datagram| on_datagram(time_ns, &datagram))
    })
}

fn read_packets(reader: impl Read + Send, on_packet: OnPacket<'_>) -> Result<u64, CaptureError> {
    let mut reader = open(reader).map_err(|error| match error {
        PcapError::ReadError => CaptureError::Read,
        _ => CaptureError::NotACapture,
    })?;
    let mut file = File { interfaces: Vec::new(), other_packets: 0 };
    let mut number = 0;
    let mut capacity = BUFFER_BYTES;
    loop {
        let step = match reader.next() {
            Ok((len, block)) => {
                number += 1;
                if file.block(&block, on_packet).is_break() {
                    return Ok(file.other_packets);
                }
                Step::Taken(len)
            }
            Err(PcapError::Eof) => return Ok(file.other_packets),
            Err(PcapError::Incomplete(_)) => Step::Incomplete,
            Err(PcapError::BufferTooSmall) => Step::TooSmall,
            Err(PcapError::UnexpectedEof) => return Err(CaptureError::CutOff),
            Err(PcapError::ReadError) => return Err(CaptureError::Read),
            Err(_) if number == 0 => return Err(CaptureError::NotACapture),
            Err(_) => return Err(CaptureError::Malformed { number: number + 1 }),
        };
        match step {
            Step::Taken(len) => reader.consume(len),
            Step::Incomplete if reader.reader_exhausted() => return Err(CaptureError::CutOff),
            Step::TooSmall if capacity >= MAX_BLOCK_BYTES => {
                return Err(CaptureError::Malformed { number: number + 1 });
            }
            Step::Incomplete => reader.refill().map_err(|_| CaptureError::Read)?,
            Step::TooSmall => {
                capacity *= 2;
                reader.grow(capacity);
                reader.refill().map_err(|_| CaptureError::Read)?;
            }
        }
    }
}

/// A reader of the format that the file begins with. It reads once, not more:
/// what a live capture has written so far is not to wait for what follows.
fn open<'r>(
    mut reader: impl Read + Send + 'r,
) -> Result<Box<dyn PcapReaderIterator + 'r>, PcapError<&'static [u8]>> {
    let mut magic = [0; 4];
    reader.read_exact(&mut magic).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => PcapError::HeaderNotRecognized,
        _ => PcapError::ReadError,
    })?;
    let reader = WholeStart { inner: io::Cursor::new(magic).chain(reader), is_started: false };
    Ok(if magic == PCAPNG_MAGIC {
        Box::new(PcapNGReader::new(BUFFER_BYTES, reader)?)
    } else {
        Box::new(LegacyPcapReader::new(BUFFER_BYTES, reader)?)
    })
}

/// The first bytes of a pcapng.
const PCAPNG_MAGIC: [u8; 4] = [0x0A, 0x0D, 0x0D, 0x0A];

/// The file reader wants the header from its first read: give it no less than
/// one, however little a pipe gives at a time.
struct WholeStart<R> {
    inner: R,
    is_started: bool,
}

impl<R: Read> Read for WholeStart<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        const HEADER_BYTES: usize = 64;
        if std::mem::replace(&mut self.is_started, true) {
            return self.inner.read(buffer);
        }
        let mut filled = 0;
        while filled < HEADER_BYTES.min(buffer.len()) {
            match self.inner.read(&mut buffer[filled..])? {
                0 => break,
                count => filled += count,
            }
        }
        Ok(filled)
    }
}

/// What the file reader wants next.
enum Step {
    Taken(usize),
    Incomplete,
    TooSmall,
}

struct File {
    interfaces: Vec<Interface>,
    other_packets: u64,
}

impl File {
    fn block(&mut self, block: &PcapBlockOwned<'_>, on_packet: OnPacket<'_>) -> ControlFlow<()> {
        match block {
            PcapBlockOwned::LegacyHeader(header) => {
                let units_per_s =
                    if header.is_nanosecond_precision() { 1_000_000_000 } else { 1_000_000 };
                self.interfaces =
                    vec![Interface { link: header.network, units_per_s, offset_s: 0 }];
            }
            PcapBlockOwned::Legacy(packet) => {
                if let Some(interface) = self.interfaces.first().copied() {
                    let units = u64::from(packet.ts_sec) * interface.units_per_s
                        + u64::from(packet.ts_usec);
                    return self.packet(interface, units, packet.data, on_packet);
                }
            }
            PcapBlockOwned::NG(Block::SectionHeader(_)) => self.interfaces.clear(),
            PcapBlockOwned::NG(Block::InterfaceDescription(description)) => {
                self.interfaces.push(Interface {
                    link: description.linktype,
                    units_per_s: description.ts_resolution().unwrap_or(1_000_000),
                    offset_s: description.if_tsoffset,
                });
            }
            PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
                if let Some(interface) = self.interfaces.get(packet.if_id as usize).copied() {
                    let units = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                    return self.packet(interface, units, packet.packet_data(), on_packet);
                }
            }
            PcapBlockOwned::NG(Block::SimplePacket(packet)) => {
                if let Some(interface) = self.interfaces.first().copied() {
                    return self.packet(interface, 0, packet.packet_data(), on_packet);
                }
            }
            PcapBlockOwned::NG(_) => {}
        }
        ControlFlow::Continue(())
    }

    fn packet(
        &mut self,
        interface: Interface,
        units: u64,
        data: &[u8],
        on_packet: OnPacket<'_>,
    ) -> ControlFlow<()> {
        let units_per_s = interface.units_per_s.max(1);
        let seconds = (units / units_per_s).saturating_add_signed(interface.offset_s);
        let fraction = u128::from(units % units_per_s) * 1_000_000_000 / u128::from(units_per_s);
        let time_ns = seconds.saturating_mul(1_000_000_000).saturating_add(fraction as u64);
        let packet = slice(interface.link, data);
        packet.and_then(|packet| on_packet(time_ns, &packet)).unwrap_or_else(|| {
            self.other_packets += 1;
            ControlFlow::Continue(())
        })
    }
}

/// Finds the layers of a packet.
fn slice(link: Linktype, data: &[u8]) -> Option<SlicedPacket<'_>> {
    const LINUX_SLL2: Linktype = Linktype(276);
    const LINUX_SLL2_BYTES: usize = 20;
    const NULL_BYTES: usize = 4;
    match link {
        Linktype::ETHERNET => SlicedPacket::from_ethernet(data).ok(),
        Linktype::LINUX_SLL => SlicedPacket::from_linux_sll(data).ok(),
        LINUX_SLL2 => SlicedPacket::from_ip(data.get(LINUX_SLL2_BYTES..)?).ok(),
        // The loopback of BSD: an address family, then IP.
        Linktype::NULL | Linktype::LOOP => SlicedPacket::from_ip(data.get(NULL_BYTES..)?).ok(),
        Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 | Linktype(12 | 14) => {
            SlicedPacket::from_ip(data).ok()
        }
        _ => None,
    }
}

/// Who sent a packet, and to whom.
fn ends(packet: &SlicedPacket<'_>) -> Option<(IpAddr, IpAddr)> {
    Some(match packet.net.as_ref()? {
        NetSlice::Ipv4(ip) => {
            (ip.header().source_addr().into(), ip.header().destination_addr().into())
        }
        NetSlice::Ipv6(ip) => {
            (ip.header().source_addr().into(), ip.header().destination_addr().into())
        }
        NetSlice::Arp(_) => return None,
    })
}

/// The TCP segment in a packet.
fn segment<'p>(packet: &SlicedPacket<'p>) -> Option<Segment<'p>> {
    let (source, destination) = ends(packet)?;
    let Some(TransportSlice::Tcp(tcp)) = &packet.transport else { return None };
    Some(Segment {
        source: SocketAddr::new(source, tcp.source_port()),
        destination: SocketAddr::new(destination, tcp.destination_port()),
        sequence: tcp.sequence_number(),
        is_syn: tcp.syn(),
        is_ack: tcp.ack(),
        is_reset: tcp.rst(),
        payload: tcp.payload(),
    })
}

/// The UDP datagram in a packet.
fn datagram<'p>(packet: &SlicedPacket<'p>) -> Option<Datagram<'p>> {
    let (source, destination) = ends(packet)?;
    let Some(TransportSlice::Udp(udp)) = &packet.transport else { return None };
    Some(Datagram {
        source: SocketAddr::new(source, udp.source_port()),
        destination: SocketAddr::new(destination, udp.destination_port()),
        payload: udp.payload(),
    })
}

/// Whether a file begins like a pcap or a pcapng.
pub fn is_capture(bytes: &[u8]) -> bool {
    const MAGIC: [[u8; 4]; 5] = [
        [0xD4, 0xC3, 0xB2, 0xA1],
        [0xA1, 0xB2, 0xC3, 0xD4],
        [0x4D, 0x3C, 0xB2, 0xA1],
        [0xA1, 0xB2, 0x3C, 0x4D],
        PCAPNG_MAGIC,
    ];
    MAGIC.iter().any(|magic| bytes.starts_with(magic))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet of raw IPv4: 10.0.0.1 port 0x1001 to 239.1.2.3 port 0x2002.
    const UDP: &[u8] = b"\x45\0\0\x1f\0\0\0\0\x01\x11\0\0\x0a\0\0\x01\xef\x01\x02\x03\
        \x10\x01\x20\x02\0\x0b\0\0abc";
    const TCP: &[u8] = b"\x45\0\0\x28\0\0\0\0\x01\x06\0\0\x0a\0\0\x01\x0a\0\0\x02\
        \x10\x01\x20\x02\0\0\0\x01\0\0\0\0\x50\x02\0\0\0\0\0\0";

    /// A capture with times in nanoseconds, of raw IP.
    fn capture(packets: &[(u32, &[u8])]) -> Vec<u8> {
        let mut file = 0xa1b2_3c4d_u32.to_le_bytes().to_vec();
        file.extend(b"\x02\0\x04\0\0\0\0\0\0\0\0\0\xff\xff\0\0\x65\0\0\0");
        for (ns, packet) in packets {
            for word in [1, *ns, packet.len() as u32, packet.len() as u32] {
                file.extend(word.to_le_bytes());
            }
            file.extend(*packet);
        }
        file
    }

    #[test]
    fn datagrams_are_read_with_their_times_and_ends() {
        let file = capture(&[(5, UDP), (6, TCP), (7, &UDP[..20]), (8, UDP)]);
        let mut found = Vec::new();
        let others = read_datagrams(file.as_slice(), &mut |time_ns, datagram| {
            assert_eq!(datagram.source, "10.0.0.1:4097".parse().expect("an address"));
            assert_eq!(datagram.destination, "239.1.2.3:8194".parse().expect("an address"));
            found.push((time_ns, datagram.payload.to_vec()));
            ControlFlow::Continue(())
        });
        assert_eq!(others.expect("a whole capture"), 2);
        assert_eq!(found, [5, 8].map(|ns| (1_000_000_000 + ns, b"abc".to_vec())));
        let mut segments = 0;
        let others = read_segments(file.as_slice(), &mut |_, _| {
            segments += 1;
            ControlFlow::Continue(())
        });
        assert_eq!((others.expect("a whole capture"), segments), (3, 1));
    }

    #[test]
    fn whoever_has_enough_reads_no_more() {
        let file = capture(&[(5, UDP), (6, UDP)]);
        let mut found = 0;
        let read = read_datagrams(file.as_slice(), &mut |_, _| {
            found += 1;
            ControlFlow::Break(())
        });
        assert_eq!((read.is_ok(), found), (true, 1));
    }
}
