//! What a level of compression makes of the same data.

use tapeline_rssl::Compression;

use super::ground::{Ground, Simulated};
use super::market::Market;

const PORTS: [u16; 4] = [5_001, 5_002, 5_003, 5_004];

/// Bytes to a consumer at a port that compresses so, for the same data.
fn bytes_at(level: u8, asked: Compression) -> usize {
    let mut market = Market::open_with(Simulated::new(1, PORTS), |config| {
        config.compression = Compression::Zlib;
        config.compression_level = level;
        config.compression_thresholds.zlib_bytes = 1;
    });
    let [rssl, _] = market.addresses();
    let consumer = market.listener_with(asked, rssl);
    market.watch(consumer, "FEED", "TRI.N");
    for bid in 1..=50 {
        market.update(10_000 + bid);
        market.until_told(consumer, &format!("TRI.N 100.{bid:02}"));
    }
    let tapes = market.ground.tapes();
    tapes[&rssl.port()].iter().map(|(_, to_client)| to_client.len()).sum()
}

#[test]
fn a_higher_level_has_fewer_bytes_on_the_wire() {
    let [none, fast, small] = [0, 1, 9].map(|level| bytes_at(level, Compression::Zlib));
    let plain = bytes_at(9, Compression::None);
    assert!(none > plain, "stored: {none} bytes, {plain} without compression");
    assert!(fast < plain && small < plain, "{fast} and {small} of {plain} bytes");
    assert!(small <= fast, "{small} bytes at level 9, {fast} at level 1");
}
