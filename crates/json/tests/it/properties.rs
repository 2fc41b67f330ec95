//! What holds for all messages and for all damage.

use std::sync::OnceLock;

use crate::common::{Converters, Given};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use tapeline_golden::{unhex, vectors};
use tapeline_json::Options;
use tapeline_rwf::{
    DataState, DataType, Date, Domain, Encoder, FieldListHead, MapAction, MapHead, Msg, MsgKey,
    Primitive, Qos, Real, RealHint, RefreshFlags, RefreshMsg, Slot, State, StateCode, StatusMsg,
    StreamState, Time, UpdateMsg, UpdateType,
};

fn converters() -> &'static Converters {
    static CONVERTERS: OnceLock<Converters> = OnceLock::new();
    CONVERTERS.get_or_init(Converters::new)
}

/// RWF and JSON of the vectors, to be damaged.
fn samples() -> &'static [(Vec<u8>, String)] {
    static SAMPLES: OnceLock<Vec<(Vec<u8>, String)>> = OnceLock::new();
    SAMPLES.get_or_init(|| {
        let text = |record: &serde_json::Value, key: &str| {
            record[key].as_str().expect("a text").to_owned()
        };
        let records = vectors("json-rwf");
        records.iter().map(|r| (unhex(&text(r, "rwf_hex")), text(r, "json_text"))).collect()
    })
}

/// A value of a field, with the field of the dictionary that has its type.
#[derive(Clone, Debug)]
enum Field {
    Int(Option<i64>),
    Uint(Option<u64>),
    Double(f64),
    Real(Option<Real>),
    Date(Date),
    Time(Time),
    Enum(u16),
    Buffer(Vec<u8>),
    Ascii(String),
    Utf8(String),
    Rmtes(String),
    Qos(Qos),
}

impl Field {
    /// The field id, and the value that the encoder takes.
    fn parts(&self) -> (i16, Primitive<'_>) {
        match self {
            Self::Int(value) => (-1, value.map_or(Primitive::Blank(DataType::INT), Primitive::Int)),
            Self::Uint(value) => {
                (-2, value.map_or(Primitive::Blank(DataType::UINT), Primitive::Uint))
            }
            Self::Double(value) => (-4, Primitive::Double(*value)),
            Self::Real(value) => {
                (-5, value.map_or(Primitive::Blank(DataType::REAL), Primitive::Real))
            }
            Self::Date(date) => (-6, Primitive::Date(*date)),
            Self::Time(time) => (-7, Primitive::Time(*time)),
            Self::Qos(qos) => (-9, Primitive::Qos(*qos)),
            Self::Enum(value) => (-11, Primitive::Enum(*value)),
            Self::Buffer(bytes) => (-13, Primitive::Buffer(bytes)),
            Self::Ascii(text) => (-14, Primitive::ascii(text)),
            Self::Utf8(text) => (-15, Primitive::utf8(text)),
            Self::Rmtes(text) => (-16, Primitive::rmtes(text)),
        }
    }
}

fn any_field() -> impl Strategy<Value = Field> {
    // A fraction becomes a decimal, which needs more digits.
    let real = (-(1_i64 << 40)..1 << 40, 0..=30_u8)
        .prop_map(|(mantissa, hint)| Real::new(mantissa, RealHint::new(hint).expect("a hint")));
    let date = (1..=9999_u16, 1..=12_u8, 1..=28_u8)
        .prop_map(|(year, month, day)| Date::new(year, month, day));
    let time = (0..24_u8, 0..60_u8, 0..60_u8, 0..1000_u16, 0..1000_u16, 0..1000_u16)
        .prop_map(|(h, m, s, ms, us, ns)| Time::new(h, m, s).with_subseconds(ms, us, ns));
    let qos = any::<bool>().prop_map(|dynamic| Qos { dynamic, ..Qos::REALTIME_TICK_BY_TICK });
    prop_oneof![
        any::<Option<i64>>().prop_map(Field::Int),
        any::<Option<u64>>().prop_map(Field::Uint),
        any::<f64>()
            .prop_filter("payloads of NaN are lost", |v| !v.is_nan())
            .prop_map(Field::Double),
        proptest::option::of(real).prop_map(Field::Real),
        date.prop_map(Field::Date),
        time.prop_map(Field::Time),
        qos.prop_map(Field::Qos),
        any::<u16>().prop_map(Field::Enum),
        proptest::collection::vec(any::<u8>(), 1..20).prop_map(Field::Buffer),
        "[\x01-\x7f]{1,20}".prop_map(Field::Ascii),
        ".{1,20}".prop_map(Field::Utf8),
        "[ -~]{1,20}".prop_map(Field::Rmtes),
    ]
}

/// Fields of a message, each at most once.
fn any_fields() -> impl Strategy<Value = Vec<Field>> {
    proptest::collection::vec(any_field(), 0..10).prop_map(|mut fields| {
        fields.sort_by_key(|field| field.parts().0);
        fields.dedup_by_key(|field| field.parts().0);
        fields
    })
}

fn write_fields(slot: Slot<'_, '_>, fields: &[Field]) {
    let mut list = slot.field_list(&FieldListHead::STANDARD).expect("begins");
    for field in fields {
        let (field_id, value) = field.parts();
        list.put(field_id, value).expect("a field");
    }
    list.finish().expect("ends");
}

fn encode(msg: &Msg<'_>, data_type: DataType, write: impl FnOnce(Slot<'_, '_>)) -> Vec<u8> {
    let mut buffer = vec![0; 1 << 16];
    let mut encoder = Encoder::new(&mut buffer);
    write(encoder.begin(msg, data_type).expect("begins"));
    encoder.finish_bytes().expect("room").to_vec()
}

fn survives(rwf: &[u8], options: Options) -> Result<(), TestCaseError> {
    let text = converters().to_json(options, false, rwf).map_err(TestCaseError::fail)?;
    let back = converters().rwf(options, &text).map_err(TestCaseError::fail)?;
    prop_assert_eq!(converters().meaning(rwf), converters().meaning(&back), "{}", text);
    Ok(())
}

const NUMBERS: Options = {
    Options {
        expand_enums: false,
        catch_unknown_keys: true,
        catch_unknown_fields: true,
        allow_enum_displays: true,
        default_service: None,
        default_dynamic_qos: false,
        limits: tapeline_json::Limits {
            text_bytes: 1 << 20,
            depth: 64,
            rwf_bytes: 1 << 20,
            json_bytes: 1 << 20,
        },
    }
};

fn key(name: &str) -> MsgKey<'_> {
    MsgKey { name_type: Some(1), ..MsgKey::item(7, name) }
}

proptest! {
    #[test]
    fn updates_survive(
        fields in any_fields(),
        stream_id in any::<i32>(),
        update_type in any::<u8>(),
        seq_num in any::<Option<u32>>(),
        perm_data in proptest::option::of(proptest::collection::vec(any::<u8>(), 1..9)),
    ) {
        let mut update = UpdateMsg::new(Domain::MARKET_PRICE, stream_id);
        update.update_type = UpdateType(update_type);
        update.seq_num = seq_num;
        update.perm_data = perm_data.as_deref();
        let rwf = encode(&update.into(), DataType::FIELD_LIST, |slot| write_fields(slot, &fields));
        survives(&rwf, NUMBERS)?;
    }

    #[test]
    fn books_survive(
        rows in proptest::collection::vec(
            (1..=3_u8, proptest::collection::vec(any::<u8>(), 1..8), any_fields()),
            1..5,
        ),
        summary in any_fields(),
        flags in (any::<bool>(), any::<bool>()),
        name in "\\PC{1,20}",
        hint in proptest::option::of(0..1_u32 << 30),
    ) {
        let mut refresh = RefreshMsg::new(Domain::MARKET_BY_ORDER, 5);
        refresh.key = Some(key(&name));
        refresh.flags.set(RefreshFlags::REFRESH_COMPLETE, flags.0);
        refresh.flags.set(RefreshFlags::SOLICITED, flags.1);
        let rwf = encode(&refresh.into(), DataType::MAP, |slot| {
            let mut head = MapHead::new(DataType::BUFFER, DataType::FIELD_LIST);
            head.total_count_hint = hint;
            let mut map = slot.map(&head).expect("begins");
            write_fields(map.summary().expect("begins"), &summary);
            for (action, key, fields) in &rows {
                let (action, key) = (MapAction(*action), Primitive::Buffer(key));
                match action {
                    MapAction::DELETE => map.bare_entry(action, key, None).expect("a row"),
                    _ => write_fields(map.entry(action, key, None).expect("a row"), fields),
                }
            }
            map.finish().expect("ends");
        });
        survives(&rwf, NUMBERS)?;
    }

    #[test]
    fn statuses_survive(
        states in (1..=5_u8, 0..=2_u8, any::<u8>()),
        text in "\\PC{0,40}",
        domain in 1..=255_u8,
    ) {
        let mut status = StatusMsg::new(Domain(domain), 5);
        status.state = Some(State::new(
            StreamState(states.0), DataState(states.1), StateCode(states.2), &text,
        ));
        let rwf = encode(&status.into(), DataType::NO_DATA, |slot| slot.empty().expect("empty"));
        survives(&rwf, NUMBERS)?;
    }

    #[test]
    fn damaged_rwf_gives_json_or_an_error(
        sample in any::<Index>(),
        damage in proptest::collection::vec((any::<Index>(), any::<u8>()), 1..6),
        cut in any::<Option<Index>>(),
    ) {
        let mut rwf = sample.get(samples()).0.clone();
        for (at, byte) in damage {
            *at.get_mut(&mut rwf) = byte;
        }
        if let Some(cut) = cut {
            rwf.truncate(cut.index(rwf.len()));
        }
        if let Ok(text) = converters().to_json(Options::default(), true, &rwf) {
            let parsed = serde_json::from_str::<serde_json::Value>(&text);
            prop_assert!(parsed.is_ok(), "{}", text);
        }
    }

    #[test]
    fn damaged_json_gives_rwf_or_an_error(
        sample in any::<Index>(),
        damage in proptest::collection::vec(
            (any::<Index>(), select(b"{}[]\",:\\-0917.eEtfnu \x7f".to_vec())), 0..6,
        ),
        cut in any::<Option<Index>>(),
    ) {
        let mut text = sample.get(samples()).1.clone().into_bytes();
        for (at, byte) in damage {
            *at.get_mut(&mut text) = byte;
        }
        if let Some(cut) = cut {
            text.truncate(cut.index(text.len()));
        }
        let text = String::from_utf8_lossy(&text);
        for given in converters().given(Options::default(), &text) {
            match given {
                Given::Rwf(rwf) => prop_assert!(Msg::decode(&rwf).is_ok(), "{}", text),
                Given::Failed(error, message) => {
                    let mut out = Vec::new();
                    error.push_message(&message, &mut out);
                    prop_assert!(serde_json::from_slice::<serde_json::Value>(&out).is_ok());
                }
                Given::Other => {}
            }
        }
    }

    #[test]
    fn any_text_is_survived(text in any::<String>()) {
        converters().given(Options::default(), &text);
    }
}
