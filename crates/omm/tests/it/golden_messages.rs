//! The vendor's own messages: read with the typed models, written again, and
//! compared byte for byte with the shortest encoding of the same message.
//!
//! Covered are all messages of the login, directory and dictionary domains,
//! posts and acks, and everything of the item domains whose payload is a field
//! list, a book, a symbol list, a view or a batch. Curves, history, news, pages
//! and JSON have no model here; bare dictionary payloads have their own tests.

use serde_json::Value;
use tapeline_golden::{hex, unhex, vectors};
use tapeline_omm::batch::Batch;
use tapeline_omm::dictionary::DictionaryType;
use tapeline_omm::directory::DirectoryMsg;
use tapeline_omm::login::LoginMsg;
use tapeline_omm::market::{
    Book, BookWriter, ItemRequest, RequestPayload, SymbolList, SymbolListBehaviors, market_price,
    write_symbol_names,
};
use tapeline_omm::post::{AckForm, Post, PostStream, ack};
use tapeline_omm::view::ViewChange;
use tapeline_omm::{DictionaryMsg, DictionaryRefresh};
use tapeline_rwf::{
    DataType, Domain, ElementListHead, EncodeError, Encoded, Encoder, FieldList, FieldListHead,
    FieldListWriter, ListFlags, MapAction, Msg, PostMsg, RequestMsg, SetHead, Slot,
};

/// Messages without a model.
const WITHOUT_MODEL: [&str; 6] = [
    "rdm/yieldcurve/refresh/pre",
    "rdm/yieldcurve/refresh/init",
    "rdm/history/refresh/pre",
    "rdm/history/refresh/init",
    "rdm/news/xml/pre",
    "rdm/json/opaque/pre",
];

fn canonical(vector: &Value) -> Vec<u8> {
    let text = vector.get("canonical_hex").unwrap_or(&vector["hex"]);
    unhex(text.as_str().expect("a string"))
}

fn encoded(write: impl FnOnce(&mut Encoder<'_>) -> Result<(), EncodeError>) -> Vec<u8> {
    let mut buffer = vec![0; 65_536];
    let mut encoder = Encoder::new(&mut buffer);
    write(&mut encoder).expect("what was read can be written");
    encoder.finish_bytes().expect("the buffer is large enough").to_vec()
}

/// Reads a message with the model of its domain and writes it again. `shortest`
/// is the same message with shortest lengths, for payloads that pass through
/// the model unread.
fn rewritten(msg: &Msg<'_>, shortest: &[u8]) -> Vec<u8> {
    match (msg.domain(), msg) {
        (_, Msg::Post(post)) => rewritten_post(post),
        (Domain::LOGIN, _) => {
            let read = LoginMsg::decode(msg).expect("a login message");
            encoded(|encoder| read.encode(encoder))
        }
        (Domain::SOURCE, _) => {
            let read = DirectoryMsg::decode(msg).expect("a directory message");
            encoded(|encoder| read.encode(encoder))
        }
        (Domain::DICTIONARY, _) => {
            let read = DictionaryMsg::decode(msg).expect("a dictionary message");
            let payload = Msg::decode(shortest).expect("well-formed").payload();
            let read = match read {
                DictionaryMsg::Refresh(part) => {
                    DictionaryMsg::Refresh(DictionaryRefresh { payload, ..part })
                }
                other => other,
            };
            encoded(|encoder| read.encode(encoder))
        }
        (_, Msg::Request(request)) => rewritten_request(request),
        (_, Msg::Close(close)) => {
            let ids = Batch::of_close(close).expect("a valid close");
            encoded(|encoder| {
                let slot = encoder.begin(msg, msg.payload().data_type())?;
                let Some(ids) = ids else { return slot.empty() };
                let mut list = slot.element_list(&ElementListHead::STANDARD)?;
                tapeline_omm::batch::write_stream_id_list(&mut list, ids.iter())?;
                list.finish()
            })
        }
        _ => encoded(|encoder| {
            let payload = msg.payload();
            let slot = encoder.begin(msg, payload.data_type())?;
            write_payload(msg.domain(), &payload, slot)
        }),
    }
}

fn write_payload(
    domain: Domain,
    payload: &Encoded<'_>,
    slot: Slot<'_, '_>,
) -> Result<(), EncodeError> {
    match (domain, payload.data_type()) {
        (_, DataType::FIELD_LIST) => {
            let fields = market_price(payload).expect("a field list");
            copy_fields(&fields, slot.field_list(&head_of(&fields))?)
        }
        (Domain::SYMBOL_LIST, _) => write_symbols(payload, slot),
        (_, DataType::MAP) => write_book(payload, slot),
        _ => slot.encoded(payload),
    }
}

fn head_of<'a>(fields: &FieldList<'a>) -> FieldListHead<'a> {
    let has_id = fields.flags().contains(ListFlags::HAS_SET_ID);
    FieldListHead {
        info: fields.info(),
        set: fields
            .set_def()
            .map(|def| SetHead { id: fields.set_id().filter(|_| has_id), def: Some(def) }),
        standard: fields.flags().contains(ListFlags::HAS_STANDARD_DATA),
    }
}

fn copy_fields(
    fields: &FieldList<'_>,
    mut writer: FieldListWriter<'_, '_>,
) -> Result<(), EncodeError> {
    for entry in fields {
        let entry = entry.expect("well-formed");
        if entry.is_set_defined() {
            let value = entry.value.primitive().expect("well-formed");
            writer.put(entry.field_id, value)?;
        } else {
            writer.bytes(entry.field_id, entry.value.bytes())?;
        }
    }
    writer.finish()
}

fn write_book(payload: &Encoded<'_>, slot: Slot<'_, '_>) -> Result<(), EncodeError> {
    let book = Book::decode(payload).expect("a book");
    let mut writer = BookWriter::begin(slot, &book.head())?;
    if let Some(summary) = book.summary().expect("well-formed") {
        copy_fields(&summary, writer.summary(&head_of(&summary))?)?;
    }
    for row in book.rows() {
        let row = row.expect("well-formed");
        if row.action == MapAction::DELETE {
            writer.delete(row.key.bytes())?;
            continue;
        }
        let fields = row.fields().expect("well-formed");
        let head = head_of(&fields);
        copy_fields(&fields, writer.row(row.action, row.key.bytes(), row.perm_data, &head)?)?;
    }
    writer.finish()
}

fn write_symbols(payload: &Encoded<'_>, slot: Slot<'_, '_>) -> Result<(), EncodeError> {
    let symbols = SymbolList::decode(payload).expect("a symbol list");
    let map = payload.map().expect("a map");
    if map.container_type() == DataType::FIELD_LIST {
        return write_book(payload, slot);
    }
    let entries: Vec<_> =
        symbols.entries().map(|entry| entry.map(|entry| (entry.action, entry.name))).collect();
    let names = entries.into_iter().map(|entry| entry.expect("well-formed"));
    write_symbol_names(slot, map.total_count_hint(), names)
}

fn rewritten_request(msg: &RequestMsg<'_>) -> Vec<u8> {
    let request = ItemRequest::decode(msg).expect("an item request");
    let view = match ViewChange::of(msg, false).expect("a valid view") {
        ViewChange::Replace(view) => Some(view),
        ViewChange::Keep | ViewChange::Drop => None,
    };
    let mut names = Vec::new();
    let items = match Batch::of_request(msg).expect("a valid batch") {
        Some(Batch::Items(items)) => {
            names.extend(items.iter());
            Some(names.as_slice())
        }
        _ => None,
    };
    let payload = RequestPayload {
        items,
        view: view.as_ref(),
        symbol_list: SymbolListBehaviors::of(msg).expect("valid behaviours"),
        ..RequestPayload::NONE
    };
    encoded(|encoder| request.encode(encoder, &payload))
}

fn rewritten_post(post: &PostMsg<'_>) -> Vec<u8> {
    encoded(|encoder| {
        let slot = encoder.begin(&(*post).into(), post.payload.data_type())?;
        match post.payload.data_type() {
            DataType::MSG => {
                let posted = post.payload.msg().expect("well-formed");
                let data = posted.payload();
                slot.message_with(&posted, data.data_type(), |slot| {
                    write_payload(posted.domain(), &data, slot)
                })
            }
            _ => write_payload(post.domain, &post.payload, slot),
        }
    })
}

#[test]
fn every_message_with_a_model_is_read_and_written_again() {
    let mut seen = 0;
    for vector in vectors("rdm_messages") {
        let name = vector["name"].as_str().expect("a name");
        if vector["type"] != "MSG" || WITHOUT_MODEL.contains(&name) {
            continue;
        }
        let bytes = unhex(vector["hex"].as_str().expect("bytes"));
        let shortest = canonical(&vector);
        let msg = Msg::decode(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(hex(&rewritten(&msg, &shortest)), hex(&shortest), "{name}");
        seen += 1;
    }
    // All messages but the six without a model; the other vectors are bare
    // dictionary payloads.
    assert_eq!(seen, 98);
}

fn named(name: &str) -> Vec<u8> {
    let all = vectors("rdm_messages");
    let vector = all.iter().find(|vector| vector["name"] == name).expect("a vector of this name");
    unhex(vector["hex"].as_str().expect("bytes"))
}

#[test]
fn a_login_says_who_and_what() {
    let bytes = named("rdm/login/request-norefresh-pause/pre");
    let read = LoginMsg::decode(&Msg::decode(&bytes).expect("well-formed")).expect("a login");
    let LoginMsg::Request(request) = read else { panic!("a request") };
    assert_eq!(request.user_name, "user");
    assert_eq!(request.name_type, Some(1));
    assert!(request.pause && request.no_refresh);
    assert_eq!(request.attributes.application_id, Some("256".into()));
    assert_eq!(request.attributes.position, Some("127.0.0.1/net".into()));
    assert!(request.attributes.wants_single_open() && !request.attributes.is_provider());

    let bytes = named("rdm/login/refresh/pre");
    let read = LoginMsg::decode(&Msg::decode(&bytes).expect("well-formed")).expect("a login");
    let LoginMsg::Refresh(refresh) = read else { panic!("a refresh") };
    assert_eq!(refresh.state.to_string(), "Open / Ok / None / 'Login accepted by host'");
    assert_eq!(refresh.features.batches().bits(), 7);
    assert!(refresh.features.accepts_posts() && refresh.features.obeys_pause());
    assert!(refresh.features.opens_symbol_list_streams());
}

#[test]
fn the_summary_tells_which_dictionary_it_is() {
    let summary = |name: &str| {
        let bytes = named(name);
        let read = DictionaryMsg::decode(&Msg::decode(&bytes).expect("well-formed"));
        let Ok(DictionaryMsg::Refresh(part)) = read else { panic!("{name}: a refresh") };
        part.summary().expect("well-formed")
    };
    let fields = summary("rdm/dictionary/field/info/refresh").expect("a summary");
    assert_eq!(fields.known_type(), Some(DictionaryType::Fields));
    assert_eq!(fields.version, Some("1.02.03".into()));
    let enums = summary("rdm/dictionary/enum/normal/refresh").expect("a summary");
    assert_eq!(enums.known_type(), Some(DictionaryType::Enums));
    assert_eq!((enums.rt_version, enums.dt_version), (fields.version, Some("4.05".into())));
    assert_eq!(summary("rdm/dictionary/field/multipart/1/refresh"), None);
}

#[test]
fn posts_of_the_vendors_encoder_are_judged_by_the_rules() {
    for (name, stream, is_allowed) in [
        ("rdm/post/on-stream/pre", PostStream::Item, true),
        ("rdm/post/off-stream/pre", PostStream::Login, true),
        ("rdm/post/rights/pre", PostStream::Login, true),
        // A part of several without a sequence number.
        ("rdm/post/multi-part/pre", PostStream::Item, false),
        // Off-stream without a key.
        ("rdm/post/on-stream/pre", PostStream::Login, false),
    ] {
        let bytes = named(name);
        let Ok(Msg::Post(post)) = Msg::decode(&bytes) else { panic!("{name}: a post") };
        assert_eq!(Post::check(&post, stream).is_ok(), is_allowed, "{name}");
    }
}

#[test]
fn the_ack_of_a_post_is_the_vendors() {
    let post = named("rdm/post/on-stream/pre");
    let Ok(Msg::Post(post)) = Msg::decode(&post) else { panic!("a post") };
    let expected = named("rdm/post/ack/pre");
    assert_eq!(
        encoded(
            |encoder| encoder.message(&ack(&post, AckForm::default()).expect("asked for").into())
        ),
        expected
    );
}

/// The messages of a captured session, whole ones: those that are too long for
/// the record are cut out of their frame.
fn captured(session: &str) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    for frame in vectors(session) {
        let frame_hex = frame["hex"].as_str().expect("bytes");
        for message in frame["messages"].as_array().into_iter().flatten() {
            if let Some(text) = message["hex"].as_str() {
                messages.push(unhex(text));
                continue;
            }
            let head = message["head"].as_str().expect("the first bytes");
            let length = message["length"].as_u64().expect("a length") as usize;
            let whole = frame_hex.find(head).and_then(|at| frame_hex.get(at..at + 2 * length));
            messages.extend(whole.map(unhex));
        }
    }
    messages
}

/// The elements of a login's attributes by name: what is compared where the
/// order is the application's.
fn attributes(bytes: &[u8]) -> Vec<(Vec<u8>, DataType, Vec<u8>)> {
    let msg = Msg::decode(bytes).expect("well-formed");
    let attrib = msg.key().and_then(|key| key.attrib).expect("attributes");
    let mut elements: Vec<_> = attrib
        .element_list()
        .expect("an element list")
        .iter()
        .map(|entry| entry.expect("well-formed"))
        .map(|entry| (entry.name.to_vec(), entry.value.data_type(), entry.value.bytes().to_vec()))
        .collect();
    elements.sort_by(|a, b| a.0.cmp(&b.0));
    elements
}

#[test]
fn the_sessions_of_the_vendors_api_are_read_without_loss() {
    for session in ["transport_ema-socket-none", "transport_ema-ws-rwf"] {
        let messages = captured(session);
        let mut seen = [0; 256];
        for bytes in &messages {
            let msg = Msg::decode(bytes).expect("well-formed");
            seen[usize::from(msg.domain().0)] += 1;
            let again = match &msg {
                // Without a model: an application's own generic messages.
                Msg::Generic(_) => continue,
                _ => rewritten(&msg, bytes),
            };
            if msg.domain() == Domain::LOGIN && !matches!(msg, Msg::Close(_)) {
                assert_eq!(attributes(&again), attributes(bytes), "{session}: {msg:?}");
            } else {
                let read = Msg::decode(&again).expect("well-formed");
                let (payload, as_it_was) = (read.payload(), msg.payload());
                assert_eq!(read.key().map(|key| key.name), msg.key().map(|key| key.name));
                assert_eq!(payload.bytes().is_empty(), as_it_was.bytes().is_empty());
                let again = rewritten(&read, &again);
                assert_eq!(hex(&again), hex(&rewritten(&msg, bytes)), "{session}");
            }
        }
        let counts = [Domain::LOGIN, Domain::SOURCE, Domain::DICTIONARY, Domain::MARKET_PRICE]
            .map(|domain| seen[usize::from(domain.0)]);
        assert_eq!(counts, [3, 2, 4, 17], "{session}: {} messages", messages.len());
    }
}
