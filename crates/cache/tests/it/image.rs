//! What messages do to an image, one rule at a time.

use tapeline_cache::{Applied, CacheError, FieldRules, Image, Limits};
use tapeline_rwf::{
    DataState, DataType, Domain, Encoded, Encoder, FieldListHead, FieldListInfo, Msg, Primitive,
    RefreshFlags, RefreshMsg, State, StateCode, StatusFlags, StatusMsg, StreamState, UpdateFlags,
    UpdateMsg,
};

const COMPLETE: RefreshFlags = RefreshFlags::REFRESH_COMPLETE;
const CLEAR: RefreshFlags = RefreshFlags::CLEAR_CACHE;

fn field_list(fields: &[(i16, &str)]) -> Vec<u8> {
    let mut buffer = vec![0; 4096];
    let mut encoder = Encoder::new(&mut buffer);
    let slot = encoder.container(DataType::FIELD_LIST);
    let mut list = slot.field_list(&FieldListHead::STANDARD).expect("begins");
    for (field_id, text) in fields {
        list.put(*field_id, Primitive::rmtes(text)).expect("a field");
    }
    list.finish().expect("ends");
    encoder.finish_bytes().expect("room").to_vec()
}

fn refresh(flags: RefreshFlags, container_type: DataType, payload: &[u8]) -> RefreshMsg<'_> {
    let payload = Encoded::new(container_type, payload);
    RefreshMsg { flags, payload, ..RefreshMsg::new(Domain::MARKET_PRICE, 5) }
}

fn fields_refresh(image: &mut Image, flags: RefreshFlags, fields: &[(i16, &str)]) {
    let payload = field_list(fields);
    let refresh = refresh(flags, DataType::FIELD_LIST, &payload);
    assert_eq!(image.refresh(&refresh), Ok(Applied::Content));
}

fn fields_update(
    image: &mut Image,
    flags: UpdateFlags,
    fields: &[(i16, &str)],
    rules: Option<&dyn FieldRules>,
) -> Result<Applied, CacheError> {
    let payload = field_list(fields);
    let payload = Encoded::new(DataType::FIELD_LIST, &payload);
    let update = UpdateMsg { flags, payload, ..UpdateMsg::new(Domain::MARKET_PRICE, 5) };
    image.update(&update, rules)
}

fn fields_of(image: &Image) -> Vec<(i16, String)> {
    let mut payload = Vec::new();
    image.payload(&mut payload).expect("one part");
    let data = Encoded::new(DataType::FIELD_LIST, &payload);
    let list = data.field_list().expect("well-formed");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    list.iter().flatten().map(|entry| (entry.field_id, text(entry.value.bytes()))).collect()
}

fn image_of(fields: &[(i16, &str)]) -> Image {
    let mut image = Image::new(Limits::default());
    fields_refresh(&mut image, CLEAR | COMPLETE, fields);
    image
}

fn assert_fields(image: &Image, expected: &[(i16, &str)]) {
    let expected: Vec<_> = expected.iter().map(|(id, text)| (*id, (*text).to_owned())).collect();
    assert_eq!(fields_of(image), expected);
}

/// 6 ripples to 7, 7 to 8, 8 to 6; 3 is a text.
struct Rules;

impl FieldRules for Rules {
    fn ripples_to(&self, field_id: i16) -> Option<i16> {
        match field_id {
            6 => Some(7),
            7 => Some(8),
            8 => Some(6),
            _ => None,
        }
    }

    fn is_rmtes(&self, field_id: i16) -> bool {
        field_id == 3
    }
}

#[test]
fn values_change_in_place_whatever_their_length() {
    let mut image = image_of(&[(1, "a"), (2, "bb"), (3, "")]);
    let long = "x".repeat(300);
    let none = UpdateFlags::empty();
    fields_update(&mut image, none, &[(2, &long), (4, "new"), (3, "c")], None).expect("applied");
    assert_fields(&image, &[(1, "a"), (2, &long), (3, "c"), (4, "new")]);
    fields_update(&mut image, none, &[(4, ""), (1, "A"), (2, "b"), (1, "B")], None)
        .expect("applied");
    assert_fields(&image, &[(1, "B"), (2, "b"), (3, "c"), (4, "")]);
}

#[test]
fn long_images_have_each_field_once() {
    let mut fields: Vec<(i16, &str)> = (1..=100).map(|id| (id, "x")).collect();
    fields.push((50, "again"));
    let image = image_of(&fields);
    assert_eq!(image.entry_count(), 100);
    assert_eq!(fields_of(&image)[49], (50, "again".to_owned()));
}

#[test]
fn the_record_template_is_kept() {
    let info = |list_number| FieldListInfo { dictionary_id: 300, list_number };
    let with_info = |list_number, text| {
        let mut buffer = [0; 64];
        let mut encoder = Encoder::new(&mut buffer);
        let slot = encoder.container(DataType::FIELD_LIST);
        let head = FieldListHead::with_info(info(list_number));
        let mut list = slot.field_list(&head).expect("begins");
        list.put(1, Primitive::rmtes(text)).expect("a field");
        list.finish().expect("ends");
        encoder.finish_bytes().expect("room").to_vec()
    };
    let mut image = image_of(&[(1, "a")]);
    assert_eq!(image.field_list_info(), None);
    for (list_number, text) in [(99, "b"), (1000, "c")] {
        let payload = with_info(list_number, text);
        image.refresh(&refresh(COMPLETE, DataType::FIELD_LIST, &payload)).expect("applied");
        assert_eq!(image.field_list_info(), Some(info(list_number)));
        assert_fields(&image, &[(1, text)]);
    }
    fields_update(&mut image, UpdateFlags::empty(), &[(1, "d")], None).expect("applied");
    assert_eq!(image.field_list_info(), Some(info(1000)));
}

#[test]
fn old_values_ripple_as_far_as_the_image_has_fields() {
    let mut image = image_of(&[(6, "10"), (7, "9.5"), (8, "9")]);
    let none = UpdateFlags::empty();
    fields_update(&mut image, none, &[(6, "11.25")], Some(&Rules)).expect("applied");
    assert_fields(&image, &[(6, "11.25"), (7, "10"), (8, "9.5")]);
    let quiet = UpdateFlags::DO_NOT_RIPPLE;
    fields_update(&mut image, quiet, &[(6, "12")], Some(&Rules)).expect("applied");
    assert_fields(&image, &[(6, "12"), (7, "10"), (8, "9.5")]);
    let own = [(6, "13"), (7, "given")];
    fields_update(&mut image, none, &own, Some(&Rules)).expect("applied");
    assert_fields(&image, &[(6, "13"), (7, "given"), (8, "10")]);
    let mut short = image_of(&[(6, "10")]);
    fields_update(&mut short, none, &[(6, "11")], Some(&Rules)).expect("applied");
    assert_fields(&short, &[(6, "11")]);
}

#[test]
fn partial_updates_change_some_bytes_of_a_text() {
    let mut image = image_of(&[(3, "ABCDEFGH"), (4, "ABCDEFGH")]);
    let change = [(3, "\x1b[3`xy"), (4, "\x1b[3`xy")];
    fields_update(&mut image, UpdateFlags::empty(), &change, Some(&Rules)).expect("applied");
    assert_fields(&image, &[(3, "ABCxyFGH"), (4, "\x1b[3`xy")]);
}

#[test]
fn what_is_not_to_be_cached_is_not() {
    let mut image = image_of(&[(1, "a")]);
    let flags = UpdateFlags::DO_NOT_CACHE;
    let applied = fields_update(&mut image, flags, &[(1, "b")], None);
    assert_eq!(applied, Ok(Applied::HeadOnly));
    assert_fields(&image, &[(1, "a")]);
    assert!(image.is_complete());
    let payload = field_list(&[(1, "c")]);
    let flags = RefreshFlags::DO_NOT_CACHE | COMPLETE;
    let applied = image.refresh(&refresh(flags, DataType::FIELD_LIST, &payload));
    assert_eq!(applied, Ok(Applied::HeadOnly));
    assert!(!image.is_complete());
}

#[test]
fn a_refresh_merges_unless_it_clears() {
    let mut image = image_of(&[(1, "a"), (2, "b")]);
    fields_refresh(&mut image, COMPLETE, &[(1, "A")]);
    assert_fields(&image, &[(1, "A"), (2, "b")]);
    fields_refresh(&mut image, COMPLETE | CLEAR, &[(1, "x")]);
    assert_fields(&image, &[(1, "x")]);
}

#[test]
fn an_update_before_the_image_changes_nothing() {
    let mut image = Image::new(Limits::default());
    let applied = fields_update(&mut image, UpdateFlags::empty(), &[(1, "a")], None);
    assert_eq!(applied, Ok(Applied::HeadOnly));
    assert_eq!((image.container_type(), image.is_complete()), (DataType::NO_DATA, false));
}

#[test]
fn an_image_without_content_may_get_some_from_updates() {
    let mut image = Image::new(Limits::default());
    image.refresh(&refresh(COMPLETE, DataType::NO_DATA, &[])).expect("applied");
    assert!(image.is_complete());
    let applied = fields_update(&mut image, UpdateFlags::empty(), &[(1, "a")], None);
    assert_eq!(applied, Ok(Applied::Content));
    assert_fields(&image, &[(1, "a")]);
}

#[test]
fn an_image_is_complete_with_its_last_part() {
    let mut image = Image::new(Limits::default());
    for (part_num, flags) in [(0, CLEAR), (1, RefreshFlags::empty()), (2, COMPLETE)] {
        assert!(!image.is_complete());
        let text = part_num.to_string();
        let payload = field_list(&[(part_num as i16 + 1, &text)]);
        let mut part = refresh(flags, DataType::FIELD_LIST, &payload);
        part.part_num = Some(part_num);
        image.refresh(&part).expect("in order");
    }
    assert!(image.is_complete());
    assert_fields(&image, &[(1, "0"), (2, "1"), (3, "2")]);
}

#[test]
fn a_missed_part_makes_the_image_useless_until_the_next_one() {
    let mut image = Image::new(Limits::default());
    let payload = field_list(&[(1, "a")]);
    let part = |part_num, flags| {
        let part = refresh(flags, DataType::FIELD_LIST, &payload);
        RefreshMsg { part_num: Some(part_num), ..part }
    };
    image.refresh(&part(0, CLEAR)).expect("the first");
    let missed = Err(CacheError::MissedPart { expected: 1, found: 2 });
    assert_eq!(image.refresh(&part(2, COMPLETE)), missed);
    assert!(!image.is_complete());
    let missed = Err(CacheError::MissedPart { expected: 0, found: 3 });
    assert_eq!(image.refresh(&part(3, COMPLETE)), missed);
    image.refresh(&part(0, COMPLETE)).expect("a new one");
    assert!(image.is_complete());
}

#[test]
fn limits_leave_an_image_that_is_not_complete() {
    let limits = Limits { max_list_entries: 2, max_bytes: 64, ..Limits::default() };
    let mut image = Image::new(limits);
    fields_refresh(&mut image, COMPLETE, &[(1, "a"), (2, "b")]);
    let too_many = fields_update(&mut image, UpdateFlags::empty(), &[(3, "c")], None);
    assert_eq!(too_many, Err(CacheError::TooManyEntries { limit: 2 }));
    assert!(!image.is_complete());
    let after = fields_update(&mut image, UpdateFlags::empty(), &[(1, "x")], None);
    assert_eq!(after, Ok(Applied::HeadOnly));
    fields_refresh(&mut image, COMPLETE, &[(1, "a")]);
    assert!(image.is_complete());
    let long = "x".repeat(80);
    let too_long = fields_update(&mut image, UpdateFlags::empty(), &[(1, &long)], None);
    assert_eq!(too_long, Err(CacheError::TooManyBytes { limit: 64 }));
    assert_eq!((image.is_complete(), image.content_bytes()), (false, 0));
}

#[test]
fn content_of_other_kinds_is_kept_as_the_refresh_gave_it() {
    let mut image = Image::new(Limits::default());
    image.refresh(&refresh(COMPLETE | CLEAR, DataType::XML, b"<a/>")).expect("kept");
    let payload = Encoded::new(DataType::XML, b"<b/>");
    let update = UpdateMsg { payload, ..UpdateMsg::new(Domain::MARKET_PRICE, 5) };
    assert_eq!(image.update(&update, None), Ok(Applied::HeadOnly));
    let mut payload = Vec::new();
    image.payload(&mut payload).expect("one part");
    assert_eq!((image.container_type(), payload.as_slice()), (DataType::XML, &b"<a/>"[..]));
    image.refresh(&refresh(RefreshFlags::empty(), DataType::XML, b"<c>")).expect("kept");
    image.refresh(&refresh(COMPLETE, DataType::XML, b"</c>")).expect("kept");
    assert_eq!(image.payload(&mut payload), Err(CacheError::NeedsParts));
    let mut parts = image.parts(1);
    let mut written = Vec::new();
    while let Some(part) = parts.next_part(&mut written) {
        written.push(if part.is_last { b'.' } else { b'|' });
    }
    assert_eq!(written, b"<c>|</c>.");
}

#[test]
fn an_update_of_another_type_is_an_error() {
    let mut image = image_of(&[(1, "a")]);
    let payload = Encoded::new(DataType::MAP, &[0, 16, 4, 0, 0]);
    let update = UpdateMsg { payload, ..UpdateMsg::new(Domain::MARKET_PRICE, 5) };
    let (expected, found) = (DataType::FIELD_LIST, DataType::MAP);
    assert_eq!(image.update(&update, None), Err(CacheError::WrongContainer { expected, found }));
    assert!(!image.is_complete());
}

#[test]
fn a_status_changes_what_it_names() {
    let mut image = image_of(&[(1, "a")]);
    assert!(image.is_servable());
    let mut status = StatusMsg::new(Domain::MARKET_PRICE, 5);
    status.group_id = Some(&[1, 2]);
    status.perm_data = Some(b"lock");
    image.status(&status);
    assert_eq!((image.group_id(), image.perm_data()), (&[1, 2][..], Some(&b"lock"[..])));
    assert!(image.is_servable());
    let suspect = State::new(StreamState::OPEN, DataState::SUSPECT, StateCode::NONE, "stale");
    image.status(&StatusMsg { state: Some(suspect), ..StatusMsg::new(Domain::MARKET_PRICE, 5) });
    assert!(image.is_complete() && !image.is_servable());
    assert_eq!(image.state().to_string(), "Open / Suspect / None / 'stale'");
    let flags = StatusFlags::CLEAR_CACHE;
    image.status(&StatusMsg { flags, ..StatusMsg::new(Domain::MARKET_PRICE, 5) });
    assert!(!image.is_complete());
}

#[test]
fn headers_leave_what_the_last_one_said() {
    let mut image = image_of(&[(1, "a")]);
    let mut head = RefreshMsg::new(Domain::MARKET_PRICE, 5);
    head.flags = COMPLETE;
    head.seq_num = Some(9);
    head.perm_data = Some(b"item");
    head.qos = Some(tapeline_rwf::Qos::REALTIME_TICK_BY_TICK);
    image.refresh(&head).expect("no content");
    assert_fields(&image, &[(1, "a")]);
    let mut update = UpdateMsg::new(Domain::MARKET_PRICE, 5);
    update.seq_num = Some(10);
    update.perm_data = Some(b"update");
    image.update(&update, None).expect("no content");
    assert_eq!((image.seq_num(), image.perm_data()), (Some(10), Some(&b"item"[..])));
    assert!(image.qos().is_some());
    assert!(matches!(Msg::from(update), Msg::Update(_)));
}
