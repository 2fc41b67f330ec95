//! The table of a port that can be looked at.

tapeline_counters::rows! {
    /// Peers on the backbone: the servers of a hub, the hubs of a server.
    pub struct PeerRow = "peers" {
        /// Its name.
        "name" => name: String;
        /// Which run of it this is.
        "incarnation" => incarnation: String;
        /// The sessions of its streams at the media driver, as `driver-streams` has them:
        /// one for each network; none without a driver.
        "sessions" => sessions: Option<String>;
        /// Whether each hears the other.
        "up" => is_up: bool;
        /// The number of the frame that comes next in its stream.
        "position" => position: u32;
        /// Holes seen in its stream.
        "gaps" => gaps: u64;
        /// Frames missing in those holes.
        "lost" => lost: u64;
        /// Milliseconds since something of it came.
        "silentMs" => silent_ms: u64;
        /// How far the clock of its host is ahead of this one's, by round trips of
        /// presence.
        "clockOffsetNs" => clock_offset_ns: Option<i64>, in ns;
        /// And by how much that may be wrong.
        "clockErrorNs" => clock_error_ns: Option<u64>, in ns;
    }
}
