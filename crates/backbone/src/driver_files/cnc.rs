//! Aeron's counters as they lie in the file `cnc.dat` of a media driver's folder.
//!
//! ```text
//!  0         128          to driver   to clients   metadata          values
//!  | lengths | commands … | …         | …          | 512 bytes each  | 128 bytes each
//! ```
//!
//! The layout is that of Aeron's `CncFileDescriptor` and `CountersReader`: numbers are
//! those of the host.

/// Bytes in front, with version and lengths.
pub(super) const HEAD_BYTES: usize = 128;

/// Bytes of what a counter is, and of its value.
pub(super) const METADATA_BYTES: usize = 512;
pub(super) const VALUE_BYTES: usize = 128;

/// Most bytes of either that are looked at; Aeron's own default has a fifth of it.
const MAX_BYTES: u64 = 64 << 20;

/// The version of the layout, up to its last part.
const VERSION: i32 = 2;

const UNUSED: i32 = 0;
const ALLOCATED: i32 = 1;

const KEY: usize = 16;
const LABEL_LENGTH: usize = 128;
const LABEL: usize = 132;

/// Types of counters that are looked at, by Aeron's numbers.
pub(super) const SYSTEM: i32 = 0;
pub(super) const SENDER_POSITION: i32 = 2;
pub(super) const RECEIVER_HIGH_WATER_MARK: i32 = 3;
pub(super) const SUBSCRIBER_POSITION: i32 = 4;
pub(super) const RECEIVER_POSITION: i32 = 5;
pub(super) const SENDER_LIMIT: i32 = 9;
pub(super) const PUBLISHER_POSITION: i32 = 12;
pub(super) const NAKS_RECEIVED: i32 = 19;
pub(super) const NAKS_SENT: i32 = 20;

/// A number of the host at a place; `None` behind the end.
pub(super) fn i32_at(bytes: &[u8], at: usize) -> Option<i32> {
    bytes.get(at..)?.first_chunk().map(|bytes| i32::from_ne_bytes(*bytes))
}

/// The same of eight bytes.
pub(super) fn i64_at(bytes: &[u8], at: usize) -> Option<i64> {
    bytes.get(at..)?.first_chunk().map(|bytes| i64::from_ne_bytes(*bytes))
}

/// Where the counters are in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) metadata_at: u64,
    pub(super) metadata_bytes: u64,
    pub(super) values_at: u64,
    pub(super) values_bytes: u64,
}

impl Layout {
    /// Reads it from the bytes in front. Errors say what is odd about them.
    pub(super) fn decode(head: &[u8]) -> Result<Self, String> {
        let version = i32_at(head, 0).unwrap_or(0);
        if version >> 8 != VERSION {
            let [_, major, minor, patch] = version.to_be_bytes();
            return Err(match version {
                0 => "it is not finished".to_owned(),
                _ => format!("its layout is {major}.{minor}.{patch}, and 0.{VERSION} is known"),
            });
        }
        let length = |at| i32_at(head, at).and_then(|length| u64::try_from(length).ok());
        let lengths = [4, 8, 12, 16].map(length);
        let [Some(to_driver), Some(to_clients), Some(metadata_bytes), Some(values_bytes)] = lengths
        else {
            return Err("its lengths make no sense".to_owned());
        };
        if metadata_bytes.max(values_bytes) > MAX_BYTES {
            return Err(format!("it says that it has more than {MAX_BYTES} bytes of counters"));
        }
        let metadata_at = HEAD_BYTES as u64 + to_driver + to_clients;
        Ok(Self {
            metadata_at,
            metadata_bytes,
            values_at: metadata_at + metadata_bytes,
            values_bytes,
        })
    }
}

/// A counter, as far as it is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Counter {
    pub(super) type_id: i32,
    /// What it is of; for those of streams [`Counter::stream`] reads it.
    key: Vec<u8>,
    pub(super) label: String,
    pub(super) value: i64,
}

/// What the counter of a stream is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StreamKey {
    pub(super) session: i32,
    pub(super) stream: i32,
    /// As much of it as there is room for.
    pub(super) channel: String,
}

impl Counter {
    /// The number of a counter of the whole driver.
    pub(super) fn system_id(&self) -> Option<i32> {
        i32_at(&self.key, 0).filter(|_| self.type_id == SYSTEM)
    }

    /// Whose counter it is, if it is one of a stream.
    pub(super) fn stream(&self) -> Option<StreamKey> {
        const OF_STREAMS: [i32; 8] = [
            SENDER_POSITION,
            RECEIVER_HIGH_WATER_MARK,
            SUBSCRIBER_POSITION,
            RECEIVER_POSITION,
            SENDER_LIMIT,
            PUBLISHER_POSITION,
            NAKS_RECEIVED,
            NAKS_SENT,
        ];
        if !OF_STREAMS.contains(&self.type_id) {
            return None;
        }
        let (session, stream) = (i32_at(&self.key, 8)?, i32_at(&self.key, 12)?);
        let channel = text(self.key.get(20..)?, i32_at(&self.key, 16)?);
        Some(StreamKey { session, stream, channel })
    }
}

/// The first bytes as text, so many of them as there are at most.
fn text(bytes: &[u8], length: i32) -> String {
    let length = usize::try_from(length).unwrap_or(0).min(bytes.len());
    String::from_utf8_lossy(&bytes[..length]).into_owned()
}

/// How many counters are used at most: behind the last one nothing was ever.
pub(super) fn used(metadata: &[u8]) -> usize {
    let is_used = |record: &&[u8]| i32_at(record, 0) != Some(UNUSED);
    metadata.chunks_exact(METADATA_BYTES).take_while(is_used).count()
}

/// The counters that there are.
pub(super) fn counters(metadata: &[u8], values: &[u8]) -> Vec<Counter> {
    let records = metadata.chunks_exact(METADATA_BYTES).take(used(metadata));
    let all = records.zip(values.chunks_exact(VALUE_BYTES));
    all.filter_map(|(record, value)| {
        (i32_at(record, 0)? == ALLOCATED).then_some(())?;
        Some(Counter {
            type_id: i32_at(record, 4)?,
            key: record[KEY..LABEL_LENGTH].to_vec(),
            label: text(&record[LABEL..], i32_at(record, LABEL_LENGTH)?),
            value: i64_at(value, 0)?,
        })
    })
    .collect()
}

#[cfg(test)]
pub(super) mod made {
    //! Files as a driver makes them.

    use super::*;

    /// What a file of counters has in front, with commands of 1,024 bytes each way.
    pub(in super::super) fn head(metadata_bytes: usize, values_bytes: usize) -> Vec<u8> {
        let mut head = vec![0; HEAD_BYTES];
        let numbers = [VERSION << 8, 1_024, 1_024, metadata_bytes as i32, values_bytes as i32];
        for (at, number) in numbers.into_iter().enumerate() {
            head[4 * at..4 * at + 4].copy_from_slice(&number.to_ne_bytes());
        }
        head
    }

    /// The key of a counter of a stream.
    pub(in super::super) fn key(session: i32, stream: i32, channel: &str) -> Vec<u8> {
        let mut key = 77_i64.to_ne_bytes().to_vec();
        for number in [session, stream, channel.len() as i32] {
            key.extend_from_slice(&number.to_ne_bytes());
        }
        key.extend_from_slice(channel.as_bytes());
        key
    }

    /// Counters one behind the other: state, type, key, label and value.
    pub(in super::super) type Made<'a> = (i32, i32, Vec<u8>, &'a str, i64);

    /// Their metadata and values, with room for one more.
    pub(in super::super) fn counters(all: &[Made<'_>]) -> (Vec<u8>, Vec<u8>) {
        let mut metadata = vec![0; METADATA_BYTES * (all.len() + 1)];
        let mut values = vec![0; VALUE_BYTES * (all.len() + 1)];
        for (at, (state, type_id, key, label, value)) in all.iter().enumerate() {
            let record = &mut metadata[METADATA_BYTES * at..][..METADATA_BYTES];
            record[..4].copy_from_slice(&state.to_ne_bytes());
            record[4..8].copy_from_slice(&type_id.to_ne_bytes());
            record[KEY..KEY + key.len()].copy_from_slice(key);
            let length = label.len() as i32;
            record[LABEL_LENGTH..LABEL].copy_from_slice(&length.to_ne_bytes());
            record[LABEL..LABEL + label.len()].copy_from_slice(label.as_bytes());
            values[VALUE_BYTES * at..][..8].copy_from_slice(&value.to_ne_bytes());
        }
        (metadata, values)
    }

    /// A whole file.
    pub(in super::super) fn file(all: &[Made<'_>]) -> Vec<u8> {
        let (metadata, values) = counters(all);
        let mut file = head(metadata.len(), values.len());
        file.resize(HEAD_BYTES + 2_048, 0);
        file.extend(metadata);
        file.extend(values);
        file
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_say_where_counters_are() {
        let layout = Layout::decode(&made::head(4_096, 1_024)).unwrap();
        let expected = Layout {
            metadata_at: 2_176,
            metadata_bytes: 4_096,
            values_at: 6_272,
            values_bytes: 1_024,
        };
        assert_eq!(layout, expected);
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let mut other = made::head(4_096, 1_024);
        other[..4].copy_from_slice(&0x0001_0203_i32.to_ne_bytes());
        let said = Layout::decode(&other).unwrap_err();
        assert_eq!(said, "its layout is 1.2.3, and 0.2 is known");
        assert_eq!(Layout::decode(&[0; HEAD_BYTES]).unwrap_err(), "it is not finished");
        assert_eq!(Layout::decode(&[]).unwrap_err(), "it is not finished");
        let mut negative = made::head(4_096, 1_024);
        negative[4..8].copy_from_slice(&(-1_i32).to_ne_bytes());
        assert_eq!(Layout::decode(&negative).unwrap_err(), "its lengths make no sense");
        let said = Layout::decode(&made::head(i32::MAX as usize, 0)).unwrap_err();
        assert!(said.contains("more than"), "{said}");
    }

    #[test]
    fn counters_that_are_there_have_key_label_and_value() {
        let system = 5_i32.to_ne_bytes().to_vec();
        let (metadata, values) = made::counters(&[
            (ALLOCATED, SYSTEM, system.clone(), "NAKs sent", 7),
            (-1, SYSTEM, system.clone(), "was freed", 8),
            (ALLOCATED, NAKS_SENT, made::key(-3, 1_001, "aeron:ipc"), "rcv-naks-sent", 9),
            (UNUSED, SYSTEM, system.clone(), "", 0),
            (ALLOCATED, SYSTEM, system, "behind the end", 1),
        ]);
        let all = counters(&metadata, &values);
        let said: Vec<_> = all.iter().map(|it| (&*it.label, it.value, it.system_id())).collect();
        assert_eq!(said, [("NAKs sent", 7, Some(5)), ("rcv-naks-sent", 9, None)]);
        let key = StreamKey { session: -3, stream: 1_001, channel: "aeron:ipc".to_owned() };
        assert_eq!((all[0].stream(), all[1].stream()), (None, Some(key)));
        assert_eq!(counters(&metadata, &values[..100]), []);
        assert_eq!(counters(&metadata[..511], &values), []);
    }

    #[test]
    fn a_length_beyond_the_record_is_cut() {
        let key = made::key(1, 2, "x");
        let (mut metadata, values) = made::counters(&[(ALLOCATED, NAKS_SENT, key, "label", 1)]);
        metadata[LABEL_LENGTH..LABEL].copy_from_slice(&i32::MAX.to_ne_bytes());
        metadata[KEY + 16..KEY + 20].copy_from_slice(&i32::MAX.to_ne_bytes());
        let all = counters(&metadata, &values);
        assert_eq!((all[0].label.len(), all[0].stream().unwrap().channel.len()), (380, 92));
    }
}
