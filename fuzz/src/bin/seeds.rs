//! Writes the seed inputs below `seeds/` from the captured sessions:
//! `cargo run --bin seeds`, in this folder.

use std::fs;
use std::path::Path;

use tapeline_fuzz::rssl::{ACTIVE, CLIENT, LZ4, TUNNEL, WEBSOCKET, ZLIB};
use tapeline_golden::{transport_captures, unhex, vectors};
use tapeline_rwf::DataType;

/// The longest seed, in bytes: enough for a handshake and some frames of each
/// kind.
const SEED_BYTES: usize = 6000;

struct Session {
    name: String,
    frames: Vec<(bool, Vec<u8>)>,
}

impl Session {
    fn stream(&self, to_server: bool, skip: usize) -> Vec<u8> {
        let of_one = self.frames.iter().filter(|(up, _)| *up == to_server);
        let bytes: Vec<u8> = of_one.skip(skip).flat_map(|(_, bytes)| bytes.clone()).collect();
        bytes[..bytes.len().min(SEED_BYTES)].to_vec()
    }

    /// The bits that choose a session like this one.
    fn choice(&self) -> u8 {
        let compression = match self.name.rsplit('-').next() {
            Some("zlib") => ZLIB,
            Some("lz4") => LZ4,
            _ => 0,
        };
        let version = match &self.name {
            name if name.contains("v13") => 0x10,
            name if name.contains("v12") => 0x20,
            name if name.contains("v11") => 0x30,
            _ => 0,
        };
        compression | version
    }
}

fn sessions() -> Vec<Session> {
    transport_captures()
        .iter()
        .map(|file| Session {
            name: file.trim_start_matches("transport_").to_owned(),
            frames: vectors(file)
                .iter()
                .map(|value| {
                    let hex = value["hex"].as_str().expect("captured bytes");
                    (value["direction"] == "client->server", unhex(hex))
                })
                .collect(),
        })
        .collect()
}

fn write(target: &str, name: &str, head: &[u8], bytes: &[u8]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target);
    fs::create_dir_all(&folder).expect("the folder can be made");
    fs::write(folder.join(name), [head, bytes].concat()).expect("the seed can be written");
}

fn main() {
    rssl_seeds();
    rwf_seeds();
    json_seeds();
    channel_seeds();
    core_seeds();
    fix_seeds();
    market_seeds();
}

/// Steps of a hub: short stories that others can be made of.
const HUB_STORIES: [(&str, &[u8]); 5] = [
    ("an-item", &[0, 11, 0, 0, 1, 0, 1, 3, 1, 0, 2, 0, 0, 5, 1, 0, 2, 7, 12, 0, 0, 128]),
    (
        "a-source-lost",
        &[
            0, 11, 0, 0, 1, 0, 1, 3, 1, 0, 2, 0, 0, 9, 0, 0, 18, 4, 0, 2, 3, 1, 0, 2, 0, 0, 5, 1,
            0, 2, 8,
        ],
    ),
    (
        "frames-lost",
        &[
            1, 10, 1, 1, 11, 1, 0, 1, 0, 1, 3, 1, 0, 2, 0, 0, 10, 1, 1, 14, 1, 1, 1, 14, 1, 2, 0,
            0, 0, 9, 1, 0, 1, 0, 1,
        ],
    ),
    ("a-publisher", &[0, 16, 0, 3, 0, 0, 0, 1, 11, 0, 0, 1, 0, 1, 5, 0, 0, 3, 9, 1, 0, 18, 6]),
    ("posts", &[0, 11, 0, 0, 1, 0, 1, 3, 1, 0, 2, 0, 0, 13, 0, 4, 0, 0, 5, 9, 7, 0, 0, 0, 18, 5]),
];

/// Steps of a server.
const SERVER_STORIES: [(&str, &[u8]); 5] = [
    ("an-item", &[0, 2, 0, 0, 0, 0, 4, 11, 0, 12, 0, 1, 5, 12, 0, 6, 9, 4, 0, 4]),
    (
        "a-slow-mount",
        &[
            0, 2, 0, 0, 0, 0, 4, 11, 0, 12, 0, 1, 5, 17, 0, 12, 0, 6, 9, 12, 0, 6, 8, 17, 63, 8, 0,
            0, 18, 3,
        ],
    ),
    (
        "frames-lost",
        &[0, 2, 0, 0, 0, 0, 4, 11, 0, 12, 0, 1, 5, 9, 0, 1, 15, 0, 1, 1, 1, 0, 3, 18, 5],
    ),
    ("a-batch", &[0, 2, 0, 0, 15, 0, 2, 11, 0, 11, 0, 12, 0, 1, 5, 12, 1, 1, 5, 0, 0, 18, 6]),
    ("json", &[0, 7, 0, 0, 7, 1, 0, 4, 0, 11, 0, 12, 0, 1, 5, 12, 0, 6, 9, 7, 3, 0, 4, 0]),
];

fn core_seeds() {
    for (target, stories) in [("hub_core", HUB_STORIES), ("server_core", SERVER_STORIES)] {
        for (name, steps) in stories {
            write(target, name, &[], steps);
        }
    }
}

/// Some vectors of each file, with enumerations as numbers and expanded.
fn json_seeds() {
    for (file, every) in
        [("json-rwf", 7), ("json-rwf-oneway", 7), ("json-rwf-quirks", 2), ("json-errors", 2)]
    {
        for (at, vector) in vectors(file).iter().step_by(every).enumerate() {
            let (name, choice) = (format!("{file}-{at}"), [at as u8 & 1]);
            if let Some(text) = vector["json_text"].as_str().filter(|t| t.len() <= SEED_BYTES) {
                write("json_read", &name, &choice, text.as_bytes());
                write("json_roundtrip", &name, &choice, text.as_bytes());
            }
            if let Some(rwf) =
                vector["rwf_hex"].as_str().map(unhex).filter(|r| r.len() <= SEED_BYTES)
            {
                write("json_write", &name, &choice, &rwf);
            }
        }
    }
}

/// The client's frames of a captured session, in steps of up to 60 bytes with
/// time and the socket's appetite between them.
fn channel_seeds() {
    for session in sessions().iter().filter(|session| session.name == "ema-ws-json") {
        for (at, skip) in [1, 2, 3, 5].into_iter().enumerate() {
            let pieces = session.stream(true, skip);
            let steps = pieces.chunks(60).flat_map(|piece| {
                let behind = [0x45, 0x8A, 0xC0 | 40, 0xFF];
                [&[piece.len() as u8], piece, &behind].concat()
            });
            write("websocket_text", &format!("frames-{at}"), &[], &steps.collect::<Vec<u8>>());
        }
    }
    let ping = b"\x08\x89\x82\x01\x02\x03\x04\x69\x6B\xFF\x4B\xFF\x5F\xBF\xFF";
    write("websocket_text", "ping", &[], ping);
}

/// Some vectors of each file.
fn rwf_seeds() {
    for (file, every) in [
        ("primitives", 8),
        ("containers", 6),
        ("messages", 8),
        ("rdm_messages", 5),
        ("malformed", 9),
    ] {
        for (at, vector) in vectors(file).iter().step_by(every).enumerate() {
            let data_type = vector["type"].as_str().and_then(DataType::from_name);
            let head = [data_type.expect("a known type").0];
            let bytes = unhex(vector["hex"].as_str().expect("bytes of a vector"));
            let bytes = &bytes[..bytes.len().min(SEED_BYTES)];
            write("rwf_data", &format!("{file}-{at}"), &head, bytes);
            write("rwf_rewrite", &format!("{file}-{at}"), &head, bytes);
            write("inspect_value", &format!("{file}-{at}"), &head, bytes);
        }
    }
    for (at, vector) in vectors("rmtes").iter().enumerate() {
        let steps = vector["value"]["steps"].as_array().into_iter().flatten();
        let values: Vec<_> =
            steps.map(|step| unhex(step["field_hex"].as_str().expect("bytes"))).collect();
        if !values.is_empty() {
            write("rwf_rmtes", &format!("rmtes-{at}"), &[], &values.join(&b'\n'));
        }
    }
    write("omm_dictionary_text", "small", &[], DICTIONARY.as_bytes());
    omm_seeds();
}

/// Every message of a domain that has a model, and dictionary payloads.
fn omm_seeds() {
    for (at, vector) in vectors("rdm_messages").iter().enumerate() {
        let bytes = unhex(vector["hex"].as_str().expect("bytes of a vector"));
        if vector["type"] == "MSG" && bytes.len() <= SEED_BYTES {
            let len = (bytes.len() as u16).to_be_bytes();
            write("omm_models", &format!("message-{at}"), &len, &bytes);
        } else {
            write("omm_dictionary_parts", &format!("part-{at}"), &[], &bytes);
        }
    }
}

/// One of each kind of line, the enumerations behind a NUL.
const DICTIONARY: &str = "!tag Version 1.0\n!ACRONYM\nBID \"BID\" 22 BID_1 PRICE 17 REAL 7\n\
    BID_1 \"BID 1\" 23 NULL PRICE 17 REAL64 7\n\
    CURRENCY \"CURRENCY\" 15 NULL ENUMERATED 5 ( 3 ) ENUM 2\n\
    X_NAME \"NAME\" -3 NULL ALPHANUMERIC 16 RMTES_STRING 16\n\0\
    !tag Type 2\nCURRENCY 15\n! VALUE DISPLAY MEANING\n 0 \"   \" none\n 840 \"USD\" dollar\n\
    8 #A1A2# other\n";

/// A capture file of a session: one Ethernet packet a frame.
fn pcap(session: &Session) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xA1B2_C3D4_u32, 0x0002_0004, 0, 0, 65_535, 1] {
        file.extend(word.to_be_bytes());
    }
    let mut next = [1_u32, 1];
    for (up, bytes) in session.frames.iter().filter(|(_, bytes)| bytes.len() < 1400).take(12) {
        let (from, to) = if *up { (0, 1) } else { (1, 0) };
        let ports = [40_000_u16, 14_002];
        let mut packet = vec![0; 12];
        packet.extend([0x08, 0x00, 0x45, 0]);
        packet.extend((40 + bytes.len() as u16).to_be_bytes());
        packet.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
        packet.extend([10, 0, 0, 1 + from as u8, 10, 0, 0, 1 + to as u8]);
        packet.extend([ports[from].to_be_bytes(), ports[to].to_be_bytes()].concat());
        packet.extend([next[from].to_be_bytes(), next[to].to_be_bytes()].concat());
        packet.extend([0x50, 0x18, 0xFF, 0xFF, 0, 0, 0, 0]);
        packet.extend(bytes);
        next[from] += bytes.len() as u32;
        for word in [1, 0, packet.len() as u32, packet.len() as u32] {
            file.extend(u32::to_be_bytes(word));
        }
        file.extend(packet);
    }
    file.truncate(SEED_BYTES);
    file
}

fn rssl_seeds() {
    for session in sessions() {
        let (name, choice) = (session.name.as_str(), session.choice());
        let (up, down) = (session.stream(true, 0), session.stream(false, 0));
        write("inspect_capture", name, &[], &pcap(&session));
        write("rssl_server", name, &[choice & 0x0c], &up);
        if name.contains("ws-") {
            // The handshake ends with the third frame of each direction.
            write("rssl_websocket", &format!("{name}-up"), &[choice], &up);
            let active = choice | ACTIVE;
            write(
                "rssl_websocket",
                &format!("{name}-active-up"),
                &[active],
                &session.stream(true, 3),
            );
            let active = active | CLIENT;
            let later = session.stream(false, 2);
            write("rssl_websocket", &format!("{name}-active-down"), &[active], &later);
            write("rssl_splits", &format!("{name}-up"), &[choice | WEBSOCKET, 7], &up);
            write("rssl_splits", &format!("{name}-down"), &[active | WEBSOCKET, 7], &later);
        } else if name.contains("http") {
            write("rssl_tunnel", &format!("{name}-up"), &[choice], &up);
            write("rssl_tunnel", &format!("{name}-down"), &[choice | CLIENT], &down);
            write("rssl_tunnel", &format!("{name}-active-up"), &[ACTIVE], &session.stream(true, 4));
            let later = session.stream(false, 3);
            write("rssl_tunnel", &format!("{name}-active-down"), &[ACTIVE | CLIENT], &later);
            write("rssl_splits", &format!("{name}-up"), &[TUNNEL, 7], &up);
            write("rssl_splits", &format!("{name}-down"), &[CLIENT | TUNNEL, 7], &down);
        } else {
            write("rssl_client", name, &[choice | CLIENT], &down);
            let later = session.stream(false, 1);
            write("rssl_active", &format!("{name}-down"), &[choice | CLIENT | ACTIVE], &later);
            write(
                "rssl_active",
                &format!("{name}-up"),
                &[choice | ACTIVE],
                &session.stream(true, 2),
            );
            if name.starts_with("eta-v1") {
                write("rssl_splits", &format!("{name}-up"), &[choice, 7], &up);
                write("rssl_splits", &format!("{name}-down"), &[choice | CLIENT, 7], &down);
            }
        }
    }
    for choice in [0, ZLIB, LZ4, WEBSOCKET, TUNNEL, CLIENT | WEBSOCKET | ZLIB, CLIENT | TUNNEL] {
        let steps: Vec<u8> = (0..90_u32).map(|i| (i * i * 37 + i * 11) as u8).collect();
        write("rssl_roundtrip", &format!("steps-{choice:02x}"), &[choice], &steps);
    }
}

/// Bodies of FIX messages, with `|` for the ends of fields.
const FIX_BODIES: [(&str, &str); 8] = [
    ("logon", "35=A|34=1|49=C|52=20261126-12:00:00|56=FGW|98=0|108=30|553=U|554=P|1137=9|"),
    ("logon-resets", "35=A|34=1|49=C|52=20261126-12:00:00|56=FGW|98=0|108=5|141=Y|1137=9|"),
    (
        "order",
        "35=D|34=2|49=C|52=20261126-12:00:00|56=FGW|11=A|453=1|448=7|447=D|452=76|48=7|22=8|40=2|\
         44=10.25|54=1|38=9|1138=9|581=1|528=P|60=20261126-12:00:00.123456|",
    ),
    ("test", "35=1|34=2|49=C|52=20261126-12:00:00|56=FGW|112=T|"),
    ("again", "35=2|34=2|49=C|52=20261126-12:00:00|56=FGW|7=1|16=0|"),
    ("fill", "35=4|34=2|49=C|52=20261126-12:00:00|56=FGW|43=Y|122=20261126-12:00:00|123=Y|36=4|"),
    ("logout", "35=5|34=9|49=C|52=20261126-12:00:00|56=FGW|58=bye|"),
    ("data", "35=B|34=2|95=4|96=a||b|58=x|"),
];

fn fix_seeds() {
    let body = |text: &str| text.replace('|', "\x01").into_bytes();
    for (name, text) in FIX_BODIES {
        write("fix_codec", name, &[], &body(text));
    }
    // A body to the exchange's end, behind its length.
    let step = |text: &str| [&[1, text.len() as u8], &body(text)[..]].concat();
    let [(_, logon), ..] = FIX_BODIES;
    for (name, text) in FIX_BODIES {
        write("fix_session", name, &step(logon), &[step(text), vec![6, 1, b'x', 5, 40]].concat());
    }
    // The client's end logs on, both hear each other twice, and it gets a report.
    write("fix_session", "both-ends", &[], &[8, 0, 9, 10, 6, 1, b'x', 10, 9, 11, 10, 9, 5, 20]);
}

/// The exchange's own protocols: each type of message, alone and at a session or a
/// reader that knows who talks.
fn market_seeds() {
    for kind in (0..=u8::MAX).filter(|kind| tapeline_ntg::Message::len_of(*kind).is_some()) {
        let name = format!("type-{kind:02x}");
        write("ntg_codec", &name, &[kind], &[1; 40]);
        // Logged on, both hear each other; then the message, and what comes of it.
        write("ntg_session", &name, &[1, 7, 8, 9], &[1, kind, 4, 1, 2, 3, 4, 0, 9, 4, 5]);
    }
    for (kind, _) in tapeline_itch::Body::LENGTHS {
        write("itch_codec", &format!("type-{kind:02x}"), &[*kind], &[1; 50]);
    }
    // A session, a hole that is asked for and filled; one that is lost; another session.
    let steps = [[0, 17, 2], [0, 20, 1], [3, 2, 5], [0, 16, 3], [0, 99, 1], [3, 2, 4]];
    write("itch_reader", "holes", &[], &steps.concat());
    let golden = include_str!("../../../crates/mdp/golden/messages.hex").lines();
    for (place, (name, hex)) in golden.filter_map(|line| line.split_once(' ')).enumerate() {
        write("mdp_codec", &format!("{place:02}-{name}"), &[], &unhex(hex));
    }
    for (place, (kind, _)) in tapeline_mitch::Message::LENGTHS.iter().enumerate() {
        let name = format!("type-{kind:02x}");
        write("mitch_codec", &name, &[*kind], &[1; 40]);
        // The first unit has it twice, then one is missing, then a snapshot has it.
        let message = [place as u8, 4, 0, 0, 0, 1];
        let steps = [
            &[0, 4, 2][..],
            &message,
            &message,
            &[0, 6, 1],
            &message,
            &[4],
            &message,
            &[7, 1, 0, 0, 0],
        ];
        write("mitch_reader", &name, &[], &steps.concat());
    }
}
