//! Data files: an image and updates for any item that is asked for.

mod toml;
mod value;
mod xml;

use std::fs;
use std::path::Path;

use tapeline_omm::dictionary::FieldDictionary;
use tapeline_rwf::{
    DataType, Domain, EncodeError, FieldListHead, FieldListInfo, MsgHeader, RefreshFlags,
    RefreshMsg, State, UpdateMsg, UpdateType,
};

use crate::FeedError;
use crate::update::{append_container, append_message};

/// The field that says when an update was made, unless a file names another:
/// `TIM_TRK_1`.
pub const DEFAULT_STAMP_FIELD: i16 = 3902;

/// Bytes of a time stamp: a `UINT` of fixed width, so that it can be filled in.
const STAMP_LEN: usize = 8;

/// An image and updates that serve as a template for any item: what simulated
/// sources publish, the updates one after the other and round again.
///
/// All messages are encoded once, with stream id 0 and without a key; a
/// publisher copies one and fills in the stream id
/// ([`patch_stream_id`](tapeline_rwf::patch_stream_id)) and, in updates that
/// carry a time stamp, the stamp.
///
/// Two forms of files are read. The project's own is TOML:
///
/// ```toml
/// domain = "MARKET_PRICE"   # the default
/// template = 99             # record template (field list number), if wanted
/// dictionary = 1            # its dictionary, 1 unless given
/// stamp = "TIM_TRK_1"       # the field for time stamps; 3902 unless given
///
/// [image]                   # fields by acronym or number, in their order
/// DSPLY_NAME = "SAMPLE"
/// BID = "45.10"             # a text keeps the number of decimals
/// TRADE_DATE = 2025-11-21
/// 1700 = { type = "UINT", value = 7 }    # not in the dictionary
///
/// [[update]]
/// type = "QUOTE"            # UNSPECIFIED unless given
/// [update.fields]
/// BID = "45.12"
/// ```
///
/// The other is the `MsgData.xml` of the vendor's performance tools, as far as
/// it has market price messages: `refreshMsg` and `updateMsg` with their
/// `fieldEntry` elements. Posts and generic messages in it are left out.
///
/// ```
/// use tapeline_feed::DataFile;
/// use tapeline_rwf::{Msg, patch_stream_id};
///
/// let sample = DataFile::sample();
/// let mut message = sample.stamped_update(0).to_vec();
/// patch_stream_id(&mut message, 5)?;
/// DataFile::patch_stamp(&mut message, 1_700_000_000);
///
/// let message = Msg::decode(&message)?;
/// let fields = message.payload().field_list()?;
/// let stamp = fields.field(3902)?.expect("the last field");
/// assert_eq!(stamp.typed(tapeline_rwf::DataType::UINT).uint()?, Some(1_700_000_000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFile {
    domain: Domain,
    image: Vec<u8>,
    /// At least one.
    updates: Vec<UpdateTemplate>,
}

/// One update as encoded messages.
#[derive(Clone, Debug, PartialEq, Eq)]
struct UpdateTemplate {
    plain: Vec<u8>,
    /// The same with a time stamp as its last field.
    stamped: Vec<u8>,
}

/// What a file says, before it is encoded.
#[derive(Debug)]
struct Content {
    domain: Domain,
    info: Option<FieldListInfo>,
    stamp_field: i16,
    image: Vec<Field>,
    updates: Vec<(UpdateType, Vec<Field>)>,
}

/// A field with its encoded value.
#[derive(Debug)]
struct Field {
    id: i16,
    value: Vec<u8>,
}

/// Where in a file something is wrong, and what.
#[derive(Debug)]
struct Fault {
    place: String,
    fault: String,
}

impl Fault {
    fn new(place: impl Into<String>, fault: impl Into<String>) -> Self {
        Self { place: place.into(), fault: fault.into() }
    }
}

impl DataFile {
    /// The project's sample: a made-up stock with one quote of 74 bytes.
    pub fn sample() -> Self {
        let text = include_str!("../../data/sample.toml");
        let content = toml::read(text, FieldDictionary::builtin());
        let sample = content.ok().and_then(|content| Self::encode(&content).ok());
        sample.unwrap_or_else(Self::nothing)
    }

    /// An image and an update without fields.
    fn nothing() -> Self {
        let update = UpdateTemplate { plain: Vec::new(), stamped: Vec::new() };
        Self { domain: Domain::MARKET_PRICE, image: Vec::new(), updates: vec![update] }
    }

    /// Reads a file: XML if its name ends in `.xml`, TOML otherwise. The
    /// dictionary gives numbers and types to fields.
    pub fn open(path: impl AsRef<Path>, dictionary: &FieldDictionary) -> Result<Self, FeedError> {
        let path = path.as_ref();
        let file = path.display().to_string();
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) => return Err(FeedError::Io { file, error }),
        };
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("xml")) {
            return Self::of(&file, xml::read(&text));
        }
        Self::of(&file, toml::read(&text, dictionary))
    }

    /// Reads the project's own form.
    pub fn parse_toml(text: &str, dictionary: &FieldDictionary) -> Result<Self, FeedError> {
        Self::of("data file", toml::read(text, dictionary))
    }

    /// Reads the vendor's form.
    pub fn parse_xml(text: &str) -> Result<Self, FeedError> {
        Self::of("data file", xml::read(text))
    }

    fn of(file: &str, content: Result<Content, Fault>) -> Result<Self, FeedError> {
        let file = file.to_owned();
        let content = content.and_then(|content| match content.updates.is_empty() {
            true => Err(Fault::new("updates", "there are none, at least one is needed")),
            false => Ok(content),
        });
        match content {
            Ok(content) => {
                Self::encode(&content).map_err(|error| FeedError::Encode { item: file, error })
            }
            Err(Fault { place, fault }) => Err(FeedError::DataFile { file, place, fault }),
        }
    }

    fn encode(content: &Content) -> Result<Self, EncodeError> {
        let domain = content.domain;
        let payload = field_list(content.info, &content.image, None)?;
        let flags = RefreshFlags::SOLICITED | RefreshFlags::REFRESH_COMPLETE;
        let state = State::open_ok("");
        let payload = tapeline_rwf::Encoded::new(DataType::FIELD_LIST, &payload);
        let head = RefreshMsg { flags, state, payload, ..RefreshMsg::new(domain, 0) };
        let mut image = Vec::new();
        append_message(&mut image, &head.into())?;
        let update = |update_type: &UpdateType, fields: &[Field], stamp_field| {
            let payload = field_list(None, fields, stamp_field)?;
            let payload = tapeline_rwf::Encoded::new(DataType::FIELD_LIST, &payload);
            let update_type = *update_type;
            let head = UpdateMsg { update_type, payload, ..UpdateMsg::new(domain, 0) };
            let mut message = Vec::new();
            append_message(&mut message, &head.into()).map(|()| message)
        };
        let updates = content.updates.iter().map(|(update_type, fields)| {
            let plain = update(update_type, fields, None)?;
            let stamped = update(update_type, fields, Some(content.stamp_field))?;
            Ok(UpdateTemplate { plain, stamped })
        });
        Ok(Self { domain, image, updates: updates.collect::<Result<_, EncodeError>>()? })
    }

    /// The domain of the items.
    pub const fn domain(&self) -> Domain {
        self.domain
    }

    /// The image: an encoded, solicited and complete refresh, open and ok, with
    /// stream id 0 and no key.
    pub fn image(&self) -> &[u8] {
        &self.image
    }

    /// The payload of the image, for a refresh with a head of one's own: a
    /// field list.
    pub fn image_payload(&self) -> &[u8] {
        payload(&self.image)
    }

    /// How many updates there are before they begin again; at least 1.
    pub fn update_count(&self) -> usize {
        self.updates.len()
    }

    /// An encoded update with stream id 0; `number` goes round.
    pub fn update(&self, number: usize) -> &[u8] {
        &self.updates[number % self.updates.len()].plain
    }

    /// The same update with a time stamp field, whose value is to be filled in
    /// by [`patch_stamp`](Self::patch_stamp).
    pub fn stamped_update(&self, number: usize) -> &[u8] {
        &self.updates[number % self.updates.len()].stamped
    }

    /// Fills in the time stamp of a copy of a stamped update: microseconds of
    /// a clock that publisher and consumer share, by custom.
    pub fn patch_stamp(message: &mut [u8], stamp: u64) {
        if let Some(place) = message.last_chunk_mut::<STAMP_LEN>() {
            *place = stamp.to_be_bytes();
        }
    }

    /// Lets another field carry the time stamp of a stamped update.
    pub fn patch_stamp_field(message: &mut [u8], field_id: i16) {
        // The field's entry ends the message: its id, a byte of length, the stamp.
        if let Some([id_0, id_1, ..]) = message.last_chunk_mut::<{ 2 + 1 + STAMP_LEN }>() {
            [*id_0, *id_1] = field_id.to_be_bytes();
        }
    }
}

/// What is behind the header of a message.
fn payload(message: &[u8]) -> &[u8] {
    let start = MsgHeader::decode(message).map_or(message.len(), |header| header.payload_start);
    message.get(start..).unwrap_or_default()
}

fn field_list(
    info: Option<FieldListInfo>,
    fields: &[Field],
    stamp_field: Option<i16>,
) -> Result<Vec<u8>, EncodeError> {
    let mut out = Vec::new();
    append_container(&mut out, DataType::FIELD_LIST, |slot| {
        let mut list = slot.field_list(&FieldListHead { info, ..FieldListHead::STANDARD })?;
        for field in fields {
            list.bytes(field.id, &field.value)?;
        }
        if let Some(id) = stamp_field {
            list.bytes(id, &[0; STAMP_LEN])?;
        }
        list.finish()
    })?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_is_one_update_of_74_bytes() {
        let sample = DataFile::sample();
        assert_eq!((sample.update_count(), sample.domain()), (1, Domain::MARKET_PRICE));
        assert_eq!(payload(sample.update(0)).len(), 74);
        assert_eq!(payload(sample.stamped_update(1)).len(), 74 + 3 + STAMP_LEN);
        assert!(sample.image_payload().len() > 100);
    }

    #[test]
    fn another_field_can_carry_the_stamp() {
        let sample = DataFile::sample();
        let mut message = sample.stamped_update(0).to_vec();
        DataFile::patch_stamp_field(&mut message, -7);
        DataFile::patch_stamp(&mut message, 5);
        let msg = tapeline_rwf::Msg::decode(&message).expect("valid");
        let fields = msg.payload().field_list().expect("fields");
        assert!(fields.field(DEFAULT_STAMP_FIELD).expect("valid").is_none());
        let stamp = fields.field(-7).expect("valid").expect("the stamp");
        assert_eq!(stamp.typed(DataType::UINT).uint().expect("valid"), Some(5));
    }
}
