//! Mounts: the connections of consumers.

use std::collections::{BTreeSet, VecDeque};
use std::hash::BuildHasher;
use std::net::SocketAddr;
use std::sync::Arc;

use tapeline_channel::SessionId;
use tapeline_omm::login::{LoginRequest, user_name_type};
use tapeline_omm::stream::RecoveryPolicy;
use tapeline_omm::{SeededHash, Text};
use tapeline_time::Time;

use super::batch::Batched;
use super::entitlements::{Identity, Profile};
use super::forms::{Form, MAX_VIEW_BYTES};
use super::identify::Asking;
use super::item::Item;
use super::map::Map;
use super::owed::Owed;
use super::pacing::Pacing;
use super::preempt::Priorities;
use super::roles::Roles;
use super::round_trips::RoundTrip;
use super::rows::Cell;
use super::standings::Standings;
use super::stream::{Entry, Stream, UNASKED_LOGIN_STREAM};
use super::streams::Streams;
use super::subscription::Subscription;
use super::turns::Turns;
use super::users::{Asked, Users};
use super::watchers::{Watcher, Watchers};
use crate::seats::SeatId;
use crate::siblings::SharedCount;

/// Why updates for a mount do not go straight out: bits of its gate.
pub(super) mod gate {
    /// It reads too slowly: updates are merged.
    pub(in crate::core) const SLOW: u32 = 1;
    /// Its login is paused: updates are left out.
    pub(in crate::core) const PAUSED: u32 = 2;
    /// Its login wants some types of updates only.
    pub(in crate::core) const FILTERED: u32 = 4;
    /// It is gone, and its subscriptions are being taken away.
    pub(in crate::core) const GONE: u32 = 8;
    /// Updates were left out, and some of its streams have yet to be put down
    /// for the image that makes up for them: see `refresh`.
    pub(in crate::core) const OUTDATED: u32 = 16;
    /// The server stands by for it, and some of its streams have yet to be
    /// held: see `standby`.
    pub(in crate::core) const HOLDING: u32 = 32;
    /// Its user's contract says how often a stream is updated: see `pacing`.
    pub(in crate::core) const PACED: u32 = 64;
}

/// The connection of a consumer.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts, in any combination")]
pub(super) struct Mount {
    pub(super) session: SessionId,
    /// What its subscriptions know it by.
    pub(super) number: u32,
    pub(super) peer: SocketAddr,
    pub(super) opened_at: Time,
    /// Where it is not treated like others.
    pub(super) traits: MountTraits,
    pub(super) login: Option<Login>,
    /// Which part the server plays for it, while it is logged in.
    pub(super) roles: Roles,
    /// It counts among the mounts for which the server stands by.
    is_on_standby: bool,
    /// It has logged in once, and counts among the mounts that there may be.
    pub(super) is_admitted: bool,
    pub(super) streams: Streams,
    /// Streams with the directory, in the order they were opened.
    pub(super) directories: Vec<i32>,
    /// Streams that count against the item limits.
    pub(super) item_count: usize,
    /// Streams that are neither login nor items.
    pub(super) admin_count: usize,
    /// Bytes of the views of its streams.
    view_bytes: usize,
    /// Whether its output is above the threshold,
    pub(super) is_slow: bool,
    /// and when it last came to be.
    pub(super) slow_since: Time,
    /// As it turned slow, updates for it began to be merged; otherwise it is cut when
    /// its output is full.
    pub(super) is_conflated: bool,
    /// Updates that came to it as one of several that were merged.
    pub(super) updates_merged: u64,
    /// What waits until it has drained.
    pub(super) owed: Owed,
    pub(super) pacing: Pacing,
    /// A batch that is not done.
    pub(super) batch: Option<Box<Batched>>,
    /// There is a job for its batches, and nothing is heard of it.
    pub(super) is_in_batch: bool,
    /// Streams from this one on may need an image before their next update.
    pub(super) outdated_from: Option<i32>,
    /// It was told what changed of the services up to here.
    pub(super) news_told: u64,
    /// Its login is being decided elsewhere.
    pub(super) asking: Option<Box<Asking>>,
    /// How much it wants its streams.
    pub(super) priorities: Priorities,
    /// How fast it asks, and what of it waits for its turn.
    pub(super) turns: Turns,
    /// How long it takes to answer, where that is measured.
    pub(super) round_trip: Option<Box<RoundTrip>>,
}

impl Mount {
    /// All its streams are closed.
    pub(super) fn forget_streams(&mut self) {
        self.streams = Streams::default();
        self.directories = Vec::new();
        (self.item_count, self.admin_count, self.view_bytes) = (0, 0, 0);
        self.owed.forget_all();
        self.pacing.forget_streams();
        self.turns.forget_streams();
        self.priorities = Priorities::default();
        self.outdated_from = None;
    }

    /// Bytes of the views of its streams.
    pub(super) const fn view_bytes(&self) -> usize {
        self.view_bytes
    }

    /// Whether its login is that of its handshake, and nothing was asked for.
    pub(super) fn is_logged_in_unasked(&self) -> bool {
        self.streams.len() == 1
            && matches!(self.streams.get(UNASKED_LOGIN_STREAM), Some(Entry::Other(Stream::Login)))
    }

    /// Sets the form in which a stream of the mount gets messages from now on:
    /// the one with all fields, if the mount has views enough.
    pub(super) fn set_form(&mut self, watchers: &mut Watchers, cell: Cell, form: Form) {
        let bytes = |watchers: &Watchers| watchers.form_at(cell).map_or(0, Form::view_bytes);
        let of_others = self.view_bytes.saturating_sub(bytes(watchers));
        let has_room = of_others + form.view_bytes() <= MAX_VIEW_BYTES;
        watchers.set_form(cell, if has_room { form } else { form.without_view() });
        self.view_bytes = of_others + bytes(watchers);
    }
}

/// Where a mount is not treated like others, because its client expects
/// something else. The default is what clients of RSSL expect.
#[expect(clippy::struct_excessive_bools, reason = "independent facts, in any combination")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MountTraits {
    /// It may have the same item open on several streams, whatever the
    /// configuration says: its client does not merge them.
    pub(crate) may_open_twice: bool,
    /// A stream that is used wrongly is closed for good, its login too: its
    /// client would use it in the same way again.
    pub(crate) misuse_closes: bool,
    /// Batches are answered with how many items they had, and so are closes
    /// of several streams, which others are not told of.
    pub(crate) batches_counted: bool,
    /// A dictionary is one message: of several parts, its client would keep
    /// the first.
    pub(crate) dictionary_whole: bool,
    /// A service that is down, and is not waited for, is one that its client
    /// is told is not known.
    pub(crate) down_is_unknown: bool,
}

/// Who is logged in on a mount.
#[derive(Debug)]
pub(super) struct Login {
    pub(super) request: LoginRequest,
    pub(super) policy: RecoveryPolicy,
    /// Whether permission data is sent.
    pub(super) with_perm_data: bool,
    /// All its items are paused.
    pub(super) is_paused: bool,
    /// Who it is, as the policy and the records have it.
    pub(super) identity: Arc<Identity>,
    /// What the user may do.
    pub(super) profile: Profile,
    /// Where the user sits, if seats are counted.
    pub(super) seat: Option<SeatId>,
    /// When the login is over unless it is renewed.
    pub(super) ends: Option<Time>,
}

impl Login {
    pub(super) fn new(
        request: LoginRequest,
        identity: Arc<Identity>,
        seat: Option<SeatId>,
    ) -> Self {
        let said = &request.attributes;
        Self {
            policy: RecoveryPolicy {
                single_open: said.wants_single_open(),
                allow_suspect_data: said.allows_suspect_data(),
            },
            with_perm_data: said.wants_permission_expressions(),
            // In a first login a pause is of no use: there is nothing to pause.
            is_paused: false,
            identity,
            profile: Profile::default(),
            seat,
            ends: None,
            request,
        }
    }

    /// What the user is counted by and known as: the name, or what stands for a token
    /// of which nobody was asked whose it is.
    pub(super) fn user(&self) -> &[u8] {
        self.identity.user.as_bytes()
    }

    /// The same as text.
    pub(super) fn shown_user(&self) -> Text {
        self.identity.user.as_str().into()
    }
}

/// The user that a request names: a token is a credential, and what is kept and shown
/// is a number that stands for it while the program runs.
pub(super) fn shown_user(request: &LoginRequest) -> Text {
    let token = request.attributes.authentication_token.as_ref();
    match token {
        Some(token) if request.effective_name_type() == user_name_type::AUTHN_TOKEN => {
            let number = SeededHash.hash_one(token.as_bytes());
            format!("token-{number:016x}").as_str().into()
        }
        _ => request.user_name.clone(),
    }
}

/// What an update has to know of a mount.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gate {
    session: SessionId,
    /// Why updates do not go straight out: bits of [`gate`].
    shut: u32,
}

impl Gate {
    /// Nobody is behind it.
    const GONE: Self =
        Self { session: SessionId { index: u32::MAX, generation: u32::MAX }, shut: gate::GONE };

    /// Whether there is somebody behind it.
    pub(super) const fn is_there(self) -> bool {
        self.shut & gate::GONE == 0
    }

    /// The session behind the gate, if updates go straight out.
    #[inline]
    pub(super) const fn open(self) -> Option<SessionId> {
        match self.shut {
            0 => Some(self.session),
            _ => None,
        }
    }
}

/// No mount.
const NONE: u32 = u32::MAX;

/// All mounts.
///
/// A mount has a number of its own, by which its subscriptions know it. When it leaves,
/// or logs out, the number stays taken until the last of its subscriptions is: that may
/// take a while, and its session's index is used again at once.
#[derive(Debug, Default)]
pub(super) struct Mounts {
    /// By number.
    table: Vec<Option<Box<Mount>>>,
    /// By number.
    pub(super) gates: Vec<Gate>,
    /// Numbers that are free, the lowest first: subscriptions of mounts that come one
    /// after the other are then in order.
    free: BTreeSet<u32>,
    /// Numbers by the index of the session.
    numbers: Vec<u32>,
    pub(super) count: usize,
    /// Those for which the server stands by with a service.
    pub(super) on_standby: usize,
    /// Those that have logged in once.
    pub(super) admitted: SharedCount,
    pub(super) users: Users,
    pub(super) standings: Standings,
    /// Mounts without a login, oldest first; those that have one or are gone
    /// are passed over.
    pub(super) without_login: VecDeque<(Time, SessionId)>,
}

impl Mounts {
    fn number(&self, session: SessionId) -> Option<usize> {
        let number = *self.numbers.get(session.index as usize)?;
        let gate = self.gates.get(number as usize)?;
        (gate.session == session).then_some(number as usize)
    }

    pub(super) fn get(&self, session: SessionId) -> Option<&Mount> {
        self.table.get(self.number(session)?)?.as_deref()
    }

    pub(super) fn get_mut(&mut self, session: SessionId) -> Option<&mut Mount> {
        let number = self.number(session)?;
        self.table.get_mut(number)?.as_deref_mut()
    }

    /// Whether there is a number for one more.
    pub(super) fn has_number(&self) -> bool {
        !self.free.is_empty() || self.table.len() < Subscription::MOUNTS as usize
    }

    /// A number that no mount and no subscription has.
    fn take_number(&mut self) -> u32 {
        self.free.pop_first().unwrap_or_else(|| {
            self.table.push(None);
            self.gates.push(Gate::GONE);
            self.table.len() as u32 - 1
        })
    }

    /// The last subscription that knew a mount by this number is taken away.
    pub(super) fn free_number(&mut self, number: u32) {
        debug_assert!(self.table[number as usize].is_none(), "the mount is gone before");
        self.free.insert(number);
    }

    pub(super) fn insert(&mut self, now: Time, session: SessionId, peer: SocketAddr) {
        let number = self.take_number();
        let index = session.index as usize;
        if index >= self.numbers.len() {
            self.numbers.resize(index + 1, NONE);
        }
        self.numbers[index] = number;
        let mount = Mount {
            session,
            number,
            peer,
            opened_at: now,
            traits: MountTraits::default(),
            login: None,
            roles: Roles::default(),
            is_on_standby: false,
            is_admitted: false,
            streams: Streams::default(),
            directories: Vec::new(),
            item_count: 0,
            admin_count: 0,
            view_bytes: 0,
            is_slow: false,
            is_conflated: false,
            slow_since: Time::ZERO,
            updates_merged: 0,
            owed: Owed::default(),
            pacing: Pacing::default(),
            batch: None,
            is_in_batch: false,
            asking: None,
            round_trip: None,
            priorities: Priorities::default(),
            turns: Turns::default(),
            outdated_from: None,
            news_told: 0,
        };
        self.table[number as usize] = Some(Box::new(mount));
        self.gates[number as usize] = Gate { session, shut: 0 };
        self.count += 1;
        self.without_login.push_back((now, session));
    }

    /// Where a mount is not treated like others. One that is gone has no traits.
    pub(super) fn traits(&self, session: SessionId) -> MountTraits {
        self.get(session).map_or_else(MountTraits::default, |mount| mount.traits)
    }

    /// All that are there.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Mount> {
        self.table.iter().flatten().map(|mount| &**mount)
    }

    /// Panics where numbers, gates, counts and mounts contradict each other.
    /// `leaving`: numbers of mounts that are gone and still have subscriptions.
    pub(super) fn check(&self, leaving: &BTreeSet<u32>) {
        assert_eq!(self.gates.len(), self.table.len(), "gates and mounts");
        for (number, (mount, gate)) in (0..).zip(self.table.iter().zip(&self.gates)) {
            let Some(mount) = mount else {
                assert!(!gate.is_there(), "nobody is behind the gate {number}");
                let is_free = self.free.contains(&number);
                assert!(is_free != leaving.contains(&number), "number {number}, free: {is_free}");
                continue;
            };
            assert!(gate.is_there() && gate.session == mount.session, "{gate:?} of {number}");
            assert_eq!(mount.number, number, "the number of {:?}", mount.session);
            assert_eq!(self.number(mount.session), Some(number as usize), "{:?}", mount.session);
            assert!(!self.free.contains(&number) && !leaving.contains(&number), "number {number}");
        }
        let known = self.numbers.iter().filter(|number| **number != NONE).count();
        let there = self.iter().count();
        let admitted = self.iter().filter(|mount| mount.is_admitted).count();
        let on_standby = self.iter().filter(|mount| mount.roles.has_standby()).count();
        assert_eq!(self.on_standby, on_standby, "mounts for which the server stands by");
        assert_eq!(
            (known, self.count, self.admitted.own()),
            (there, there, admitted),
            "counts of mounts"
        );
        self.check_logins();
    }

    /// Users and what they have; mounts that have to log in yet.
    fn check_logins(&self) {
        let mut users = Map::<Text, (usize, usize)>::default();
        for mount in self.iter() {
            if let Some(login) = &mount.login {
                let user = users.entry(login.user().into()).or_default();
                *user = (user.0 + 1, user.1 + mount.item_count);
            } else {
                let waits = (mount.opened_at, mount.session);
                assert!(self.without_login.contains(&waits), "nobody waits for a login: {waits:?}");
            }
        }
        self.users.check(&users);
    }

    /// Takes a mount out. Its number is free when it is
    /// [said so](Self::free_number).
    pub(super) fn remove(&mut self, session: SessionId) -> Option<Box<Mount>> {
        let number = self.number(session)?;
        let mount = self.table.get_mut(number)?.take()?;
        self.gates[number] = Gate::GONE;
        self.numbers[session.index as usize] = NONE;
        self.count -= 1;
        self.on_standby -= usize::from(mount.is_on_standby);
        self.admitted.sub(usize::from(mount.is_admitted));
        Some(mount)
    }

    /// Has a mount go by another number. The one it had is still that of its
    /// subscriptions, as of a mount that is gone.
    pub(super) fn renumber(&mut self, session: SessionId) -> Option<u32> {
        let before = self.number(session)?;
        let after = self.take_number();
        let mut mount = self.table.get_mut(before)?.take()?;
        mount.number = after;
        self.table[after as usize] = Some(mount);
        self.gates[after as usize] = self.gates[before];
        self.gates[before] = Gate::GONE;
        self.numbers[session.index as usize] = after;
        if let Some(place) = self.standings.leave(before as u32) {
            self.standings.enter(after, place);
        }
        Some(before as u32)
    }

    /// Numbers that mounts may have are below this one.
    pub(super) fn numbers(&self) -> u32 {
        self.table.len() as u32
    }

    /// The roles of a mount changed.
    pub(super) fn note_roles(&mut self, session: SessionId) {
        let number = self.number(session);
        let mount = number.and_then(|number| self.table.get_mut(number)?.as_deref_mut());
        let Some(mount) = mount else { return };
        let was_on_standby = mount.is_on_standby;
        mount.is_on_standby = mount.roles.has_standby();
        self.on_standby += usize::from(mount.is_on_standby);
        self.on_standby -= usize::from(was_on_standby);
    }

    /// The gate of a mount: why updates do not go straight out.
    pub(super) fn gate(&self, session: SessionId) -> u32 {
        self.number(session).map_or(0, |number| self.gates[number].shut)
    }

    pub(super) fn set_gate(&mut self, session: SessionId, bits: u32, is_set: bool) {
        let Some(number) = self.number(session) else { return };
        let shut = &mut self.gates[number].shut;
        *shut = if is_set { *shut | bits } else { *shut & !bits };
    }

    /// The session of the mount that has a number, if it is not gone.
    pub(super) fn session_of(&self, number: u32) -> Option<SessionId> {
        let gate = self.gates.get(number as usize)?;
        gate.is_there().then_some(gate.session)
    }

    /// The session, of whatever generation, that has an index.
    pub(super) fn session_at(&self, index: u32) -> Option<SessionId> {
        let number = *self.numbers.get(index as usize)?;
        Some(self.table.get(number as usize)?.as_ref()?.session)
    }

    /// The mount that has a subscription.
    pub(super) fn mount_of_mut(&mut self, subscription: Subscription) -> Option<&mut Mount> {
        self.table.get_mut(subscription.mount() as usize)?.as_deref_mut()
    }

    /// The watcher of an item in a cell. `None` also when its mount is gone.
    #[inline]
    pub(super) fn watcher(&self, item: &Item, cell: Cell) -> Option<Watcher> {
        item.watchers.at(cell, |subscription| self.session_of(subscription.mount()))
    }

    /// A mount is logged in as a user that is known.
    pub(super) fn enter(&mut self, number: u32, user: &[u8]) {
        match self.users.place(user) {
            Some(place) => self.standings.enter(number, place),
            None => debug_assert!(false, "the user of a mount is known"),
        }
    }

    /// The mounts of a user, the last one that came first.
    pub(super) fn of_user(&self, user: &[u8]) -> impl Iterator<Item = &Mount> {
        let numbers = self.users.place(user).map(|place| self.standings.mounts_of(place));
        numbers
            .into_iter()
            .flatten()
            .filter_map(|number| self.table.get(number as usize)?.as_deref())
    }

    /// Counts an item of a user, or one fewer, that is not at its service yet.
    pub(super) fn count_item(&mut self, session: SessionId, opened: bool) {
        self.count(session, opened, |_, _| {});
    }

    /// Counts a stream on an item, for an image alone or with a view.
    pub(super) fn count_open(&mut self, session: SessionId, is_snapshot: bool, has_view: bool) {
        self.count(session, true, |asked, is_recoverable| {
            asked.opens += 1;
            asked.snapshots += u64::from(is_snapshot);
            asked.views += u64::from(has_view);
            asked.recoverable += u64::from(is_recoverable);
        });
    }

    /// A stream on an item ends.
    pub(super) fn count_close(&mut self, session: SessionId) {
        self.count(session, false, |asked, is_recoverable| {
            asked.closes += 1;
            asked.recoverable_closes += u64::from(is_recoverable);
        });
    }

    fn count(&mut self, session: SessionId, opened: bool, note: impl FnOnce(&mut Asked, bool)) {
        let number = self.number(session);
        let mount = number.and_then(|number| self.table.get_mut(number)?.as_deref_mut());
        let Some(mount) = mount else { return };
        let change = |count: &mut usize| match opened {
            true => *count += 1,
            false => *count = count.saturating_sub(1),
        };
        change(&mut mount.item_count);
        if let Some(login) = &mount.login {
            let note = |asked: &mut Asked| note(asked, login.policy.single_open);
            match opened {
                true => self.users.open_item(login.user(), note),
                false => self.users.close_items(login.user(), 1, note),
            }
        }
    }

    /// The policy denies the user of a mount an item, or takes one away.
    pub(super) fn deny(&mut self, session: SessionId) {
        let number = self.number(session);
        let mount = number.and_then(|number| self.table.get(number)?.as_deref());
        if let Some(login) = mount.and_then(|mount| mount.login.as_ref()) {
            self.users.deny(login.user());
        }
    }

    /// The items of a mount do not count any more among those of its user.
    pub(super) fn uncount_items(&mut self, session: SessionId) {
        let Self { users, .. } = self;
        let number = self.numbers.get(session.index as usize);
        let mount = number.and_then(|number| self.table.get(*number as usize)?.as_deref());
        let Some(mount) = mount.filter(|mount| mount.session == session) else { return };
        if let Some(login) = &mount.login {
            let (count, is_recoverable) = (mount.item_count as u64, login.policy.single_open);
            users.close_items(login.user(), mount.item_count, |asked| {
                asked.closes += count;
                asked.recoverable_closes += if is_recoverable { count } else { 0 };
            });
        }
    }

    /// Items that the user of a mount has open.
    pub(super) fn items_of_user(&self, session: SessionId) -> usize {
        let login = self.get(session).and_then(|mount| mount.login.as_ref());
        login.map_or(0, |login| self.users.items_of(login.user()))
    }
}
