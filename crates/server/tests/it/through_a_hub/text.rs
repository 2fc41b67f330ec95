//! A client that speaks JSON.

use std::io::{Read, Write};
use std::net::TcpStream;

use tapeline_rssl::websocket::{FrameHeader, TEXT};
use tapeline_server::{ServerConfig, Transport};

use super::{ANY_PORT, System};

/// A client's text frame, masked with zeros.
fn text_frame(text: &str) -> Vec<u8> {
    let mask = Some([0; 4]);
    let payload = text.len() as u64;
    let header = FrameHeader { fin: true, reserved: 0, opcode: TEXT, mask, payload };
    let (bytes, length) = header.encode();
    [&bytes[..length], text.as_bytes()].concat()
}

#[test]
fn a_json_client_gets_the_same_items_over_websocket() {
    let listen_websocket = vec![ANY_PORT];
    let mut system = System::with(ServerConfig { listen_websocket, ..ServerConfig::default() });
    let rssl = system.consumer();
    system.open(rssl, 5, "TRI.N");
    let address = system.server.listening_at(Transport::WebSocket)[0];
    let mut client = TcpStream::connect(address).expect("a listener");
    client.set_nonblocking(true).expect("a socket");
    let mut received = Vec::new();
    let mut until = |system: &mut System, client: &mut TcpStream, wanted: &str| {
        system.until(wanted, |_| {
            let mut room = [0; 4096];
            while let Ok(count @ 1..) = client.read(&mut room) {
                received.extend_from_slice(&room[..count]);
            }
            String::from_utf8_lossy(&received).contains(wanted)
        });
    };
    let opening = "GET /WebSocket HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\
        Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
        Sec-WebSocket-Protocol: tr_json2\r\n\r\n";
    client.write_all(opening.as_bytes()).expect("sent");
    until(&mut system, &mut client, "101 Switching Protocols");
    let say = |client: &mut TcpStream, text: &str| {
        client.write_all(&text_frame(text)).expect("sent");
    };
    say(&mut client, r#"{"ID":1,"Domain":"Login","Key":{"Name":"user"}}"#);
    until(&mut system, &mut client, r#""Elements":{"PingTimeout":30,"MaxMsgSize":61440}}]"#);
    say(&mut client, r#"[{"ID":2,"Key":{"Name":"TRI.N","Service":"FEED"}},{"Type":"Ping"}]"#);
    until(&mut system, &mut client, r#""Fields":{"BID":1.00}}"#);
    until(&mut system, &mut client, r#"{"Type":"Pong"}]"#);
    system.provider.update("TRI.N", 4512);
    until(&mut system, &mut client, r#""Name":"TRI.N"},"Fields":{"BID":45.12}}]"#);
    system.until_bid(rssl, 5, 4512);
    say(&mut client, "garbage");
    until(&mut system, &mut client, r#""Type":"Error","Text":"JSON parser error: -2""#);
    assert_eq!(system.server.statistics().json_mounts, 1);
    drop(client);
    system.until("its end is noticed", |it| it.server.statistics().json_mounts == 0);
}
