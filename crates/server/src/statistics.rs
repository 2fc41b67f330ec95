//! What a server counts.

tapeline_counters::counts! {
    /// Counts of what a server has now, and of what it did since its start.
    pub struct Statistics = "server" {
        /// Connections.
        mounts: usize = now, at most "max-mounts";
        /// Among these, those for which the server stands by with a service or all.
        mounts_on_standby: usize = now;
        /// Items that are open at hubs, or wait for one.
        items: usize = now, at most "max-items";
        /// Hubs that are there.
        hubs: usize = now, at most "max-hubs";
        /// Services, up or down.
        services: usize = now;
        /// Posts that wait for their acks.
        posts: usize = now, at most "max-posts";
        /// Pieces of long work that are under way: mounts that leave with what they
        /// have open, items of a hub that is gone, services that are up again.
        backlog: usize = now;
        /// Messages from mounts.
        messages_in: u64 = total;
        /// Times that messages of a mount, or of several, had to wait for the next
        /// turn because one handles no more.
        messages_postponed: u64 = total;
        /// Updates from hubs.
        updates_in: u64 = total;
        /// Updates that were sent to mounts as they came, or in another form.
        updates_out: u64 = total;
        /// Among these, those that waited in a busy turn to be copied mount by mount.
        updates_by_mount: u64 = total;
        /// Updates that were merged into others.
        updates_merged: u64 = total;
        /// Updates that had to wait because of a contract, `latest-within` or `at-most`, each
        /// the first of those that went out as one.
        updates_held: u64 = total;
        /// Bytes of updates that are merged for slow mounts.
        merged_bytes: usize = now(bytes), at most "merge-max-bytes";
        /// The most that these ever were.
        merged_bytes_most: usize = most(bytes);
        /// How often updates of an item were too many to be merged: whoever waited
        /// got an image in their place.
        merges_dropped: u64 = total;
        /// How often updates of an item were not merged for a mount, as too much was
        /// for that mount: it got an image in their place.
        merges_dropped_of_mounts: u64 = total;
        /// How often a mount turned slow.
        mounts_slowed: u64 = total;
        /// Mounts that caught up, and for which something waits yet.
        mounts_draining: usize = now;
        /// How often a client took over: the server, which stood by, served it from
        /// then on.
        take_overs: u64 = total;
        /// Streams that were served at these, each with an image or a state.
        streams_taken_over: u64 = total;
        /// The longest time from a client's word to the last of its images.
        take_over_ns_most: u64 = most(ns);
        /// Requests that were answered without content, as the server stands by.
        answers_on_standby: u64 = total;
        /// Posts that were answered, and not passed on, as the server stands by.
        posts_on_standby: u64 = total;
        /// Roles of warm standby that could not be understood.
        roles_ignored: u64 = total;
        /// Mounts for which the server stood by, and that left within a second of being told how
        /// services are described: clients leave a server out that describes them otherwise than
        /// the first one of their group.
        mounts_left_out: u64 = total;
        /// Times that a hub came with a service that has another number here, and that no
        /// `[[service]]` gives one: other servers may have it by the hub's number.
        numbers_differ: u64 = total;
        /// Times that mounts were asked on their login, and answered.
        round_trips: u64 = total;
        /// The longest of these.
        round_trip_ns_most: u64 = most(ns);
        /// Such answers that nobody asked for.
        round_trips_ignored: u64 = total;
        /// Images that were put off until a mount had caught up.
        images_put_off: u64 = total;
        /// States that were put off, and told as the last one of their item.
        states_put_off: u64 = total;
        /// Frames that could not be used: unknown items, bytes that are no message.
        frames_ignored: u64 = total;
        /// Posts that were refused because too many wait for their acks, of their
        /// mount or of all.
        posts_refused: u64 = total;
        /// Mounts that were cut: output full, bytes that are no message, no login.
        mounts_cut: u64 = total;
        /// Among these, because the outputs of all mounts had too much together.
        mounts_cut_for_pool: u64 = total;
        /// Among these, because they did not log in in time.
        mounts_cut_without_login: u64 = total;
        /// Mounts that are closed in a second, as the server is drained of them; 0: it
        /// is not, and accepts mounts.
        drain_per_s: u64 = now;
        /// Mounts that were closed so.
        mounts_drained: u64 = total;
        /// Bytes of output that wait for all mounts.
        output_bytes: usize = now(bytes), at most "output-pool-bytes";
        /// The most that these ever were.
        output_bytes_most: usize = most(bytes);
        /// Items of which messages were missed.
        gaps: u64 = total;
        /// Requests to hubs that were lost, or whose answer was, and made again.
        requests_lost: u64 = total;
        /// Items whose number a hub used for another one, as the end of the first
        /// was lost.
        orphans: u64 = total;
        /// Requests to hubs that wait for room in their `open-window`, or on the
        /// backbone.
        requests_queued: usize = now;
        /// Requests to hubs that are on their way, of the hub that has most of them.
        requests_open: usize = now, at most "open-window";
        /// Closes that wait for room on the backbone.
        closes_waiting: usize = now;
        /// Messages that were longer than is taken, of mounts and of items.
        messages_too_long: u64 = total;
        /// Logins that were refused.
        logins_refused: u64 = total;
        /// Requests that were denied: the service, the name or the lock of the item.
        opens_denied: u64 = total;
        /// Requests that were refused because a mount, a user or the server has all the
        /// items it may have.
        opens_limited: u64 = total;
        /// Requests that had to wait for their turn, as their mount or user asks faster
        /// than it may, or for more snapshots at a time.
        opens_paced: u64 = total;
        /// Those that wait now.
        opens_waiting: usize = now;
        /// The most snapshots of one mount that ever waited: see `snapshot-queue`.
        snapshots_waiting_most: usize = most;
        /// Connections that have not logged in, at the port that has most of them.
        without_login: usize = now, at most "max-without-login";
        /// Memory of the process, where that has a bound.
        memory_bytes: usize = now(bytes), at most "memory-max-bytes";
        /// Streams that gave way to others of higher priority.
        streams_preempted: u64 = total;
        /// Images that went from the cache as memory was scarce.
        images_let_go: u64 = total;
        /// Streams that ended because a lock or the policy became another one.
        streams_revoked: u64 = total;
        /// Streams that show other fields than before, as the policy became another one.
        streams_masked: u64 = total;
        /// Updates that did not go to a watcher because of a lock of their own.
        updates_denied: u64 = total;
        /// Posts that were refused because the policy does not allow them.
        posts_denied: u64 = total;
        /// Logins that ended because the policy became another one, or the user
        /// logged in elsewhere.
        users_logged_out: u64 = total;
        /// Which policy is in force, counted from 1; 0 for none.
        policy_epoch: u64 = now;
        /// Different locks that were seen.
        locks: usize = now;
        /// Among these, locks that cannot be read.
        locks_unreadable: usize = now;
        /// Records of usage that were lost, as whoever writes them was behind.
        records_lost: u64 = total;
        /// Connections that speak JSON, among `mounts`.
        json_mounts: usize = now;
        /// Messages that were converted to JSON.
        json_converted: u64 = total;
        /// Messages that were sent in JSON as converted for another mount.
        json_shared: u64 = total;
        /// Messages that could not be said in JSON.
        json_unwritable: u64 = total;
        /// Fields that were left out of JSON, as the dictionary lacks them or their
        /// value is malformed.
        json_fields_left_out: u64 = total;
        /// Messages in JSON that were no good, and answered with an Error.
        json_faults: u64 = total;
    }
}
