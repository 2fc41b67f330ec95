//! What a server counts.

/// Counts of what a server has now, and of what it did since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Connections.
    pub mounts: usize,
    /// Items that are open at hubs, or wait for one.
    pub items: usize,
    /// Hubs that are there.
    pub hubs: usize,
    /// Services, up or down.
    pub services: usize,
    /// Posts that wait for their acks.
    pub posts: usize,
    /// Pieces of long work that are under way: mounts that leave with what they
    /// have open, items of a hub that is gone, services that are up again.
    pub backlog: usize,
    /// Messages from mounts.
    pub messages_in: u64,
    /// Times that messages of a mount, or of several, had to wait for the next
    /// turn because one handles no more.
    pub messages_postponed: u64,
    /// Updates from hubs.
    pub updates_in: u64,
    /// Updates that were sent to mounts as they came, or in another form.
    pub updates_out: u64,
    /// Updates that were merged into others.
    pub updates_merged: u64,
    /// Bytes of updates that are merged for slow mounts.
    pub merged_bytes: usize,
    /// The most that these ever were.
    pub merged_bytes_most: usize,
    /// How often updates of an item were too many to be merged: whoever waited
    /// got an image in their place.
    pub merges_dropped: u64,
    /// How often updates of an item were not merged for a mount, as too much was
    /// for that mount: it got an image in their place.
    pub merges_dropped_of_mounts: u64,
    /// How often a mount turned slow.
    pub mounts_slowed: u64,
    /// Mounts that caught up, and for which something waits yet.
    pub mounts_draining: usize,
    /// Images that were put off until a mount had caught up.
    pub images_put_off: u64,
    /// States that were put off, and told as the last one of their item.
    pub states_put_off: u64,
    /// Frames that could not be used: unknown items, bytes that are no message.
    pub frames_ignored: u64,
    /// Posts that were refused because too many wait for their acks, of their
    /// mount or of all.
    pub posts_refused: u64,
    /// Mounts that were cut: output full, bytes that are no message, no login.
    pub mounts_cut: u64,
    /// Among these, because the outputs of all mounts had too much together.
    pub mounts_cut_for_pool: u64,
    /// Bytes of output that wait for all mounts.
    pub output_bytes: usize,
    /// The most that these ever were.
    pub output_bytes_most: usize,
    /// Items of which messages were missed.
    pub gaps: u64,
    /// Requests to hubs that were lost, or whose answer was, and made again.
    pub requests_lost: u64,
    /// Items whose number a hub used for another one, as the end of the first
    /// was lost.
    pub orphans: u64,
    /// Closes that wait for room on the backbone.
    pub closes_waiting: usize,
    /// Messages that were longer than is taken, of mounts and of items.
    pub messages_too_long: u64,
    /// Connections that speak JSON, among `mounts`.
    pub json_mounts: usize,
    /// Messages that were converted to JSON.
    pub json_converted: u64,
    /// Messages that were sent in JSON as converted for another mount.
    pub json_shared: u64,
    /// Messages that could not be said in JSON.
    pub json_unwritable: u64,
    /// Fields that were left out of JSON, as the dictionary lacks them or their
    /// value is malformed.
    pub json_fields_left_out: u64,
    /// Messages in JSON that were no good, and answered with an Error.
    pub json_faults: u64,
}

impl Statistics {
    /// All of them by name, for whoever shows them.
    pub fn named(&self) -> [(&'static str, u64); 36] {
        // Without `..`: what is new is not to be forgotten here.
        let Self {
            mounts,
            items,
            hubs,
            services,
            posts,
            backlog,
            messages_in,
            messages_postponed,
            updates_in,
            updates_out,
            updates_merged,
            merged_bytes,
            merged_bytes_most,
            merges_dropped,
            merges_dropped_of_mounts,
            mounts_slowed,
            mounts_draining,
            images_put_off,
            states_put_off,
            frames_ignored,
            posts_refused,
            mounts_cut,
            mounts_cut_for_pool,
            output_bytes,
            output_bytes_most,
            gaps,
            requests_lost,
            orphans,
            closes_waiting,
            messages_too_long,
            json_mounts,
            json_converted,
            json_shared,
            json_unwritable,
            json_fields_left_out,
            json_faults,
        } = *self;
        [
            ("mounts", mounts as u64),
            ("items", items as u64),
            ("hubs", hubs as u64),
            ("services", services as u64),
            ("posts", posts as u64),
            ("backlog", backlog as u64),
            ("messages_in", messages_in),
            ("messages_postponed", messages_postponed),
            ("updates_in", updates_in),
            ("updates_out", updates_out),
            ("updates_merged", updates_merged),
            ("merged_bytes", merged_bytes as u64),
            ("merged_bytes_most", merged_bytes_most as u64),
            ("merges_dropped", merges_dropped),
            ("merges_dropped_of_mounts", merges_dropped_of_mounts),
            ("mounts_slowed", mounts_slowed),
            ("mounts_draining", mounts_draining as u64),
            ("images_put_off", images_put_off),
            ("states_put_off", states_put_off),
            ("frames_ignored", frames_ignored),
            ("posts_refused", posts_refused),
            ("mounts_cut", mounts_cut),
            ("mounts_cut_for_pool", mounts_cut_for_pool),
            ("output_bytes", output_bytes as u64),
            ("output_bytes_most", output_bytes_most as u64),
            ("gaps", gaps),
            ("requests_lost", requests_lost),
            ("orphans", orphans),
            ("closes_waiting", closes_waiting as u64),
            ("messages_too_long", messages_too_long),
            ("json_mounts", json_mounts as u64),
            ("json_converted", json_converted),
            ("json_shared", json_shared),
            ("json_unwritable", json_unwritable),
            ("json_fields_left_out", json_fields_left_out),
            ("json_faults", json_faults),
        ]
    }
}
