//! What an item is, and what each of its changes sends.
//!
//! The value of an item is the number of its last change. From it follow all
//! of its fields: `SEQ` is that number, and each of the others is the last
//! number that leaves its own rest. Change `n` sends `SEQ` and one other field.
//! So an image that was put together of an older image and updates is right only
//! if none was lost, repeated or swapped, however updates were merged.
//!
//! A quote has these in a field list. A book has `SEQ` in the summary of a map,
//! and each other field in an entry of its own, which is not there while its
//! value can be divided by three.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use tapeline_api::Payload;
use tapeline_rwf::{
    DataType, Domain, EncodeError, Encoded, FieldListHead, MapAction, MapHead, Primitive, Real,
    Slot,
};

/// `ACVOL_1`, which nothing ripples to.
pub(crate) const SEQ: i16 = 32;
/// `BID`, `ASK`, `BIDSIZE`, `ASKSIZE`.
pub(crate) const OTHERS: [i16; 4] = [22, 25, 30, 31];
/// The fields of the view that some ask for.
pub(crate) const SOME: [i16; 3] = [SEQ, 22, 30];
/// The field that is not shown to all, and in no view.
pub(crate) const MASKED: i16 = 25;
/// `ROW64_1` and on, which make an image long.
const PADDING: [i16; 4] = [215, 216, 217, 218];

/// Items from this number on are books.
pub(crate) const BOOKS: usize = 1_000_000;

/// An item: service and name, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Item {
    pub(crate) service: usize,
    pub(crate) name: usize,
}

impl Item {
    pub(crate) fn service(&self) -> String {
        format!("S{}", self.service)
    }

    pub(crate) fn name(&self) -> String {
        format!("I{}", self.name)
    }

    pub(crate) const fn is_book(self) -> bool {
        self.name >= BOOKS
    }

    /// Whether it is a quote, 0, or a book, 1, and its number among them.
    const fn place(self) -> (usize, usize) {
        if self.is_book() { (1, self.name - BOOKS) } else { (0, self.name) }
    }

    pub(crate) const fn domain(self) -> Domain {
        if self.is_book() { Domain::MARKET_BY_PRICE } else { Domain::MARKET_PRICE }
    }

    /// Whether a field has a value where it was last changed by this number.
    const fn is_there(self, value: u64) -> bool {
        !(self.is_book() && value.is_multiple_of(3))
    }

    /// What a field is after `seq` changes.
    pub(crate) const fn field(self, seq: u64, place: usize) -> Option<u64> {
        let value = last_change(seq, place);
        if self.is_there(value) { Some(value) } else { None }
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "S{}/I{}", self.service, self.name)
    }
}

/// The place of the other field that a change sends.
const fn place_of(seq: u64) -> usize {
    (seq % OTHERS.len() as u64) as usize
}

/// The last change until `seq` that sent the field in this place.
pub(crate) const fn last_change(seq: u64, place: usize) -> u64 {
    let (count, place) = (OTHERS.len() as u64, place as u64);
    let behind = (seq + count - place) % count;
    seq.saturating_sub(behind)
}

const fn number(value: u64) -> Primitive<'static> {
    Primitive::Real(Real::decimal(value as i64, 0))
}

/// What a message of an item has in it.
#[derive(Clone, Debug)]
pub(crate) struct Content {
    item: Item,
    seq: u64,
    /// Places of other fields, and what became of each; none: it is gone.
    fields: Vec<(usize, Option<u64>)>,
    padding_bytes: usize,
}

impl Content {
    /// A part of an image, of so many.
    pub(crate) fn part(item: Item, seq: u64, (part, of): (u16, u16), padding_bytes: usize) -> Self {
        let is_in = |place: &usize| place % usize::from(of) == usize::from(part);
        let places = (0..OTHERS.len()).filter(is_in);
        let fields = places.map(|place| (place, item.field(seq, place)));
        Self { item, seq, fields: fields.filter(|(_, it)| it.is_some()).collect(), padding_bytes }
    }

    /// What the change that led to `seq` sends.
    pub(crate) fn update(item: Item, seq: u64) -> Self {
        let place = place_of(seq);
        Self { item, seq, fields: vec![(place, item.field(seq, place))], padding_bytes: 0 }
    }

    fn write_quote(&self, place: Slot<'_, '_>) -> Result<(), EncodeError> {
        let mut list = place.field_list(&FieldListHead::STANDARD)?;
        list.put(SEQ, number(self.seq))?;
        for (place, value) in &self.fields {
            list.put(OTHERS[*place], number(value.unwrap_or_default()))?;
        }
        if self.padding_bytes > 0 {
            let padding = vec![b'x'; self.padding_bytes / PADDING.len()];
            for field_id in PADDING {
                list.put(field_id, Primitive::Rmtes(&padding))?;
            }
        }
        list.finish()
    }

    fn write_book(&self, place: Slot<'_, '_>) -> Result<(), EncodeError> {
        let mut map = place.map(&MapHead::new(DataType::ASCII_STRING, DataType::FIELD_LIST))?;
        let mut summary = map.summary()?.field_list(&FieldListHead::STANDARD)?;
        summary.put(SEQ, number(self.seq))?;
        summary.finish()?;
        for (place, value) in &self.fields {
            let key = [b'A' + *place as u8];
            let key = Primitive::Ascii(&key);
            let Some(value) = value else {
                map.bare_entry(MapAction::DELETE, key, None)?;
                continue;
            };
            let entry = map.entry(MapAction::ADD, key, None)?;
            let mut list = entry.field_list(&FieldListHead::STANDARD)?;
            list.put(OTHERS[*place], number(*value))?;
            list.finish()?;
        }
        map.finish()
    }
}

impl Payload for Content {
    fn data_type(&self) -> DataType {
        if self.item.is_book() { DataType::MAP } else { DataType::FIELD_LIST }
    }

    fn write(&self, place: Slot<'_, '_>) -> Result<(), EncodeError> {
        if self.item.is_book() { self.write_book(place) } else { self.write_quote(place) }
    }
}

/// What a message that was received says of the fields of an item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) set: BTreeMap<i16, u64>,
    pub(crate) gone: Vec<i16>,
}

impl Changes {
    pub(crate) fn is_empty(&self) -> bool {
        self.set.is_empty() && self.gone.is_empty()
    }

    pub(crate) fn seq(&self) -> Option<u64> {
        self.set.get(&SEQ).copied()
    }

    /// Errors: it cannot be read.
    pub(crate) fn read(payload: &Encoded<'_>) -> Result<Self, String> {
        let mut changes = Self::default();
        match payload.data_type() {
            DataType::NO_DATA => {}
            DataType::MAP => changes.read_map(payload)?,
            _ => changes.read_list(payload)?,
        }
        Ok(changes)
    }

    fn read_list(&mut self, payload: &Encoded<'_>) -> Result<(), String> {
        if payload.is_empty() {
            return Ok(());
        }
        let list = payload.field_list().map_err(|error| format!("no field list: {error}"))?;
        for field_id in [SEQ].into_iter().chain(OTHERS) {
            let field =
                list.field(field_id).map_err(|error| format!("field {field_id}: {error}"))?;
            let Some(field) = field else { continue };
            let value = field.typed(DataType::REAL).real();
            let value = value.map_err(|error| format!("field {field_id}: {error}"))?;
            let value = value.ok_or_else(|| format!("field {field_id} is blank"))?;
            self.set.insert(field_id, value.to_f64() as u64);
        }
        Ok(())
    }

    fn read_map(&mut self, payload: &Encoded<'_>) -> Result<(), String> {
        let map = payload.map().map_err(|error| format!("no map: {error}"))?;
        if let Some(summary) = map.summary() {
            self.read_list(&summary)?;
        }
        for entry in map.iter() {
            let entry = entry.map_err(|error| format!("entry of a map: {error}"))?;
            let key = entry.key.bytes().first().copied().unwrap_or_default();
            let field_id = OTHERS.get(usize::from(key.wrapping_sub(b'A')));
            let field_id = *field_id.ok_or_else(|| format!("an entry with the key {key}"))?;
            match entry.action {
                MapAction::DELETE => self.gone.push(field_id),
                _ => self.read_list(&entry.data)?,
            }
        }
        Ok(())
    }
}

/// What was sent, whoever sent it.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    /// By service, quotes and books, and name: this is asked more than anything.
    changes: Vec<[Vec<u64>; 2]>,
    /// Items that a source ended for good.
    ended: BTreeSet<Item>,
}

impl Truth {
    /// How many changes an item had.
    pub(crate) fn seq(&self, item: Item) -> u64 {
        let (kind, name) = item.place();
        let names = self.changes.get(item.service).map(|it| &it[kind]);
        names.and_then(|names| names.get(name)).copied().unwrap_or_default()
    }

    fn seq_mut(&mut self, item: Item) -> &mut u64 {
        let (kind, name) = item.place();
        let services = self.changes.len().max(item.service + 1);
        self.changes.resize_with(services, Default::default);
        let names = &mut self.changes[item.service][kind];
        names.resize(names.len().max(name + 1), 0);
        &mut names[name]
    }

    pub(crate) fn change(&mut self, item: Item) -> u64 {
        let seq = self.seq_mut(item);
        *seq += 1;
        *seq
    }

    /// An item has had so many changes.
    pub(crate) fn begin_at(&mut self, item: Item, seq: u64) {
        *self.seq_mut(item) = seq;
    }

    pub(crate) fn end(&mut self, item: Item) {
        self.ended.insert(item);
    }

    /// Whether a stream of an item may be over for good.
    pub(crate) fn was_ended(&self, item: Item) -> bool {
        self.ended.contains(&item)
    }
}

#[cfg(test)]
mod tests {
    use tapeline_rwf::Encoder;

    use super::*;

    const ITEMS: [Item; 2] = [Item { service: 0, name: 1 }, Item { service: 0, name: BOOKS }];

    fn received(content: &Content) -> Changes {
        let mut buffer = vec![0; 1 << 16];
        let mut encoder = Encoder::new(&mut buffer);
        content.write(encoder.container(content.data_type())).expect("it fits");
        let bytes = encoder.finish_bytes().expect("it fits");
        Changes::read(&Encoded::new(content.data_type(), bytes)).expect("it is right")
    }

    #[test]
    fn fields_follow_from_the_number_of_changes() {
        for item in ITEMS {
            let mut fields = received(&Content::part(item, 0, (0, 1), 0)).set;
            for seq in 1..50 {
                let Changes { set, gone } = received(&Content::update(item, seq));
                fields.extend(set);
                fields.retain(|field_id, _| !gone.contains(field_id));
                assert_eq!(fields, received(&Content::part(item, seq, (0, 1), 0)).set, "{item}");
            }
        }
    }

    #[test]
    fn parts_of_an_image_are_the_image() {
        for (item, of) in ITEMS.into_iter().flat_map(|item| [(item, 2), (item, 3), (item, 4)]) {
            let mut fields = BTreeMap::new();
            for part in 0..of {
                fields.extend(received(&Content::part(item, 41, (part, of), 0)).set);
            }
            assert_eq!(fields, received(&Content::part(item, 41, (0, 1), 4000)).set);
        }
    }
}
