//! What a hub counts.

tapeline_counters::counts! {
    /// What a hub has done since its start, and what it holds now. Plain numbers,
    /// copied out by whoever wants to show them.
    pub struct Counters = "hub" {
        /// Updates passed on.
        updates: u64 = total;
        /// Images passed on, parts counted.
        refreshes: u64 = total;
        /// Statuses passed on, those of the hub counted.
        statuses: u64 = total;
        /// Generic messages passed on, both directions.
        generics: u64 = total;
        /// Generic messages for providers that did not read.
        generics_dropped: u64 = total;
        /// Requests and changes that did not fit into the output to a provider.
        /// Those that want an image are made again when their time is up.
        requests_dropped: u64 = total;
        /// Requests sent to providers.
        requests_upstream: u64 = total;
        /// Reissues sent to providers.
        reissues_upstream: u64 = total;
        /// Closes sent to providers.
        closes_upstream: u64 = total;
        /// Requests of servers.
        opens: u64 = total;
        /// Requests of servers that were refused.
        refused: u64 = total;
        /// Posts sent to providers.
        posts: u64 = total;
        /// Posts that were refused or timed out.
        naks: u64 = total;
        /// Requests after which a source had as many as `max-requests-per-s` allows, so that
        /// the next one had to wait.
        requests_paced: u64 = total;
        /// Requests that a provider did not answer in time.
        request_timeouts: u64 = total;
        /// Images whose end did not come in time.
        images_given_up: u64 = total;
        /// Items that moved to another source.
        failovers: u64 = total;
        /// Among these, items of mirrored services that went on with what another
        /// source had,
        mirror_switches: u64 = total;
        /// and of which servers were told nothing, as both had the same.
        mirror_switches_unseen: u64 = total;
        /// Updates of a mirrored service that were dropped as servers had them from the source
        /// before, where sources number them alike (`mirror-seq`).
        mirror_repeats: u64 = total;
        /// Images asked for on streams with which a source stood by (`mirror = "stream"`).
        mirror_images: u64 = total;
        /// Mirrored services that went back to their first source.
        mirror_failbacks: u64 = total;
        /// Items that the active source of a mirrored service closed, and that went on at
        /// another one: to be recovered, or for good where `mirror-close` is `quorum`.
        mirror_closes_outlived: u64 = total;
        /// Items of sources that left, as they are not configured any more or an operator
        /// drains them, that went on at another one; and
        items_moved: u64 = total;
        /// among these those that went to a source that has less to do (`rebalance`).
        items_balanced: u64 = total;
        /// Requests sent to sources that stand by with a mirrored service.
        mirror_requests: u64 = total;
        /// Items that such a source closed while the active one had them.
        mirrors_closed: u64 = total;
        /// Items with which sources stand by.
        mirrors: u64 = now;
        /// Items that gave way to others of higher priority.
        preempted: u64 = total;
        /// Messages of providers that could not be read.
        malformed: u64 = total;
        /// Messages of providers that were longer than is taken.
        too_long: u64 = total;
        /// Messages of providers on streams that are not open, or for another item
        /// than the stream's.
        stray: u64 = total;
        /// Frames of servers that could not be read or were about nothing known.
        bad_frames: u64 = total;
        /// Items that came to nothing because a limit was reached.
        limited: u64 = total;
        /// Images of non-interactive providers in services that are not theirs.
        publications_refused: u64 = total;
        /// Logins of non-interactive providers that the policy refused or ended.
        logins_refused: u64 = total;
        /// Images that were too large or too odd to keep.
        uncached: u64 = total;
        /// Holes in what servers sent.
        gaps: u64 = total;
        /// Requests that were closed since their server wants them no more, though
        /// its close was lost.
        leftovers: u64 = total;
        /// Items that are still to be told that their source is lost, or what it
        /// said, or that are to look for a source, bit by bit.
        backlog: u64 = now;
        /// Closes and images that are owed now, to be done bit by bit.
        owed: u64 = now;
        /// Items now.
        items: u64 = now, at most "max-items";
        /// Services now.
        services: u64 = now, at most "max-services";
        /// Sources that are up now, without those that leave.
        sources_up: u64 = now;
        /// Servers now.
        servers: u64 = now, at most "max-servers";
        /// Non-interactive providers that have logged in, now.
        providers: u64 = now, at most "max-providers";
        /// Items now of the one of them that has most.
        provider_items: u64 = now, at most "max-items-per-provider";
        /// Connections now to the port of such providers that have not logged in.
        without_login: u64 = now, at most "max-without-login";
        /// Posts now that wait for an ack.
        posts_waiting: u64 = now, at most "max-posts";
        /// Items that a non-interactive provider publishes while another one has
        /// them, now: it stands by.
        claims: u64 = now;
        /// Items that went on with what such a provider had, as the one before was gone,
        standby_switches: u64 = total;
        /// and of which servers were told nothing, as both had the same.
        standby_switches_unseen: u64 = total;
        /// Times that sources were not read for a while, as the backbone took no more,
        holds: u64 = total;
        /// and for how many milliseconds in all.
        held_ms: u64 = total(ms);
        /// Whether the queue to the backbone is too full now: 1 from `pressure-high`
        /// until it is below `pressure-low`. Updates are merged and no requests taken.
        pressed: u64 = now;
        /// How often that began,
        pressures: u64 = total;
        /// and for how many milliseconds it was so in all.
        pressure_ms: u64 = total(ms);
        /// Updates that were merged with others of their item meanwhile.
        updates_merged: u64 = total;
        /// Items of which merged updates wait now,
        merges: u64 = now;
        /// and bytes of these.
        merged_bytes: u64 = now(bytes), at most "pressure-merged-bytes";
        /// Times that non-interactive providers were read no faster than the backbone
        /// took what they sent.
        publishers_held: u64 = total;
        /// Requests, images, changes and closes that wait now for a provider to
        /// read, or for room in its window.
        unsent_upstream: u64 = now;
    }
}
