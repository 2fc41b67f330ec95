//! Payloads cut down to a view.

use tapeline_omm::market::{Book, BookHead, BookWriter, Part, image};
use tapeline_omm::view::{FieldMask, Projection, View};
use tapeline_rwf::{
    DataType, Domain, ElementListHead, Encoded, Encoder, FieldListHead, FieldListInfo,
    FilterAction, FilterListHead, LocalSetDefsBuf, MapAction, Msg, Primitive, Real, UpdateMsg,
};

const PRICE: Real = Real::decimal(4512, 2);

fn with_room<R>(write: impl FnOnce(&mut Encoder<'_>), read: impl FnOnce(&[u8]) -> R) -> R {
    let mut buffer = [0; 1024];
    let mut encoder = Encoder::new(&mut buffer);
    write(&mut encoder);
    read(encoder.finish_bytes().expect("the buffer is large enough"))
}

fn projected(view: &View, msg: &[u8]) -> Option<Vec<u8>> {
    let mut buffer = [0; 1024];
    let msg = Msg::decode(msg).expect("well-formed");
    let len = view.project_msg(&msg, &mut buffer).expect("room");
    len.map(|len| buffer[..len].to_vec())
}

fn fields(bytes: &[u8]) -> Vec<i16> {
    let list = Msg::decode(bytes).expect("well-formed").payload().field_list().expect("fields");
    list.iter().map(|entry| entry.expect("well-formed").field_id).collect()
}

fn quote(msg: &Msg<'_>) -> Vec<u8> {
    with_room(
        |encoder| {
            let info = FieldListInfo { dictionary_id: 1, list_number: 3 };
            let head = FieldListHead::with_info(info);
            let slot = encoder.begin(msg, DataType::FIELD_LIST).expect("room");
            let mut list = slot.field_list(&head).expect("room");
            for fid in [30, 22, 25, 22] {
                list.put(fid, PRICE).expect("room");
            }
            list.blank(31).and_then(|()| list.finish()).expect("room");
        },
        <[u8]>::to_vec,
    )
}

fn quote_update() -> Vec<u8> {
    quote(&UpdateMsg::new(Domain::MARKET_PRICE, 5).into())
}

fn quote_image() -> Vec<u8> {
    quote(&image(Domain::MARKET_PRICE, 5, None, true, Part::ONLY).into())
}

#[test]
fn fields_stay_in_their_order_with_head_and_info() {
    let update = quote_update();
    let view = View::of_fields([22, 31, 999]);
    let left = projected(&view, &update).expect("something is left");
    assert_eq!(fields(&left), [22, 22, 31]);
    let msg = Msg::decode(&left).expect("well-formed");
    assert_eq!((msg.stream_id(), msg.domain()), (5, Domain::MARKET_PRICE));
    let list = msg.payload().field_list().expect("fields");
    assert_eq!(list.info().map(|info| info.list_number), Some(3));
    let all = View::of_fields([22, 25, 30, 31]);
    assert_eq!(projected(&all, &update), Some(update));
}

#[test]
fn an_update_of_which_nothing_is_left_is_not_sent_but_an_image_is() {
    let view = View::of_fields([6]);
    assert_eq!(projected(&view, &quote_update()), None);
    let left = projected(&view, &quote_image()).expect("an image is always sent");
    assert_eq!(fields(&left), [0_i16; 0]);
}

#[test]
fn an_update_that_says_more_than_its_fields_is_sent_without_them() {
    let view = View::of_fields([6]);
    let update = UpdateMsg::new(Domain::MARKET_PRICE, 5);
    for update in
        [UpdateMsg { perm_data: Some(&[3]), ..update }, UpdateMsg { seq_num: Some(7), ..update }]
    {
        let left = projected(&view, &quote(&update.into())).expect("it is sent");
        assert_eq!(fields(&left), [0_i16; 0]);
        let Ok(Msg::Update(left)) = Msg::decode(&left) else { panic!("an update") };
        assert_eq!((left.perm_data, left.seq_num), (update.perm_data, update.seq_num));
    }
}

#[test]
fn a_view_of_names_leaves_field_lists_alone() {
    let update = quote_update();
    assert_eq!(projected(&View::of_names(["BID"]), &update), Some(update));
}

#[test]
fn elements_are_cut_by_name() {
    let msg = UpdateMsg::new(Domain(200), 5).into();
    let update = with_room(
        |encoder| {
            let slot = encoder.begin(&msg, DataType::ELEMENT_LIST).expect("room");
            let mut list = slot.element_list(&ElementListHead::STANDARD).expect("room");
            list.put("NAME", Primitive::ascii("x")).expect("room");
            list.put("SIZE", 4_u64).and_then(|()| list.finish()).expect("room");
        },
        <[u8]>::to_vec,
    );
    let names = |bytes: &[u8]| -> Vec<String> {
        let payload = Msg::decode(bytes).expect("well-formed").payload();
        let list = payload.element_list().expect("elements");
        list.iter()
            .map(|entry| String::from_utf8_lossy(entry.expect("well-formed").name).into_owned())
            .collect()
    };
    let left = projected(&View::of_names(["SIZE"]), &update).expect("something is left");
    assert_eq!(names(&left), ["SIZE"]);
    assert_eq!(projected(&View::of_names(["NONE"]), &update), None);
    assert_eq!(projected(&View::of_fields([22]), &update), Some(update));
}

#[test]
fn rows_of_a_book_are_cut_and_set_defined_data_stays_readable() {
    let defs = LocalSetDefsBuf::fields(&[(
        0,
        &[(3427, DataType::REAL_4RB), (3428, DataType::ENUM), (3429, DataType::UINT_2)],
    )])
    .expect("well-formed");
    let local = defs.defs();
    let set = FieldListHead::set_defined(local.field_set(0).expect("defined"));
    let msg = UpdateMsg::new(Domain::MARKET_BY_ORDER, 5).into();
    let write = |encoder: &mut Encoder<'_>| {
        let head = BookHead { set_defs: Some(local), ..BookHead::new(DataType::ASCII_STRING) };
        let slot = encoder.begin(&msg, DataType::MAP).expect("room");
        let mut book = BookWriter::begin(slot, &head).expect("room");
        let mut summary = book.summary(&FieldListHead::STANDARD).expect("room");
        summary.put(15, Primitive::Enum(840)).expect("room");
        summary.finish().expect("room");
        let mut row = book.row(MapAction::ADD, b"1", Some(&[3]), &set).expect("room");
        row.put(3427, PRICE).expect("room");
        row.put(3428, Primitive::Enum(1)).expect("room");
        row.put(3429, 500_u64).expect("room");
        row.finish().expect("room");
        for (key, fid) in [(b"2", 3427), (b"3", 3429)] {
            let standard = FieldListHead::STANDARD;
            let mut row = book.row(MapAction::UPDATE, key, None, &standard).expect("room");
            row.put(fid, PRICE).expect("room");
            row.finish().expect("room");
        }
        book.delete(b"4").expect("room");
        book.finish().expect("room");
    };
    let update = with_room(write, <[u8]>::to_vec);

    let left = projected(&View::of_fields([3427, 3428]), &update).expect("something is left");
    let payload: Encoded<'_> = Msg::decode(&left).expect("well-formed").payload();
    let book = Book::decode(&payload).expect("a book");
    assert!(book.head().set_defs.is_none());
    let summary = book.summary().expect("well-formed").expect("it stays whole");
    assert_eq!(summary.len(), 1);
    let rows: Vec<_> = book.rows().map(|row| row.expect("well-formed")).collect();
    let actions: Vec<_> = rows.iter().map(|row| (row.action, row.key.bytes())).collect();
    assert_eq!(
        actions,
        [(MapAction::ADD, &b"1"[..]), (MapAction::UPDATE, b"2"), (MapAction::DELETE, b"4")]
    );
    assert_eq!(rows[0].perm_data, Some(&[3][..]));
    let new = rows[0].fields().expect("fields");
    assert_eq!(new.len(), 2);
    let price = new.field(3427).expect("well-formed").expect("kept");
    assert_eq!(price.primitive(DataType::REAL), Ok(Primitive::Real(PRICE)));
    let side = new.field(3428).expect("well-formed").expect("kept");
    assert_eq!(side.primitive(DataType::ENUM), Ok(Primitive::Enum(1)));

    // A new row stays even when nothing of it is wanted: its key is content.
    let left = projected(&View::of_fields([1]), &update).expect("something is left");
    let payload = Msg::decode(&left).expect("well-formed").payload();
    let book = Book::decode(&payload).expect("a book");
    let actions: Vec<_> = book.rows().map(|row| row.expect("well-formed").action).collect();
    assert_eq!(actions, [MapAction::ADD, MapAction::DELETE]);
}

#[test]
fn a_buffer_that_is_too_small_says_by_how_much() {
    let update = quote_update();
    let msg = Msg::decode(&update).expect("well-formed");
    let view = View::of_fields([22, 25, 30, 31]);
    let error = view.project_msg(&msg, &mut [0; 10]).unwrap_err();
    let missing = update.len() - 10;
    assert_eq!(
        error.to_string(),
        format!("result cannot be written: the buffer is {missing} bytes too small")
    );
}

/// What is left of a message for who is shown these fields.
fn masked(view: Option<&View>, mask: &FieldMask, msg: &[u8]) -> Option<Vec<u8>> {
    let mut buffer = [0; 1024];
    let msg = Msg::decode(msg).expect("well-formed");
    let projection = Projection { view, mask: Some(mask) };
    let len = projection.project_msg(&msg, &mut buffer).expect("room");
    len.map(|len| buffer[..len].to_vec())
}

#[test]
fn a_mask_and_a_view_leave_what_both_do() {
    let update = quote_update();
    let mask = FieldMask::all_but([22]);
    assert_eq!(fields(&masked(None, &mask, &update).expect("some")), [30, 25, 31]);
    let view = View::of_fields([22, 25]);
    assert_eq!(fields(&masked(Some(&view), &mask, &update).expect("some")), [25]);
    assert_eq!(masked(Some(&View::of_fields([22])), &mask, &update), None);
    let names = View::of_names(["BID"]);
    assert_eq!(fields(&masked(Some(&names), &mask, &update).expect("some")), [30, 25, 31]);
    let all = FieldMask::all_but([]);
    assert_eq!(masked(None, &all, &update), Some(update));
}

#[test]
fn a_mask_is_for_field_lists_in_elements_filter_lists_and_messages_too() {
    let mask = FieldMask::only([25]);
    let write = |slot: tapeline_rwf::Slot<'_, '_>| {
        let mut list = slot.field_list(&FieldListHead::STANDARD).expect("room");
        for fid in [22, 25] {
            list.put(fid, PRICE).expect("room");
        }
        list.finish().expect("room");
    };
    let head = UpdateMsg::new(Domain(200), 5).into();
    let elements = with_room(
        |encoder| {
            let slot = encoder.begin(&head, DataType::ELEMENT_LIST).expect("room");
            let mut list = slot.element_list(&ElementListHead::STANDARD).expect("room");
            list.put("SIZE", 4_u64).expect("room");
            write(list.slot("QUOTE", DataType::FIELD_LIST).expect("room"));
            list.finish().expect("room");
        },
        <[u8]>::to_vec,
    );
    let left = masked(None, &mask, &elements).expect("some");
    let list = Msg::decode(&left).expect("well-formed").payload().element_list().expect("elements");
    let quote = list.element("QUOTE").expect("well-formed").expect("it is there").value;
    let ids = |data: Encoded<'_>| -> Vec<i16> {
        let list = data.field_list().expect("fields");
        list.iter().map(|entry| entry.expect("well-formed").field_id).collect()
    };
    assert_eq!(ids(quote), [25]);
    assert!(list.element("SIZE").expect("well-formed").is_some(), "an element is no field");

    let filters = with_room(
        |encoder| {
            let slot = encoder.begin(&head, DataType::FILTER_LIST).expect("room");
            let filter_head =
                FilterListHead { container_type: DataType::FIELD_LIST, total_count_hint: None };
            let mut list = slot.filter_list(&filter_head).expect("room");
            write(list.entry(FilterAction::SET, 1, None, None).expect("room"));
            list.bare_entry(FilterAction::CLEAR, 2, None, None).expect("room");
            list.finish().expect("room");
        },
        <[u8]>::to_vec,
    );
    let left = masked(None, &mask, &filters).expect("some");
    let list = Msg::decode(&left).expect("well-formed").payload().filter_list().expect("a list");
    let entries: Vec<_> = list.iter().map(|entry| entry.expect("well-formed")).collect();
    assert_eq!((entries.len(), ids(entries[0].data)), (2, vec![25]));
    assert_eq!(projected(&View::of_fields([25]), &filters), Some(filters), "a view is not");

    let inner = quote_update();
    let nested = UpdateMsg {
        payload: Encoded::new(DataType::MSG, &inner),
        ..UpdateMsg::new(Domain(200), 5)
    };
    let nested =
        with_room(|encoder| encoder.message(&nested.into()).expect("room"), <[u8]>::to_vec);
    let left = masked(None, &mask, &nested).expect("it is sent");
    assert!(Msg::decode(&left).expect("well-formed").payload().is_empty());
}
