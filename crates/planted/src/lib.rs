//! Bugs that are planted in the code of the cores, so that it is seen that the
//! simulated world finds them.
//!
//! A core asks with `planted!(LostClose)` whether it is to be wrong here and
//! now. Without the feature `planted` that is the constant `false`, and the
//! compiler leaves nothing of it; with it, one build has all of them, and
//! [`choose`] says which one its thread is to have.

#[cfg(all(feature = "planted", not(debug_assertions)))]
compile_error!("planted faults are for test builds; leave the feature `planted` out");

/// Whether a planted fault strikes here and now.
#[macro_export]
macro_rules! planted {
    ($fault:ident) => {
        $crate::strikes($crate::Fault::$fault)
    };
}

macro_rules! faults {
    ($($(#[doc = $what:literal])+ $fault:ident = $name:literal,)+) => {
        /// A bug that is planted in the code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Fault {
            $($(#[doc = $what])+ $fault,)+
        }

        impl Fault {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$fault,)+];

            /// Its name on a command line.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$fault => $name,)+
                }
            }

            /// What is wrong with it.
            pub const fn what(self) -> &'static str {
                match self {
                    $(Self::$fault => concat!($($what),+),)+
                }
            }
        }
    };
}

faults! {
    /// backbone: a port says nothing of frames that are missing
    SilentGap = "silent-gap",
    /// backbone: a port says nothing of a peer that went silent
    UnnoticedDeath = "unnoticed-death",
    /// cache: one update is left out of an image
    UncachedUpdate = "uncached-update",
    /// cache: what waits for two is dropped when the first of them has it
    LostAbsorption = "lost-absorption",
    /// streams: a resume does not wait for its image
    ResumedEarly = "resumed-early",
    /// streams: an image that is not completed is waited for all the same
    KeptParts = "kept-parts",
    /// server: a jump in the sequence of an item is not seen
    MissedHole = "missed-hole",
    /// server: the image that fills a hole goes to those alone who asked
    RepairForOne = "repair-for-one",
    /// server: after lost frames, an item that is behind is not repaired
    UnrepairedItem = "unrepaired-item",
    /// server: a page of what is wanted lacks an item
    ShortPage = "short-page",
    /// server: an update keeps the stream id of the hub
    UnpatchedStreamId = "unpatched-stream-id",
    /// server: copies of updates that wait for a mount are dropped
    LostCopies = "lost-copies",
    /// server: what is sent at once overtakes the copies that wait
    OvertakenCopies = "overtaken-copies",
    /// server: an item that nobody wants stays open at its hub
    LostClose = "lost-close",
    /// server: what was merged is overtaken by an image or a state
    OvertakenMerge = "overtaken-merge",
    /// server: an update is not merged for a slow mount
    LostMerge = "lost-merge",
    /// server: an image that was put off is forgotten
    LostLateImage = "lost-late-image",
    /// server: a stream that stood by is not served by who takes over
    LostTakeOver = "lost-take-over",
    /// server: a new view is not taken over
    KeptView = "kept-view",
    /// server: items are not told of the death of their hub
    ForgottenStale = "forgotten-stale",
    /// server: an answer does not make room in the window of requests
    LeakedPlace = "leaked-place",
    /// server: who joins while an image comes gets none
    UnservedJoin = "unserved-join",
    /// server: a request that is put off holds its place in the window
    LateHoldsPlace = "late-holds-place",
    /// server: a state opens a stream for updates whose image is put off
    OpenedByState = "opened-by-state",
    /// server: what is merged for a mount has no bound
    UnboundedMerge = "unbounded-merge",
    /// server: a mount that does not keep up is served like any other
    UnseenSlowness = "unseen-slowness",
    /// server: what is left of a job when its slice is over is forgotten
    ForgottenRest = "forgotten-rest",
    /// server: another policy changes nothing of what is open
    KeptRights = "kept-rights",
    /// server: updates have the fields that their receivers are not shown
    UnmaskedUpdate = "unmasked-update",
    /// server: who is shown other fields gets no image with them
    UnmaskedImage = "unmasked-image",
    /// server: who joins an item that is there is not asked for its lock
    UnlockedJoin = "unlocked-join",
    /// hub: an item that nobody wants stays open at its source
    LostUpstreamClose = "lost-upstream-close",
    /// hub: a close meant for an earlier request closes the present one
    CloseOfBefore = "close-of-before",
    /// hub: an answer does not make room in the open window of a source
    LeakedWindow = "leaked-window",
    /// hub: items are not told of the loss of their source
    UntoldLoss = "untold-loss",
    /// hub: what is open without being wanted stays open after lost frames
    StaysOpen = "stays-open",
    /// hub: a request that timed out is not made again
    NoSecondTry = "no-second-try",
    /// hub: an update counts in the sequence, and is not sent
    LostFrame = "lost-frame",
    /// hub: what was merged while the backbone took no more is dropped
    LostHubMerge = "lost-hub-merge",
    /// hub: who joins an item with a kept image is given none
    UngivenImage = "ungiven-image",
    /// hub: the items of a service that is back are not asked for
    LostSeek = "lost-seek",
    /// hub: an image that does not end has no deadline
    EndlessImage = "endless-image",
    /// hub: a service that is withdrawn leaves its streams open at the source
    UnlostService = "unlost-service",
    /// hub: an item expires although another source stands by for it
    IdleStandby = "idle-standby",
    /// hub: an item of a source that is lost does not go on with its mirror
    LostMirror = "lost-mirror",
    /// hub: what servers had from the source before is passed on once more
    PassedRepeat = "passed-repeat",
    /// hub: what goes to a source with less to do stays open where it was
    KeptMove = "kept-move",
    /// hub: a source publishes into a service that is another's
    ForgedService = "forged-service",
}

#[cfg(feature = "planted")]
mod chosen {
    use std::cell::Cell;

    use super::Fault;

    thread_local! {
        /// The fault, and how often it could have struck.
        static CHOSEN: Cell<Option<(Fault, u32)>> = const { Cell::new(None) };
    }

    /// Whether what a fault makes wrong happens so seldom that it is wrong each
    /// time.
    const fn is_rare(fault: Fault) -> bool {
        use Fault::{
            CloseOfBefore, EndlessImage, ForgedService, ForgottenRest, ForgottenStale, IdleStandby,
            KeptMove, KeptParts, LateHoldsPlace, LostAbsorption, LostHubMerge, LostLateImage,
            LostSeek, LostTakeOver, NoSecondTry, OpenedByState, OvertakenMerge, PassedRepeat,
            RepairForOne, ResumedEarly, SilentGap, StaysOpen, UnboundedMerge, UnlostService,
            UnrepairedItem, UnseenSlowness, UnservedJoin, UntoldLoss,
        };
        matches!(
            fault,
            CloseOfBefore
                | EndlessImage
                | ForgedService
                | ForgottenRest
                | ForgottenStale
                | IdleStandby
                | KeptMove
                | KeptParts
                | LateHoldsPlace
                | LostAbsorption
                | LostHubMerge
                | LostLateImage
                | LostSeek
                | LostTakeOver
                | NoSecondTry
                | OpenedByState
                | OvertakenMerge
                | PassedRepeat
                | RepairForOne
                | ResumedEarly
                | SilentGap
                | StaysOpen
                | UnboundedMerge
                | UnlostService
                | UnrepairedItem
                | UnseenSlowness
                | UnservedJoin
                | UntoldLoss
        )
    }

    /// Has the thread have this fault, and no other, from here on.
    pub fn choose(fault: Option<Fault>) {
        CHOSEN.set(fault.map(|fault| (fault, 0)));
    }

    /// Whether a fault strikes here and now.
    pub fn strikes(fault: Fault) -> bool {
        let Some((chosen, count)) = CHOSEN.get().filter(|(chosen, _)| *chosen == fault) else {
            return false;
        };
        CHOSEN.set(Some((chosen, count.wrapping_add(1))));
        // What happens often would be found by anybody who looked.
        let one_in = if is_rare(fault) { 1 } else { 3 };
        count % one_in == one_in - 1
    }
}

#[cfg(feature = "planted")]
pub use chosen::{choose, strikes};

/// Has no effect: no fault is in this build.
#[cfg(not(feature = "planted"))]
pub const fn choose(_: Option<Fault>) {}

/// Whether a fault strikes here and now: none is in this build.
#[cfg(not(feature = "planted"))]
#[inline(always)]
#[allow(clippy::inline_always, reason = "nothing is to be left of it")]
pub const fn strikes(_: Fault) -> bool {
    false
}

/// Whether this build has the faults.
pub const IS_BUILT: bool = cfg!(feature = "planted");
