//! Mounts: the connections of consumers.

use std::collections::VecDeque;
use std::net::SocketAddr;

use tapeline_channel::SessionId;
use tapeline_omm::Text;
use tapeline_omm::login::{LoginRequest, user_name_type};
use tapeline_omm::stream::RecoveryPolicy;
use tapeline_rssl::Time;

use super::dictionary::Download;
use super::forms::{Form, MAX_VIEW_BYTES};
use super::item::Item;
use super::map::Map;
use super::rows::Place;
use super::slow::Conflated;
use super::stream::{COOKIE_LOGIN_STREAM, Entry, Stream};
use super::streams::Streams;
use super::watchers::{Watcher, Watchers};

/// Why updates for a mount do not go straight out: bits of its gate.
pub(super) mod gate {
    /// It reads too slowly: updates are merged.
    pub(in crate::core) const SLOW: u32 = 1;
    /// Its login is paused, or it stands by: updates are left out.
    pub(in crate::core) const PAUSED: u32 = 2;
    /// Its login wants some types of updates only.
    pub(in crate::core) const FILTERED: u32 = 4;
}

/// The connection of a consumer.
#[derive(Debug)]
pub(super) struct Mount {
    pub(super) session: SessionId,
    pub(super) peer: SocketAddr,
    pub(super) opened_at: Time,
    /// Its words are JSON: see the door.
    pub(super) speaks_json: bool,
    pub(super) login: Option<Login>,
    pub(super) streams: Streams,
    /// Streams with the directory, in the order they were opened.
    pub(super) directories: Vec<i32>,
    /// Streams that count against the item limits.
    pub(super) item_count: usize,
    /// Streams that are neither login nor items.
    pub(super) admin_count: usize,
    /// Bytes of the views of its streams.
    view_bytes: usize,
    /// Whether its output is above the threshold.
    pub(super) is_slow: bool,
    /// Updates that wait, merged, by stream.
    pub(super) conflated: Map<i32, Conflated>,
    /// The streams of `conflated`, first to wait first.
    pub(super) conflated_order: VecDeque<i32>,
    /// Streams whose image waits until the output has drained.
    pub(super) late_images: VecDeque<i32>,
    /// Dictionaries that are being sent.
    pub(super) downloads: VecDeque<Download>,
}

impl Mount {
    /// Whether its login is that of its handshake, and nothing was asked for.
    pub(super) fn is_logged_in_by_cookies_alone(&self) -> bool {
        self.streams.len() == 1
            && matches!(self.streams.get(COOKIE_LOGIN_STREAM), Some(Entry::Other(Stream::Login)))
    }

    /// Sets the form in which a stream of the mount gets messages from now on:
    /// the one with all fields, if the mount has views enough.
    pub(super) fn set_form(&mut self, watchers: &mut Watchers, place: Place, form: Form) {
        let bytes = |watchers: &Watchers| watchers.form_at(place).map_or(0, Form::view_bytes);
        let of_others = self.view_bytes.saturating_sub(bytes(watchers));
        let has_room = of_others + form.view_bytes() <= MAX_VIEW_BYTES;
        watchers.set_form(place, if has_room { form } else { form.without_view() });
        self.view_bytes = of_others + bytes(watchers);
    }
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
    /// The server stands by for this client: updates are held back.
    pub(super) is_standby: bool,
}

impl Login {
    pub(super) fn new(request: LoginRequest) -> Self {
        let said = &request.attributes;
        Self {
            policy: RecoveryPolicy {
                single_open: said.wants_single_open(),
                allow_suspect_data: said.allows_suspect_data(),
            },
            with_perm_data: said.wants_permission_expressions(),
            // In a first login a pause is of no use: there is nothing to pause.
            is_paused: false,
            is_standby: false,
            request,
        }
    }

    /// What the user is counted by: the name, or the token where that stands
    /// for it.
    pub(super) fn user(&self) -> &[u8] {
        user_of(&self.request)
    }
}

/// What the user of a request is counted by.
pub(super) fn user_of(request: &LoginRequest) -> &[u8] {
    let token = request.attributes.authentication_token.as_ref();
    match token {
        Some(token) if request.effective_name_type() == user_name_type::AUTHN_TOKEN => {
            token.as_bytes()
        }
        _ => &request.user_name,
    }
}

/// What one user has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct User {
    pub(super) mounts: usize,
    pub(super) items: usize,
}

/// What an update has to know of a mount.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gate {
    /// The generation of its session.
    generation: u32,
    /// Why updates do not go straight out: bits of [`gate`].
    shut: u32,
}

impl Gate {
    /// The session behind the gate, given its index, if updates go straight
    /// out.
    #[inline]
    pub(super) const fn open(self, index: u32) -> Option<SessionId> {
        match self.shut {
            0 => Some(SessionId { index, generation: self.generation }),
            _ => None,
        }
    }
}

/// All mounts.
#[derive(Debug, Default)]
pub(super) struct Mounts {
    /// By the index of the session.
    table: Vec<Option<Box<Mount>>>,
    /// By the index of the session.
    pub(super) gates: Vec<Gate>,
    pub(super) count: usize,
    pub(super) users: Map<Text, User>,
    /// Mounts without a login, oldest first; those that have one or are gone
    /// are passed over.
    pub(super) without_login: VecDeque<(Time, SessionId)>,
}

impl Mounts {
    pub(super) fn get(&self, session: SessionId) -> Option<&Mount> {
        let mount = self.table.get(session.index as usize)?.as_deref()?;
        (mount.session == session).then_some(mount)
    }

    pub(super) fn get_mut(&mut self, session: SessionId) -> Option<&mut Mount> {
        let mount = self.table.get_mut(session.index as usize)?.as_deref_mut()?;
        (mount.session == session).then_some(mount)
    }

    pub(super) fn insert(&mut self, now: Time, session: SessionId, peer: SocketAddr) {
        let index = session.index as usize;
        if index >= self.table.len() {
            self.table.resize_with(index + 1, || None);
            self.gates.resize(index + 1, Gate::default());
        }
        let mount = Mount {
            session,
            peer,
            opened_at: now,
            speaks_json: false,
            login: None,
            streams: Streams::default(),
            directories: Vec::new(),
            item_count: 0,
            admin_count: 0,
            view_bytes: 0,
            is_slow: false,
            conflated: Map::default(),
            conflated_order: VecDeque::new(),
            late_images: VecDeque::new(),
            downloads: VecDeque::new(),
        };
        self.table[index] = Some(Box::new(mount));
        self.gates[index] = Gate { generation: session.generation, shut: 0 };
        self.count += 1;
        self.without_login.push_back((now, session));
    }

    pub(super) fn remove(&mut self, session: SessionId) -> Option<Box<Mount>> {
        self.get(session)?;
        let mount = self.table.get_mut(session.index as usize)?.take();
        self.gates[session.index as usize] = Gate::default();
        self.count -= 1;
        mount
    }

    /// The sessions of all mounts, by index.
    pub(super) fn sessions(&self) -> impl Iterator<Item = SessionId> + '_ {
        self.table.iter().flatten().map(|mount| mount.session)
    }

    /// The gate of a mount: why updates do not go straight out.
    pub(super) fn gate(&self, session: SessionId) -> u32 {
        self.gates.get(session.index as usize).map_or(0, |gate| gate.shut)
    }

    pub(super) fn set_gate(&mut self, session: SessionId, bits: u32, is_set: bool) {
        if self.get(session).is_none() {
            return;
        }
        let shut = &mut self.gates[session.index as usize].shut;
        *shut = if is_set { *shut | bits } else { *shut & !bits };
    }

    /// The session of the mount that has this index.
    pub(super) fn session_at(&self, index: u32) -> Option<SessionId> {
        Some(self.table.get(index as usize)?.as_ref()?.session)
    }

    /// The mount whose session has this index.
    pub(super) fn mount_at_mut(&mut self, index: u32) -> Option<&mut Mount> {
        self.table.get_mut(index as usize)?.as_deref_mut()
    }

    /// The watcher of an item at a place.
    #[inline]
    pub(super) fn watcher(&self, item: &Item, place: Place) -> Option<Watcher> {
        item.watchers
            .at(place, |index| self.gates.get(index as usize).map_or(0, |it| it.generation))
    }

    /// Counts an item of a user, or one fewer.
    pub(super) fn count_item(&mut self, session: SessionId, opened: bool) {
        let Some(mount) = self.table.get_mut(session.index as usize).and_then(Option::as_deref_mut)
        else {
            return;
        };
        let change = |count: &mut usize| match opened {
            true => *count += 1,
            false => *count = count.saturating_sub(1),
        };
        change(&mut mount.item_count);
        if let Some(user) = mount.login.as_ref().and_then(|login| self.users.get_mut(login.user()))
        {
            change(&mut user.items);
        }
    }

    /// Items that the user of a mount has open.
    pub(super) fn items_of_user(&self, session: SessionId) -> usize {
        let login = self.get(session).and_then(|mount| mount.login.as_ref());
        login.and_then(|login| self.users.get(login.user())).map_or(0, |user| user.items)
    }
}
