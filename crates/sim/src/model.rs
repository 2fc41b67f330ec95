//! The reference: what a consumer may have seen of an item.

use std::collections::{BTreeMap, BTreeSet};

use tapeline_api::Handle;
use tapeline_omm::market::Part;
use tapeline_rwf::{DataState, State, StateCode, StreamState};
use tapeline_time::Time;

use crate::item::{Changes, Item, MASKED, OTHERS, SEQ, SOME, Truth};

/// How current a stream is, by what its consumer was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// There was no image since it was opened, or since the connection was lost.
    Waiting,
    Ok,
    Suspect,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "independent wishes")]
pub(crate) struct Wish {
    /// Some of the fields rather than all.
    pub(crate) view: bool,
    pub(crate) paused: bool,
    /// It is over with its image.
    pub(crate) snapshot: bool,
    /// It is the consumer's alone, and over when it is lost.
    pub(crate) private: bool,
}

/// An open item of a consumer as the reference has it.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts")]
pub(crate) struct Seen {
    pub(crate) handle: Handle,
    pub(crate) item: Item,
    pub(crate) phase: Phase,
    pub(crate) opened_at: Time,
    pub(crate) is_paused: bool,
    pub(crate) is_snapshot: bool,
    pub(crate) is_private: bool,
    /// Since when nothing was heard of it at all.
    pub(crate) unanswered_since: Option<Time>,
    /// The fields that are wanted: some or all.
    has_view: bool,
    /// The field [`MASKED`] is not shown to its consumer.
    is_masked: bool,
    /// Whether that is what changes.
    is_masking: bool,
    /// It has changed more than once, and images of the masks between may be on their
    /// way: what an image has says nothing of whether they have all come.
    is_remasked: bool,
    /// Whether the image of another view, or with other fields by another policy, is on
    /// its way.
    change: Change,
    fields: BTreeMap<i16, u64>,
    /// The number of the next part of the image that is coming in parts.
    next_part: Option<u16>,
    /// It was paused, or has been resumed and not had its answer: of an image
    /// that comes in parts, updates between them may have been left out. Several
    /// may have begun before the server hears of the resumption, and the one
    /// that answers it before the source does. It fits behind that.
    is_torn: bool,
    /// How often it was resumed since the last image that answers began.
    resumptions: u32,
    /// The last image that began answers all that was asked for.
    is_answered: bool,
    /// All of the last image has come.
    is_whole: bool,
    /// Where it was when the image began that is coming, if it was OK.
    was_at: Option<u64>,
    /// Since when it is OK and behind its source, and where that was by then.
    behind: Option<(Time, u64)>,
    /// Since when it is OK and nobody has it.
    unheld_since: Option<Time>,
    generics: BTreeSet<u64>,
    /// Where its data come from.
    from: Data,
    /// So many requests were sent to a server that stood by: each may be
    /// answered without content, also after the first image for which it stood
    /// by no more.
    asked_of_standby: u32,
    /// An image was asked for of a server that did not stand by, and has not come.
    is_asked: bool,
}

/// What the head of a part of an image says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ImageHead {
    pub(crate) part: Part,
    /// What was there before is gone.
    pub(crate) is_cleared: bool,
    /// It answers a request.
    pub(crate) is_answer: bool,
}

/// Another view was asked for, or other fields are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// Long ago, or never.
    None,
    /// Its image has yet to come.
    Awaited,
    /// An image came that would be the same in either view, or none may come: fields
    /// that were shown no more are shown again.
    Unsure,
}

/// Where the data of an item come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Data {
    /// The server.
    Here,
    /// Elsewhere: the server stands by.
    Elsewhere,
    /// The server, which has yet to send the image to begin with. What comes
    /// before it is of before it stood by, and of no use.
    HereSoon,
}

impl Seen {
    pub(crate) const fn new(handle: Handle, item: Item, wish: Wish, now: Time) -> Self {
        Self {
            handle,
            item,
            phase: Phase::Waiting,
            opened_at: now,
            is_paused: wish.paused,
            is_snapshot: wish.snapshot,
            is_private: wish.private,
            unanswered_since: Some(now),
            has_view: wish.view,
            is_masked: false,
            is_masking: false,
            is_remasked: false,
            change: Change::None,
            fields: BTreeMap::new(),
            next_part: None,
            is_torn: wish.paused,
            resumptions: 0,
            is_answered: false,
            is_whole: false,
            was_at: None,
            behind: None,
            unheld_since: None,
            generics: BTreeSet::new(),
            from: Data::Here,
            asked_of_standby: 0,
            is_asked: true,
        }
    }

    /// Its data come from elsewhere, or from the server again.
    pub(crate) fn set_role(&mut self, stands_by: bool) {
        // What is its own takes no part.
        if self.is_private {
            return;
        }
        self.begin_anew();
        self.from = if stands_by { Data::Elsewhere } else { Data::HereSoon };
        if stands_by {
            // The answer that is due may find the server standing by.
            self.asked_of_standby += u32::from(std::mem::take(&mut self.is_asked));
        }
    }

    /// An image is asked for.
    pub(crate) const fn ask(&mut self) {
        match self.from {
            Data::Elsewhere => self.asked_of_standby += 1,
            Data::Here | Data::HereSoon => self.is_asked = true,
        }
    }

    /// Whether a message is of no use: its data come from elsewhere, or did.
    fn is_useless(&mut self, is_begin: bool) -> bool {
        if self.from == Data::HereSoon && is_begin {
            self.from = Data::Here;
        }
        self.from != Data::Here
    }

    pub(crate) fn seq(&self) -> Option<u64> {
        self.fields.get(&SEQ).copied()
    }

    /// Whether it gets a field.
    fn wants(&self, field_id: i16) -> bool {
        match self.has_view {
            true => SOME.contains(&field_id),
            false => !(self.is_masked && field_id == MASKED),
        }
    }

    /// Whether all fields are those of one moment.
    fn check_fields(&self) -> Result<(), String> {
        let Some(seq) = self.seq() else { return Err("no SEQ".to_owned()) };
        for (place, field_id) in OTHERS.iter().enumerate() {
            let wanted = self.item.field(seq, place);
            let found = self.fields.get(field_id).copied();
            let is_wanted = self.wants(*field_id);
            let is_missing = found.is_none() && is_wanted && !self.is_changing();
            // An image that was under way when the view changed has fields of
            // before, which no update keeps up any more.
            let is_other = !is_wanted || self.is_masking && *field_id == MASKED;
            let is_left = found.is_some() && is_other && self.is_changing();
            if found != wanted && (found.is_some() || is_missing) && !is_left {
                let of = |value: Option<u64>| value.map_or("none".to_owned(), |it| it.to_string());
                return Err(format!(
                    "an update is missing: at {seq}, field {field_id} is {} and not {}",
                    of(found),
                    of(wanted)
                ));
            }
        }
        Ok(())
    }

    /// An image came, or a part of one.
    pub(crate) fn refresh(
        &mut self,
        truth: &Truth,
        head: ImageHead,
        state: State<'_>,
        changes: Changes,
    ) -> Result<(), String> {
        let ImageHead { part, is_cleared, is_answer } = head;
        let is_begin = part.number.is_none_or(|number| number == 0) && !changes.is_empty();
        if self.is_useless(is_begin) {
            return Ok(());
        }
        if changes.is_empty() {
            if state.data == DataState::OK && self.asked_of_standby > 0 {
                // The image to begin with is behind it.
                self.asked_of_standby -= 1;
                self.set_role(false);
                return Ok(());
            }
            if state.data == DataState::OK {
                return Err("an image that is OK has no fields".to_owned());
            }
            self.phase = Phase::Suspect;
            self.was_at = None;
            return Ok(());
        }
        self.is_asked &= !is_answer;
        self.take_place(part)?;
        let begins = part.number.map_or(self.next_part.is_none(), |number| number == 0);
        if begins {
            self.was_at = self.seq().filter(|_| self.phase == Phase::Ok);
        }
        if begins {
            self.resumptions = self.resumptions.saturating_sub(is_answer.into());
            self.is_answered = is_answer && self.resumptions == 0;
        }
        // Another source goes on, and may be a little behind the one before.
        if state.code == StateCode::FAILOVER_COMPLETED {
            self.was_at = None;
        }
        if begins || is_cleared {
            self.fields.clear();
        }
        let next = part.number.map_or(1, |number| number + 1);
        self.next_part = (!part.is_last).then_some(next);
        self.is_whole = part.is_last;
        self.check_view(&changes)?;
        self.fields.extend(changes.set);
        let seq = self.seq().unwrap_or_default();
        self.check_bound(truth, seq)?;
        self.phase = if state.data == DataState::OK { Phase::Ok } else { Phase::Suspect };
        if self.is_whole {
            self.check_whole(seq)?;
        }
        Ok(())
    }

    /// Whether a part is the next one.
    fn take_place(&self, part: Part) -> Result<(), String> {
        match (part.number, self.next_part) {
            (None | Some(0), _) => Ok(()),
            (Some(number), Some(next)) if number == next => Ok(()),
            (Some(number), next) => {
                let next = next.map_or("0".to_owned(), |next| next.to_string());
                Err(format!("part {number} of an image comes in the place of part {next}"))
            }
        }
    }

    /// The last part of an image came.
    fn check_whole(&mut self, seq: u64) -> Result<(), String> {
        // An image that was under way may have the view of before, or of both.
        let is_beyond = self.fields.keys().any(|field_id| !self.wants(*field_id));
        let count = self.fields.len();
        let all = OTHERS.iter().enumerate().filter(|(place, field_id)| {
            self.wants(**field_id) && self.item.field(seq, *place).is_some()
        });
        let is_of_view = count == all.count() + 1 && !is_beyond;
        // With these values it may look the same with and without a view, or a mask.
        let has = |wanted: i16| {
            let place = OTHERS.iter().position(|field_id| *field_id == wanted);
            place.is_some_and(|place| self.item.field(seq, place).is_some())
        };
        let is_telling = match self.is_masking {
            true => has(MASKED),
            false => OTHERS.iter().any(|it| !SOME.contains(it) && has(*it)),
        };
        self.change = match (self.change, is_of_view, is_telling) {
            (Change::Awaited, true, false) => Change::Unsure,
            (_, true, true) if !self.is_remasked => Change::None,
            (change, ..) => change,
        };
        self.is_masking &= self.is_changing();
        let checked = self.check_fields();
        let is_answered = self.is_answered && self.resumptions == 0 && !self.is_paused;
        let is_torn = self.is_torn;
        self.is_torn &= !is_answered;
        // Nor has what is suspect to be right.
        if is_torn || self.is_paused || self.phase != Phase::Ok {
            self.is_whole = checked.is_ok();
            return Ok(());
        }
        checked?;
        match self.was_at.take() {
            Some(before) if seq < before => {
                Err(format!("an image goes back from {before} to {seq}"))
            }
            _ => Ok(()),
        }
    }

    /// Who has a view, or is not shown all, gets no other fields.
    fn check_view(&self, changes: &Changes) -> Result<(), String> {
        let is_bound = !self.is_changing();
        let other = changes.set.keys().find(|field_id| is_bound && !self.wants(**field_id));
        let what = if self.has_view { "of its view" } else { "shown to it" };
        other.map_or(Ok(()), |field_id| Err(format!("field {field_id} is not {what}")))
    }

    fn check_bound(&self, truth: &Truth, seq: u64) -> Result<(), String> {
        let most = truth.seq(self.item);
        match seq > most {
            true => Err(format!("{seq} was never sent, only {most}")),
            false => Ok(()),
        }
    }

    /// An update came.
    pub(crate) fn update(&mut self, truth: &Truth, changes: Changes) -> Result<(), String> {
        if self.is_useless(false) {
            return Ok(());
        }
        // Between parts, updates make later parts fit to earlier ones.
        if self.is_snapshot && self.next_part.is_none() {
            return Err("an update of a snapshot".to_owned());
        }
        if self.phase == Phase::Waiting {
            return Err("an update before an image".to_owned());
        }
        self.check_view(&changes)?;
        // A view may leave nothing of it.
        let Some(seq) = changes.seq() else { return Ok(()) };
        self.check_bound(truth, seq)?;
        let before = self.seq().unwrap_or_default();
        // What is suspect may have holes, until an image says that it has none.
        let is_new = seq > before;
        self.fields.extend(changes.set);
        self.fields.retain(|field_id, _| !changes.gone.contains(field_id));
        if self.is_changing() && self.next_part.is_none() {
            self.fields.retain(|field_id, _| *field_id == SEQ);
        }
        if self.phase == Phase::Ok {
            if !is_new {
                return Err(format!("{seq} comes after {before}"));
            }
            if self.is_whole {
                self.check_fields()?;
            }
        }
        Ok(())
    }

    /// A state came; whether the stream is over.
    pub(crate) fn status(&mut self, state: State<'_>) -> Result<bool, String> {
        if state.stream != StreamState::OPEN {
            return Ok(true);
        }
        if self.is_useless(false) {
            // It may be asked for again, of itself.
            if state.data == DataState::SUSPECT {
                self.ask();
            }
            return Ok(false);
        }
        if state.data == DataState::SUSPECT {
            self.was_at = None;
            if self.phase == Phase::Ok {
                self.phase = Phase::Suspect;
            }
        }
        if state.data == DataState::OK && self.phase == Phase::Suspect {
            if self.is_whole {
                self.check_fields().map_err(|error| format!("OK again, but {error}"))?;
            }
            self.phase = Phase::Ok;
        }
        Ok(false)
    }

    /// A generic message came, which has a number of its own.
    pub(crate) fn generic(&mut self, number: u64) -> Result<(), String> {
        match self.generics.insert(number) {
            true => Ok(()),
            false => Err(format!("generic message {number} comes twice")),
        }
    }

    /// Its connection is lost: nothing of before comes any more.
    pub(crate) fn disconnected(&mut self) {
        self.begin_anew();
        (self.asked_of_standby, self.is_asked) = (0, true);
        if self.from == Data::HereSoon {
            self.from = Data::Here;
        }
    }

    /// The next thing with content is an image.
    fn begin_anew(&mut self) {
        self.phase = Phase::Waiting;
        self.resumptions = 0;
        self.next_part = None;
        self.is_whole = false;
        self.was_at = None;
        self.behind = None;
    }

    /// Another view was asked for: until its image, nobody knows which fields
    /// are kept up.
    pub(crate) const fn change_view(&mut self, has_view: bool) {
        if has_view != self.has_view {
            self.change = Change::Awaited;
        }
        self.has_view = has_view;
    }

    /// A stream begins of which not all may be shown; or so it was until a moment ago,
    /// and the server may not know yet.
    pub(crate) const fn set_mask(&mut self, is_masked: bool, is_settled: bool) {
        self.is_masked = is_masked;
        if !is_settled && !self.has_view {
            (self.change, self.is_masking, self.is_remasked) = (Change::Unsure, true, true);
        }
    }

    /// Other fields are shown: with an image, unless the server hears of two changes at
    /// once that come to nothing.
    pub(crate) const fn change_mask(&mut self, is_masked: bool) {
        self.is_masked = is_masked;
        // A view has not this field in any case.
        if !self.has_view {
            self.is_remasked = self.is_changing();
            self.change = if self.is_remasked { Change::Unsure } else { Change::Awaited };
            self.is_masking = true;
        }
    }

    /// No image of an earlier mask is on its way any more.
    pub(crate) const fn settle_mask(&mut self) {
        self.is_remasked = false;
    }

    pub(crate) const fn is_changing(&self) -> bool {
        !matches!(self.change, Change::None)
    }

    pub(crate) const fn pause(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
        self.is_torn = true;
        self.resumptions += !is_paused as u32;
    }

    /// What it is behind its source by, if it is so since before a moment and
    /// nothing says so.
    pub(crate) fn is_stale(&mut self, truth: &Truth, now: Time, since: Time) -> Option<String> {
        let is_judged =
            self.phase == Phase::Ok && !self.is_paused && !self.is_changing() && !self.is_snapshot;
        if !is_judged {
            self.behind = None;
            return None;
        }
        let seq = self.seq().unwrap_or_default();
        if self.behind.is_some_and(|(_, then)| seq >= then) {
            self.behind = None;
        }
        let latest = truth.seq(self.item);
        if self.behind.is_none() && seq < latest {
            self.behind = Some((now, latest));
        }
        let (_, then) = self.behind.filter(|(at, _)| *at < since)?;
        Some(format!("{} is OK at {seq}, and its source was at {then} long ago", self.item))
    }

    /// Whether it is OK since before a moment although nobody had it since then.
    pub(crate) fn is_orphan(
        &mut self,
        is_held: impl FnOnce() -> bool,
        now: Time,
        since: Time,
    ) -> bool {
        let is_judged = self.phase == Phase::Ok && !self.is_snapshot && !is_held();
        self.unheld_since = self.unheld_since.or(Some(now)).filter(|_| is_judged);
        self.unheld_since.is_some_and(|at| at < since)
    }

    /// What keeps it from being what its source has.
    pub(crate) fn lacks(&self, truth: &Truth) -> Option<String> {
        if self.from == Data::Elsewhere {
            return None;
        }
        let wanted = truth.seq(self.item);
        if self.is_snapshot {
            return Some(format!("a snapshot of {} has no answer", self.item));
        }
        if self.is_paused {
            return None;
        }
        if self.phase != Phase::Ok {
            return Some(format!("{} is {:?}", self.item, self.phase));
        }
        if !self.is_whole {
            return Some(format!("{} has no end of its image", self.item));
        }
        if self.seq() != Some(wanted) {
            return Some(format!("{} is at {:?} and not at {wanted}", self.item, self.seq()));
        }
        if self.change == Change::Awaited {
            return Some(format!("{} has no image of its view", self.item));
        }
        self.check_fields().err().map(|error| format!("{}: {error}", self.item))
    }
}
