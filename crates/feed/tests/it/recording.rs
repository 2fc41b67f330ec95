//! Recordings as a publisher and its consumers see them: consumers that keep
//! images end with the book that the recording ends with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dbn::encode::dbn::Encoder;
use dbn::encode::{DbnEncodable, EncodeRecord};
use dbn::{FlagSet, MappingInterval, MboMsg, Metadata, RecordHeader, SType, Schema, SymbolMapping};
use tapeline_cache::{Image, Limits};
use tapeline_feed::{Book, FeedError, Level, Pace, Recording, Side, UpdateKind};
use tapeline_omm::market::{self, fid};
use tapeline_rwf::{
    DataType, Domain, Encoded, FieldList, Msg, RefreshFlags, RefreshMsg, UpdateType,
};

const DOMAINS: [Domain; 3] =
    [Domain::MARKET_BY_ORDER, Domain::MARKET_BY_PRICE, Domain::MARKET_PRICE];
const NANO: i64 = 1_000_000_000;

fn record(action: char, side: char, order_id: u64, price: i64, size: u32, last: bool) -> MboMsg {
    let mut flags = FlagSet::empty();
    if last {
        flags.set_last();
    }
    let ts_event = 1_703_462_400_000_000_000 + order_id;
    MboMsg {
        hd: RecordHeader::new::<MboMsg>(dbn::enums::rtype::MBO, 1, 17077, ts_event),
        order_id,
        price,
        size,
        flags,
        channel_id: 0,
        action: action as _,
        side: side as _,
        ts_recv: ts_event + 1000,
        ts_in_delta: 0,
        sequence: 0,
    }
}

fn metadata() -> Metadata {
    let interval = MappingInterval {
        start_date: time::Date::from_calendar_date(2023, time::Month::December, 24).expect("a day"),
        end_date: time::Date::from_calendar_date(2023, time::Month::December, 26).expect("a day"),
        symbol: "17077".to_owned(),
    };
    let mapping = SymbolMapping { raw_symbol: "ESH4".to_owned(), intervals: vec![interval] };
    Metadata::builder()
        .dataset("GLBX.MDP3".to_owned())
        .schema(Some(Schema::Mbo))
        .start(0)
        .stype_in(Some(SType::RawSymbol))
        .stype_out(SType::InstrumentId)
        .mappings(vec![mapping])
        .build()
}

fn encoded(records: &[MboMsg]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, &metadata()).expect("metadata");
    for record in records {
        encode(&mut encoder, record);
    }
    bytes
}

fn compressed(records: &[MboMsg]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::with_zstd(&mut bytes, &metadata()).expect("metadata");
    for record in records {
        encode(&mut encoder, record);
    }
    drop(encoder);
    bytes
}

fn encode<R: DbnEncodable>(encoder: &mut impl EncodeRecord, record: &R) {
    encoder.encode_record(record).expect("a record");
}

fn recording(records: &[MboMsg]) -> Recording {
    Recording::read(std::io::Cursor::new(encoded(records))).expect("a recording")
}

/// A consumer of the three items of one instrument.
struct Consumer {
    images: [Image; 3],
}

impl Consumer {
    fn subscribe(recording: &Recording, name: &str) -> Self {
        let images = DOMAINS.map(|domain| {
            let mut payload = Vec::new();
            let found = recording.image(domain, name, &mut payload).expect("encodes");
            let container_type = found.expect("the item is there");
            let mut refresh = RefreshMsg::new(domain, 5);
            refresh.flags = RefreshFlags::REFRESH_COMPLETE;
            refresh.payload = Encoded::new(container_type, &payload);
            let mut image = Image::new(Limits::default());
            image.refresh(&refresh).expect("well-formed");
            image
        });
        Self { images }
    }

    fn receive(&mut self, message: &[u8]) {
        let message = Msg::decode(message).expect("well-formed");
        let at = DOMAINS.iter().position(|domain| *domain == message.domain());
        let image = &mut self.images[at.expect("one of three domains")];
        match &message {
            Msg::Refresh(refresh) => drop(image.refresh(refresh).expect("well-formed")),
            Msg::Update(update) => drop(image.update(update, None).expect("well-formed")),
            other => panic!("not published: {other:?}"),
        }
    }

    fn payload(&self, at: usize) -> Vec<u8> {
        let mut payload = Vec::new();
        self.images[at].payload(&mut payload).expect("one part");
        payload
    }

    /// Rows by key: side, price and size of each.
    fn rows(&self, at: usize) -> BTreeMap<String, (u16, String, String, Option<u64>)> {
        let payload = self.payload(at);
        let data = Encoded::new(DataType::MAP, &payload);
        let book = market::Book::decode(&data).expect("a book");
        book.rows()
            .map(|row| {
                let row = row.expect("well-formed");
                let fields = row.fields().expect("well-formed");
                let side = value(&fields, fid::ORDER_SIDE, DataType::ENUM).enumeration();
                let orders = fields.field(fid::NO_ORD).expect("well-formed");
                let orders = orders.map(|e| e.typed(DataType::UINT).uint().expect("well-formed"));
                let key = String::from_utf8_lossy(row.key.bytes()).into_owned();
                let row = (
                    side.expect("well-formed").expect("a side"),
                    real(&fields, fid::ORDER_PRC),
                    real(&fields, fid::ORDER_SIZE),
                    orders.flatten(),
                );
                (key, row)
            })
            .collect()
    }

    fn market_price(&self, field_id: i16) -> String {
        let payload = self.payload(2);
        let data = Encoded::new(DataType::FIELD_LIST, &payload);
        real(&data.field_list().expect("well-formed"), field_id)
    }

    /// Whether all three items say what the book says.
    fn assert_has(&self, book: &Book) {
        let orders = self.rows(0);
        assert_eq!(orders.len(), book.orders().len());
        for (id, order) in book.orders() {
            let (price, size) = (decimal(order.price_nano), order.size.to_string());
            assert_eq!(orders[&id.to_string()], (order.side as u16, price, size, None));
        }
        let levels = self.rows(1);
        let both = [(Side::Bid, 'B'), (Side::Ask, 'A')];
        let expected = both.into_iter().flat_map(|(side, letter)| {
            book.levels(side).map(move |(price, level)| {
                let price = decimal(price);
                let Level { size, orders, .. } = level;
                let row = (side as u16, price.clone(), size.to_string(), Some(u64::from(*orders)));
                (format!("{price}{letter}"), row)
            })
        });
        assert_eq!(levels, expected.collect());
        for (side, price, size) in
            [(Side::Bid, fid::BID, fid::BIDSIZE), (Side::Ask, fid::ASK, fid::ASKSIZE)]
        {
            let best = book.best(side);
            let blank = String::new();
            let best_price = best.map_or(blank.clone(), |(price, _)| decimal(price));
            assert_eq!(self.market_price(price), best_price);
            let best_size = best.map_or(blank, |(_, level)| level.size.to_string());
            assert_eq!(self.market_price(size), best_size);
        }
        assert_eq!(self.market_price(fid::ACVOL_1), book.trades().volume.to_string());
        let last = book.trades().last.map_or(String::new(), |trade| decimal(trade.price_nano));
        assert_eq!(self.market_price(fid::TRDPRC_1), last);
    }
}

fn value<'a>(fields: &FieldList<'a>, field_id: i16, data_type: DataType) -> Encoded<'a> {
    let entry = fields.field(field_id).expect("well-formed").expect("the field is there");
    entry.typed(data_type)
}

fn real(fields: &FieldList<'_>, field_id: i16) -> String {
    let value = value(fields, field_id, DataType::REAL).real().expect("well-formed");
    value.map_or(String::new(), |value| value.to_string())
}

/// A price with two decimals or more, by another way than the feed's.
fn decimal(price_nano: i64) -> String {
    let text = format!("{}.{:09}", price_nano / NANO, price_nano % NANO);
    let kept = text.trim_end_matches('0');
    let decimals = kept.len() - kept.find('.').expect("a point") - 1;
    format!("{kept}{}", "0".repeat(2_usize.saturating_sub(decimals)))
}

fn play(recording: &mut Recording, consumer: &mut Consumer) -> (usize, u64) {
    let (mut events, mut last_ns, mut message) = (0, 0, Vec::new());
    while let Some(event) = recording.next_event().expect("well-formed") {
        assert_eq!(event.name, "ESH4");
        last_ns = event.at_ns;
        for update in event.updates() {
            message.clear();
            update.append(5, None, &mut message).expect("encodes");
            consumer.receive(&message);
        }
        events += 1;
    }
    (events, last_ns)
}

#[test]
fn an_event_is_one_update_of_each_item_that_it_changes() {
    let mut recording = recording(&[
        record('A', 'B', 1, 4800 * NANO, 5, false),
        record('A', 'A', 2, 4801 * NANO, 7, true),
        record('A', 'A', 3, 4802 * NANO, 1, true),
        record('T', 'B', 0, 4801 * NANO, 7, false),
        record('F', 'A', 2, 4801 * NANO, 7, false),
        record('C', 'A', 2, 4801 * NANO, 7, true),
        record('T', 'B', 0, 4801 * NANO, 1, true),
        record('A', 'B', 4, 4801 * NANO, 1, false),
        record('C', 'B', 4, 4801 * NANO, 1, true),
    ]);
    assert_eq!(recording.names().collect::<Vec<_>>(), ["ESH4"]);
    let mut seen = Vec::new();
    while let Some(event) = recording.next_event().expect("well-formed") {
        let kinds = event.updates().map(|update| (update.domain, update.kind));
        seen.push(kinds.collect::<Vec<_>>());
    }
    let changes = |domain, update_type| (domain, UpdateKind::Changes(update_type));
    let [orders, levels] =
        [DOMAINS[0], DOMAINS[1]].map(|domain| changes(domain, UpdateType::UNSPECIFIED));
    let price = |update_type| changes(Domain::MARKET_PRICE, update_type);
    assert_eq!(
        seen,
        [
            vec![orders, levels, price(UpdateType::QUOTE)],
            vec![orders, levels],
            vec![orders, levels, price(UpdateType::QUOTES_TRADE)],
            vec![price(UpdateType::TRADE)],
            vec![orders, levels],
        ]
    );
}

#[test]
fn consumers_end_with_the_book_of_the_recording() {
    let records = [
        record('R', 'N', 0, i64::MAX, 0, false),
        record('A', 'B', 1, 4800 * NANO, 5, false),
        record('A', 'B', 2, 4800 * NANO, 6, false),
        record('A', 'A', 3, 4801 * NANO + NANO / 4, 7, true),
        record('M', 'B', 2, 4800 * NANO + NANO / 2, 6, true),
        record('T', 'A', 0, 4800 * NANO + NANO / 2, 2, false),
        record('F', 'B', 2, 4800 * NANO + NANO / 2, 2, false),
        record('C', 'B', 2, 4800 * NANO + NANO / 2, 2, true),
        record('C', 'B', 1, 4800 * NANO, 5, true),
        record('A', 'A', 9, 4802 * NANO, 1, false),
    ];
    let mut recording = recording(&records);
    let mut consumer = Consumer::subscribe(&recording, "ESH4");
    let (events, _) = play(&mut recording, &mut consumer);
    assert_eq!(events, 5, "what is left at the end is an event, too");
    let book = recording.book("ESH4").expect("known");
    assert_eq!(book.best(Side::Bid).map(|best| best.1.size), Some(4));
    assert_eq!((book.orders().len(), book.trades().volume), (3, 2));
    consumer.assert_has(book);
    Consumer::subscribe(&recording, "ESH4").assert_has(book);
}

#[test]
fn compressed_files_are_recognized() {
    let records = [record('A', 'B', 1, 4800 * NANO, 5, true)];
    let compressed = compressed(&records);
    assert_ne!(compressed, encoded(&records));
    let source = std::io::Cursor::new(compressed);
    let mut recording = Recording::read(source).expect("a recording");
    assert!(recording.next_event().expect("well-formed").is_some());
    assert_eq!(recording.book("ESH4").map(|book| book.orders().len()), Some(1));
}

#[test]
fn records_without_a_price_or_a_side_change_nothing() {
    let mut recording = recording(&[
        record('A', 'B', 1, i64::MAX, 5, true),
        record('A', 'N', 2, 4800 * NANO, 5, true),
        record('T', 'N', 0, i64::MAX, 5, true),
        record('N', 'N', 0, 4800 * NANO, 5, true),
    ]);
    assert!(recording.next_event().expect("well-formed").is_none());
    assert_eq!(recording.book("ESH4"), Some(&Book::new()));
}

#[test]
fn other_items_are_not_there() {
    let recording = recording(&[]);
    let mut out = Vec::new();
    let image = recording.image(Domain::MARKET_PRICE, "ESM4", &mut out);
    assert_eq!(image.expect("no error"), None);
    let image = recording.image(Domain::SYMBOL_LIST, "ESH4", &mut out);
    assert_eq!(image.expect("no error"), None);
    assert!(out.is_empty() && recording.book("ESM4").is_none());
}

#[test]
fn damaged_files_are_errors_and_not_the_end() {
    let error = Recording::read(&b"no recording at all"[..]).expect_err("no header");
    assert!(error.to_string().starts_with("the recording is no usable recording: "), "{error}");
    let error = Recording::open("/no/such/file").expect_err("not there");
    assert!(matches!(error, FeedError::Io { .. }), "{error}");
    let whole = encoded(&[record('A', 'B', 1, NANO, 1, true), record('A', 'B', 2, NANO, 1, true)]);
    for cut in 1..whole.len() {
        let source = std::io::Cursor::new(whole[..whole.len() - cut].to_vec());
        let Ok(mut recording) = Recording::read(source) else { continue };
        let mut events = 0;
        while let Ok(Some(_)) = recording.next_event() {
            events += 1;
        }
        assert!(events < 2);
        assert!(matches!(recording.next_event(), Ok(None)), "nothing comes after the end");
    }
}

#[test]
fn a_replay_keeps_recorded_time_or_a_multiple_of_it() {
    let mut as_recorded = Pace::new(1.0);
    assert_eq!([5_000, 7_000, 6_000].map(|at_ns| as_recorded.due_ns(at_ns)), [0, 2_000, 1_000]);
    let mut faster = Pace::new(4.0);
    assert_eq!([5_000, 7_000].map(|at_ns| faster.due_ns(at_ns)), [0, 500]);
    let mut at_once = Pace::new(f64::INFINITY);
    assert_eq!([5_000, 7_000].map(|at_ns| at_once.due_ns(at_ns)), [0, 0]);
}

/// The folder of real recordings, if there is one.
fn real_data() -> Option<PathBuf> {
    let folder = std::env::var_os("TAPELINE_DATA").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: TAPELINE_DATA does not name a folder of recordings");
    }
    folder
}

#[test]
fn a_session_goes_on_where_the_one_before_ended() {
    let folder = std::env::temp_dir().join(format!("tapeline-feed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("second.dbn");
    let second = [record('C', 'B', 1, 4800 * NANO, 2, true)];
    std::fs::write(&path, encoded(&second)).expect("a file");
    let first = [record('A', 'B', 1, 4800 * NANO, 5, true)];
    let mut both = recording(&first).then(&path).expect("a recording");
    std::fs::remove_dir_all(&folder).expect("its own folder");
    let mut consumer = Consumer::subscribe(&both, "ESH4");
    assert_eq!(play(&mut both, &mut consumer).0, 2);
    let book = both.book("ESH4").expect("known");
    assert_eq!(book.order(1).map(|order| order.size), Some(3));
    consumer.assert_has(book);
}

#[test]
fn real_sessions_end_with_their_books() {
    let Some(folder) = real_data() else { return };
    let [first, second] = ["20231224", "20231225"]
        .map(|day| folder.join(format!("esh4-glbx-mdp3-{day}.mbo.dbn.zst")));
    let open = |path: &Path| Recording::open(path).expect("a recording");
    for mut recording in [open(&first), open(&second), open(&first).then(&second).expect("both")] {
        let mut consumer = Consumer::subscribe(&recording, "ESH4");
        let (events, _) = play(&mut recording, &mut consumer);
        let book = recording.book("ESH4").expect("known");
        consumer.assert_has(book);
        let (bid, ask) = (book.best(Side::Bid), book.best(Side::Ask));
        let (Some((bid, _)), Some((ask, _))) = (bid, ask) else { panic!("no market") };
        assert!(bid < ask, "{} is not below {}", decimal(bid), decimal(ask));
        let (orders, trades) = (book.orders().len(), book.trades());
        println!("{events} events, {orders} orders, {trades:?}");
    }
}
