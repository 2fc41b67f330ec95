//! The tables of a server that can be looked at.

tapeline_counters::rows! {
    /// Mounts: the connections of consumers.
    pub struct MountRow = "mounts" {
        /// The session, as the log has it.
        "channel" => channel: String;
        /// The user that is logged in, or what stands for one with a token; none before
        /// the login.
        "loginName" => login_name: Option<String>;
        /// The position that the user logged in from, as the client says it.
        "position" => position: Option<String>;
        /// The application id of the login.
        "applicationKey" => application_key: Option<String>;
        /// The name of the application.
        "applicationName" => application_name: Option<String>;
        /// The instance of the application, if the login names it.
        "identifier" => identifier: Option<String>;
        /// The address that it connects from.
        "hostname" => host_name: String;
        /// For how many seconds it has been there.
        "mountSeconds" => mount_seconds: u64;
        /// What it speaks: `RSSL` or `JSON`.
        "protocol" => protocol: &'static str;
        /// What the client's library calls itself.
        "version" => version: Option<String>;
        /// How what is sent to it is compressed: `zlib`, `lz4`, or not at all.
        "compression" => compression: Option<&'static str>;
        /// Whether it leaves recovery to the server.
        "singleOpen" => is_single_open: bool;
        /// Items that it has open,
        "items" => items: usize;
        /// of these with the data state OK,
        "active" => active: usize;
        /// of which nothing was heard yet,
        "pending" => pending: usize;
        /// and with the data state SUSPECT.
        "stale" => stale: usize;
        /// Bytes that wait for its socket.
        "backlogBytes" => backlog_bytes: usize, in bytes;
        /// The most that ever did.
        "backlogBytesMost" => backlog_bytes_most: usize, in bytes;
        /// Bytes of updates that are merged for it.
        "mergedBytes" => merged_bytes: usize, in bytes;
        /// Updates that came to it in one message with others, into which they were merged.
        "updatesMerged" => updates_merged: u64;
        /// How much these went up in a second; as all rates, between the last two looks.
        "updatesMergedPerS" => updates_merged_per_s: Option<u64>;
        /// Whether it reads too slowly, so that updates are merged.
        "slow" => is_slow: bool;
        /// For how many seconds it has been slow.
        "slowSeconds" => slow_seconds: Option<u64>;
        /// How often it turned slow.
        "slowCount" => slow_count: u64;
        /// What becomes of its updates: `every` (none is merged, and the mount is cut when it
        /// does not keep up), `latest-when-slow`, `latest-within N ms` or `at-most N/s`.
        "contract" => contract: String;
        /// Whether its login is paused, so that updates are left out.
        "paused" => is_paused: bool;
        /// Which part its client gave the server: `active`, `standby` or `none`, and
        /// the same for each service that has its own, as `FEED:standby`.
        "standby" => standby: String;
        /// How many microseconds it took the last time to answer, in mounts that are
        /// asked (`rtt-interval-ms`) and know how to: there and back, and the turn of
        /// its program.
        "roundTripUs" => round_trip_us: Option<u64>;
        /// The median of the last 128 times,
        "roundTripP50Us" => round_trip_p50_us: Option<u64>;
        /// and what one in a hundred of them took longer than.
        "roundTripP99Us" => round_trip_p99_us: Option<u64>;
        /// Messages that were sent to it.
        "messagesSent" => messages_sent: u64;
        /// Bytes that its socket took.
        "bytesSent" => bytes_sent: u64, in bytes;
        /// Messages that came from it.
        "messagesReceived" => messages_received: u64;
    }
}

tapeline_counters::rows! {
    /// Users with a mount. What several shards of a server tell of one user belongs
    /// together.
    pub struct UserRow = "users" {
        /// The name, or what stands for it.
        "loginName" => login_name: String;
        /// Mounts of the user.
        "channels" => channels: usize;
        /// The most that there were since the user came.
        "channelsMost" => channels_most: usize;
        /// The most items that the user had open since then, over all mounts.
        "totalMost" => total_most: usize;
        /// The positions of the mounts, eight at most, in a row.
        "positions" => positions: Option<String>;
        /// Items that the user has open over all mounts,
        "total" => total: usize;
        /// of these with the data state OK,
        "active" => active: usize;
        /// of which nothing was heard yet,
        "pending" => pending: usize;
        /// and with the data state SUSPECT.
        "stale" => stale: usize;
        /// Most items that the user may have open over all mounts, by the configuration
        /// and by the user's roles.
        "aggregateItemLimit" => aggregate_item_limit: usize;
        /// Most items that one mount may have open.
        "itemLimitPerMount" => item_limit_per_mount: usize;
        /// The highest class of priority that the configuration and the user's roles allow,
        /// if they bound it.
        "maxPriorityClass" => max_priority_class: Option<u32>;
        /// The fields that the user's roles show, where it is not all: `only 22, 25` or
        /// `all but 25`.
        "fields" => fields: Option<String>;
        /// What the user's roles say of how updates are delivered, if they do: `every`,
        /// `latest-when-slow`, `latest-within N ms` or `at-most N/s`.
        "contract" => contract: Option<String>;
        /// Streams of items that were opened since the user came,
        "opens" => opens: u64;
        /// for updates,
        "normalOpens" => normal_opens: u64;
        /// and for an image alone.
        "snapshotOpens" => snapshot_opens: u64;
        /// Those of mounts that leave recovery to the server,
        "recoverableOpens" => recoverable_opens: u64;
        /// and of others.
        "nonRecoverableOpens" => non_recoverable_opens: u64;
        /// Those with a view.
        "viewRequests" => view_requests: u64;
        /// Streams that ended, whoever ended them, of mounts that leave recovery to the
        /// server,
        "recoverableCloses" => recoverable_closes: u64;
        /// and of others.
        "nonRecoverableCloses" => non_recoverable_closes: u64;
        /// How often the policy denied the user an item, or took one away, since the user
        /// came.
        "denied" => denied: u64;
    }
}

tapeline_counters::rows! {
    /// Products of the policy that is in force. What several shards of a server tell of
    /// one belongs together.
    pub struct ProductRow = "products" {
        /// The name.
        "name" => name: String;
        /// The exchange.
        "exchange" => exchange: String;
        /// The service whose permission codes it has.
        "service" => service: String;
        /// How often somebody was denied an item, or lost it, for lack of a code that it
        /// has; where more than one has the code, of each. Requests that were refused
        /// before anything was known of the item are of none.
        "denied" => denied: u64;
    }
}

tapeline_counters::rows! {
    /// Services as consumers see them.
    pub struct ServiceRow = "services" {
        /// The name.
        "name" => name: String;
        /// The number by which consumers know it.
        "serviceID" => service_id: u16;
        /// `Up` or `Down`.
        "State" => state: &'static str;
        /// Whether requests are accepted.
        "accepting" => is_accepting: bool;
        /// Items that are open.
        "items" => items: usize;
        /// Its `max-items`, if it has a bound that was looked at,
        "maxItems" => max_items: Option<u64>;
        /// and the most items that it had, over all shards.
        "mostItems" => most_items: Option<u64>;
        /// Items with the data state OK.
        "active" => active: usize;
        /// Items of which nothing was heard yet.
        "pending" => pending: usize;
        /// Items with the data state SUSPECT.
        "stale" => stale: usize;
        /// Updates of its items that came from hubs, whoever watches them.
        "updates" => updates: u64;
        /// How much these went up in a second, between the last two looks.
        "updatesPerS" => updates_per_s: Option<u64>;
        /// Hubs that have it.
        "hubs" => hubs: usize;
        /// The qualities of service that it offers, the best first.
        "QoS" => qos: String;
        /// The domains that it offers.
        "Capabilities" => capabilities: String;
        /// The dictionaries that it uses.
        "Dictionaries" => dictionaries: String;
    }
}

tapeline_counters::rows! {
    /// How long messages take from hop to hop, by the one in so many that carries
    /// stamps, in the last whole 10 s.
    pub struct HopRow = "hops" {
        /// The service.
        "service" => service: String;
        /// `hub`: from the turn of the hub that read it until it was given to the
        /// backbone. `backbone`: until the server read it, as far as it is known how far
        /// the clocks of their hosts are apart.
        /// `server`: until the end of the turn in which it was given to the sockets.
        "hop" => hop: &'static str;
        /// Messages that carried stamps.
        "samples" => samples: u64;
        /// The mean: the means of all hops add up to that of the whole way.
        "meanNs" => mean_ns: u64, in ns;
        /// The median.
        "p50Ns" => p50_ns: u64, in ns;
        /// What one in a hundred takes longer than.
        "p99Ns" => p99_ns: u64, in ns;
        /// The longest.
        "worstNs" => worst_ns: u64, in ns;
        /// The item that took longest.
        "worstItem" => worst_item: String;
        /// Messages that carried stamps since the server started,
        "samplesTotal" => samples_total: u64;
        /// and the time that all of them took.
        "timeTotalNs" => time_total_ns: u64, in ns;
        /// By how much each of these may be wrong: between two hosts, how well it is known
        /// how far their clocks are apart.
        "clockErrorNs" => clock_error_ns: u64, in ns;
    }
}

tapeline_counters::rows! {
    /// Messages of the item that is traced (`tapeline admin trace`), as they came. Of a
    /// second, the first 100 are kept, and the last 1,000 in all.
    pub struct TraceRow = "trace" {
        /// Which it is, counted from 0.
        "number" => number: u32;
        /// Microseconds since the trace began.
        "afterUs" => after_us: u64;
        /// The service.
        "service" => service: String;
        /// The name of the item.
        "name" => name: String;
        /// Which run of a hub it came from, as `peers` have it.
        "hubRun" => hub_run: String;
        /// What it is: `refresh`, `update`, `status`, `generic`.
        "message" => message: String;
        /// Its place in the messages of the item, as the hub counts them.
        "sequence" => sequence: u32;
        /// Bytes of it.
        "bytes" => bytes: usize, in bytes;
        /// Mounts that watch the item.
        "watchers" => watchers: usize;
        /// Of one that carries stamps, how long it was in the hub,
        "hubNs" => hub_ns: Option<u64>, in ns;
        /// and on the backbone, where the hub's clock is that of this host.
        "backboneNs" => backbone_ns: Option<u64>, in ns;
        /// Messages before it, and behind the one before, that were left out.
        "leftOut" => left_out: u64;
    }
}

tapeline_counters::rows! {
    /// Items that are open at hubs, or wait for one.
    pub struct ItemRow = "items" {
        /// The name.
        "name" => name: String;
        /// The service.
        "service" => service: String;
        /// The domain.
        "domain" => domain: String;
        /// The state of its stream and its data.
        "state" => state: String;
        /// The words of the state.
        "text" => text: String;
        /// Mounts that watch it.
        "watchers" => watchers: usize;
        /// Messages of it so far, as its hub counts them.
        "messages" => messages: u32;
        /// How much these went up in a second, between the last two looks.
        "messagesPerS" => messages_per_s: Option<u64>;
        /// Bytes of the image that is kept.
        "imageBytes" => image_bytes: usize, in bytes;
        /// Bytes of updates that are merged for slow mounts.
        "mergedBytes" => merged_bytes: usize, in bytes;
        /// Whether it is a private stream.
        "private" => is_private: bool;
        /// Where it is with its hub: `nowhere`, `queued`, `asked`, `open`.
        "request" => request: &'static str;
        /// Which of the hubs it is asked for at.
        "hub" => hub: Option<u32>;
        /// Which run of that hub, as `peers` have it.
        "hubRun" => hub_run: Option<String>;
        /// The permission data of its image in hexadecimal; none without a policy, or
        /// where the image has none.
        "lock" => lock: Option<String>;
    }
}
