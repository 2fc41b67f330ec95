//! Updates of one stream merged into one.

use tapeline_rwf::{
    Conflation as ConflationInfo, Domain, EncodeError, Encoded, Encoder, MsgKey, PostUserInfo,
    UpdateFlags, UpdateMsg, UpdateType,
};

use crate::changes::Changes;
use crate::lengths::MAX_COUNT;
use crate::{CacheError, Limits};

/// Whether an update was merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "an update that was not merged has to be sent"]
pub enum Merged {
    /// It waits, merged with those before it.
    Yes,
    /// It cannot be merged: send what waits (see [`Conflation::take`]), then
    /// the update itself as it is.
    No,
    /// The same, because what waits would go beyond the limits: an image may
    /// be shorter.
    TooMuch,
}

/// Updates of one stream that are merged because its receiver is slow.
///
/// What the receiver ends with is what it would have with every update in
/// turn: field lists and element lists keep the last value of each entry, maps
/// and filter lists the outcome for each key, vectors and series all of their
/// entries in order. The merged update has the type of the updates, or
/// `MULTIPLE` if they differ, and the last sequence number.
///
/// Not merged are updates that say `DO_NOT_CONFLATE`; those that differ from
/// the waiting ones in permission data, in who posted them, in container type
/// or in `DO_NOT_CACHE` and `DO_NOT_RIPPLE`; those with an extended header;
/// those with partial updates of texts; those of kinds that cannot be merged;
/// and those that would go beyond the limits.
#[derive(Clone, Debug)]
pub struct Conflation {
    limits: Limits,
    changes: Changes,
    head: Head,
    perm_data: Vec<u8>,
    /// The payload while it is written.
    payload: Vec<u8>,
}

/// What the header of the merged update will say.
#[derive(Clone, Copy, Debug)]
struct Head {
    domain: Domain,
    update_type: UpdateType,
    flags: UpdateFlags,
    seq_num: Option<u32>,
    has_perm_data: bool,
    post_user_info: Option<PostUserInfo>,
    /// How many updates wait; 0 if none do.
    count: u16,
    first_ms: u64,
    last_ms: u64,
}

/// Flags that only updates of the same kind can be merged under.
const KIND: UpdateFlags = UpdateFlags::DO_NOT_CACHE.union(UpdateFlags::DO_NOT_RIPPLE);
/// The most updates that a header can say to be.
const MAX_CONFLATED: u16 = 0x7FFF;

/// How many updates one is that a source may have merged already.
fn count_of(update: &UpdateMsg<'_>) -> u16 {
    update.conflation.map_or(1, |info| info.count.max(1))
}

impl Head {
    const NOTHING: Self = Self {
        domain: Domain(0),
        update_type: UpdateType::UNSPECIFIED,
        flags: UpdateFlags::empty(),
        seq_num: None,
        has_perm_data: false,
        post_user_info: None,
        count: 0,
        first_ms: 0,
        last_ms: 0,
    };

    /// Takes over what the header of one more update says.
    fn add(&mut self, now_ms: u64, update: &UpdateMsg<'_>) {
        let time_ms = update.conflation.map_or(0, |info| info.time_ms);
        if self.count == 0 {
            self.domain = update.domain;
            self.update_type = update.update_type;
            self.flags = update.flags & (KIND | UpdateFlags::DISCARDABLE);
            self.first_ms = now_ms.saturating_sub(time_ms.into());
            self.has_perm_data = update.perm_data.is_some();
            self.post_user_info = update.post_user_info;
        }
        if self.update_type != update.update_type {
            self.update_type = UpdateType::MULTIPLE;
        }
        self.flags &= update.flags | KIND;
        self.seq_num = update.seq_num.or(self.seq_num);
        self.count = self.count.saturating_add(count_of(update)).min(MAX_CONFLATED);
        self.last_ms = now_ms.max(self.first_ms);
    }

    fn info(&self) -> ConflationInfo {
        let time_ms = self.last_ms - self.first_ms;
        ConflationInfo { count: self.count, time_ms: time_ms.min(u16::MAX.into()) as u16 }
    }
}

impl Conflation {
    /// Nothing waits. [`Limits::CONFLATION`] are the usual limits; a merged
    /// update has at most 65,535 entries whatever they say.
    pub fn new(limits: Limits) -> Self {
        let max_entries = limits.max_entries.min(MAX_COUNT);
        Self {
            limits: Limits { max_entries, ..limits },
            changes: Changes::Nothing,
            head: Head::NOTHING,
            perm_data: Vec::new(),
            payload: Vec::new(),
        }
    }

    /// Merges an update with those that wait; `now_ms` is of any clock that
    /// does not go back.
    pub fn merge(&mut self, now_ms: u64, update: &UpdateMsg<'_>) -> Merged {
        if !self.fits(update) {
            return Merged::No;
        }
        if self.is_empty() {
            if self.changes.begin(update.payload.data_type()).is_none() {
                return Merged::No;
            }
            self.perm_data.clear();
            self.perm_data.extend_from_slice(update.perm_data.unwrap_or_default());
        }
        match self.changes.merge(&update.payload, self.limits) {
            Ok(()) => {}
            Err(CacheError::TooManyBytes { .. } | CacheError::TooManyEntries { .. }) => {
                return Merged::TooMuch;
            }
            Err(_) => return Merged::No,
        }
        self.head.add(now_ms, update);
        Merged::Yes
    }

    /// Whether an update may be merged, as far as its header says.
    pub(crate) fn fits(&self, update: &UpdateMsg<'_>) -> bool {
        let is_alone =
            update.flags.contains(UpdateFlags::DO_NOT_CONFLATE) || update.extended_header.is_some();
        if is_alone || self.is_empty() {
            return !is_alone;
        }
        let perm_data = self.head.has_perm_data.then_some(self.perm_data.as_slice());
        self.head.domain == update.domain
            && self.head.flags & KIND == update.flags & KIND
            && perm_data == update.perm_data
            && self.head.post_user_info == update.post_user_info
            && self.changes.container_type() == update.payload.data_type()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.head.count == 0
    }

    /// How many updates wait as one; stays at 32,767 when there are more.
    pub fn count(&self) -> u16 {
        self.head.count
    }

    /// Whether a header can say how many updates wait if this one is merged, too.
    pub fn can_count(&self, update: &UpdateMsg<'_>) -> bool {
        self.head.count.saturating_add(count_of(update)) <= MAX_CONFLATED
    }

    /// Appends what waits to `out` as one encoded update, and forgets it.
    /// False when nothing waits.
    ///
    /// `key` is for requesters that want it in every response. With
    /// `conflation_info`, the update says how many it was and over which time.
    pub fn take(
        &mut self,
        stream_id: i32,
        key: Option<MsgKey<'_>>,
        conflation_info: bool,
        out: &mut Vec<u8>,
    ) -> bool {
        if self.is_empty() {
            return false;
        }
        let mut payload = core::mem::take(&mut self.payload);
        let update = self.update(&mut payload);
        let conflation = update.conflation.filter(|_| conflation_info);
        let update = UpdateMsg { stream_id, key, conflation, ..update };
        let is_written = append(&update, out).is_ok();
        self.payload = payload;
        self.clear();
        is_written
    }

    /// What waits as one update, with how many it was and over which time.
    /// `payload` is used where the content does not lie in one piece.
    pub(crate) fn update<'c>(&'c self, payload: &'c mut Vec<u8>) -> UpdateMsg<'c> {
        let head = &self.head;
        UpdateMsg {
            flags: head.flags,
            update_type: head.update_type,
            seq_num: head.seq_num,
            conflation: Some(head.info()),
            perm_data: head.has_perm_data.then_some(&self.perm_data),
            post_user_info: head.post_user_info,
            payload: Encoded::new(self.changes.container_type(), self.changes.encoded(payload)),
            ..UpdateMsg::new(head.domain, 0)
        }
    }

    /// Merges what waits in another one behind what waits here. An error leaves
    /// both of use: what was merged of the other is merged again in its turn.
    pub(crate) fn absorb(&mut self, later: &Self, payload: &mut Vec<u8>) -> Merged {
        let update = later.update(payload);
        self.merge(later.head.last_ms, &update)
    }

    /// Bytes of what waits, without what the memory allocator adds.
    pub fn bytes(&self) -> usize {
        self.changes.bytes() + self.perm_data.len()
    }

    /// Forgets what waits, as when a new image replaces it.
    pub fn clear(&mut self) {
        self.changes.clear();
        self.head.count = 0;
        self.head.seq_num = None;
    }
}

/// Appends an encoded message to a buffer that grows.
fn append(update: &UpdateMsg<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    /// More than any header needs without key and permission data.
    const HEADER: usize = 64;
    let start = out.len();
    let perm_len = update.perm_data.map_or(0, <[u8]>::len);
    let mut room = HEADER + perm_len + update.payload.bytes().len();
    loop {
        out.resize(start + room, 0);
        let mut encoder = Encoder::new(&mut out[start..]);
        match encoder.message(&(*update).into()).and_then(|()| encoder.finish()) {
            Ok(len) => {
                out.truncate(start + len);
                return Ok(());
            }
            Err(EncodeError::BufferTooSmall { missing }) => room += missing,
            Err(error) => {
                out.truncate(start);
                return Err(error);
            }
        }
    }
}
