//! Whether the tables say the same of each other.
//!
//! ```text
//!   users ── mounts ──▶ streams ──▶ items ◀── slots, queue ── hubs
//!              ▲  ▲        ▲  subscriptions ─┘ ▲
//!     draining ┘  └ posts  └ pending,  └ due
//!                            held
//! ```
//!
//! What a job has yet to do is not done: then the job is in the backlog.

use std::collections::{BTreeMap, BTreeSet};

use super::Core;
use super::backlog::Job;
use super::item::{HubIndex, Item, Upstream};
use super::leave::Leaving;
use super::mount::{Mount, gate};
use super::owed::Owed;
use super::roles::Walk;
use super::rows::Cell;
use super::standby::has_part;
use super::stream::Stream;
use super::streams::Streams;
use super::subscription::{Subscription, mode};

/// What has subscriptions by a number: a mount, or what is left of one.
struct Owner<'c> {
    streams: &'c Streams,
    owed: &'c Owed,
    mount: Option<&'c Mount>,
}

impl<'c> Owner<'c> {
    const fn of(mount: &'c Mount) -> Self {
        Self { streams: &mount.streams, owed: &mount.owed, mount: Some(mount) }
    }

    const fn left(leaving: &'c Leaving) -> Self {
        Self { streams: &leaving.streams, owed: &leaving.owed, mount: None }
    }
}

/// By their numbers.
type Owners<'c> = BTreeMap<u32, Owner<'c>>;

impl Core {
    /// For tests, between two events: compares each table with those that have
    /// the same facts.
    ///
    /// # Panics
    /// Two tables contradict each other.
    pub fn check(&self) {
        let is_calm = self.trouble.slow.is_empty() && self.trouble.doomed.is_empty();
        assert!(is_calm, "sessions to be dealt with: {:?}", self.trouble);
        let leaving: BTreeSet<_> = self.leaving().map(|leaving| leaving.number).collect();
        self.mounts.check(&leaving);
        self.mounts.standings.check(self.items.iter().flat_map(|(_, item)| {
            let watchers = item.watchers.subscriptions();
            watchers.map(|subscription| (subscription.mount(), item.standing()))
        }));
        let mut owners: Owners<'_> =
            self.mounts.iter().map(|mount| (mount.number, Owner::of(mount))).collect();
        owners.extend(self.leaving().map(|leaving| (leaving.number, Owner::left(leaving))));
        for (number, owner) in &owners {
            self.check_streams(*number, owner);
            if let Some(mount) = owner.mount {
                self.check_mount(mount);
                self.check_gate(mount);
            }
        }
        self.check_waiting(&owners);
        self.check_jobs();
        self.items.check();
        self.check_items(&owners);
        self.check_hubs();
        self.check_deadlines();
        self.check_posts_of_mounts();
        self.services.check();
    }

    fn leaving(&self) -> impl Iterator<Item = &Leaving> {
        self.backlog.jobs().filter_map(|job| match job {
            Job::Leave(leaving) => Some(&**leaving),
            _ => None,
        })
    }

    fn has_job(&self, is_it: impl Fn(&Job) -> bool) -> bool {
        self.backlog.jobs().any(is_it)
    }

    /// The streams of a mount, and their subscriptions.
    fn check_streams(&self, number: u32, owner: &Owner<'_>) {
        let others = owner.streams.others().count();
        let items = owner.streams.items().count();
        assert_eq!(owner.streams.len(), items + others, "streams of mount {number}");
        for stream_id in owner.streams.items() {
            let stream = owner.streams.item(stream_id).expect("an item on its stream");
            let item = self.items.get(stream.slot);
            let place =
                item.and_then(|it| it.watchers.cell(stream.subscription(number, stream_id)));
            assert!(place.is_some(), "the subscription of {number}/{stream_id} at {}", stream.slot);
        }
        owner.owed.check(owner.streams);
    }

    /// A mount: its counts, and what waits until its output has drained.
    fn check_mount(&self, mount: &Mount) {
        let session = mount.session;
        let (mut items, mut admin, mut logins) = (mount.streams.items().count(), 0, 0);
        let mut directories = BTreeSet::new();
        for (stream_id, stream) in mount.streams.others() {
            match stream {
                Stream::Login => logins += 1,
                Stream::Directory(_) => _ = directories.insert(stream_id),
                Stream::Dictionary(_) => admin += 1,
                Stream::Pending(_) | Stream::Unplaced(_) => items += 1,
                Stream::Paced(of) => items += usize::from(of.line.counts()),
            }
        }
        assert_eq!(mount.item_count, items, "items of {session:?}");
        assert_eq!(mount.admin_count, admin + directories.len(), "streams of {session:?}");
        assert_eq!(usize::from(mount.login.is_some()), logins, "logins of {session:?}");
        assert_eq!(mount.directories.len(), directories.len(), "directories of {session:?}");
        assert!(mount.directories.iter().all(|it| directories.contains(it)), "of {session:?}");
        for download in &mount.owed.downloads {
            let other = mount.streams.others().find(|(id, _)| *id == download.stream_id());
            let is_it = matches!(other, Some((_, Stream::Dictionary(_))));
            assert!(is_it, "nobody is sent {} of {session:?}", download.stream_id());
        }
        let turns = self.slow.draining().filter(|it| *it == session).count();
        assert_eq!(turns, usize::from(mount.owed.is_draining), "turns of {session:?}");
        let is_seen_to = mount.is_slow
            || mount.owed.is_draining
            || mount.outdated_from.is_some()
            || mount.turns.due().is_some()
            || mount.pacing.is_waiting()
            || mount.roles.walk.is_some();
        assert!(is_seen_to || mount.owed.is_empty(), "{session:?} waits: {:?}", mount.owed);
        self.check_turn_of(session);
        mount.priorities.check(&mount.streams);
        assert!(mount.news_told <= self.news.count(), "news of {session:?}");
    }

    /// What an update is to know of a mount, and the mount.
    fn check_gate(&self, mount: &Mount) {
        let login = mount.login.as_ref();
        let is_paused = login.is_some_and(|login| login.is_paused);
        let is_holding = matches!(mount.roles.walk, Some(Walk::Hold { .. }));
        let is_filtered = login.is_some_and(|login| {
            let said = &login.request.attributes;
            said.update_type_filter.is_some() || said.negative_update_type_filter.is_some()
        });
        let wanted = [
            (gate::SLOW, mount.is_slow && mount.is_conflated),
            (gate::PAUSED, is_paused),
            (gate::HOLDING, is_holding),
            (gate::FILTERED, is_filtered),
            (gate::OUTDATED, mount.outdated_from.is_some()),
            (gate::PACED, mount.pacing.is_on()),
        ];
        let shut = self.mounts.gate(mount.session);
        let wanted = wanted.iter().filter(|(_, is_set)| *is_set);
        let wanted = wanted.fold(0, |all, (bit, _)| all | bit);
        assert_eq!(shut, wanted, "the gate of {:?}", mount.session);
    }

    /// Requests that wait for a service, and the streams that they are on.
    fn check_waiting(&self, owners: &Owners<'_>) {
        let (mut pending, mut unplaced) = (BTreeSet::new(), BTreeSet::new());
        for (number, owner) in owners {
            for (stream_id, stream) in owner.streams.others() {
                match stream {
                    Stream::Pending(of) => {
                        pending.insert((of.service_id, *number, stream_id));
                        let is_kept = owner.mount.is_none() || !of.request.is_empty();
                        assert!(is_kept, "the request of {number}/{stream_id}");
                    }
                    Stream::Unplaced(of) => _ = unplaced.insert((of.until, *number, stream_id)),
                    _ => {}
                }
            }
        }
        self.waiting.check(&pending, &unplaced);
    }

    /// What is to be done in slices, and who waits for it.
    fn check_jobs(&self) {
        for mount in self.mounts.iter() {
            let session = mount.session;
            let has_batch = self.has_job(|job| matches!(job, Job::Batch(of) if *of == session));
            assert_eq!(mount.is_in_batch, has_batch, "the batch of {session:?}");
            assert!(has_batch || mount.batch.is_none(), "a batch of {session:?} is not done");
            let has_job = self.has_job(|job| matches!(job, Job::Refresh(of) if *of == session));
            assert!(has_job || mount.outdated_from.is_none(), "images of {session:?}");
            let has_job = self.has_job(|job| matches!(job, Job::Roles(of) if *of == session));
            assert!(has_job || mount.roles.walk.is_none(), "roles of {session:?}");
            self.check_roles(mount);
        }
        let is_told = self.has_job(|job| matches!(job, Job::TellNews));
        assert_eq!(self.news.is_under_way(), is_told, "news");
        for hub in self.hubs.lost() {
            assert!(self.loses(*hub), "hub {hub} is gone");
        }
    }

    /// Streams that stand by, and the roles that have them do so.
    fn check_roles(&self, mount: &Mount) {
        if mount.roles.walk.is_some() {
            return;
        }
        for stream_id in mount.streams.items() {
            let Some(stream) = mount.streams.item(stream_id) else { continue };
            let Some(item) = self.items.get(stream.slot) else { continue };
            let is_held = mount.roles.stands_by(item.service_id())
                && has_part(item.is_private, item.key.as_ref().domain);
            let session = mount.session;
            assert_eq!(stream.state.stands_by(), is_held, "{stream_id} of {session:?}");
        }
    }

    /// Whether a hub is gone, and what it had is being seen to.
    fn loses(&self, hub: HubIndex) -> bool {
        self.hubs.is_lost(hub) && self.has_job(|job| matches!(job, Job::LoseHub(of) if *of == hub))
    }

    /// Items, and the subscriptions of those who watch them.
    fn check_items(&self, owners: &Owners<'_>) {
        let mut view_bytes = BTreeMap::new();
        let mut merged_bytes = 0;
        for (slot, item) in self.items.iter() {
            assert!(!item.watchers.is_empty(), "nobody watches item {slot}");
            item.watchers.check();
            let is_checked = item.watchers.unchecked_from(Cell::FIRST).is_none();
            assert!(is_checked || item.recheck().is_some(), "who is not checked has a turn");
            let mut receivers = 0;
            for subscription in item.watchers.subscriptions() {
                let owner = owners.get(&subscription.mount());
                let owner =
                    owner.unwrap_or_else(|| panic!("item {slot} is watched by {subscription:?}"));
                receivers += usize::from(owner.owed.has_merged(subscription.stream_id()));
                *view_bytes.entry(subscription.mount()).or_default() +=
                    item.watchers.view_bytes(*subscription);
                check_subscription((slot, item), *subscription, owner);
            }
            let merges = item.merges.as_ref();
            assert_eq!(merges.map_or(0, |it| it.receivers()), receivers, "who waits at {slot}");
            assert!(merges.is_none_or(|it| !it.is_empty()), "nobody waits at {slot}");
            merged_bytes += merges.map_or(0, |it| it.bytes());
        }
        assert_eq!(self.slow.merged_bytes(), merged_bytes, "bytes that are merged");
        for mount in self.mounts.iter() {
            let of_subscriptions: usize =
                view_bytes.get(&mount.number).copied().unwrap_or_default();
            assert_eq!(mount.view_bytes(), of_subscriptions, "views of {:?}", mount.session);
        }
    }

    /// Hubs, and the items that they have or are asked for.
    fn check_hubs(&self) {
        for index in self.hubs.indexes() {
            let hub = self.hubs.get(index).expect("a hub at its index");
            assert_eq!(hub.item_count, hub.bound().count(), "items of hub {index}");
            let holds_place = |item: &Item| item.upstream().asked_at(index) == Some(true);
            let asked = self.items.iter().filter(|(_, item)| holds_place(item)).count();
            let places = asked + self.items.places_unanswered(index);
            assert_eq!(hub.unanswered, places, "places in the window of hub {index}");
            for (hub_item, slot) in hub.bound() {
                let upstream = self.items.get(slot).map(Item::upstream);
                let wanted = Upstream::Accepted { hub: index, hub_item };
                assert_eq!(upstream, Some(wanted), "hub {index} has item {slot} as {hub_item}");
            }
        }
        for (slot, item) in self.items.iter() {
            let upstream = item.upstream();
            let Some(index) = upstream.hub() else { continue };
            let Some(hub) = self.hubs.get(index) else {
                assert!(self.loses(index), "item {slot} is at no hub: {upstream:?}");
                continue;
            };
            let is_known = match upstream {
                Upstream::Accepted { hub_item, .. } => hub.slot(hub_item) == Some(slot),
                Upstream::Queued { .. } => hub.queue.iter().any(|queued| *queued == slot),
                Upstream::Asked { .. } | Upstream::Nowhere => true,
            };
            assert!(is_known, "item {slot} at its hub: {upstream:?}");
        }
        for (slot, hub, _) in self.items.all_unanswered() {
            assert!(self.hubs.get(hub).is_some(), "{slot} is unanswered at hub {hub}");
        }
    }

    /// What hubs are to answer, and when that is looked at.
    fn check_deadlines(&self) {
        assert!(self.requests.due().is_sorted_by_key(|due| due.at), "what is due, in order");
        let due: BTreeSet<_> =
            self.requests.due().map(|due| (due.slot, due.attempt, due.is_image)).collect();
        for (slot, item) in self.items.iter() {
            if self.hubs.is_lost(item.upstream().hub().unwrap_or(HubIndex::MAX)) {
                continue;
            }
            match item.upstream() {
                Upstream::Asked { .. } => {
                    assert!(due.contains(&(slot, item.attempt, false)), "nobody looks at {slot}");
                }
                Upstream::Accepted { .. } if item.image_due.is_due() && !item.is_private => {
                    let is_due = due.contains(&(slot, item.attempt, true));
                    assert!(is_due, "nobody looks for the image of {slot}");
                }
                _ => {}
            }
        }
        for (slot, _, attempt) in self.items.all_unanswered() {
            assert!(due.contains(&(slot, attempt, false)), "nobody frees slot {slot}");
        }
    }

    /// Posts, and their two ends.
    fn check_posts_of_mounts(&self) {
        self.posts.check();
        for (number, session, hub) in self.posts.ends() {
            let has_left = || self.leaving().any(|leaving| leaving.session == Some(session));
            let is_there = self.mounts.get(session).is_some() || has_left();
            assert!(is_there, "post {number} of {session:?}, who is gone");
            let is_there = self.hubs.get(hub).is_some() || self.loses(hub);
            assert!(is_there, "post {number} at hub {hub}, which is gone");
        }
        for session in self.slow.draining() {
            let is_draining = |mount: &Mount| mount.owed.is_draining;
            assert!(self.mounts.get(session).is_none_or(is_draining), "turns of {session:?}");
        }
    }
}

/// A subscription at an item, and the stream that it is of.
fn check_subscription((slot, item): (u32, &Item), subscription: Subscription, owner: &Owner<'_>) {
    let stream_id = subscription.stream_id();
    let stream = owner.streams.item(stream_id).filter(|stream| stream.slot == slot);
    let Some(stream) = stream else {
        panic!("item {slot} is not on the stream of {subscription:?}")
    };
    assert_eq!(
        stream.state.is_streaming(),
        subscription.is_streaming(),
        "{subscription:?} at {slot}"
    );
    if owner.mount.is_none() {
        return;
    }
    let is_live = stream.state.takes_updates();
    assert_eq!(
        subscription.has(mode::LIVE),
        is_live,
        "whether {subscription:?} at {slot} takes updates"
    );
    let is_merged = owner.owed.has_merged(stream_id);
    assert_eq!(
        subscription.has(mode::MERGED),
        is_merged,
        "whether updates wait for {subscription:?} at {slot}"
    );
    let is_late = subscription.has(mode::LATE);
    assert!(!is_late || owner.owed.has_image(stream_id), "{subscription:?} waits for its image");
    assert!(!is_late || subscription.has(mode::WANTS), "{subscription:?} needs no image");
    assert!(
        !subscription.has(mode::IN_IMAGE) || item.in_parts,
        "no image comes for {subscription:?}"
    );
}
