//! What must hold in a world, beside what consumers may be told.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tapeline_hub::Hub;
use tapeline_server::Server;
use tapeline_time::Time;

use crate::item::Item;
use crate::member::{HubMember, ServerMember};
use crate::model::{Phase, Seen};
use crate::publisher::Publisher;
use crate::source::Source;
use crate::watcher::Watcher;
use crate::world::World;

/// The tables of a hub or server are compared in one of so many turns in which it
/// did something, and what consumers have is in one of so many turns of the world.
const CHECKED_TURNS: u64 = 8;

/// Within this, consumers are told that nobody is left who has their items, if
/// nothing else is wrong.
const TOLD_WITHIN: Duration = Duration::from_secs(8);

/// The same where connections are fast.
const TOLD_SOON_WITHIN: Duration = Duration::from_secs(2);

/// After this, whoever stands by for a published item is known to do so.
const KNOWN_WITHIN: Duration = Duration::from_secs(5);

/// Within this each request is answered, if only with a state, as long as
/// nothing is broken that keeps it from being.
const ANSWERED_WITHIN: Duration = Duration::from_secs(20);

/// The same where connections are fast: before a consumer gives its requests up,
/// which is an answer of its own.
const ANSWERED_SOON_WITHIN: Duration = Duration::from_secs(14);

/// Within this what is OK is what its source has, as long as nothing is broken
/// that nobody can know of.
const CURRENT_WITHIN: Duration = Duration::from_secs(15);

/// Most that an image has which is not long,
const IMAGE_BYTES: usize = 512;

/// and some of them together.
const IMAGES_BYTES: usize = 64 << 10;

/// What is merged of an item, with which a mount may be beyond its bound.
const MERGED_UPDATE_BYTES: usize = 512;

/// What a hub may merge of an item while the backbone takes no more.
const MERGED_ITEM_BYTES: usize = 4 << 10;

/// What an agent of the backbone may queue beyond its bound: the last frame.
const FRAME_BYTES: usize = 64 << 10;

impl World {
    /// What must hold in each turn.
    pub(crate) fn check(&mut self) {
        self.check_stale();
        self.check_answered();
        self.check_switch();
        self.check_tables();
        if self.turns.is_multiple_of(CHECKED_TURNS) {
            self.check_current();
            self.check_held();
            self.check_kept();
            self.check_rights();
            self.check_reached();
            self.check_bounds();
        }
    }

    /// The moment that is so long ago; none if nothing was by then.
    fn ago(&self, time: Duration) -> Option<Time> {
        let before = self.now().since(Time::ZERO).checked_sub(time)?;
        Some(Time::ZERO.after(before))
    }

    fn check_tables(&mut self) {
        let hubs = self.hubs.iter_mut().filter_map(|it| it.take_due_check(CHECKED_TURNS));
        hubs.for_each(Hub::check);
        let servers = self.servers.iter_mut().filter_map(|it| it.take_due_check(CHECKED_TURNS));
        servers.for_each(Server::check);
    }

    /// Whether consumers know that all sources, or all hubs, are gone.
    fn check_stale(&mut self) {
        let later = |latest: Time, since: Option<Time>| Some(latest.max(since?));
        let sources = self.sources.iter().map(Source::gone_since).try_fold(Time::ZERO, later);
        let hubs = self.hubs.iter().map(HubMember::gone_since).try_fold(Time::ZERO, later);
        let mut publishers = self.publishers.iter().map(Publisher::gone_since);
        let publishers = publishers.try_fold(Time::ZERO, later);
        let told_within = TOLD_WITHIN + self.shape.images_take();
        let told_by = |gone: Option<Time>| Some(gone?.max(self.troubled_until).after(told_within));
        let first = |one: Option<Time>, other: Option<Time>| one.into_iter().chain(other).min();
        let is_late = |gone| told_by(gone).is_some_and(|by| self.now() > by);
        let (is_asked_late, is_published_late) =
            (is_late(first(sources, hubs)), is_late(first(publishers, hubs)));
        if !is_asked_late && !is_published_late {
            return;
        }
        let is_late = |item: Item| match item.service < self.shape.services {
            true => is_asked_late,
            false => is_published_late,
        };
        for watcher in &self.watchers {
            let mut ok = watcher.seen.iter().filter(|seen| seen.phase == Phase::Ok);
            if let Some(seen) = ok.find(|seen| is_late(seen.item)) {
                let (index, item, s) = (watcher.index, seen.item, told_within.as_secs());
                self.violations.push(format!(
                    "consumer {index}: {item} is still OK {s} s after the last that had it was gone"
                ));
            }
        }
    }

    /// How long requests may wait for places of windows: one may be of one place.
    pub(crate) fn windows_take(&self) -> Duration {
        let has_window = self.shape.server_window > 0;
        match has_window || self.sources.iter().any(Source::has_window) {
            true => self.shape.requests_take(),
            false => Duration::ZERO,
        }
    }

    /// Whether each request has an answer, if only that it waits.
    fn check_answered(&mut self) {
        let is_fast = self.shape.is_fast();
        let within = if is_fast { ANSWERED_SOON_WITHIN } else { ANSWERED_WITHIN };
        let within = within + self.windows_take();
        let Some(asked_by) = self.ago(within) else { return };
        // A source that takes few requests at a time and is slow to answer them has
        // others wait for as long as it likes.
        let images = &self.shape.images;
        let is_slow = images.apart_ms > 1000 || images.endless_percent > 0;
        // So does one that says nothing where servers ask for few items at a time.
        let is_asked_in_turn = self.shape.server_window > 0;
        let holds_up = |source: &Source| {
            source.has_window() && (is_slow || source.is_mute())
                || is_asked_in_turn && source.is_mute()
        };
        if self.sources.iter().any(holds_up) {
            self.held_up_until = self.now();
        }
        if self.troubled_until.max(self.held_up_until) > asked_by {
            return;
        }
        for watcher in &self.watchers {
            let is_late = |since: Time| since < asked_by;
            if let Some(seen) =
                watcher.seen.iter().find(|it| it.unanswered_since.is_some_and(is_late))
            {
                let (index, item, s) = (watcher.index, seen.item, within.as_secs());
                self.violations.push(format!("consumer {index}: {item} has no answer after {s} s"));
            }
        }
    }

    /// Whether what is OK is what its source has.
    fn check_current(&mut self) {
        let now = self.now();
        // Images for those who missed something wait for places at sources too.
        let free_since = self.troubled_until.max(self.held_up_until);
        let since = self.ago(CURRENT_WITHIN).filter(|since| free_since <= *since);
        let since = since.unwrap_or(Time::ZERO);
        let Self { watchers, truth, violations, .. } = self;
        for watcher in watchers {
            let index = watcher.index;
            for seen in watcher.seen.iter_mut() {
                if let Some(what) = seen.is_stale(truth, now, since) {
                    violations.push(format!("consumer {index}: {what}"));
                }
            }
        }
    }

    /// Whether somebody has what is OK.
    fn check_held(&mut self) {
        let now = self.now();
        let told_within = match self.shape.is_fast() {
            true => TOLD_SOON_WITHIN,
            // What was sent to a provider before is read first.
            false => TOLD_WITHIN + self.shape.images_take(),
        };
        let Some(since) = self.ago(told_within) else { return };
        // What is troubled may have had its effect at the last moment.
        let since = if self.troubled_until > since { Time::ZERO } else { since };
        let Self { watchers, sources, publishers, violations, .. } = self;
        for watcher in watchers {
            let index = watcher.index;
            for seen in watcher.seen.iter_mut() {
                let item = seen.item;
                let is_held = || {
                    sources.iter().any(|source| source.has(item))
                        || publishers.iter().any(|publisher| publisher.has(item))
                };
                if seen.is_orphan(is_held, now, since) {
                    let s = told_within.as_secs();
                    violations.push(format!(
                        "consumer {index}: {item} is OK, and for {s} s nobody has it"
                    ));
                }
            }
        }
    }

    /// Whether what nobody may see any more is not OK.
    fn check_rights(&mut self) {
        let since = self.ago(TOLD_WITHIN).filter(|since| self.troubled_until <= *since);
        let Some(since) = since else { return };
        for watcher in &self.watchers {
            let is_lost = |seen: &&Seen| {
                let missing = watcher.sight.missing_since(seen.item);
                seen.phase == Phase::Ok && missing.is_some_and(|at| at < since)
            };
            if let Some(seen) = watcher.seen.iter().find(is_lost) {
                let (index, item, s) = (watcher.index, seen.item, TOLD_WITHIN.as_secs());
                self.violations.push(format!(
                    "consumer {index}: {item} is OK {s} s after its right to it was lost"
                ));
            }
        }
    }

    /// Whether each consumer is logged in, if one of its servers has been there.
    fn check_reached(&mut self) {
        let since = self.ago(ANSWERED_WITHIN).filter(|since| self.barred_until <= *since);
        let Some(since) = since else { return };
        let mut present = self.servers.iter().filter(|server| server.present().is_some());
        let Some(server) = present.find(|server| server.up_since < since) else { return };
        for watcher in &self.watchers {
            if watcher.down_since.is_some_and(|at| at < since) {
                let (index, server, s) = (watcher.index, server.index, ANSWERED_WITHIN.as_secs());
                self.violations.push(format!(
                    "consumer {index}: it is nowhere for {s} s, and server {server} is there"
                ));
            }
        }
    }

    /// Whether the hub keeps what publishers have, be it that they only stand by
    /// for it. Where there are several, nobody knows at which of them they are.
    fn check_kept(&mut self) {
        let known_within = KNOWN_WITHIN + self.shape.images_take();
        let Some(since) = self.ago(known_within) else { return };
        let [hub] = &self.hubs[..] else { return };
        // Publishers of one that is there again so soon have yet to notice.
        let is_settled = self.troubled_until <= since && hub.up_since < since;
        let Some(hub) = hub.present().filter(|_| is_settled) else { return };
        let ends = &self.ended_at;
        let is_known = |publisher: &Publisher, item: Item, sent: Time| {
            let is_after = ends.get(&item).is_none_or(|end| end.after(known_within) < sent);
            is_after && sent < since && publisher.has_room_for(item)
        };
        let up = self.publishers.iter().filter(|it| it.ready_since().is_some_and(|at| at < since));
        let kept: BTreeSet<Item> = up
            .flat_map(|it| it.sent().filter(|(item, sent)| is_known(it, *item, *sent)))
            .map(|(item, _)| item)
            .collect();
        let (count, least) = (hub.published_items(), kept.len());
        if count < least {
            self.violations.push(format!(
                "hub 0 keeps {count} items, and publishers have {least} that it knows of"
            ));
        }
    }

    /// Whether no more is kept than may be.
    fn check_bounds(&mut self) {
        let queue_bytes = self.shape.queue_bytes + FRAME_BYTES;
        let Self { shape, servers, hubs, violations, .. } = self;
        for server in servers.iter().filter_map(|server| Some((server.index, server.present()?))) {
            let (index, server) = server;
            let has = server.statistics();
            let merged = match shape.merged_bytes {
                0 => usize::MAX,
                bytes => (4 * bytes).min(shape.consumers.len() * (bytes + MERGED_UPDATE_BYTES)),
            };
            if has.merged_bytes > merged {
                violations.push(format!("server {index}: {} bytes are merged", has.merged_bytes));
            }
            // Who stands still before the login is cut. What has to be told at once may
            // find no room behind a long image.
            if has.mounts_cut > has.mounts_cut_without_login && shape.images.padding_bytes == 0 {
                violations.push(format!("server {index}: a mount is cut"));
            }
            // Images go whole, however long.
            let of_images = IMAGES_BYTES + shape.all_items() * IMAGE_BYTES;
            let most = shape.consumers.len() * (shape.output_bytes + of_images);
            if has.output_bytes > most && shape.images.padding_bytes == 0 {
                violations.push(format!("server {index}: {} bytes wait", has.output_bytes));
            }
        }
        for (index, hub) in hubs.iter().filter_map(|hub| Some((hub.index, hub.present()?))) {
            let has = hub.counters();
            if has.pressed == 0 && has.merges > 0 {
                violations.push(format!("hub {index}: {} items wait for nothing", has.merges));
            }
            let most = (shape.all_items() * MERGED_ITEM_BYTES) as u64;
            if has.merged_bytes > most && shape.images.padding_bytes == 0 {
                violations.push(format!("hub {index}: {} bytes are merged", has.merged_bytes));
            }
        }
        let of_hubs = hubs.iter().filter_map(|hub| Some(hub.present()?.bus()));
        let of_servers = servers.iter().filter_map(|server| Some(server.present()?.bus()));
        for port in of_hubs.chain(of_servers) {
            let counters = tapeline_backbone::Bus::counters(port);
            let short = counters.queue_bytes - counters.long_queue_bytes;
            if short > queue_bytes {
                violations.push(format!("{}: {short} bytes are queued", port.name()));
            }
        }
    }

    pub(crate) fn what_lacks(&self) -> Option<String> {
        let all = self.shape.all_items();
        let missing = |watcher: &Watcher| {
            let shared = watcher.seen.iter().filter(|seen| !seen.is_snapshot && !seen.is_private);
            let count = shared.count();
            let index = watcher.index;
            let what = || format!("consumer {index}: only {count} items of {all} are open");
            (count < all).then(what)
        };
        self.what_of_open_lacks().or_else(|| self.watchers.iter().find_map(missing))
    }

    /// What is not as it should be of all that is open.
    pub(crate) fn what_of_open_lacks(&self) -> Option<String> {
        for watcher in &self.watchers {
            let is_limited =
                |seen: &Seen| self.sources.iter().any(|it| it.is_limited(seen.item.service));
            let mut judged =
                watcher.seen.iter().filter(|seen| !is_limited(seen) && !self.may_wait(seen));
            let lacks = judged.find_map(|seen| seen.lacks(&self.truth));
            let posts = watcher.unanswered_posts();
            let unanswered = || (posts > 0).then(|| format!("{posts} posts have no answer"));
            if let Some(what) = lacks.or_else(unanswered) {
                return Some(format!("consumer {}: {what}", watcher.index));
            }
        }
        None
    }

    /// Whether it may be that the image of an item never ends, or that who stood
    /// by for it has not sent one yet.
    fn may_wait(&self, seen: &Seen) -> bool {
        let is_published = seen.item.service >= self.shape.services;
        let is_endless = self.shape.images.endless_percent > 0;
        is_published && !self.is_calm && (is_endless || self.shape.publishers > 1)
    }

    /// What is open at sources and nobody wants, or more often than anybody
    /// does. To be asked when all that is open is as it should be.
    pub(crate) fn what_is_amiss(&self) -> Option<String> {
        let mut wanted = BTreeSet::new();
        let mut private: BTreeMap<Item, usize> = BTreeMap::new();
        for seen in self.watchers.iter().flat_map(|watcher| watcher.seen.iter()) {
            match seen.is_private {
                true => *private.entry(seen.item).or_default() += 1,
                false => _ = wanted.insert(seen.item),
            }
        }
        let mut shared: BTreeMap<Item, usize> = BTreeMap::new();
        for (item, is_private) in self.sources.iter().flat_map(Source::open) {
            let counts = if is_private { &mut private } else { &mut shared };
            match (is_private, counts.get_mut(&item)) {
                (true, Some(left @ 1..)) => *left -= 1,
                (true, _) => return Some(format!("a private stream of {item} is open")),
                (false, _) if !wanted.contains(&item) => {
                    return Some(format!("{item} is open at a source"));
                }
                (false, _) => *shared.entry(item).or_default() += 1,
            }
        }
        let mirrors = if self.shape.mirrored { self.sources.len() } else { 1 };
        let most = self.hubs.len() * mirrors;
        let too_often = shared.iter().find(|(_, count)| **count > most);
        too_often.map(|(item, count)| format!("{item} is open {count} times at sources"))
    }

    pub(crate) fn what_is_left(&self) -> Option<String> {
        let of_server = |server: &ServerMember| {
            let has = server.present()?.statistics();
            let count = has.items + has.backlog + has.merged_bytes + has.closes_waiting + has.posts;
            (count > 0).then(|| format!("server {} has {has:?}", server.index))
        };
        let published = (self.shape.all_items() - self.shape.services * self.names()) as u64;
        let of_hub = |hub: &HubMember| {
            let has = hub.present()?.counters();
            // What is published stays, at the hub to which it is.
            let count = has.items.saturating_sub(published) + has.backlog + has.owed;
            let count = count + has.unsent_upstream;
            (count > 0).then(|| format!("hub {} has {has:?}", hub.index))
        };
        let of_source = |source: &Source| {
            let count = source.open_streams();
            (count > 0).then(|| format!("source {} has {count} streams", source.index))
        };
        let at_servers = self.servers.iter().find_map(of_server);
        let at_hubs = || self.hubs.iter().find_map(of_hub);
        at_servers.or_else(at_hubs).or_else(|| self.sources.iter().find_map(of_source))
    }

    const fn names(&self) -> usize {
        self.shape.items + self.shape.books
    }
}
