//! The reference: what an item is, and what a consumer may have seen of it.
//!
//! The value of an item is the number of its last change. From it follow all
//! of its fields: `SEQ` is that number, and each of the others is the last
//! number that leaves its own rest. Change `n` sends `SEQ` and one other field.
//! So an image that was put together of an older image and updates is right only
//! if none was lost, repeated or swapped, however updates were merged.

use std::collections::BTreeMap;
use std::fmt;

use tapeline_api::Handle;
use tapeline_rwf::{DataState, DataType, Encoded, Primitive, Real, State, StreamState};
use tapeline_time::Time;

/// `ACVOL_1`, which nothing ripples to.
pub(crate) const SEQ: i16 = 32;
/// `BID`, `ASK`, `BIDSIZE`, `ASKSIZE`.
pub(crate) const OTHERS: [i16; 4] = [22, 25, 30, 31];

/// The other field that a change sends.
pub(crate) const fn changed_by(seq: u64) -> i16 {
    OTHERS[(seq % OTHERS.len() as u64) as usize]
}

const fn number(value: u64) -> Primitive<'static> {
    Primitive::Real(Real::decimal(value as i64, 0))
}

/// The last change until `seq` that sent the field in this place.
pub(crate) const fn last_change(seq: u64, place: usize) -> u64 {
    let (count, place) = (OTHERS.len() as u64, place as u64);
    let behind = (seq + count - place) % count;
    seq.saturating_sub(behind)
}

/// The fields of the view that some ask for.
pub(crate) const SOME: [i16; 3] = [SEQ, 22, 30];

/// All fields of an item after `seq` changes.
pub(crate) fn image(seq: u64) -> [(i16, Primitive<'static>); 5] {
    let of = |place: usize| (OTHERS[place], number(last_change(seq, place)));
    [(SEQ, number(seq)), of(0), of(1), of(2), of(3)]
}

/// What the change that led to `seq` sends.
pub(crate) const fn update(seq: u64) -> [(i16, Primitive<'static>); 2] {
    [(SEQ, number(seq)), (changed_by(seq), number(seq))]
}

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
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "S{}/I{}", self.service, self.name)
    }
}

/// How many changes each item had.
pub(crate) type Truth = BTreeMap<Item, u64>;

/// How current a stream is, by what its consumer was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// There was no image since it was opened, or since the connection was lost.
    Waiting,
    Ok,
    Suspect,
}

/// An open item of a consumer as the reference has it.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts")]
pub(crate) struct Seen {
    pub(crate) handle: Handle,
    pub(crate) item: Item,
    pub(crate) phase: Phase,
    pub(crate) is_paused: bool,
    /// Since when nothing was heard of it at all.
    pub(crate) unanswered_since: Option<Time>,
    /// It is over with its image.
    pub(crate) is_snapshot: bool,
    /// The fields that are wanted: some or all.
    has_view: bool,
    /// The image of another view is on its way.
    is_changing: bool,
    fields: BTreeMap<i16, u64>,
}

/// A field list as numbers.
///
/// Errors: what it is instead.
pub(crate) fn numbers(payload: &Encoded<'_>) -> Result<BTreeMap<i16, u64>, String> {
    if payload.data_type() == DataType::NO_DATA {
        return Ok(BTreeMap::new());
    }
    let list = payload.field_list().map_err(|error| format!("no field list: {error}"))?;
    let mut fields = BTreeMap::new();
    for field_id in [SEQ].into_iter().chain(OTHERS) {
        let field = list.field(field_id).map_err(|error| format!("field {field_id}: {error}"))?;
        let Some(field) = field else { continue };
        let value = field.typed(DataType::REAL).real();
        let value = value.map_err(|error| format!("field {field_id}: {error}"))?;
        let value = value.ok_or_else(|| format!("field {field_id} is blank"))?;
        fields.insert(field_id, value.to_f64() as u64);
    }
    Ok(fields)
}

impl Seen {
    pub(crate) const fn new(
        handle: Handle,
        item: Item,
        (has_view, is_paused): (bool, bool),
        now: Time,
    ) -> Self {
        Self {
            handle,
            item,
            phase: Phase::Waiting,
            is_paused,
            unanswered_since: Some(now),
            is_snapshot: false,
            has_view,
            is_changing: false,
            fields: BTreeMap::new(),
        }
    }

    pub(crate) fn snapshot(handle: Handle, item: Item, now: Time) -> Self {
        Self { is_snapshot: true, ..Self::new(handle, item, (false, false), now) }
    }

    pub(crate) fn seq(&self) -> Option<u64> {
        self.fields.get(&SEQ).copied()
    }

    /// Whether all fields are those of one moment.
    fn check_fields(&self) -> Result<(), String> {
        let Some(seq) = self.seq() else { return Err("no SEQ".to_owned()) };
        for (place, field_id) in OTHERS.iter().enumerate() {
            let wanted = last_change(seq, place);
            match self.fields.get(field_id) {
                Some(value) if *value != wanted => {
                    return Err(format!(
                        "an update is missing: at {seq}, field {field_id} is {value} and not {wanted}"
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// An image came.
    pub(crate) fn refresh(
        &mut self,
        truth: &Truth,
        state: State<'_>,
        fields: BTreeMap<i16, u64>,
    ) -> Result<(), String> {
        let before = self.seq();
        let phase = self.phase;
        if !fields.is_empty() {
            self.fields = fields;
            // An image that was under way may have the view of before.
            let is_of_view = self.fields.contains_key(&OTHERS[1]) != self.has_view;
            self.is_changing &= !is_of_view;
            self.check_view(&self.fields)?;
            self.check_fields()?;
            let seq = self.seq().unwrap_or_default();
            self.check_bound(truth, seq)?;
            if let Some(before) = before.filter(|before| phase == Phase::Ok && seq < *before) {
                return Err(format!("an image goes back from {before} to {seq}"));
            }
        } else if state.data == DataState::OK {
            return Err("an image that is OK has no fields".to_owned());
        }
        self.phase = if state.data == DataState::OK { Phase::Ok } else { Phase::Suspect };
        Ok(())
    }

    /// Who has a view gets no other fields.
    fn check_view(&self, fields: &BTreeMap<i16, u64>) -> Result<(), String> {
        let is_bound = self.has_view && !self.is_changing;
        let other = fields.keys().find(|field_id| is_bound && !SOME.contains(field_id));
        other.map_or(Ok(()), |field_id| Err(format!("field {field_id} is not of its view")))
    }

    fn check_bound(&self, truth: &Truth, seq: u64) -> Result<(), String> {
        let most = truth.get(&self.item).copied().unwrap_or_default();
        match seq > most {
            true => Err(format!("{seq} was never sent, only {most}")),
            false => Ok(()),
        }
    }

    /// An update came.
    pub(crate) fn update(
        &mut self,
        truth: &Truth,
        fields: BTreeMap<i16, u64>,
    ) -> Result<(), String> {
        if self.is_snapshot {
            return Err("an update of a snapshot".to_owned());
        }
        if self.phase == Phase::Waiting {
            return Err("an update before an image".to_owned());
        }
        self.check_view(&fields)?;
        // A view may leave nothing of it.
        let Some(seq) = fields.get(&SEQ).copied() else { return Ok(()) };
        self.check_bound(truth, seq)?;
        let before = self.seq().unwrap_or_default();
        // What is suspect may have holes, until an image says that it has none.
        let is_new = seq > before;
        self.fields.extend(fields);
        if self.is_changing {
            self.fields.retain(|field_id, _| *field_id == SEQ);
        }
        if self.phase == Phase::Ok {
            if !is_new {
                return Err(format!("{seq} comes after {before}"));
            }
            self.check_fields()?;
        }
        Ok(())
    }

    /// A state came; whether the stream is over.
    pub(crate) fn status(&mut self, state: State<'_>) -> Result<bool, String> {
        if state.stream != StreamState::OPEN {
            return Ok(true);
        }
        if state.data == DataState::SUSPECT && self.phase == Phase::Ok {
            self.phase = Phase::Suspect;
        }
        if state.data == DataState::OK && self.phase == Phase::Suspect {
            self.check_fields().map_err(|error| format!("OK again, but {error}"))?;
            self.phase = Phase::Ok;
        }
        Ok(false)
    }

    /// Its connection is lost: the next thing with content is an image.
    pub(crate) fn disconnected(&mut self) {
        self.phase = Phase::Waiting;
    }

    /// Another view was asked for: until its image, nobody knows which fields
    /// are kept up.
    pub(crate) const fn change_view(&mut self, has_view: bool) {
        self.is_changing |= has_view != self.has_view;
        self.has_view = has_view;
    }

    pub(crate) const fn is_changing(&self) -> bool {
        self.is_changing
    }

    pub(crate) const fn pause(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }

    /// What keeps it from being what its source has.
    pub(crate) fn lacks(&self, truth: &Truth) -> Option<String> {
        let wanted = truth.get(&self.item).copied().unwrap_or_default();
        if self.is_snapshot {
            return Some(format!("a snapshot of {} has no answer", self.item));
        }
        if self.phase != Phase::Ok {
            return Some(format!("{} is {:?}", self.item, self.phase));
        }
        if self.seq() != Some(wanted) {
            return Some(format!("{} is at {:?} and not at {wanted}", self.item, self.seq()));
        }
        if self.is_changing {
            return Some(format!("{} has no image of its view", self.item));
        }
        self.check_fields().err().map(|error| format!("{}: {error}", self.item))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_follow_from_the_number_of_changes() {
        let mut fields: BTreeMap<i16, u64> = OTHERS.iter().map(|id| (*id, 0)).collect();
        for seq in 1..50 {
            fields.insert(changed_by(seq), seq);
            for (place, field_id) in OTHERS.iter().enumerate() {
                assert_eq!(last_change(seq, place), fields[field_id], "{field_id} at {seq}");
            }
        }
    }
}
