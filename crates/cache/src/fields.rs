//! Field lists as they are kept: standard data on the wire, each field once.
//!
//! ```text
//! ┌──────────┐┌───────────────────────┐┌───────────┐┌────────────────────────────┐
//! │ u8 flags ││ u8 len, dictionary,   ││ u16 count ││ i16 field id, u16_ob len,  │…
//! │          ││ u16 list number       ││           ││ value                      │
//! └──────────┘└───────────────────────┘└───────────┘└────────────────────────────┘
//!               if ever given
//! ```
//!
//! Fields are found by walking. Updates usually have their fields in the order
//! of the image, so the walk goes on where the last field was found, and one
//! update costs about one pass. The list of a whole item remembers where it
//! found the fields that change, and walks only for new ones.

use tapeline_rwf::{FieldEntry, FieldList, FieldListInfo, ListFlags, rmtes};

use crate::data::{Change, Keep, Standard, is_set_form};
use crate::lengths::{MAX_U16, count_at, push_u15, resize_within, set_count, u16_ob};
use crate::{CacheError, FieldRules};

/// The longest chain of fields that an old value may ripple through; guards
/// against dictionaries that go round in circles.
const MAX_RIPPLES: usize = 16;

/// From how many fields on a new list remembers which ones it has: below, the
/// walk is cheaper.
const MANY_FIELDS: usize = 16;

/// What cursor commands of a text begin with.
const ESCAPE: u8 = 0x1B;

/// The field list of a whole item, which is changed often.
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldContent {
    bytes: Vec<u8>,
    places: Places,
}

impl FieldContent {
    /// The list as it goes on the wire.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Merges a field list.
    #[inline]
    pub(crate) fn merge(
        &mut self,
        list: &FieldList<'_>,
        change: &Change<'_>,
    ) -> Result<(), CacheError> {
        merge_at(&mut self.bytes, 0, list, change, Some(&mut self.places))
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.places.forget();
    }
}

/// Where fields were found last: one place for each value of the lowest bits of
/// the field id. A place that is there is right.
#[derive(Clone, Debug)]
struct Places([Found; Places::COUNT]);

/// Where a field begins; 0, where none does, if it is not known.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    field_id: i16,
    at: u16,
}

impl Default for Places {
    fn default() -> Self {
        Self([Found::default(); Self::COUNT])
    }
}

impl Places {
    const COUNT: usize = 32;

    fn slot(field_id: i16) -> usize {
        usize::from(field_id as u16) % Self::COUNT
    }

    #[inline]
    fn find(&self, field_id: i16) -> Option<usize> {
        let found = self.0[Self::slot(field_id)];
        (found.field_id == field_id && found.at != 0).then_some(found.at.into())
    }

    #[inline]
    fn remember(&mut self, field_id: i16, at: usize) {
        if let Ok(at) = u16::try_from(at) {
            self.0[Self::slot(field_id)] = Found { field_id, at };
        }
    }

    /// Follows a move by `by` bytes of everything behind `at`.
    fn shift(&mut self, at: usize, by: isize) {
        for found in &mut self.0 {
            if usize::from(found.at) > at {
                let moved = isize::try_from(found.at).map_or(0, |at| at + by);
                found.at = u16::try_from(moved).unwrap_or(0);
            }
        }
    }

    fn forget(&mut self) {
        *self = Self::default();
    }
}

/// Merges a field list into the one from `base` on.
pub(crate) fn merge(
    buffer: &mut Vec<u8>,
    base: usize,
    list: &FieldList<'_>,
    change: &Change<'_>,
) -> Result<(), CacheError> {
    merge_at(buffer, base, list, change, None)
}

fn merge_at(
    buffer: &mut Vec<u8>,
    base: usize,
    list: &FieldList<'_>,
    change: &Change<'_>,
    places: Option<&mut Places>,
) -> Result<(), CacheError> {
    if list.skipped_set_data().is_some() {
        return Err(CacheError::NotApplicable { what: "a field list of a set that is not known" });
    }
    let is_new = buffer.len() <= base;
    let mut fields = Fields::open(buffer, base, list.info(), places);
    if is_new && list.len() > MANY_FIELDS {
        return fields.fill(list, change);
    }
    for entry in list {
        let entry = entry?;
        fields.apply(&entry, list, change)?;
    }
    Ok(())
}

/// Dictionary and record template of the list from `base` on.
pub(crate) fn info(buffer: &[u8], base: usize) -> Option<FieldListInfo> {
    let (flags, rest) = buffer.get(base..)?.split_first()?;
    if flags & ListFlags::HAS_INFO.bits() == 0 {
        return None;
    }
    let (list_number, dictionary) = rest
        .get(1..1 + usize::from(*rest.first()?))?
        .split_last_chunk()
        .map(|(dictionary, number)| (u16::from_be_bytes(*number), dictionary))?;
    let dictionary_id = match *dictionary {
        [id] => u16::from(id),
        [high, low] => u16::from_be_bytes([high & 0x7F, low]),
        _ => return None,
    };
    Some(FieldListInfo { dictionary_id, list_number })
}

/// How many fields the list from `base` on has.
pub(crate) fn count(buffer: &[u8], base: usize) -> usize {
    if buffer.len() <= base {
        return 0;
    }
    usize::from(count_at(buffer, first_field(buffer, base) - 2))
}

/// Where the fields begin.
fn first_field(buffer: &[u8], base: usize) -> usize {
    let has_info = buffer[base] & ListFlags::HAS_INFO.bits() != 0;
    let info_len = match buffer.get(base + 1) {
        Some(len) if has_info => 1 + usize::from(*len),
        _ => 0,
    };
    base + 1 + info_len + 2
}

/// Where a field is.
#[derive(Clone, Copy)]
struct Place {
    /// Its length, behind its id.
    len_at: usize,
    value_at: usize,
    end: usize,
}

impl Place {
    fn len(self) -> usize {
        self.end - self.value_at
    }
}

/// A field list that is being changed.
struct Fields<'b> {
    buffer: &'b mut Vec<u8>,
    first: usize,
    /// Where the next field is looked for first.
    cursor: usize,
    /// Where fields were found before, if that is remembered.
    places: Option<&'b mut Places>,
}

impl<'b> Fields<'b> {
    /// Opens the list from `base` on, or begins one.
    fn open(
        buffer: &'b mut Vec<u8>,
        base: usize,
        new_info: Option<FieldListInfo>,
        mut places: Option<&'b mut Places>,
    ) -> Self {
        if buffer.len() <= base {
            buffer.extend_from_slice(&[ListFlags::HAS_STANDARD_DATA.bits(), 0, 0]);
        }
        if new_info.is_some() && info(buffer, base) != new_info {
            set_info(buffer, base, new_info.unwrap_or_default());
            if let Some(places) = &mut places {
                places.forget();
            }
        }
        let first = first_field(buffer, base);
        Self { buffer, first, cursor: first, places }
    }

    /// Applies one field.
    #[inline]
    fn apply(
        &mut self,
        entry: &FieldEntry<'_>,
        list: &FieldList<'_>,
        change: &Change<'_>,
    ) -> Result<(), CacheError> {
        if let Some(rules) = change.rules.filter(|_| change.ripple) {
            self.ripple(entry.field_id, list, rules)?;
        }
        let may_be_partial = change.rules.is_some() || change.keep == Keep::Changes;
        if may_be_partial && entry.value.bytes().contains(&ESCAPE) && is_partial(entry, change)? {
            return self.apply_partial(entry, change);
        }
        if is_set_form(entry.value.data_type()) {
            let value = Standard::of(&entry.value)?;
            return self.set(entry.field_id, value.bytes(), change);
        }
        self.set(entry.field_id, entry.value.bytes(), change)
    }

    /// Applies the fields of a long list to one that has none.
    fn fill(&mut self, list: &FieldList<'_>, change: &Change<'_>) -> Result<(), CacheError> {
        let mut known = [0_u64; 1024];
        for entry in list {
            let entry = entry?;
            let fid = usize::from(entry.field_id as u16);
            let (word, bit) = (fid / 64, 1 << (fid % 64));
            let value = &entry.value;
            let is_plain = !is_set_form(value.data_type()) && !value.bytes().contains(&ESCAPE);
            if known[word] & bit != 0 || !is_plain {
                self.apply(&entry, list, change)?;
            } else {
                self.append(entry.field_id, entry.value.bytes(), change)?;
            }
            known[word] |= bit;
        }
        Ok(())
    }

    #[inline]
    fn set(&mut self, fid: i16, value: &[u8], change: &Change<'_>) -> Result<(), CacheError> {
        let Some(place) = self.find(fid) else { return self.append(fid, value, change) };
        match self.buffer.get_mut(place.value_at..place.end) {
            Some(old) if old.len() == value.len() => {
                old.copy_from_slice(value);
                self.cursor = place.end;
            }
            _ => {
                let at = self.resize(place, value.len());
                self.buffer[at..at + value.len()].copy_from_slice(value);
                self.cursor = at + value.len();
            }
        }
        Ok(())
    }

    /// Gives a field room for `len` bytes; returns where they begin.
    fn resize(&mut self, place: Place, len: usize) -> usize {
        let (head, head_len) = u16_ob(len);
        let old_len = place.end - place.len_at;
        resize_within(self.buffer, place.len_at, old_len, head_len + len);
        if let Some(places) = &mut self.places {
            places.shift(place.len_at, (head_len + len) as isize - old_len as isize);
        }
        let value_at = place.len_at + head_len;
        self.buffer[place.len_at..value_at].copy_from_slice(&head[..head_len]);
        value_at
    }

    fn append(&mut self, fid: i16, value: &[u8], change: &Change<'_>) -> Result<(), CacheError> {
        let count = count_at(self.buffer, self.first - 2);
        let limit = change.limits.max_list_entries;
        if fid == 0 {
            return Err(CacheError::NotApplicable { what: "a field list of several dictionaries" });
        }
        if count >= limit {
            return Err(CacheError::TooManyEntries { limit: limit.into() });
        }
        let (head, head_len) = u16_ob(value.len());
        self.buffer.extend_from_slice(&fid.to_be_bytes());
        self.buffer.extend_from_slice(&head[..head_len]);
        self.buffer.extend_from_slice(value);
        set_count(self.buffer, self.first - 2, count + 1);
        self.cursor = self.first;
        Ok(())
    }

    /// Finds a field: from the cursor to the end, then from the front.
    #[inline]
    fn find(&mut self, fid: i16) -> Option<Place> {
        let known = self.places.as_ref().and_then(|places| places.find(fid));
        if let Some((_, place)) = known.and_then(|at| place(self.buffer, at)) {
            return Some(place);
        }
        self.walk(fid)
    }

    fn walk(&mut self, field_id: i16) -> Option<Place> {
        let fid = field_id.to_be_bytes();
        let place = walk(self.buffer, self.cursor, self.buffer.len(), fid)
            .or_else(|| walk(self.buffer, self.first, self.cursor, fid))?;
        if let Some(places) = &mut self.places {
            places.remember(field_id, place.len_at - 2);
        }
        Some(place)
    }

    /// Moves the old value of a field on to the fields it ripples to, as far as
    /// the image has them and the message does not bring them itself.
    fn ripple(
        &mut self,
        fid: i16,
        list: &FieldList<'_>,
        rules: &dyn FieldRules,
    ) -> Result<(), CacheError> {
        let mut chain = [fid; MAX_RIPPLES + 1];
        let mut len = 0;
        while len < MAX_RIPPLES {
            let Some(target) = rules.ripples_to(chain[len]) else { break };
            let is_known = self.find(chain[len]).is_some() && self.find(target).is_some();
            if !is_known || chain[..=len].contains(&target) || list.field(target)?.is_some() {
                break;
            }
            len += 1;
            chain[len] = target;
        }
        for step in (0..len).rev() {
            self.copy(chain[step], chain[step + 1]);
        }
        Ok(())
    }

    /// Copies the value of one field to another; both are there.
    fn copy(&mut self, from: i16, to: i16) {
        let (Some(source), Some(target)) = (self.find(from), self.find(to)) else { return };
        self.cursor = self.first;
        let at = self.resize(target, source.len());
        if let Some(source) = self.find(from) {
            self.buffer.copy_within(source.value_at..source.end, at);
        }
    }

    /// Applies cursor commands to the kept bytes of a text. A value that cannot
    /// be applied leaves the field as it was.
    #[cold]
    fn apply_partial(
        &mut self,
        entry: &FieldEntry<'_>,
        change: &Change<'_>,
    ) -> Result<(), CacheError> {
        let place = self.find(entry.field_id);
        let mut text = place.map_or(Vec::new(), |at| self.buffer[at.value_at..at.end].to_vec());
        match rmtes::apply(&mut text, entry.value.bytes(), MAX_U16) {
            Ok(()) => self.set(entry.field_id, &text, change),
            Err(_) => Ok(()),
        }
    }
}

/// Whether a value changes only some bytes of the text before it. Merged
/// updates do not have that text, nor the dictionary that tells texts from
/// numbers: what looks like it is not merged.
#[cold]
fn is_partial(entry: &FieldEntry<'_>, change: &Change<'_>) -> Result<bool, CacheError> {
    if !rmtes::has_cursor_command(entry.value.bytes()) {
        return Ok(false);
    }
    if change.keep == Keep::Changes {
        return Err(CacheError::NotApplicable { what: "a partial update of a text" });
    }
    Ok(change.rules.is_some_and(|rules| rules.is_rmtes(entry.field_id)))
}

/// The place of a field between two fields' beginnings.
#[inline]
fn walk(buffer: &[u8], mut at: usize, end: usize, fid: [u8; 2]) -> Option<Place> {
    while at < end {
        let (found, place) = place(buffer, at)?;
        if found == fid {
            return Some(place);
        }
        at = place.end;
    }
    None
}

/// The field that begins at `at`: its id and its place.
#[inline]
fn place(buffer: &[u8], at: usize) -> Option<([u8; 2], Place)> {
    let [high, low, len] = *buffer.get(at..)?.first_chunk()?;
    let (value_at, len) = if len < 0xFE {
        (at + 3, usize::from(len))
    } else {
        (at + 5, usize::from(count_at(buffer, at + 3)))
    };
    Some(([high, low], Place { len_at: at + 2, value_at, end: value_at + len }))
}

/// Writes the info of the list from `base` on.
#[cold]
fn set_info(buffer: &mut Vec<u8>, base: usize, info: FieldListInfo) {
    let mut block = vec![0];
    push_u15(&mut block, usize::from(info.dictionary_id & 0x7FFF));
    block.extend_from_slice(&info.list_number.to_be_bytes());
    block[0] = block.len() as u8 - 1;
    let old_len = first_field(buffer, base) - 2 - (base + 1);
    resize_within(buffer, base + 1, old_len, block.len());
    buffer[base + 1..base + 1 + block.len()].copy_from_slice(&block);
    buffer[base] |= ListFlags::HAS_INFO.bits();
}
