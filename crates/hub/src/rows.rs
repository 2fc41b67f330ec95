//! The tables of a hub that can be looked at.

tapeline_counters::rows! {
    /// Sources: the providers that a hub is connected to, or wants to be.
    pub struct SourceRow = "sources" {
        /// Its name in the configuration, or the address of one that connects.
        "name" => name: String;
        /// `interactive` or `non-interactive`.
        "kind" => kind: &'static str;
        /// The session, as the log has it.
        "channel" => channel: Option<String>;
        /// Where it is, or was looked for last.
        "host" => host: String;
        /// Whether it is up: connected, logged in, with a directory.
        "up" => is_up: bool;
        /// How far its connection is: `down`, `connecting`, `login`, `directory`, `up`; or
        /// `leaves`, if it is not configured any more and its items go to others.
        "phase" => phase: &'static str;
        /// The services that are taken from it; of one in a group, what the source
        /// calls it, too: `FEED (EAST)`.
        "services" => services: String;
        /// Whether it is asked before others (the lower the earlier), how many
        /// items it has beside those of the same order, how many requests a second it is
        /// sent at most, and whether it takes no new items: `0 1`, `1 3 50/s drains`.
        "preference" => preference: String;
        /// Items that are open there.
        "items" => items: u64;
        /// Requests without their image.
        "inWindow" => in_window: u64;
        /// The requests without their image that it takes, by the least that it says of any
        /// of its services; none if it does not say.
        "openWindow" => open_window: Option<u64>;
        /// How loaded it says that it is, by the most of any of its services: among sources
        /// of the same order, the one that says least is asked first.
        "loadFactor" => load_factor: Option<u64>;
        /// What it is told that it is for mirrored services: `active-with-standby`,
        /// `active-no-standby` or `standby`; several if it differs.
        "mirroring" => mirroring: Option<String>;
        /// Requests, images, changes and closes that wait to be sent.
        "unsent" => unsent: usize;
        /// Items of others for which it stands by.
        "claims" => claims: usize;
        /// Whether it does not read.
        "slow" => is_slow: bool;
        /// How many microseconds the hub took the last time to answer, there and back, as
        /// a source says that measures it,
        "roundTripUs" => round_trip_us: Option<u64>;
        /// and how often TCP had to send something again, as it says.
        "retransmits" => retransmits: Option<u64>;
        /// How often it was lost since the hub started.
        "losses" => losses: u64;
        /// Why it was lost last.
        "lastLoss" => last_loss: Option<String>;
        /// How many seconds ago that was.
        "lastLossSeconds" => last_loss_seconds: Option<u64>;
        /// For how many seconds it has been connected.
        "upSeconds" => up_seconds: Option<u64>;
    }
}

tapeline_counters::rows! {
    /// Services as a hub has them.
    pub struct HubServiceRow = "hub-services" {
        /// The name.
        "name" => name: String;
        /// The number by which servers know it.
        "serviceID" => service_id: u16;
        /// Items of it at the hub.
        "items" => items: usize;
        /// Its `max-items`, if it has a bound,
        "maxItems" => max_items: Option<usize>;
        /// and the most items that it had since the hub started.
        "mostItems" => most_items: usize;
        /// Items that wait for a source.
        "waiting" => waiting: usize;
        /// Sources that offer it.
        "sources" => sources: usize;
        /// Each of them with the items that it has: its name, or its address where it
        /// connects, its preference as in `sources`, and its part for a mirrored
        /// service: `EAST 0 1: 70, WEST 1 1 standby: 0`.
        "from" => from: String;
    }
}

tapeline_counters::rows! {
    /// Items as a hub has them: where each comes from.
    pub struct HubItemRow = "hub-items" {
        /// The name.
        "name" => name: String;
        /// The service.
        "service" => service: String;
        /// The domain.
        "domain" => domain: String;
        /// The state of its stream and its data.
        "state" => state: String;
        /// The source that it comes from, or is asked for at, as in `sources`; none while
        /// it waits for one.
        "source" => source: Option<String>;
        /// The stream there.
        "stream" => stream: Option<i64>;
        /// Requests of servers for it.
        "requests" => requests: usize;
        /// Messages of it so far that went to all servers.
        "messages" => messages: u32;
        /// How much these went up in a second, between the last two looks.
        "messagesPerS" => messages_per_s: Option<u64>;
        /// Bytes of the image that is kept.
        "imageBytes" => image_bytes: usize, in bytes;
        /// Whether it is a private stream.
        "private" => is_private: bool;
    }
}

tapeline_counters::rows! {
    /// Servers on the backbone, as a hub has them.
    pub struct ServerRow = "servers" {
        /// Its name.
        "name" => name: String;
        /// Which run of it this is.
        "incarnation" => incarnation: String;
        /// Requests that it has open.
        "requests" => requests: usize;
    }
}
