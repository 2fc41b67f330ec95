//! How much of an update is decoded while it is measured.

use std::hint::black_box;

use tapeline_omm::dictionary::FieldDictionary;
use tapeline_rwf::{DataType, DecodeError, UpdateMsg};

use tapeline_playback::age_us;

/// How much of an update is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Depth {
    /// Its header.
    Header,
    /// Its fields up to the time stamp.
    Stamp,
    /// All of its fields, without their values.
    Fields,
    /// The values of all fields, by the dictionary.
    Values,
}

/// A depth by its number, 0 to 3.
pub(super) fn depth(text: &str) -> Result<Depth, String> {
    match text {
        "0" => Ok(Depth::Header),
        "1" => Ok(Depth::Stamp),
        "2" => Ok(Depth::Fields),
        "3" => Ok(Depth::Values),
        _ => Err("give 0 (header), 1 (time stamp), 2 (fields) or 3 (values)".to_owned()),
    }
}

/// Decodes an update as far as is wanted. Returns how old it is after that, in
/// microseconds, if it has a time stamp.
pub(super) fn decode(
    msg: &UpdateMsg<'_>,
    depth: Depth,
    stamp_field: i16,
    dictionary: &FieldDictionary,
) -> Result<Option<u64>, DecodeError> {
    if depth == Depth::Header {
        return Ok(None);
    }
    if depth > Depth::Stamp && msg.payload.data_type() == DataType::FIELD_LIST {
        for entry in msg.payload.field_list()?.iter() {
            let entry = entry?;
            if depth == Depth::Values {
                let field = dictionary.field(entry.field_id);
                let data_type = field.map_or(DataType::BUFFER, |field| field.rwf_type);
                // The stamp is a UINT, whatever the dictionary says of it.
                let is_stamp = entry.field_id == stamp_field;
                let data_type = if is_stamp { DataType::UINT } else { data_type };
                // Nobody needs the value, but it is to be decoded.
                black_box(entry.primitive(data_type)?);
            }
        }
    }
    Ok(age_us(msg, stamp_field))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_feed::{DEFAULT_STAMP_FIELD, DataFile};
    use tapeline_playback::now_us;
    use tapeline_rwf::{Encoded, Msg};

    fn decoded(message: &[u8], depth: Depth) -> Result<Option<u64>, DecodeError> {
        let Ok(Msg::Update(msg)) = Msg::decode(message) else { panic!("no update") };
        decode(&msg, depth, DEFAULT_STAMP_FIELD, FieldDictionary::builtin())
    }

    #[test]
    fn the_age_is_known_at_every_depth_but_that_of_the_header() {
        let mut message = DataFile::sample().stamped_update(0).to_vec();
        DataFile::patch_stamp(&mut message, now_us());
        assert_eq!(decoded(&message, Depth::Header).expect("valid"), None);
        for depth in [Depth::Stamp, Depth::Fields, Depth::Values] {
            assert!(decoded(&message, depth).expect("valid").is_some(), "{depth:?}");
        }
        DataFile::patch_stamp(&mut message, now_us() + 60_000_000);
        assert_eq!(decoded(&message, Depth::Stamp).expect("valid"), None, "it is of the future");
        let plain = DataFile::sample().update(0).to_vec();
        assert_eq!(decoded(&plain, Depth::Values).expect("valid"), None);
    }

    #[test]
    fn only_what_is_decoded_can_be_wrong() {
        // Field BID (22), a REAL, with a hint that there is none of.
        let payload = [0x08, 0, 1, 0, 22, 2, 0x1F, 1];
        let payload = Encoded::new(DataType::FIELD_LIST, &payload);
        let msg = UpdateMsg { payload, ..UpdateMsg::new(tapeline_rwf::Domain::MARKET_PRICE, 5) };
        let at = |depth| decode(&msg, depth, DEFAULT_STAMP_FIELD, FieldDictionary::builtin());
        assert_eq!(at(Depth::Fields).expect("the fields are there"), None);
        assert!(at(Depth::Values).is_err());
    }

    #[test]
    fn depths_go_by_their_numbers() {
        assert_eq!(depth("3"), Ok(Depth::Values));
        assert!(depth("4").is_err());
    }
}
