//! What is written down of usage. An update writes nothing.
//!
//! A watch that is open says at the turn of the month that it goes on, so that the
//! journal of a month tells by itself who watched: all items are gone through, a
//! slice at a time.

use std::sync::Arc;

use tapeline_channel::SessionId;
use tapeline_entitle::{Denial, Kind, Usage};
use tapeline_omm::ItemKeyRef;

use super::Core;
use super::backlog::Job;
use super::entitlements::{Guard, Identity};
use super::permit::named;
use super::rows::Cell;
use super::subscription::mode;
use crate::Outputs;

/// A record is written in the time of so many steps.
const STEPS_PER_RECORD: usize = 4;

impl Core {
    /// Writes down that a watch began, or that a snapshot was given.
    pub(super) fn record_watch<O: Outputs>(
        &mut self,
        session: SessionId,
        stream_id: i32,
        out: &mut O,
    ) {
        if let Some((slot, cell)) = self.item_on(session, stream_id)
            && let Some(item) = self.items.get_mut(slot)
            && let Some(subscription) = item.watchers.subscription_mut(cell)
        {
            subscription.set(mode::RECORDED, true);
        }
        let stream = self.mounts.get(session).and_then(|it| it.streams.item(stream_id));
        let Some(stream) = stream else { return };
        let kind = match stream.state.is_streaming() {
            true => Kind::StartWatch,
            false => Kind::Snapshot,
        };
        self.record_stream(kind, (session, stream_id), stream.slot, out);
    }

    /// Writes down that a watch goes on, by what decides about it now. Whether it did.
    pub(super) fn record_further<O: Outputs>(
        &mut self,
        session: SessionId,
        stream_id: i32,
        out: &mut O,
    ) -> bool {
        let stream = self.mounts.get(session).and_then(|it| it.streams.item(stream_id));
        let Some((slot, cell)) = self.item_on(session, stream_id) else { return false };
        let is_recorded = self.watcher(slot, cell).is_some_and(|it| it.has(mode::RECORDED));
        let goes_on = is_recorded && stream.is_some_and(|it| it.state.is_streaming());
        if goes_on {
            self.record_stream(Kind::ContinueWatch, (session, stream_id), slot, out);
        }
        goes_on
    }

    fn record_stream<O: Outputs>(
        &mut self,
        kind: Kind,
        of: (SessionId, i32),
        slot: u32,
        out: &mut O,
    ) {
        if let Some(key) = self.items.get(slot).map(|item| item.key.clone()) {
            self.record(kind, of, (&key.as_ref(), self.items.guard(slot)), None, out);
        }
    }

    /// Writes down what happened to an item of a mount.
    pub(super) fn record<O: Outputs>(
        &mut self,
        kind: Kind,
        (session, stream_id): (SessionId, i32),
        item: (&ItemKeyRef<'_>, Guard),
        denial: Option<&Denial>,
        out: &mut O,
    ) {
        if !out.keeps_records() {
            return;
        }
        let profile = self.profile_of(session);
        let mount = self.mounts.get(session);
        let Some((mount, login)) = mount.and_then(|it| Some((it.number, it.login.as_ref()?)))
        else {
            return;
        };
        let (key, guard) = item;
        let products = match (kind, profile) {
            (Kind::StartWatch | Kind::ContinueWatch | Kind::Snapshot, Some(profile)) => {
                let Self { services, entitlements, .. } = self;
                entitlements.products_used(profile, &named(services, key), guard)
            }
            _ => String::new(),
        };
        let rule = match kind {
            Kind::AccessDenied | Kind::InsertDenied => {
                self.entitlements.why_no(profile, &named(&self.services, key), guard)
            }
            _ => String::new(),
        };
        let usage = Usage {
            mount: mount.into(),
            stream_id,
            products: &products,
            code: denial.map_or(0, |denial| denial.code.0),
            reason: denial.map_or("", |denial| &denial.text),
            rule: &rule,
            ..Usage::of(kind, 0)
        };
        let identity = Arc::clone(&login.identity);
        self.record_of(&usage, &identity, Some((key, guard)), out);
    }

    /// Writes down what somebody did: what `usage` says, and who, what and when.
    pub(super) fn record_of<O: Outputs>(
        &self,
        usage: &Usage<'_>,
        who: &Identity,
        item: Option<(&ItemKeyRef<'_>, Guard)>,
        out: &mut O,
    ) {
        if !self.entitlements.is_on() || !out.keeps_records() {
            return;
        }
        let of_item = item.map(|(key, _)| named(&self.services, key));
        let guard = item.map_or(Guard::Unknown, |(_, guard)| guard);
        out.record(&Usage {
            time_ms: self.entitlements.unix_ms(self.now),
            user: &who.user,
            position: &who.position,
            application: &who.application,
            service: of_item.as_ref().map_or("", |it| &it.service),
            item: of_item.as_ref().map_or("", |it| &it.name),
            domain: of_item.as_ref().map_or(0, |it| it.domain),
            lock: self.entitlements.lock_of(guard),
            prod_perm: self.entitlements.code_of(guard),
            policy_epoch: self.entitlements.epoch(),
            ..*usage
        });
    }

    /// Writes down that a server begins: what another life of it had open is over.
    pub(super) fn record_start<O: Outputs>(&mut self, out: &mut O) {
        let unix_ms = self.entitlements.unix_ms(self.now);
        out.record(&Usage::of(Kind::ServerStart, unix_ms));
    }

    /// Another month has begun: what is open is written down anew.
    pub(super) fn begin_month(&mut self) {
        self.backlog.add(Job::GoOn { slot: 0, next: Cell::FIRST });
    }

    /// Writes down that the next watch goes on.
    pub(super) fn go_on_step<O: Outputs>(
        &mut self,
        (slot, next): (&mut u32, &mut Cell),
        out: &mut O,
    ) -> Option<usize> {
        if *slot >= self.items.slots().end {
            return None;
        }
        let Some((cell, watcher)) = self.watcher_from(*slot, *next) else {
            (*slot, *next) = (*slot + 1, Cell::FIRST);
            return Some(1);
        };
        *next = cell.next();
        let is_written = self.record_further(watcher.session, watcher.stream_id, out);
        Some(if is_written { STEPS_PER_RECORD } else { 1 })
    }
}
