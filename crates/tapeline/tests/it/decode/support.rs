//! The built program, and captures made of recorded sessions.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use etherparse::PacketBuilder;
use serde_json::Value;
use tapeline_golden::unhex;

/// What a run of the program came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Starts `tapeline decode` with all its ends open.
pub(crate) fn start(args: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_tapeline"))
        .arg("decode")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

/// Runs `tapeline decode` with standard input.
pub(crate) fn decode(args: &[&str], input: &[u8]) -> Run {
    let mut child = start(args);
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    // The program may end, or fill its output, before it has read everything.
    let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().expect("the program ends");
    feeder.join().expect("the feeder ends");
    Run {
        status: output.status.code().expect("an exit status"),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// A file of the test with a content.
pub(crate) fn file(name: &str, content: &[u8]) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, content).expect("the file is written");
    path
}

/// A TCP packet of a connection between 10.0.0.1:40000 and 10.0.0.2:14002.
#[derive(Clone)]
pub(crate) struct Packet {
    pub(crate) from_client: bool,
    sequence: u32,
    is_syn: bool,
    payload: Vec<u8>,
}

impl Packet {
    fn ethernet(&self) -> Vec<u8> {
        let (client, server) = (([10, 0, 0, 1], 40000), ([10, 0, 0, 2], 14002));
        let (from, to) = if self.from_client { (client, server) } else { (server, client) };
        let builder = PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4(from.0, to.0, 64).tcp(
            from.1,
            to.1,
            self.sequence,
            8192,
        );
        let builder = match (self.is_syn, self.from_client) {
            (true, true) => builder.syn(),
            (true, false) => builder.syn().ack(1),
            (false, _) => builder.ack(1),
        };
        let mut bytes = Vec::new();
        builder.write(&mut bytes, &self.payload).expect("a packet");
        bytes
    }
}

/// The packets of a recorded session, each side's bytes in pieces of a size.
/// The client's sequence numbers wrap on the way.
pub(crate) fn packets(records: &[Value], piece: usize) -> Vec<Packet> {
    let mut sequence = [u32::MAX - 100, 7000];
    let syn = |from_client: bool, sequence| Packet {
        from_client,
        sequence,
        is_syn: true,
        payload: Vec::new(),
    };
    let mut packets = vec![syn(true, sequence[0]), syn(false, sequence[1])];
    sequence = sequence.map(|number| number.wrapping_add(1));
    for record in records {
        let from_client = record["direction"] == "client->server";
        let next = &mut sequence[usize::from(!from_client)];
        for payload in unhex(record["hex"].as_str().expect("bytes")).chunks(piece) {
            let payload = payload.to_vec();
            let len = payload.len() as u32;
            packets.push(Packet { from_client, sequence: *next, is_syn: false, payload });
            *next = next.wrapping_add(len);
        }
    }
    packets
}

/// Packets as a pcap file, one millisecond apart from 2025-03-17 12:34:56 on.
pub(crate) fn pcap(packets: &[Packet]) -> Vec<u8> {
    let mut file = Vec::new();
    file.extend(0xA1B2_C3D4_u32.to_le_bytes());
    file.extend([2, 0, 4, 0]);
    for word in [0_u32, 0, 65535, 1] {
        file.extend(word.to_le_bytes());
    }
    for (at, packet) in (0_u32..).zip(packets) {
        let bytes = packet.ethernet();
        let len = bytes.len() as u32;
        let (second, micro) = (1_742_214_896 + at / 1000, at % 1000 * 1000);
        for word in [second, micro, len, len] {
            file.extend(word.to_le_bytes());
        }
        file.extend(bytes);
    }
    file
}

/// Packets as a big-endian pcapng file with times in nanoseconds.
pub(crate) fn pcapng(packets: &[Packet]) -> Vec<u8> {
    fn block(file: &mut Vec<u8>, kind: u32, body: &[u8]) {
        let padded = body.len().next_multiple_of(4);
        let len = (padded + 12) as u32;
        file.extend(kind.to_be_bytes());
        file.extend(len.to_be_bytes());
        file.extend(body);
        file.resize(file.len() + padded - body.len(), 0);
        file.extend(len.to_be_bytes());
    }
    let mut file = Vec::new();
    let mut section = vec![0x1A, 0x2B, 0x3C, 0x4D, 0, 1, 0, 0];
    section.extend([0xFF; 8]);
    block(&mut file, 0x0A0D_0D0A, &section);
    // Ethernet, no length limit, option 9: resolution of 10^-9 s.
    block(&mut file, 1, &[0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 9, 0, 0, 0, 0, 0, 0, 0]);
    for (at, packet) in (0_u64..).zip(packets) {
        let bytes = packet.ethernet();
        let time = 1_742_214_896_000_000_000 + at * 1_000_000;
        let mut body = vec![0; 4];
        body.extend(time.to_be_bytes());
        body.extend([(bytes.len() as u32).to_be_bytes(); 2].concat());
        body.extend(bytes);
        block(&mut file, 6, &body);
    }
    file
}
