//! Who is shown what: where the core asks the policy.
//!
//! ```text
//!  request       service and name: no look at the item, refused at once
//!  join          the guard of an item that is known
//!  image, status a guard that is new: all watchers, once
//!  update        nothing, if it has no lock of its own
//! ```
//!
//! So whoever watches an item whose guard is known may see it, and an item whose
//! guard is not known has shown nothing yet.

use std::borrow::Cow;
use std::sync::Arc;

use tapeline_channel::SessionId;
use tapeline_entitle::{Contract, Denial, Kind, PostRight, ProfileId, Verdict};
use tapeline_omm::post::{Post, PostContent, PostRefusal, PostStream};
use tapeline_omm::view::FieldMask;
use tapeline_omm::{ItemKeyRef, is_administrative};
use tapeline_planted::planted;
use tapeline_rwf::{
    DataState, DataType, Encoded, Msg, PostMsg, PostUserRights, Priority, State, StatusMsg,
    StreamState,
};

use super::Core;
use super::entitlements::{Guard, Named};
use super::forms::Form;
use super::item::Item;
use super::services::Services;
use super::stream::{Entry, Stream};
use super::subscription::{Subscription, mode};
use crate::Outputs;

/// The field that holds an item's code where it has no lock.
const PROD_PERM: i16 = 1;

/// The state that tells of a denial.
pub(super) fn denied(denial: &Denial) -> State<'_> {
    State::new(StreamState::CLOSED, DataState::SUSPECT, denial.code, &denial.text)
}

/// An item as a policy knows it.
pub(super) fn named<'a>(services: &'a Services, key: &ItemKeyRef<'a>) -> Named<'a> {
    let service = key.service_id.and_then(|id| services.name(id));
    Named {
        service: service.map_or(Cow::Borrowed(""), |name| String::from_utf8_lossy(name)),
        domain: key.domain.0,
        name: String::from_utf8_lossy(key.name),
    }
}

/// The code in the field `PROD_PERM` of an image.
fn prod_perm(payload: &Encoded<'_>) -> Option<u32> {
    let fields = match payload.data_type() {
        DataType::FIELD_LIST => payload.field_list().ok()?,
        DataType::MAP => {
            let map = payload.map().ok()?;
            map.summary()?.field_list_with(&map.set_defs()).ok()?
        }
        _ => return None,
    };
    let value = fields.field(PROD_PERM).ok()??.typed(DataType::UINT).uint().ok()??;
    u32::try_from(value).ok()
}

impl Core {
    /// What the user of a mount may do.
    pub(super) fn profile_of(&mut self, session: SessionId) -> Option<ProfileId> {
        let Self { mounts, entitlements, .. } = self;
        entitlements.profile(mounts.get_mut(session)?.login.as_mut()?)
    }

    /// Whether a request is refused, whatever there is of the item.
    pub(super) fn denies_request<O: Outputs>(
        &mut self,
        session: SessionId,
        key: &ItemKeyRef<'_>,
        out: &mut O,
    ) -> Option<Denial> {
        if !self.entitlements.is_on() || is_administrative(key.domain) {
            return None;
        }
        // A service that nobody knows is refused as such.
        self.services.name(key.service_id?)?;
        let profile = self.profile_of(session);
        let verdict = self.entitlements.decide_request(profile, &named(&self.services, key));
        self.denial(session, key, Guard::Unknown, verdict, out)
    }

    /// Whether a newcomer on an item is refused.
    pub(super) fn denies_newcomer<O: Outputs>(
        &mut self,
        session: SessionId,
        slot: u32,
        out: &mut O,
    ) -> Option<Denial> {
        let item = self.items.get(slot)?;
        if !self.is_guarded(item)
            || self.items.guard(slot) == Guard::Unknown
            || planted!(UnlockedJoin)
        {
            return None;
        }
        let (key, guard) = (item.key.clone(), self.items.guard(slot));
        let verdict = self.verdict(session, slot, guard)?;
        self.denial(session, &key.as_ref(), guard, verdict, out)
    }

    fn denial<O: Outputs>(
        &mut self,
        session: SessionId,
        key: &ItemKeyRef<'_>,
        guard: Guard,
        verdict: Verdict,
        out: &mut O,
    ) -> Option<Denial> {
        let Verdict::Deny(denial) = verdict else { return None };
        self.statistics.opens_denied += 1;
        self.count_denial(session, key, guard);
        self.record(Kind::AccessDenied, (session, 0), (key, guard), Some(&denial), out);
        Some(denial)
    }

    /// Whether the policy has a say about an item.
    pub(super) fn is_guarded(&self, item: &Item) -> bool {
        self.entitlements.is_on() && !is_administrative(item.key.as_ref().domain)
    }

    /// Whether nothing of an item may be shown yet.
    pub(super) fn is_hidden(&self, slot: u32) -> bool {
        let item = self.items.get(slot);
        item.is_some_and(|item| self.is_guarded(item)) && self.items.guard(slot) == Guard::Unknown
    }

    /// What the policy says of an item with such a guard, for a mount that has it
    /// open or wants to.
    pub(super) fn verdict(
        &mut self,
        session: SessionId,
        slot: u32,
        guard: Guard,
    ) -> Option<Verdict> {
        let profile = self.profile_of(session);
        let Self { items, services, entitlements, .. } = self;
        let item = items.get(slot)?;
        let key = item.key.as_ref();
        Some(entitlements.decide_open(profile, &named(services, &key), guard))
    }

    /// Takes note of what an image or a status says of who may see the item.
    /// Whoever may not is taken off. What is not said stays as it was.
    ///
    /// Whether the item is still there.
    pub(super) fn note_guard<O: Outputs>(
        &mut self,
        slot: u32,
        lock: Option<&[u8]>,
        image: Option<&Encoded<'_>>,
        out: &mut O,
    ) -> bool {
        if self.items.get(slot).is_none_or(|item| !self.is_guarded(item)) {
            return true;
        }
        let before = self.items.guard(slot);
        let guard = match lock.filter(|lock| !lock.is_empty()) {
            Some(lock) if self.entitlements.is_lock(before, lock) => before,
            Some(lock) => self.entitlements.guard(lock),
            None => match (before, image) {
                (Guard::Lock(_) | Guard::Sealed, _) | (_, None) => before,
                (Guard::Unknown | Guard::Bare | Guard::ProdPerm(_), Some(image)) => {
                    let known = if before == Guard::Unknown { Guard::Bare } else { before };
                    match prod_perm(image) {
                        Some(code) => self.entitlements.guard_of_code(code),
                        None => known,
                    }
                }
            },
        };
        if guard != before {
            let kept = self.items.get_mut(slot).and_then(|item| item.image.as_mut());
            if let Some(kept) = kept.filter(|kept| image.is_none() && kept.is_restricted()) {
                // It has updates that had the lock of before as their own: whoever comes
                // gets an image of the hub's.
                kept.clear();
            }
            self.change_guard(slot, guard, out);
        }
        self.items.get(slot).is_some()
    }

    /// A stream ends, as its user may not see the item with such a guard.
    pub(super) fn take_off<O: Outputs>(
        &mut self,
        (session, stream_id): (SessionId, i32),
        denial: &Denial,
        guard: Guard,
        out: &mut O,
    ) {
        let Some((slot, cell)) = self.item_on(session, stream_id) else { return };
        let Some(item) = self.items.get(slot) else { return };
        let domain = item.key.as_ref().domain;
        let status = StatusMsg { state: Some(denied(denial)), ..StatusMsg::new(domain, 0) };
        // One of half a million that end at once: without a need its name is not copied.
        if out.keeps_records() || self.entitlements.has_products() {
            let (key, of) = (item.key.clone(), (session, stream_id));
            self.count_denial(session, &key.as_ref(), guard);
            self.record(Kind::AccessDenied, of, (&key.as_ref(), guard), Some(denial), out);
        } else {
            self.mounts.deny(session);
        }
        self.variants.begin();
        self.send_status(slot, cell, &status, out);
        self.remove_stream(session, stream_id, out);
    }

    /// Looks at one stream of a mount again, by the policy that is in force now.
    pub(super) fn review_stream<O: Outputs>(
        &mut self,
        session: SessionId,
        stream_id: i32,
        out: &mut O,
    ) {
        let Some((slot, _)) = self.item_on(session, stream_id) else { return };
        if self.items.get(slot).is_none_or(|item| !self.is_guarded(item)) {
            return;
        }
        let guard = self.items.guard(slot);
        if let Some(Verdict::Deny(denial)) = self.verdict(session, slot, guard) {
            self.statistics.streams_revoked += 1;
            return self.take_off((session, stream_id), &denial, guard, out);
        }
        self.record_further(session, stream_id, out);
        self.review_mask(session, stream_id, out);
    }

    /// A stream shows other fields, or has another quality, by the policy that is in force
    /// now: from here on, and with an image that says so.
    pub(super) fn review_mask<O: Outputs>(
        &mut self,
        session: SessionId,
        stream_id: i32,
        out: &mut O,
    ) {
        let (mask, interval_ms) = (self.mask_of(session), self.interval_ms_of(session));
        let Some((slot, cell)) = self.item_on(session, stream_id) else { return };
        let Self { mounts, items, .. } = self;
        let (Some(mount), Some(item)) = (mounts.get_mut(session), items.known_mut(slot)) else {
            return;
        };
        let form = item.watchers.form_at(cell).cloned().unwrap_or(Form::PLAIN);
        let is_streaming = item.watchers.subscription(cell).is_some_and(Subscription::is_streaming);
        let interval_ms = interval_ms.filter(|_| is_streaming);
        if form.mask == mask && form.interval_ms == interval_ms {
            return;
        }
        let has_other_fields = form.mask != mask;
        mount.set_form(&mut item.watchers, cell, Form { mask, interval_ms, ..form });
        let is_private = item.is_private;
        let is_paused = mount.streams.item(stream_id).is_some_and(|it| it.state.is_paused());
        self.statistics.streams_masked += u64::from(has_other_fields);
        let Some(watcher) = self.watcher(slot, cell) else { return };
        if planted!(UnmaskedImage) {
            return;
        }
        if is_private {
            // The image of the resume has them.
            if !is_paused {
                self.reissue_upstream(slot, true, out);
            }
            return;
        }
        if watcher.has(mode::LIVE) || watcher.has(mode::MERGED) || watcher.has(mode::IN_IMAGE) {
            self.put_image_off(slot, cell);
            // Before another policy takes it away.
            self.begin_draining(session, out);
        }
    }

    /// The fields that the user of a mount is shown; `None` for all.
    pub(super) fn mask_of(&mut self, session: SessionId) -> Option<Arc<FieldMask>> {
        let profile = self.profile_of(session);
        let (policy, profile) = self.entitlements.policy().zip(profile)?;
        policy.field_mask(profile).cloned()
    }

    /// Whether updates for a mount that does not keep up are merged; if not, it is cut
    /// when its output is full. What a role says comes before the configuration.
    pub(super) fn merges_for(&mut self, session: SessionId) -> bool {
        match self.contract_of_roles(session) {
            None => self.config.conflation,
            Some(contract) => contract != Contract::Every,
        }
    }

    /// The contract that the roles of a mount's user name.
    pub(super) fn contract_of_roles(&mut self, session: SessionId) -> Option<Contract> {
        let profile = self.profile_of(session);
        let (policy, profile) = self.entitlements.policy().zip(profile)?;
        policy.contract(profile)
    }

    /// Whether a mount that sees an item may see what has this lock of its own.
    pub(super) fn opens(&mut self, session: SessionId, lock: &[u8]) -> bool {
        let profile = self.profile_of(session);
        self.entitlements.opens(profile, lock)
    }

    /// The most items that a user may have by his roles.
    pub(super) fn item_limit_of(&mut self, session: SessionId) -> usize {
        let profile = self.profile_of(session);
        let limit = self.entitlements.policy().zip(profile);
        let limit = limit.and_then(|(policy, profile)| policy.item_limit(profile));
        limit.map_or(usize::MAX, |limit| limit as usize)
    }

    /// A priority, of the highest class that a user may have by the configuration and
    /// by his roles.
    pub(super) fn priority_of(
        &mut self,
        session: SessionId,
        wanted: Option<Priority>,
    ) -> Option<Priority> {
        let profile = self.profile_of(session);
        let most = self.entitlements.policy().zip(profile);
        let most = most.and_then(|(policy, profile)| policy.max_priority_class(profile));
        let of_roles = most.and_then(|most| u8::try_from(most).ok());
        let own = self.limits_of(session).and_then(|own| own.max_priority_class);
        let most = of_roles.unwrap_or(u8::MAX).min(own.unwrap_or(u8::MAX));
        wanted.map(|wanted| Priority { class: wanted.class.min(most), ..wanted })
    }

    /// Whether the user of a mount may post this.
    pub(super) fn entitle_post<O: Outputs>(
        &mut self,
        session: SessionId,
        post: &PostMsg<'_>,
        out: &mut O,
    ) -> Result<(), PostRefusal> {
        if !self.entitlements.is_on() {
            return Ok(());
        }
        let stream = self.mounts.get(session).and_then(|it| it.streams.get(post.stream_id));
        let (is_on_stream, key) = match stream {
            Some(Entry::Item(stream)) => {
                let item = self.items.get(stream.slot);
                (true, item.map(|item| item.key.clone()))
            }
            Some(Entry::Other(Stream::Login)) => {
                let item = Post::check(post, PostStream::Login)?.item;
                (false, item.map(|item| item.to_owned()))
            }
            _ => (false, None),
        };
        // Where a post cannot go, it is refused for that.
        let Some(key) = key else { return Ok(()) };
        let stream = if is_on_stream { PostStream::Item } else { PostStream::Login };
        let checked = Post::check(post, stream)?;
        let profile = self.profile_of(session);
        let Self { services, entitlements, .. } = self;
        let item = named(services, &key.as_ref());
        let is_allowed = rights(&checked, post, is_on_stream)
            .all(|right| entitlements.may_post(profile, &item, right));
        let kind = if is_allowed { Kind::InsertStart } else { Kind::InsertDenied };
        let of = (session, post.stream_id);
        self.record(kind, of, (&key.as_ref(), Guard::Unknown), None, out);
        match is_allowed {
            true => Ok(()),
            false => {
                self.statistics.posts_denied += 1;
                Err(PostRefusal::NotEntitled)
            }
        }
    }
}

/// The rights that a post takes.
fn rights(
    checked: &Post<'_>,
    post: &PostMsg<'_>,
    is_on_stream: bool,
) -> impl Iterator<Item = PostRight> {
    let needed = checked.needed_rights(post, true);
    let is_image = matches!(checked.content, PostContent::Msg(Msg::Refresh(_)));
    let is_delete = needed.contains(PostUserRights::DELETE);
    let content = match () {
        () if is_delete => PostRight::Delete,
        () if is_image && !is_on_stream => PostRight::Create,
        () => PostRight::Modify,
    };
    let permission = needed.contains(PostUserRights::MODIFY_PERM);
    [Some(content), permission.then_some(PostRight::ModifyPermission)].into_iter().flatten()
}
