//! What happens in a world.

/// Something that happens to somebody. Numbers are taken modulo how many there
/// are, so that each action has a meaning whatever others were left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// The value of an item changes so many times, some milliseconds apart.
    Update {
        item: usize,
        count: usize,
        apart_ms: u64,
    },
    /// Each item changes once.
    UpdateAll,
    Open {
        consumer: usize,
        item: usize,
        view: bool,
        paused: bool,
    },
    Close {
        consumer: usize,
        open: usize,
    },
    CloseAll {
        consumer: usize,
    },
    Pause {
        consumer: usize,
        open: usize,
    },
    Resume {
        consumer: usize,
        open: usize,
    },
    /// Another view, or another image.
    Change {
        consumer: usize,
        open: usize,
        view: Option<bool>,
    },
    /// All items of a service that are not open, in one request.
    Batch {
        consumer: usize,
        service: usize,
    },
    /// An image and no updates.
    Snapshot {
        consumer: usize,
        item: usize,
    },
    /// A stream of the consumer's own.
    Private {
        consumer: usize,
        item: usize,
    },
    /// Another priority.
    Rank {
        consumer: usize,
        open: usize,
        class: u8,
    },
    /// Something that is posted on the stream of an item,
    Post {
        consumer: usize,
        open: usize,
    },
    /// or on that of the login.
    PostAside {
        consumer: usize,
        item: usize,
    },
    /// A consumer takes its data from elsewhere for a while: its server stands by.
    StandBy {
        consumer: usize,
        ms: u64,
    },
    /// A generic message on the stream of an item, which the source answers.
    Generic {
        consumer: usize,
        open: usize,
    },
    /// Which of the locks a consumer opens from now on, by bits.
    Rights {
        consumer: usize,
        codes: u8,
    },
    /// Nothing happens until all that is open is as it should be, and then no
    /// more is open anywhere than somebody wants.
    Look,
    /// A source sends an image that nobody asked for.
    Unasked {
        source: usize,
        item: usize,
    },
    /// A source ends the streams of an item, which may be asked for again,
    EndItem {
        source: usize,
        item: usize,
    },
    /// or may not.
    EndForGood {
        source: usize,
        item: usize,
    },
    /// A source says something of all items of a group, and after a while that
    /// they are good again.
    Group {
        source: usize,
        service: usize,
        group: usize,
        saying: Saying,
        ms: u64,
    },
    /// A source says that a service is down, and after a while that it is up.
    ServiceDown {
        source: usize,
        service: usize,
        ms: u64,
    },
    /// A source takes no requests for a service, but for one or the other,
    Refuse {
        source: usize,
        service: usize,
        ms: u64,
    },
    /// or so many at a time, and so many items; 0: as many as anybody wants.
    Load {
        source: usize,
        service: usize,
        window: u64,
        limit: u64,
    },
    /// A source says how loaded it is with a service.
    Burden {
        source: usize,
        service: usize,
        percent: u64,
    },
    /// A source leaves requests without an answer.
    Mute {
        source: usize,
        ms: u64,
    },
    /// A source takes a service away, and has it again after a while by another
    /// number.
    Withdraw {
        source: usize,
        service: usize,
        ms: u64,
    },
    /// A non-interactive provider ends an item, and publishes it again.
    Republish {
        publisher: usize,
        item: usize,
        ms: u64,
    },
    /// Gone without a word, and back after a while.
    CrashHub {
        hub: usize,
        ms: u64,
    },
    CrashServer {
        server: usize,
        ms: u64,
    },
    CrashSource {
        source: usize,
        ms: u64,
    },
    /// The same of one whose items others have, too: they go on with them.
    LoseMirror {
        source: usize,
        ms: u64,
    },
    CrashPublisher {
        publisher: usize,
        ms: u64,
    },
    CrashConsumer {
        consumer: usize,
    },
    /// Gone with a word.
    StopHub {
        hub: usize,
        ms: u64,
    },
    StopServer {
        server: usize,
        ms: u64,
    },
    /// Its thread does not run for a while.
    StallHub {
        hub: usize,
        ms: u64,
    },
    StallServer {
        server: usize,
        ms: u64,
    },
    StallSource {
        source: usize,
        ms: u64,
    },
    StallConsumer {
        consumer: usize,
        ms: u64,
    },
    /// Nobody's does: their machine was suspended.
    Suspend {
        ms: u64,
    },
    /// The backbone carries nothing from a hub to a server, or back, or both.
    Cut {
        hub: usize,
        server: usize,
        ways: u8,
        ms: u64,
    },
    /// It loses some of the frames.
    Lose {
        hub: usize,
        server: usize,
        per_million: u32,
        ms: u64,
    },
    /// It takes no frames of a port.
    StickHub {
        hub: usize,
        ms: u64,
    },
    StickServer {
        server: usize,
        ms: u64,
    },
    /// A port is cut off, and comes back as somebody else.
    BreakHub {
        hub: usize,
        ms: u64,
    },
    BreakServer {
        server: usize,
        ms: u64,
    },
    /// Somebody sends what is no frame to everybody.
    Junk {
        bytes: usize,
    },
    /// Connections are reset.
    ResetServer {
        server: usize,
    },
    ResetSource {
        source: usize,
    },
    ResetPublishers {
        hub: usize,
    },
    /// The way to a listener carries nothing.
    CutServer {
        server: usize,
        ms: u64,
    },
    CutSource {
        source: usize,
        ms: u64,
    },
    CutPublishers {
        hub: usize,
        ms: u64,
    },
}

/// What a source says of a group, or of a whole service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Saying {
    Suspect,
    Closed,
    /// Its items are of another group from here on.
    Merged,
    ServiceSuspect,
    ServiceClosed,
}

impl Action {
    /// For how many milliseconds it may keep consumers from being told what
    /// they are to be told; none if it does not.
    pub(crate) const fn trouble_ms(self) -> Option<u64> {
        match self {
            Self::CrashServer { ms, .. }
            | Self::StopServer { ms, .. }
            | Self::StallHub { ms, .. }
            | Self::StallServer { ms, .. }
            | Self::StallConsumer { ms, .. }
            | Self::StallSource { ms, .. }
            | Self::Suspend { ms }
            | Self::Cut { ms, .. }
            | Self::Lose { ms, .. }
            | Self::StickHub { ms, .. }
            | Self::StickServer { ms, .. }
            | Self::BreakHub { ms, .. }
            | Self::BreakServer { ms, .. }
            | Self::CutServer { ms, .. }
            | Self::CutSource { ms, .. }
            | Self::CutPublishers { ms, .. } => Some(ms),
            Self::ResetServer { .. } => Some(0),
            _ => None,
        }
    }

    /// For how many milliseconds it may keep a consumer from a server that is
    /// there; none if it does not.
    pub(crate) const fn barrier_ms(self) -> Option<u64> {
        match self {
            Self::StallServer { ms, .. }
            | Self::StallConsumer { ms, .. }
            | Self::Suspend { ms }
            | Self::CutServer { ms, .. } => Some(ms),
            Self::ResetServer { .. } => Some(0),
            _ => None,
        }
    }
}
