//! Generic messages, both ways.

use tapeline_backbone::{FrameHeader, Kind};
use tapeline_channel::SessionId;
use tapeline_rwf::{Domain, GenericMsg, Msg, MsgKey};

use super::Core;
use super::item::{Item, Upstream};
use super::rows::Cell;
use super::stream::Entry;
use super::subscription::mode;
use crate::Outputs;

impl Core {
    /// A consumer sent one. Those of items go to the provider.
    pub(super) fn on_consumer_generic<O: Outputs>(
        &mut self,
        session: SessionId,
        generic: &GenericMsg<'_>,
        out: &mut O,
    ) {
        let stream =
            self.mounts.get(session).and_then(|mount| mount.streams.get(generic.stream_id));
        match stream {
            Some(Entry::Item(item)) => {
                let slot = item.slot;
                self.forward_generic(slot, generic, out);
            }
            _ if generic.domain == Domain::LOGIN => self.on_login_generic(session, generic, out),
            Some(Entry::Other(_)) if generic.domain == Domain::SOURCE => {
                self.on_directory_generic(session, generic, out);
            }
            // On any other stream there is nobody to understand it.
            _ => {}
        }
    }

    fn forward_generic<O: Outputs>(&mut self, slot: u32, generic: &GenericMsg<'_>, out: &mut O) {
        let Self { items, hubs, services, scratch, .. } = self;
        let Some(item) = items.known(slot) else { return };
        let Upstream::Accepted { hub, .. } = item.upstream() else { return };
        let Some(hub) = hubs.get(hub) else { return };
        let hub_service = services.name(item.service_id());
        let hub_service = hub_service.and_then(|name| hub.directory.service_id(name));
        let key =
            generic.key.map(|key| MsgKey { service_id: key.service_id.and(hub_service), ..key });
        let generic = GenericMsg { stream_id: 0, key, ..*generic };
        if let Ok(bytes) = scratch.message(&generic.into()) {
            out.publish(FrameHeader::new(Kind::Generic, hub.incarnation, slot), &[bytes]);
        }
    }

    /// The provider of an item sent one, for everybody who watches.
    pub(super) fn on_provider_generic<O: Outputs>(
        &mut self,
        slot: u32,
        generic: &GenericMsg<'_>,
        bytes: &[u8],
        out: &mut O,
    ) {
        if self.is_hidden(slot) {
            return;
        }
        let is_guarded = self.items.get(slot).is_some_and(|item| self.is_guarded(item));
        let own_lock = generic.perm_data.filter(|lock| is_guarded && !lock.is_empty());
        // In the key is the hub's number of the service.
        let service_id = self.items.get(slot).map(Item::service_id);
        let key = generic.key.filter(|key| key.service_id.is_some());
        let told = key.map(|key| {
            let key = Some(MsgKey { service_id, ..key });
            Msg::from(GenericMsg { stream_id: 0, key, ..*generic })
        });
        let mut next = Cell::FIRST;
        while let Some((cell, watcher)) = self.watcher_from(slot, next) {
            next = cell.next();
            if watcher.has(mode::UNCHECKED)
                || own_lock.is_some_and(|lock| !self.opens(watcher.session, lock))
            {
                continue;
            }
            if self.holds_first(slot, &watcher) || self.stands_by_on(&watcher) {
                continue;
            }
            self.flush_before((slot, cell), &watcher, out);
            let told = match &told {
                Some(told) => self.scratch.message(told),
                None => Ok(bytes),
            };
            let Ok(told) = told else { return };
            let sent = out.send_on(watcher.session, watcher.stream_id, told);
            self.trouble.note(watcher.session, sent);
        }
    }
}
