//! What is written is read again, and no bytes make a model panic.

use crate::support::{directory_msg, login_msg, qos, services, some, state, text};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use tapeline_golden::{unhex, vectors};
use tapeline_omm::batch::Batch;
use tapeline_omm::directory::{
    Directory, DirectoryFilter, DirectoryMsg, DirectoryRequest, DirectoryUpdate,
};
use tapeline_omm::login::LoginMsg;
use tapeline_omm::market::{
    Book, DataStreams, ItemRequest, RequestPayload, SymbolList, SymbolListBehaviors, market_price,
};
use tapeline_omm::post::{Post, PostStream};
use tapeline_omm::qos::QosWish;
use tapeline_omm::view::{View, ViewChange};
use tapeline_omm::{DictionaryMsg, DictionaryRefresh, DictionaryRequest, Text};
use tapeline_rwf::{
    DataType, Domain, EncodeError, Encoded, Encoder, FieldListHead, KeyFlags, Msg, MsgKey,
    Priority, State, UpdateMsg,
};

fn written(write: impl FnOnce(&mut Encoder<'_>) -> Result<(), EncodeError>) -> Vec<u8> {
    let mut buffer = vec![0; 65_536];
    let mut encoder = Encoder::new(&mut buffer);
    write(&mut encoder).expect("the model can be written");
    encoder.finish_bytes().expect("the buffer is large enough").to_vec()
}

fn views() -> impl Strategy<Value = View> {
    prop_oneof![
        vec(any::<i16>(), 0..20).prop_map(View::of_fields),
        vec(text(), 0..10).prop_map(View::of_names),
    ]
}

fn wishes() -> impl Strategy<Value = QosWish> {
    prop_oneof![
        Just(QosWish::Best),
        qos().prop_map(QosWish::Exact),
        (qos(), qos()).prop_map(|(best, worst)| QosWish::Range { best, worst }),
    ]
}

proptest! {
    #[test]
    fn login_messages_are_read_as_written(msg in login_msg()) {
        let bytes = written(|encoder| msg.encode(encoder));
        let read = LoginMsg::decode(&Msg::decode(&bytes).expect("well-formed"));
        prop_assert_eq!(read, Ok(msg));
    }

    #[test]
    fn directory_messages_are_read_as_written(msg in directory_msg()) {
        let bytes = written(|encoder| msg.encode(encoder));
        let read = DirectoryMsg::decode(&Msg::decode(&bytes).expect("well-formed"));
        prop_assert_eq!(read, Ok(msg));
    }

    #[test]
    fn dictionary_requests_are_read_as_written(
        stream_id in any::<i32>(),
        service_id in some(any::<u16>()),
        name in text(),
        verbosity in any::<u32>(),
        (streaming, no_refresh) in any::<(bool, bool)>(),
        priority in some((any::<u8>(), any::<u16>())),
    ) {
        let priority = priority.map(|(class, count)| Priority { class, count });
        let request = DictionaryRequest {
            stream_id, service_id, name, verbosity, streaming, no_refresh, priority,
        };
        let bytes = written(|encoder| request.encode(encoder));
        let read = DictionaryMsg::decode(&Msg::decode(&bytes).expect("well-formed"));
        prop_assert_eq!(read, Ok(DictionaryMsg::Request(request)));
    }

    #[test]
    fn dictionary_parts_are_read_as_written(
        stream_id in any::<i32>(),
        (solicited, clear_cache, complete) in any::<(bool, bool, bool)>(),
        part_num in some(0_u16..0x8000),
        state in state(),
        service_id in some(any::<u16>()),
        name in some(text()),
        verbosity in some(any::<u32>()),
        payload in vec(any::<u8>(), 0..20),
    ) {
        let payload = Encoded::new(DataType::SERIES, &payload);
        let part = DictionaryRefresh {
            stream_id, solicited, clear_cache, complete, part_num, state, service_id, name,
            verbosity, payload,
        };
        let bytes = written(|encoder| part.encode(encoder));
        let read = DictionaryMsg::decode(&Msg::decode(&bytes).expect("well-formed"));
        prop_assert_eq!(read, Ok(DictionaryMsg::Refresh(part.clone())));
        // Whatever the payload is.
        let _ = part.summary();
    }

    #[test]
    fn item_requests_are_read_as_written(
        (domain, stream_id, service_id) in any::<(u8, i32, u16)>(),
        name in "[!-~]{1,20}",
        flags in vec(any::<bool>(), 6),
        priority in some((any::<u8>(), any::<u16>())),
        qos in wishes(),
        view in some(views()),
        items in some(vec("[ -~]{1,12}".prop_map(Text::from), 0..10)),
        data_streams in some(some(0_usize..3)),
    ) {
        let key = MsgKey {
            flags: KeyFlags::HAS_SERVICE_ID
                | if items.is_none() { KeyFlags::HAS_NAME } else { KeyFlags::empty() },
            name: items.is_none().then_some(name.as_bytes()),
            ..MsgKey::item(service_id, "")
        };
        let request = ItemRequest {
            streaming: flags[0],
            pause: flags[1],
            no_refresh: flags[2],
            private: flags[3],
            key_in_updates: flags[4],
            conflation_info: flags[5],
            priority: priority.map(|(class, count)| Priority { class, count }),
            qos,
            ..ItemRequest::new(Domain(domain), stream_id, key)
        };
        let behaviors = [DataStreams::NamesOnly, DataStreams::Streams, DataStreams::Snapshots];
        let symbol_list = data_streams.map(|streams| SymbolListBehaviors {
            data_streams: streams.map(|at| behaviors[at]),
        });
        let names: Option<Vec<&[u8]>> =
            items.as_ref().map(|items| items.iter().map(Text::as_bytes).collect());
        let payload = RequestPayload {
            items: names.as_deref(), view: view.as_ref(), symbol_list, ..RequestPayload::NONE
        };
        let bytes = written(|encoder| request.encode(encoder, &payload));
        let Ok(Msg::Request(msg)) = Msg::decode(&bytes) else { panic!("a request") };
        prop_assert_eq!(ItemRequest::decode(&msg), Ok(request));
        let change = view.map_or(ViewChange::Drop, ViewChange::Replace);
        prop_assert_eq!(ViewChange::of(&msg, false), Ok(change));
        prop_assert_eq!(SymbolListBehaviors::of(&msg), Ok(symbol_list));
        let read = match Batch::of_request(&msg) {
            Ok(Some(Batch::Items(items))) => Some(items.iter().collect::<Vec<_>>()),
            other => { prop_assert_eq!(other, Ok(None)); None }
        };
        prop_assert_eq!(read, names);
    }

    #[test]
    fn views_are_sets(a in btree_set(any::<i16>(), 0..20), b in btree_set(any::<i16>(), 0..20)) {
        let view = |ids: &std::collections::BTreeSet<i16>| View::of_fields(ids.iter().copied());
        let union = View::shared([Some(&view(&a)), Some(&view(&b))]);
        let expected = View::of_fields(a.union(&b).copied());
        prop_assert_eq!(union, Some(expected.clone()));
        prop_assert!(view(&a).is_subset(&expected));
        prop_assert_eq!(view(&a).is_subset(&view(&b)), a.is_subset(&b));
    }

    #[test]
    fn a_projection_keeps_exactly_what_the_view_wants(
        entries in vec((0_i16..20, vec(any::<u8>(), 0..5)), 0..20),
        wanted in btree_set(0_i16..20, 0..10),
    ) {
        let msg = UpdateMsg::new(Domain::MARKET_PRICE, 5).into();
        let write = |entries: &[(i16, Vec<u8>)]| written(|encoder| {
            let slot = encoder.begin(&msg, DataType::FIELD_LIST)?;
            let mut list = slot.field_list(&FieldListHead::STANDARD)?;
            entries.iter().try_for_each(|(fid, value)| list.bytes(*fid, value))?;
            list.finish()
        });
        let kept: Vec<_> =
            entries.iter().filter(|(fid, _)| wanted.contains(fid)).cloned().collect();
        let update = write(&entries);
        let view = View::of_fields(wanted);
        let mut buffer = [0; 1024];
        let len = view.project_msg(&Msg::decode(&update).expect("well-formed"), &mut buffer);
        let projected = len.expect("room").map(|len| buffer[..len].to_vec());
        prop_assert_eq!(projected, (!kept.is_empty()).then(|| write(&kept)));
    }

    #[test]
    fn what_a_directory_serves_makes_the_same_directory(updates in vec(services(), 0..6)) {
        let mut directory = Directory::default();
        for services in updates {
            let _ = directory.apply_update(&DirectoryUpdate::new(2, services));
        }
        for (id, service) in directory.services() {
            if let Some(name) = service.name() {
                prop_assert_eq!(directory.service_id(name), Some(id));
            }
        }
        let request = DirectoryRequest::new(2, DirectoryFilter::all());
        let served = directory.refresh(&request, &State::open_ok(""));
        let mut other = Directory::default();
        let _ = other.apply_refresh(&served);
        prop_assert_eq!(
            other.services().collect::<Vec<_>>(),
            directory.services().collect::<Vec<_>>()
        );
    }

    #[test]
    fn no_bytes_make_a_model_panic(bytes in vec(any::<u8>(), 0..200)) {
        read_all(&bytes);
    }
}

/// Gives bytes to everything that reads.
fn read_all(bytes: &[u8]) {
    let Ok(msg) = Msg::decode(bytes) else { return };
    let _ = LoginMsg::decode(&msg);
    if let Ok(read) = DirectoryMsg::decode(&msg) {
        let mut directory = Directory::default();
        match &read {
            DirectoryMsg::Refresh(refresh) => drop(directory.apply_refresh(refresh)),
            DirectoryMsg::Update(update) => drop(directory.apply_update(update)),
            _ => {}
        }
    }
    if let Ok(DictionaryMsg::Refresh(part)) = DictionaryMsg::decode(&msg) {
        let _ = part.summary();
    }
    match &msg {
        Msg::Request(request) => {
            let _ = ItemRequest::decode(request);
            let _ = ViewChange::of(request, false);
            let _ = SymbolListBehaviors::of(request);
            if let Ok(Some(Batch::Items(names))) = Batch::of_request(request) {
                let _ = names.streams(request.stream_id, |_| false).map(Iterator::count);
            }
        }
        Msg::Close(close) => drop(Batch::of_close(close)),
        Msg::Post(post) => {
            let _ = Post::check(post, PostStream::Item);
            let _ = Post::check(post, PostStream::Login);
        }
        _ => {}
    }
    let payload = msg.payload();
    let _ = market_price(&payload);
    if let Ok(book) = Book::decode(&payload) {
        let _ = book.summary();
        book.rows().flatten().for_each(|row| {
            let _ = row.fields();
        });
    }
    if let Ok(symbols) = SymbolList::decode(&payload) {
        symbols.entries().for_each(drop);
    }
    let mut buffer = [0; 4096];
    for view in [View::of_fields([22, 3427]), View::of_names(["NAME"])] {
        let _ = view.project_msg(&msg, &mut buffer);
    }
}

fn real_messages() -> Vec<Vec<u8>> {
    let is_message = |vector: &serde_json::Value| vector["type"] == "MSG";
    let bytes = |vector: serde_json::Value| unhex(vector["hex"].as_str().expect("bytes"));
    vectors("rdm_messages").into_iter().filter(is_message).map(bytes).collect()
}

#[test]
fn real_messages_cut_off_anywhere_make_no_model_panic() {
    for bytes in real_messages().iter().filter(|bytes| bytes.len() < 1000) {
        for end in 0..bytes.len() {
            read_all(&bytes[..end]);
        }
    }
}

#[test]
fn real_messages_with_a_wrong_byte_make_no_model_panic() {
    for bytes in real_messages().iter_mut().filter(|bytes| bytes.len() < 600) {
        for at in 0..bytes.len() {
            let right = bytes[at];
            for wrong in [0, 0x7F, 0x80, 0xFE, 0xFF, right ^ 1, right ^ 0x10] {
                bytes[at] = wrong;
                read_all(bytes);
            }
            bytes[at] = right;
        }
    }
}
