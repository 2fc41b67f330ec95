//! The last value of one item.

use tapeline_omm::StateBuf;
use tapeline_planted::planted;
use tapeline_rwf::{
    DataState, DataType, FieldListInfo, PostUserInfo, Qos, RefreshFlags, RefreshMsg, State,
    StateCode, StatusFlags, StatusMsg, StreamState, UpdateFlags, UpdateMsg,
};

use crate::content::Content;
use crate::data::{Change, Keep};
use crate::{CacheError, FieldRules, Limits, Parts};

/// What a message did to an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// Its content was applied.
    Content,
    /// Only what its header says was applied: it has no content, its content
    /// is not to be cached, is of a kind that cannot be applied, or there is no
    /// image yet that it could change.
    HeadOnly,
}

/// The last value of one item: what a refresh for a newcomer is made of.
///
/// Feed it every refresh, update and status of the item's stream, in order;
/// ask [`is_complete`](Self::is_complete) before using it.
///
/// How messages are applied:
///
/// * A refresh with `CLEAR_CACHE` empties the image first; one without is
///   merged into it as an update would be. Parts are counted: a missing one is
///   an error. A refresh with `DO_NOT_CACHE` leaves an image that is not
///   complete.
/// * Updates are merged, unless they say `DO_NOT_CACHE`. Old values ripple by
///   the [`FieldRules`], unless the update says `DO_NOT_RIPPLE`.
/// * Field and element lists: the last value of each field or element. Maps:
///   `ADD` sets the entry, `UPDATE` merges into it (and adds it if it is not
///   there), `DELETE` removes it. Filter lists: likewise `SET`, `UPDATE`,
///   `CLEAR`. Vectors: by index, `INSERT` and `DELETE` move what is behind.
///   Series: entries are appended. Summary data is merged.
/// * Set-defined data becomes standard data, so that the image does not depend
///   on definitions. Containers as field values are replaced as a whole.
/// * Content of other kinds is kept as the last refresh gave it.
///
/// Order is kept: fields, elements and rows come out as they came in first.
///
/// ```
/// use tapeline_cache::{Image, Limits};
/// use tapeline_rwf::{DataType, Domain, Encoder, FieldListHead, Msg, Real};
/// use tapeline_rwf::{RefreshFlags, RefreshMsg, UpdateMsg};
///
/// fn quote<'b>(head: &Msg<'_>, bid: i64, buffer: &'b mut [u8]) -> Msg<'b> {
///     let mut encoder = Encoder::new(buffer);
///     let payload = encoder.begin(head, DataType::FIELD_LIST).expect("room");
///     let mut fields = payload.field_list(&FieldListHead::STANDARD).expect("room");
///     fields.put(22, Real::decimal(bid, 2)).expect("room");
///     fields.finish().expect("room");
///     Msg::decode(encoder.finish_bytes().expect("room")).expect("just written")
/// }
///
/// let mut image = Image::new(Limits::default());
/// let mut head = RefreshMsg::new(Domain::MARKET_PRICE, 5);
/// head.flags = RefreshFlags::REFRESH_COMPLETE | RefreshFlags::CLEAR_CACHE;
/// let mut buffer = [0; 128];
/// let Msg::Refresh(refresh) = quote(&head.into(), 4512, &mut buffer) else { unreachable!() };
/// image.refresh(&refresh)?;
/// let head = UpdateMsg::new(Domain::MARKET_PRICE, 5);
/// let Msg::Update(update) = quote(&head.into(), 4513, &mut buffer) else { unreachable!() };
/// image.update(&update, None)?;
///
/// assert!(image.is_complete());
/// let mut payload = Vec::new();
/// image.payload(&mut payload)?;
/// assert_eq!(payload, [0x08, 0, 1, 0, 22, 3, 12, 0x11, 0xA1]);
/// # Ok::<(), tapeline_cache::CacheError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Image {
    content: Content,
    limits: Limits,
    progress: Progress,
    state: StateBuf,
    group_id: Box<[u8]>,
    locks: Option<Box<Locks>>,
    qos: Option<Qos>,
    seq_num: Option<u32>,
    post_user_info: Option<PostUserInfo>,
}

/// Who may see an image.
#[derive(Clone, Debug, Default)]
struct Locks {
    /// The permission data of the item.
    item: Box<[u8]>,
    /// Those of the content, where updates brought more than the item demands.
    content: Option<Box<[u8]>>,
}

/// How much of the image is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// Nothing, or nothing of use: the next refresh begins from scratch.
    Nothing,
    /// Parts up to this number, exclusive.
    Parts(u16),
    /// All of it.
    Complete,
}

impl Image {
    /// An image of nothing: not complete, state open and suspect.
    pub fn new(limits: Limits) -> Self {
        Self {
            content: Content::Nothing,
            limits,
            progress: Progress::Nothing,
            state: StateBuf::new(StreamState::OPEN, DataState::SUSPECT, StateCode::NONE, ""),
            group_id: Box::default(),
            locks: None,
            qos: None,
            seq_num: None,
            post_user_info: None,
        }
    }

    /// Applies a refresh, or one part of it.
    ///
    /// # Errors
    /// The content is malformed or too much, or a part is missing; the header
    /// is applied nevertheless.
    pub fn refresh(&mut self, refresh: &RefreshMsg<'_>) -> Result<Applied, CacheError> {
        self.refresh_head(refresh);
        let applied = self.refresh_content(refresh);
        if applied.is_err() {
            self.clear();
        }
        applied
    }

    fn refresh_head(&mut self, refresh: &RefreshMsg<'_>) {
        self.state.apply(&refresh.state);
        replace(&mut self.group_id, refresh.group_id);
        if let Some(perm_data) = refresh.perm_data {
            self.set_perm_data(perm_data);
        }
        self.qos = refresh.qos.or(self.qos);
        self.seq_num = refresh.seq_num.or(self.seq_num);
        self.post_user_info = refresh.post_user_info;
    }

    fn refresh_content(&mut self, refresh: &RefreshMsg<'_>) -> Result<Applied, CacheError> {
        let flags = refresh.flags;
        if flags.contains(RefreshFlags::CLEAR_CACHE) {
            self.clear();
        }
        if flags.contains(RefreshFlags::DO_NOT_CACHE) {
            self.progress = Progress::Nothing;
            return Ok(Applied::HeadOnly);
        }
        let due = self.begin_part(refresh.part_num, refresh.payload.data_type())?;
        if refresh.payload.data_type() != DataType::NO_DATA {
            self.content.refresh(&refresh.payload, self.limits)?;
        }
        self.progress = match flags.contains(RefreshFlags::REFRESH_COMPLETE) {
            true => Progress::Complete,
            false => Progress::Parts(due.saturating_add(1)),
        };
        Ok(Applied::Content)
    }

    /// Gets ready for the part of this number, and returns which one it is.
    fn begin_part(
        &mut self,
        part_num: Option<u16>,
        container_type: DataType,
    ) -> Result<u16, CacheError> {
        let expected = match self.progress {
            Progress::Parts(next) => next,
            Progress::Nothing | Progress::Complete => 0,
        };
        let found = part_num.unwrap_or(expected);
        if found > expected {
            return Err(CacheError::MissedPart { expected, found });
        }
        if self.progress == Progress::Nothing {
            self.lift_restriction();
        }
        if found == 0 && container_type != DataType::NO_DATA {
            self.content.begin_refresh(self.progress == Progress::Nothing, container_type);
        }
        Ok(found)
    }

    /// Applies an update.
    ///
    /// # Errors
    /// The content is malformed, too much, or of another container type than
    /// the image.
    pub fn update(
        &mut self,
        update: &UpdateMsg<'_>,
        rules: Option<&dyn FieldRules>,
    ) -> Result<Applied, CacheError> {
        self.seq_num = update.seq_num.or(self.seq_num);
        let flags = update.flags;
        let is_content = !flags.contains(UpdateFlags::DO_NOT_CACHE)
            && !planted!(UncachedUpdate)
            && self.progress != Progress::Nothing
            && update.payload.data_type() != DataType::NO_DATA;
        if !is_content {
            return Ok(Applied::HeadOnly);
        }
        let ripple = !flags.contains(UpdateFlags::DO_NOT_RIPPLE);
        let change = Change { keep: Keep::Image, rules, ripple, limits: self.limits };
        let applied = self.content.update(&update.payload, &change);
        if applied.is_err() {
            self.clear();
        }
        applied
    }

    /// Applies a status: state, group and permission data as far as they are
    /// given. The key is ignored.
    pub fn status(&mut self, status: &StatusMsg<'_>) {
        if let Some(state) = &status.state {
            self.state.apply(state);
        }
        if let Some(group_id) = status.group_id {
            replace(&mut self.group_id, group_id);
        }
        if let Some(perm_data) = status.perm_data {
            self.set_perm_data(perm_data);
        }
        if status.flags.contains(StatusFlags::CLEAR_CACHE) {
            self.clear();
        }
    }

    /// Forgets the content; what headers said stays. The image is incomplete
    /// until the next refresh.
    pub fn clear(&mut self) {
        self.content = Content::Nothing;
        self.progress = Progress::Nothing;
        self.lift_restriction();
    }

    /// Says that the content may be shown only to those who have what these
    /// permission data demand: the item's, joined with those of an update that was
    /// applied. It holds until the content begins from scratch.
    pub fn restrict(&mut self, perm_data: &[u8]) {
        self.locks.get_or_insert_default().content = Some(perm_data.into());
    }

    fn lift_restriction(&mut self) {
        if let Some(locks) = &mut self.locks {
            locks.content = None;
        }
    }

    /// Whether the content demands more than the item.
    pub fn is_restricted(&self) -> bool {
        self.locks.as_ref().is_some_and(|locks| locks.content.is_some())
    }

    /// Sets the state, as when the source of the item is lost.
    pub fn set_state(&mut self, state: &State<'_>) {
        self.state.apply(state);
    }

    /// Permission data without a byte say nothing: the item keeps what it has.
    fn set_perm_data(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            replace(&mut self.locks.get_or_insert_default().item, bytes);
        }
    }

    /// Whether all parts of a refresh have been applied, and everything since.
    pub fn is_complete(&self) -> bool {
        self.progress == Progress::Complete
    }

    /// The state of the stream: that of the last refresh or status.
    pub fn state(&self) -> &StateBuf {
        &self.state
    }

    /// Whether a newcomer may be served from this image: complete, and the
    /// state open and ok.
    pub fn is_servable(&self) -> bool {
        let state = &self.state;
        self.is_complete() && state.stream == StreamState::OPEN && state.data == DataState::OK
    }

    /// The group of the item; empty if none was ever given.
    pub fn group_id(&self) -> &[u8] {
        &self.group_id
    }

    /// Permission data of the item, if there were any. Those of updates are not
    /// kept: who applies an update that has some says what becomes of the image,
    /// by [`restrict`](Self::restrict) or [`clear`](Self::clear).
    pub fn perm_data(&self) -> Option<&[u8]> {
        self.locks.as_ref().map(|locks| &*locks.item).filter(|bytes| !bytes.is_empty())
    }

    /// Permission data of the content: those of the item, unless it is
    /// [restricted](Self::restrict).
    pub fn content_perm_data(&self) -> Option<&[u8]> {
        let content = self.locks.as_ref().and_then(|locks| locks.content.as_deref());
        content.or_else(|| self.perm_data())
    }

    /// Quality of service that the last refresh gave.
    pub fn qos(&self) -> Option<Qos> {
        self.qos
    }

    /// The last sequence number of a refresh or update.
    pub fn seq_num(&self) -> Option<u32> {
        self.seq_num
    }

    /// Who posted the content of the last refresh.
    pub fn post_user_info(&self) -> Option<PostUserInfo> {
        self.post_user_info
    }

    /// The container type of the content; `NO_DATA` if there is none.
    pub fn container_type(&self) -> DataType {
        self.content.container_type()
    }

    /// Dictionary and record template of a field list.
    pub fn field_list_info(&self) -> Option<FieldListInfo> {
        self.content.field_list_info()
    }

    /// How many entries the content has: fields, rows, elements.
    pub fn entry_count(&self) -> usize {
        self.content.entry_count()
    }

    /// How many bytes the content has, without what the memory allocator adds.
    pub fn content_bytes(&self) -> usize {
        self.content.bytes()
    }

    /// Appends the whole content to `out`, as the payload of a refresh of
    /// [`container_type`](Self::container_type).
    ///
    /// # Errors
    /// [`CacheError::NeedsParts`] when one message cannot hold it: a map,
    /// vector or series of more than 65,535 entries, or content that cannot be
    /// applied and came in several parts. `out` is then unchanged.
    pub fn payload(&self, out: &mut Vec<u8>) -> Result<(), CacheError> {
        self.content.write(out)
    }

    /// The content as payloads of at most about `max_bytes` each, for a refresh
    /// of several parts. Maps, vectors and series are split between entries;
    /// all else is one part whatever its size.
    pub fn parts(&self, max_bytes: usize) -> Parts<'_> {
        Parts::new(&self.content, max_bytes)
    }
}

/// Replaces bytes, without allocating if they are the same.
fn replace(bytes: &mut Box<[u8]>, new: &[u8]) {
    if **bytes != *new {
        *bytes = new.into();
    }
}
