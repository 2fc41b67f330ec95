//! A recorded market goes through the whole path: what the consumer ends with
//! is what the file says, computed without any of our code for books.
//!
//! With `TAPELINE_DATA` naming a folder of recordings, those too are played.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dbn::decode::{DbnDecoder, DbnMetadata, DecodeRecordRef};
use dbn::encode::EncodeRecord;
use dbn::encode::dbn::Encoder;
use dbn::{FlagSet, MappingInterval, MboMsg, Metadata, RecordHeader, SType, Schema, SymbolMapping};
use tapeline_api::{
    Consumer, ConsumerConfig, ConsumerEvent, Handle, ItemSpec, Login, Requests, Server,
};
use tapeline_chaos::program::{PATIENCE, report};
use tapeline_omm::market::fid;
use tapeline_rwf::{DataType, Domain, Encoded, FieldEntry, MapAction, Primitive, Real};

use super::program::tapeline;

const SERVICE: &str = "CME";

/// Price in units of 10⁻⁹, and size, of each order by its id and side.
type Orders = BTreeMap<(u64, char), (i64, u64)>;
/// Size and number of orders at each price and side.
type Levels = BTreeMap<(i64, char), (u64, u64)>;

/// The book at the end of a file, by the exchange's rules: an order is added,
/// modified, loses size by cancels, and all are gone by a clear. Trades and
/// fills are followed by the cancels they cause.
fn book_of(path: &Path) -> Orders {
    let mut decoder = DbnDecoder::from_zstd_file(path).expect("a recording");
    let mut by_id: BTreeMap<u64, (char, i64, u64)> = BTreeMap::new();
    while let Some(record) = decoder.decode_record_ref().expect("an undamaged recording") {
        let Some(record) = record.get::<MboMsg>() else { continue };
        let side = record.side as u8 as char;
        let (id, size) = (record.order_id, u64::from(record.size));
        match record.action as u8 {
            b'A' | b'M' => {
                by_id.insert(id, (side, record.price, size));
            }
            b'C' => {
                if let Some((_, _, left)) = by_id.get_mut(&id) {
                    *left = left.saturating_sub(size);
                    if *left == 0 {
                        by_id.remove(&id);
                    }
                }
            }
            b'R' => by_id.clear(),
            _ => {}
        }
    }
    by_id.into_iter().map(|(id, (side, price, size))| ((id, side), (price, size))).collect()
}

fn levels_of(orders: &Orders) -> Levels {
    let mut levels = Levels::new();
    for ((_, side), (price, size)) in orders {
        let level = levels.entry((*price, *side)).or_default();
        *level = (level.0 + size, level.1 + 1);
    }
    levels
}

/// The rows of a book as a consumer keeps them: fields by key.
#[derive(Default)]
struct Rows(BTreeMap<Vec<u8>, BTreeMap<i16, i64>>);

/// `None` for a blank: a side without orders has no price.
fn number(field: &FieldEntry<'_>) -> Option<i64> {
    let field_id = field.field_id;
    let data_type = match field_id {
        fid::ORDER_PRC | fid::ORDER_SIZE | fid::BID | fid::ASK => DataType::REAL,
        fid::ORDER_SIDE => DataType::ENUM,
        _ => DataType::UINT,
    };
    match field.primitive(data_type).expect("a value") {
        Primitive::Real(real) => Some(nano(real)),
        Primitive::Enum(value) => Some(value.into()),
        Primitive::Uint(value) => Some(value as i64),
        Primitive::Blank(_) => None,
        other => panic!("field {field_id}: {other:?}"),
    }
}

/// A decimal in units of 10⁻⁹. Hints 0 to 14 are exponents from −14 to 0.
fn nano(real: Real) -> i64 {
    let decimals = 14 - u32::from(real.hint().code());
    real.mantissa() * 10_i64.pow(9 - decimals)
}

impl Rows {
    fn apply(&mut self, payload: &Encoded<'_>) {
        for entry in &payload.map().expect("a map") {
            let entry = entry.expect("an entry");
            let key = entry.key.bytes().to_vec();
            if entry.action == MapAction::DELETE {
                self.0.remove(&key).expect("a row that is there");
                continue;
            }
            let row = self.0.entry(key).or_default();
            if entry.action == MapAction::ADD {
                row.clear();
            }
            for field in &entry.data.field_list().expect("a field list") {
                let field = field.expect("a field");
                row.insert(field.field_id, number(&field).expect("no blanks in rows"));
            }
        }
    }

    fn orders(&self) -> Orders {
        let id = |key: &[u8]| std::str::from_utf8(key).ok()?.parse().ok();
        self.0
            .iter()
            .map(|(key, row)| {
                let side = if row[&fid::ORDER_SIDE] == 1 { 'B' } else { 'A' };
                let size = row[&fid::ORDER_SIZE] / 1_000_000_000;
                ((id(key).expect("an order id"), side), (row[&fid::ORDER_PRC], size as u64))
            })
            .collect()
    }

    fn levels(&self) -> Levels {
        self.0
            .values()
            .map(|row| {
                let side = if row[&fid::ORDER_SIDE] == 1 { 'B' } else { 'A' };
                let size = row[&fid::ORDER_SIZE] / 1_000_000_000;
                ((row[&fid::ORDER_PRC], side), (size as u64, row[&fid::NO_ORD] as u64))
            })
            .collect()
    }
}

/// What the consumer has of the three items of an instrument.
#[derive(Default)]
struct Market {
    orders: Rows,
    levels: Rows,
    price: BTreeMap<i16, Option<i64>>,
    updates: u64,
}

impl Market {
    fn on_event(&mut self, event: &ConsumerEvent<'_>, items: &BTreeMap<Handle, Domain>) {
        let (handle, payload) = match event {
            ConsumerEvent::Refresh { handle, msg } => {
                match items[handle] {
                    Domain::MARKET_BY_ORDER => self.orders = Rows::default(),
                    Domain::MARKET_BY_PRICE => self.levels = Rows::default(),
                    _ => self.price.clear(),
                }
                (handle, msg.payload)
            }
            ConsumerEvent::Update { handle, msg } => {
                self.updates += 1;
                (handle, msg.payload)
            }
            _ => return,
        };
        match items[handle] {
            Domain::MARKET_BY_ORDER => self.orders.apply(&payload),
            Domain::MARKET_BY_PRICE => self.levels.apply(&payload),
            _ => {
                for field in &payload.field_list().expect("a field list") {
                    let field = field.expect("a field");
                    if matches!(field.field_id, fid::BID | fid::ASK) {
                        self.price.insert(field.field_id, number(&field));
                    }
                }
            }
        }
    }
}

fn best(levels: &Levels, side: char) -> Option<i64> {
    let mut prices = levels.keys().filter(|(_, of)| *of == side).map(|(price, _)| *price);
    if side == 'B' { prices.next_back() } else { prices.next() }
}

fn the_book_arrives(path: &Path, name: &str) {
    let expected = book_of(path);
    let levels = levels_of(&expected);
    assert!(expected.len() > 100, "a book worth the name");
    let path = path.to_str().expect("a plain path");
    let source = tapeline(&[
        "source",
        "--recording",
        path,
        "--speed",
        "20000",
        "--service",
        SERVICE,
        "--listen",
        "127.0.0.1:0",
        "--interval",
        "0",
    ]);
    let feed = source.address("rssl").to_string();
    let system = tapeline(&[
        "run",
        "--source",
        &feed,
        "--rssl-port",
        "0",
        "--ni-port",
        "0",
        "--backbone",
        "aeron:ipc",
    ]);
    let server = system.address("rssl");
    let config = ConsumerConfig::new(
        [Server::new(server.ip().to_string(), server.port())],
        Login::new("tester"),
    );
    let mut consumer = Consumer::new(config).expect("a reactor");
    let domains = [Domain::MARKET_BY_ORDER, Domain::MARKET_BY_PRICE, Domain::MARKET_PRICE];
    let items: BTreeMap<Handle, Domain> = domains
        .map(|domain| {
            let spec = ItemSpec::new(SERVICE, name).domain(domain);
            (consumer.open(&spec).expect("room"), domain)
        })
        .into();
    let mut market = Market::default();
    let start = Instant::now();
    loop {
        consumer.poll(
            Some(Duration::from_millis(20)),
            &mut |event: ConsumerEvent<'_>, _: &mut Requests<'_>| market.on_event(&event, &items),
        );
        let is_complete = market.orders.0.len() == expected.len()
            && market.orders.orders() == expected
            && market.levels.levels() == levels
            && market.price.get(&fid::BID) == Some(&best(&levels, 'B'))
            && market.price.get(&fid::ASK) == Some(&best(&levels, 'A'));
        if is_complete {
            break;
        }
        assert!(
            start.elapsed() < PATIENCE,
            "{} orders of {}, {} levels of {}, after {} updates",
            market.orders.0.len(),
            expected.len(),
            market.levels.0.len(),
            levels.len(),
            market.updates
        );
    }
    report(format_args!(
        "{name}: {} orders at {} prices, after {} updates in {:.1} s",
        expected.len(),
        levels.len(),
        market.updates,
        start.elapsed().as_secs_f64()
    ));
}

/// A made-up market: orders come, change, are partly and wholly cancelled.
fn write_recording(path: &Path) {
    let start_ns = 1_703_462_400_000_000_000;
    let day =
        |day| time::Date::from_calendar_date(2023, time::Month::December, day).expect("a day");
    let interval =
        MappingInterval { start_date: day(24), end_date: day(26), symbol: "17".to_owned() };
    let metadata = Metadata::builder()
        .dataset("TEST".to_owned())
        .schema(Some(Schema::Mbo))
        .start(start_ns)
        .stype_in(Some(SType::RawSymbol))
        .stype_out(SType::InstrumentId)
        .mappings(vec![SymbolMapping { raw_symbol: "TAPE".to_owned(), intervals: vec![interval] }])
        .build();
    let file = File::create(path).expect("room on the disk");
    let mut encoder = Encoder::with_zstd(file, &metadata).expect("metadata");
    let mut state = 7_u64;
    let mut random = move |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for number in 0..20_000_u64 {
        let is_new = number < 500 || random(2) == 0;
        let id = if is_new { number } else { random(number) };
        let side = if id.is_multiple_of(2) { b'B' } else { b'A' };
        let action = if is_new { b'A' } else { [b'C', b'C', b'M'][random(3) as usize] };
        let away = random(50) as i64;
        let ticks = if side == b'B' { 4800 - away } else { 4801 + away };
        let mut flags = FlagSet::empty();
        if number % 3 != 1 {
            flags.set_last();
        }
        let record = MboMsg {
            hd: RecordHeader::new::<MboMsg>(dbn::enums::rtype::MBO, 1, 17, start_ns + number),
            order_id: id,
            price: ticks * 250_000_000,
            size: 1 + random(5) as u32,
            flags,
            channel_id: 0,
            action: action as _,
            side: side as _,
            ts_recv: start_ns + number,
            ts_in_delta: 0,
            sequence: number as u32,
        };
        encoder.encode_record(&record).expect("room on the disk");
    }
    encoder.flush().expect("room on the disk");
}

#[test]
fn a_consumer_ends_with_the_book_of_a_recording() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("made-up.mbo.dbn.zst");
    write_recording(&path);
    the_book_arrives(&path, "TAPE");
}

#[test]
fn a_consumer_ends_with_the_book_of_a_real_session() {
    let Some(folder) = std::env::var_os("TAPELINE_DATA") else {
        eprintln!("skipped: TAPELINE_DATA names no folder with recordings");
        return;
    };
    let files = std::fs::read_dir(&folder).expect("the folder that TAPELINE_DATA names");
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    files.retain(|path| path.extension() == Some(OsStr::new("zst")));
    files.sort();
    assert!(!files.is_empty(), "no recordings in {}", folder.display());
    for path in files {
        let metadata = DbnDecoder::from_zstd_file(&path).expect("a recording");
        let name = metadata.metadata().mappings[0].raw_symbol.clone();
        the_book_arrives(&path, &name);
    }
}
