//! What an application asks of its consumer.

use std::sync::Arc;

use tapeline_omm::dictionary::FieldDictionary;
use tapeline_omm::directory::Directory;
use tapeline_omm::login::{LoginFeatures, WarmStandbyMode};
use tapeline_omm::stream::ToProvider;
use tapeline_rwf::{AckMsg, CloseMsg, Domain, MsgKey, PostFlags, PostMsg, PostUserInfo};
use tapeline_time::Time;

use super::core::{ConsumerCore, ConsumerOutputs, Fresh, Phase, ms};
use super::items::Wish;
use super::set::Peers;
use super::spec::{Handle, ItemChange, ItemInfo, ItemSpec, ServiceRef};
use super::streams::LOGIN_STREAM;
use crate::{ApiError, Flow, GenericHead, Login, Payload, PostHead};

/// The longest batch that goes into one request, in bytes of names with what
/// each takes beside itself: a length, or quotes and a comma.
const MAX_BATCH_BYTES: usize = 32_000;

/// What a name takes of [`MAX_BATCH_BYTES`].
const fn batch_bytes(name_bytes: usize) -> usize {
    name_bytes + 3
}

/// What an application can ask of its consumer, at any time and also while it
/// is told of an event.
pub struct Requests<'c> {
    pub(super) core: &'c mut ConsumerCore,
    pub(super) now: Time,
    pub(super) out: &'c mut dyn ConsumerOutputs,
    /// The rest of the set that the core is in.
    pub(super) peers: Option<Peers<'c>>,
}

impl<'c> Requests<'c> {
    #[inline]
    pub(super) fn new(
        core: &'c mut ConsumerCore,
        now: Time,
        out: &'c mut dyn ConsumerOutputs,
    ) -> Self {
        Self { core, now, out, peers: None }
    }

    /// Opens an item. It is requested when the connection and the service are
    /// up and the open window has room, and again after each loss; why it is
    /// not requested comes as a status.
    ///
    /// Errors: [`ApiError::TooManyItems`].
    pub fn open(&mut self, spec: &ItemSpec<'_>) -> Result<Handle, ApiError> {
        self.check_limit(1)?;
        Ok(self.open_one(spec, spec.name))
    }

    fn open_one(&mut self, spec: &ItemSpec<'_>, name: &str) -> Handle {
        if self.peers.is_some() {
            return self.open_in_set(spec, name);
        }
        let handle = self.add(spec, name);
        self.core.fresh.push_back(Fresh::One(handle));
        handle
    }

    /// Opens items that differ only in their names, in as few messages as the
    /// server allows. The name of the spec does not count. Otherwise as
    /// [`open`](Self::open).
    pub fn open_batch(
        &mut self,
        spec: &ItemSpec<'_>,
        names: &[&str],
    ) -> Result<Vec<Handle>, ApiError> {
        self.check_limit(names.len())?;
        let mut handles = Vec::with_capacity(names.len());
        let mut rest = names;
        while !rest.is_empty() {
            let (batch, later) = rest.split_at(batch_len(rest));
            rest = later;
            self.add_batch(spec, batch, &mut handles);
        }
        Ok(handles)
    }

    fn add_batch(&mut self, spec: &ItemSpec<'_>, names: &[&str], handles: &mut Vec<Handle>) {
        // What is special about a stream is said in a request of its own.
        if names.len() == 1 || spec.private || spec.paused {
            for name in names {
                handles.push(self.open_one(spec, name));
            }
            return;
        }
        if self.peers.is_some() {
            return handles.extend(self.open_batch_in_set(spec, names));
        }
        let batch: Vec<_> = names.iter().map(|name| self.add(spec, name)).collect();
        handles.extend_from_slice(&batch);
        self.core.fresh.push_back(Fresh::Batch(batch));
    }

    fn check_limit(&self, more: usize) -> Result<(), ApiError> {
        let limit = self.core.config.max_items;
        match self.open_items() + more <= limit {
            true => Ok(()),
            false => Err(ApiError::TooManyItems { limit }),
        }
    }

    fn add(&mut self, spec: &ItemSpec<'_>, name: &str) -> Handle {
        let options = self.core.stream_options(spec.streaming, spec.private);
        let service = self.core.queues.of(spec.service);
        let wish = Wish::of(spec, name);
        let now_ms = ms(self.now);
        let handle = self.core.items.add(wish, service, options);
        if spec.paused
            && let Some(item) = self.core.items.get_mut(handle)
        {
            let _ = item.stream.pause(now_ms);
        }
        handle
    }

    /// Closes an item: nothing more comes for it. A void handle is nothing to
    /// close.
    pub fn close(&mut self, handle: Handle) {
        if self.peers.is_some() {
            return self.close_in_set(handle);
        }
        let Some(item) = self.core.items.get_mut(handle) else { return };
        let reaction = item.stream.close();
        if let Some(to_provider) = reaction.send {
            self.send_item(handle, to_provider);
        }
        self.core.forget(self.now, handle);
    }

    /// Changes view or priority of an item, or asks for an image. While an
    /// image is on its way the change waits for it.
    ///
    /// Errors: [`ApiError::Void`].
    pub fn change(&mut self, handle: Handle, change: ItemChange) -> Result<(), ApiError> {
        if self.peers.is_some() {
            return self.change_in_set(handle, &change);
        }
        let item = self.core.items.get_mut(handle).ok_or(ApiError::Void)?;
        let is_view_new = change.view.is_some();
        if let Some(view) = change.view {
            item.wish.view = view;
            item.is_view_new = item.wish.view.is_some();
        }
        if let Some(priority) = change.priority {
            item.wish.priority = priority;
        }
        let reaction = item.stream.reissue(ms(self.now), change.refresh || is_view_new);
        self.apply(handle, reaction.send);
        Ok(())
    }

    /// No updates are wanted until [`resume`](Self::resume).
    ///
    /// Errors: [`ApiError::Void`].
    pub fn pause(&mut self, handle: Handle) -> Result<(), ApiError> {
        if self.peers.is_some() {
            return self.pause_in_set(handle, true);
        }
        let item = self.core.items.get_mut(handle).ok_or(ApiError::Void)?;
        let reaction = item.stream.pause(ms(self.now));
        self.apply(handle, reaction.send);
        Ok(())
    }

    /// Updates are wanted again. An image comes first, if the server took part
    /// in the pause or updates were left out here.
    ///
    /// Errors: [`ApiError::Void`].
    pub fn resume(&mut self, handle: Handle) -> Result<(), ApiError> {
        if self.peers.is_some() {
            return self.pause_in_set(handle, false);
        }
        let item = self.core.items.get_mut(handle).ok_or(ApiError::Void)?;
        let mut reaction = item.stream.resume(ms(self.now));
        if item.misses_updates && reaction.send.is_none() {
            reaction = item.stream.reissue(ms(self.now), true);
        }
        self.apply(handle, reaction.send);
        Ok(())
    }

    fn apply(&mut self, handle: Handle, to_provider: Option<ToProvider>) {
        if let Some(to_provider) = to_provider {
            self.send_item(handle, to_provider);
        }
        self.core.sync(self.now, handle);
    }

    fn send_item(&mut self, handle: Handle, to_provider: ToProvider) {
        self.core.send_item(self.out, handle, to_provider);
    }

    /// Posts to an open item, on its stream. Returns the id of the post.
    ///
    /// Errors: void handle; not connected or the server takes no posts; too
    /// many posts without an ack; what sending can do.
    pub fn post(
        &mut self,
        handle: Handle,
        head: &PostHead<'_>,
        payload: &(impl Payload + ?Sized),
    ) -> Result<u32, ApiError> {
        if self.peers.is_some() {
            return self.post_in_set(handle, head, payload);
        }
        let item = self.core.items.get(handle).ok_or(ApiError::Void)?;
        let stream_id = item.on_wire.ok_or(ApiError::NotConnected)?.stream_id;
        let domain = item.wish.domain;
        let post_id = self.post_id(head)?;
        let msg = head.msg(domain, stream_id, post_id, self.core.config.post_user_info);
        self.send_post(Some(handle), &msg, payload)?;
        Ok(post_id)
    }

    /// Posts to any item, on the login stream. Returns the id of the post.
    ///
    /// Errors: as of [`post`](Self::post); unknown service.
    pub fn post_off_stream(
        &mut self,
        service: ServiceRef<'_>,
        name: &str,
        domain: Domain,
        head: &PostHead<'_>,
        payload: &(impl Payload + ?Sized),
    ) -> Result<u32, ApiError> {
        if self.peers.is_some() {
            return self.post_off_stream_in_set(service, name, domain, head, payload);
        }
        let post_id = self.post_id(head)?;
        let service_id = match service {
            ServiceRef::Id(id) => id,
            ServiceRef::Name(name) => self
                .core
                .directory
                .service_id(name.as_bytes())
                .ok_or_else(|| ApiError::UnknownService(name.to_owned()))?,
        };
        let user_info = self.core.config.post_user_info;
        let msg = off_stream_post(head, (service_id, name), domain, post_id, user_info);
        self.send_post(None, &msg, payload)?;
        Ok(post_id)
    }

    pub(super) fn post_id(&mut self, head: &PostHead<'_>) -> Result<u32, ApiError> {
        if !self.is_ready() {
            return Err(ApiError::NotConnected);
        }
        if !self.core.features.accepts_posts() {
            return Err(ApiError::PostsNotSupported);
        }
        Ok(head.post_id.unwrap_or_else(|| {
            self.core.last_post_id = self.core.last_post_id.wrapping_add(1);
            self.core.last_post_id
        }))
    }

    fn send_post(
        &mut self,
        handle: Option<Handle>,
        msg: &PostMsg<'_>,
        payload: &(impl Payload + ?Sized),
    ) -> Result<(), ApiError> {
        self.core.posts.sent(ms(self.now), msg)?;
        let encoded = self.core.send(self.out, |encoder| {
            payload.write(encoder.begin(&(*msg).into(), payload.data_type())?)
        });
        let sent = encoded.map_err(ApiError::from).and_then(|(sent, len)| Flow::of(sent, len));
        let ack_id = msg.post_id.unwrap_or_default();
        self.core.counts.posts += u64::from(sent.is_ok());
        if sent.is_ok() && msg.flags.contains(PostFlags::ACK) {
            self.core.posted.insert((ack_id, msg.seq_num), handle);
        }
        if sent.is_err() {
            // Nothing waits for the ack of what was not sent.
            let ack = AckMsg::new(msg.domain, msg.stream_id);
            self.core.posts.acked(&AckMsg { ack_id, seq_num: msg.seq_num, ..ack });
        }
        sent.map(drop)
    }

    /// Sends a generic message on the stream of an item.
    ///
    /// Errors: void handle, not connected, what sending can do.
    pub fn generic(
        &mut self,
        handle: Handle,
        head: &GenericHead<'_>,
        payload: &(impl Payload + ?Sized),
    ) -> Result<(), ApiError> {
        if self.peers.is_some() {
            let active = self.active_place(handle)?;
            return self.with_place(active, |it| it.generic(handle, head, payload));
        }
        let item = self.core.items.get(handle).ok_or(ApiError::Void)?;
        let stream_id = item.on_wire.ok_or(ApiError::NotConnected)?.stream_id;
        let msg = head.msg(item.wish.domain, stream_id);
        let (sent, len) = self.core.send(self.out, |encoder| {
            payload.write(encoder.begin(&msg.into(), payload.data_type())?)
        })?;
        Flow::of(sent, len).map(drop)
    }

    /// Changes the login, as when a token is about to expire: on the open login
    /// stream if there is one, and for every later connection.
    ///
    /// Errors: the login changes more than a reissue may
    /// ([`ApiError::Login`]).
    pub fn change_login(&mut self, login: Login) -> Result<(), ApiError> {
        if self.peers.is_some() {
            return self.change_login_in_set(&login);
        }
        let request = login.request(LOGIN_STREAM);
        self.core.config.login.request(LOGIN_STREAM).check_reissue(&request)?;
        self.core.config.login = login;
        let is_logged_in = matches!(
            self.core.phase,
            Phase::Directory { .. } | Phase::Dictionary { .. } | Phase::Ready
        );
        if is_logged_in {
            match self.core.send(self.out, |encoder| request.encode(encoder)) {
                Ok((sent, _)) => self.core.note_sent(sent),
                Err(error) => self.core.note_error(&error),
            }
        }
        Ok(())
    }

    /// Gives the server a role, now and after each login, for a consumer that has
    /// several servers with the same services: `Active`, if its data are taken
    /// from here, or `Standby`. One that stands by answers requests with refreshes
    /// that have no content, and sends nothing else until it is told that it is
    /// active; then it sends an image of each item, and updates from there on.
    /// `None` takes the role, and those of services, back: the server is like any
    /// other then. Servers that do not support it
    /// ([`LoginFeatures::supports_standby`]) ignore it.
    ///
    /// A [`StandbySet`](super::StandbySet) gives the roles itself: it is not changed
    /// by this.
    pub fn set_role(&mut self, mode: Option<WarmStandbyMode>) {
        if self.peers.is_none() {
            self.core.set_role(mode, self.out);
        }
    }

    /// The same for one service, by its name. Of this and a role for all services
    /// the later one counts.
    pub fn set_service_role(&mut self, service: &str, mode: Option<WarmStandbyMode>) {
        if self.peers.is_none() {
            self.core.set_service_role(service, mode, self.out);
        }
    }

    /// Logs out and closes the connection; nothing is tried again. Items are
    /// void and no more is told of them.
    pub fn log_out(&mut self) {
        if self.peers.is_some() {
            return self.log_out_in_set();
        }
        if self.core.phase != Phase::Over {
            let msg = CloseMsg::new(Domain::LOGIN, LOGIN_STREAM);
            let _ = self.core.send(self.out, |encoder| encoder.message(&msg.into()));
            self.out.disconnect("logged out");
            self.core.phase = Phase::Over;
        }
        for handle in self.core.items.in_order() {
            self.core.forget(self.now, handle);
        }
        self.core.fresh.clear();
    }

    /// Whether login, directory and dictionary are there; at one server of a set at
    /// least.
    pub fn is_ready(&self) -> bool {
        self.cores().any(|core| core.phase == Phase::Ready)
    }

    /// The services as they are now; of a set, as the active server has them.
    pub fn directory(&self) -> &Directory {
        self.peers.as_ref().map_or(&self.core.directory, |peers| &peers.set.directory)
    }

    /// The dictionary, if there is one.
    pub fn dictionary(&self) -> Option<&Arc<FieldDictionary>> {
        self.cores().find_map(|core| core.dictionary.as_ref())
    }

    /// What the server can do, by its login; of a set, the active one.
    pub fn features(&self) -> &LoginFeatures {
        &self.leading().features
    }

    /// How many items are open.
    pub fn open_items(&self) -> usize {
        self.peers.as_ref().map_or(self.core.items.len(), |peers| peers.set.items.len())
    }

    /// What is known of an item; nothing for a void handle.
    pub fn item(&self, handle: Handle) -> Option<ItemInfo<'_>> {
        if let Some(peers) = &self.peers
            && self.active_core(handle).is_none_or(|core| core.items.get(handle).is_none())
        {
            return peers.set.item_info(handle);
        }
        let core = self.active_core(handle)?;
        let item = core.items.get(handle)?;
        Some(ItemInfo {
            service_name: core.queues.get(item.service).name(),
            service_id: item.on_wire.map(|on_wire| on_wire.service_id),
            name: &item.wish.name,
            domain: item.wish.domain,
            stream_id: item.on_wire.map_or(0, |on_wire| on_wire.stream_id),
        })
    }
}

/// A post to an item of a service, by its number, on the login stream.
pub(super) fn off_stream_post<'m>(
    head: &PostHead<'m>,
    (service_id, name): (u16, &'m str),
    domain: Domain,
    post_id: u32,
    user_info: PostUserInfo,
) -> PostMsg<'m> {
    let key = Some(MsgKey::item(service_id, name));
    PostMsg { key, ..head.msg(domain, LOGIN_STREAM, post_id, user_info) }
}

/// How many of the names go into one request.
fn batch_len(names: &[&str]) -> usize {
    fitting(names.iter().map(|name| name.len())).max(1)
}

/// How many of the names, by their lengths, go into one request.
pub(super) fn fitting(name_bytes: impl Iterator<Item = usize>) -> usize {
    let mut bytes = 0;
    let fits = |name_bytes: &usize| {
        bytes += batch_bytes(*name_bytes);
        bytes <= MAX_BATCH_BYTES
    };
    name_bytes.take_while(fits).count()
}
