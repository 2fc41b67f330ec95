//! What a hub counts.

/// What a hub has done since its start, and what it holds now. Plain numbers,
/// copied out by whoever wants to show them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Updates passed on.
    pub updates: u64,
    /// Images passed on, parts counted.
    pub refreshes: u64,
    /// Statuses passed on, those of the hub counted.
    pub statuses: u64,
    /// Generic messages passed on, both directions.
    pub generics: u64,
    /// Generic messages for providers that did not read.
    pub generics_dropped: u64,
    /// Requests and changes that did not fit into the output to a provider.
    /// Those that want an image are made again when their time is up.
    pub requests_dropped: u64,
    /// Requests sent to providers.
    pub requests_upstream: u64,
    /// Reissues sent to providers.
    pub reissues_upstream: u64,
    /// Closes sent to providers.
    pub closes_upstream: u64,
    /// Requests of servers.
    pub opens: u64,
    /// Requests of servers that were refused.
    pub refused: u64,
    /// Posts sent to providers.
    pub posts: u64,
    /// Posts that were refused or timed out.
    pub naks: u64,
    /// Requests that a provider did not answer in time.
    pub request_timeouts: u64,
    /// Images whose end did not come in time.
    pub images_given_up: u64,
    /// Items that moved to another source.
    pub failovers: u64,
    /// Items that gave way to others of higher priority.
    pub preempted: u64,
    /// Messages of providers that could not be read.
    pub malformed: u64,
    /// Messages of providers that were longer than is taken.
    pub too_long: u64,
    /// Messages of providers on streams that are not open, or for another item
    /// than the stream's.
    pub stray: u64,
    /// Frames of servers that could not be read or were about nothing known.
    pub bad_frames: u64,
    /// Items that came to nothing because a limit was reached.
    pub limited: u64,
    /// Images of non-interactive providers in services that are not theirs.
    pub publications_refused: u64,
    /// Images that were too large or too odd to keep.
    pub uncached: u64,
    /// Holes in what servers sent.
    pub gaps: u64,
    /// Requests that were closed since their server wants them no more, though
    /// its close was lost.
    pub leftovers: u64,
    /// Items that are still to be told that their source is lost, or what it
    /// said, or that are to look for a source, bit by bit.
    pub backlog: u64,
    /// Closes and images that are owed now, to be done bit by bit.
    pub owed: u64,
    /// Items now.
    pub items: u64,
    /// Services now.
    pub services: u64,
    /// Sources that are up now.
    pub sources_up: u64,
    /// Servers now.
    pub servers: u64,
    /// Items that a non-interactive provider publishes while another one has
    /// them, now: it stands by.
    pub claims: u64,
    /// Requests, images, changes and closes that wait now for a provider to
    /// read, or for room in its window.
    pub unsent_upstream: u64,
}

impl Counters {
    /// All of them by name, for whoever shows them.
    pub fn named(&self) -> [(&'static str, u64); 34] {
        // Without `..`: what is new is not to be forgotten here.
        let Self {
            updates,
            refreshes,
            statuses,
            generics,
            generics_dropped,
            requests_dropped,
            requests_upstream,
            reissues_upstream,
            closes_upstream,
            opens,
            refused,
            posts,
            naks,
            request_timeouts,
            images_given_up,
            failovers,
            preempted,
            malformed,
            too_long,
            stray,
            bad_frames,
            limited,
            publications_refused,
            uncached,
            gaps,
            leftovers,
            backlog,
            owed,
            items,
            services,
            sources_up,
            servers,
            claims,
            unsent_upstream,
        } = *self;
        [
            ("updates", updates),
            ("refreshes", refreshes),
            ("statuses", statuses),
            ("generics", generics),
            ("generics_dropped", generics_dropped),
            ("requests_dropped", requests_dropped),
            ("requests_upstream", requests_upstream),
            ("reissues_upstream", reissues_upstream),
            ("closes_upstream", closes_upstream),
            ("opens", opens),
            ("refused", refused),
            ("posts", posts),
            ("naks", naks),
            ("request_timeouts", request_timeouts),
            ("images_given_up", images_given_up),
            ("failovers", failovers),
            ("preempted", preempted),
            ("malformed", malformed),
            ("too_long", too_long),
            ("stray", stray),
            ("bad_frames", bad_frames),
            ("limited", limited),
            ("publications_refused", publications_refused),
            ("uncached", uncached),
            ("gaps", gaps),
            ("leftovers", leftovers),
            ("backlog", backlog),
            ("owed", owed),
            ("items", items),
            ("services", services),
            ("sources_up", sources_up),
            ("servers", servers),
            ("claims", claims),
            ("unsent_upstream", unsent_upstream),
        ]
    }
}
