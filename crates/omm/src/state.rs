//! States of streams: which are final, how they print, the usual ones.

use core::fmt;

use tapeline_rwf::{DataState, State, StateCode, StreamState};

use crate::Text;

/// Whether a stream is over with this state, so that its id is free.
///
/// `NON_STREAMING` counts as final only with the last part of its refresh;
/// asking here is for messages that are complete. Unknown states are taken as
/// final: a stream that nobody understands is not worth keeping.
pub const fn is_final(stream: StreamState) -> bool {
    !matches!(stream, StreamState::OPEN | StreamState::UNSPECIFIED)
}

/// Whether asking again for the item may help: the stream is over, but not for
/// good.
pub const fn is_recoverable(stream: StreamState) -> bool {
    matches!(stream, StreamState::CLOSED_RECOVER)
}

/// A state that is kept: [`State`] with a text of its own.
///
/// It prints as the vendor's message API does:
/// `Open / Ok / None / 'All is well'`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StateBuf {
    /// Whether the stream goes on.
    pub stream: StreamState,
    /// Whether its data can be trusted.
    pub data: DataState,
    /// Why.
    pub code: StateCode,
    /// Why, in words; at most 32767 bytes on the wire.
    pub text: Text,
}

impl StateBuf {
    /// A state.
    pub fn new(
        stream: StreamState,
        data: DataState,
        code: StateCode,
        text: impl Into<Text>,
    ) -> Self {
        Self { stream, data, code, text: text.into() }
    }

    /// Stream and data state in the words of tables: `open/suspect`.
    pub fn brief(&self) -> String {
        brief(&self.as_state())
    }

    /// The state as encoders take it.
    pub fn as_state(&self) -> State<'_> {
        State { stream: self.stream, data: self.data, code: self.code, text: &self.text }
    }

    /// Takes over a later state of the same stream: `NO_CHANGE` leaves the data
    /// state as it was.
    pub fn apply(&mut self, later: &State<'_>) {
        let data = match later.data {
            DataState::NO_CHANGE => self.data,
            data => data,
        };
        *self = Self { data, ..Self::from(*later) };
    }
}

impl From<State<'_>> for StateBuf {
    fn from(state: State<'_>) -> Self {
        Self {
            stream: state.stream,
            data: state.data,
            code: state.code,
            text: Text::from(state.text),
        }
    }
}

impl fmt::Display for StateBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        MessageApiText(self.as_state()).fmt(f)
    }
}

/// Prints a state as the vendor's message API (EMA) does:
/// `Open / Ok / None / 'All is well'`.
#[derive(Clone, Copy, Debug)]
pub struct MessageApiText<'a>(pub State<'a>);

impl fmt::Display for MessageApiText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(state) = self;
        let stream = match state.stream {
            StreamState::REDIRECTED => "ClosedRedirected",
            other => stream_name(other),
        };
        let code = match state.code {
            StateCode::NOT_ENTITLED => "NotAuthorized",
            StateCode::JIT_CONFLATION_STARTED => "JustInTimeConflationStarted",
            StateCode::REALTIME_RESUMED => "TickByTickResumed",
            other => code_name(other),
        };
        write!(f, "{stream} / {} / {code} / '{}'", data_name(state.data), state.text_lossy())
    }
}

/// Prints a state as the vendor's transport API (ETA) does:
/// `State: Open/Ok/None - text: "All is well"`.
#[derive(Clone, Copy, Debug)]
pub struct TransportApiText<'a>(pub State<'a>);

impl fmt::Display for TransportApiText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(state) = self;
        let (stream, data) = (stream_name(state.stream), data_name(state.data));
        let code = code_name(state.code);
        write!(f, "State: {stream}/{data}/{code} - text: \"{}\"", state.text_lossy())
    }
}

fn stream_name(stream: StreamState) -> &'static str {
    match stream {
        StreamState::UNSPECIFIED => "Unspecified",
        StreamState::OPEN => "Open",
        StreamState::NON_STREAMING => "NonStreaming",
        StreamState::CLOSED_RECOVER => "ClosedRecover",
        StreamState::CLOSED => "Closed",
        StreamState::REDIRECTED => "Redirected",
        _ => "Unknown",
    }
}

fn data_name(data: DataState) -> &'static str {
    match data {
        DataState::NO_CHANGE => "NoChange",
        DataState::OK => "Ok",
        DataState::SUSPECT => "Suspect",
        _ => "Unknown",
    }
}

fn code_name(code: StateCode) -> &'static str {
    match code {
        StateCode::NONE => "None",
        StateCode::NOT_FOUND => "NotFound",
        StateCode::TIMEOUT => "Timeout",
        StateCode::NOT_ENTITLED => "NotEntitled",
        StateCode::INVALID_ARGUMENT => "InvalidArgument",
        StateCode::USAGE_ERROR => "UsageError",
        StateCode::PREEMPTED => "Preempted",
        StateCode::JIT_CONFLATION_STARTED => "JitConflationStarted",
        StateCode::REALTIME_RESUMED => "RealtimeResumed",
        StateCode::FAILOVER_STARTED => "FailoverStarted",
        StateCode::FAILOVER_COMPLETED => "FailoverCompleted",
        StateCode::GAP_DETECTED => "GapDetected",
        StateCode::NO_RESOURCES => "NoResources",
        StateCode::TOO_MANY_ITEMS => "TooManyItems",
        StateCode::ALREADY_OPEN => "AlreadyOpen",
        StateCode::SOURCE_UNKNOWN => "SourceUnknown",
        StateCode::NOT_OPEN => "NotOpen",
        StateCode::NON_UPDATING_ITEM => "NonUpdatingItem",
        StateCode::UNSUPPORTED_VIEW_TYPE => "UnsupportedViewType",
        StateCode::INVALID_VIEW => "InvalidView",
        StateCode::FULL_VIEW_PROVIDED => "FullViewProvided",
        StateCode::UNABLE_TO_REQUEST_AS_BATCH => "UnableToRequestAsBatch",
        StateCode::NO_BATCH_VIEW_SUPPORT_IN_REQ => "NoBatchViewSupportInReq",
        StateCode::EXCEEDED_MAX_MOUNTS_PER_USER => "ExceededMaxMountsPerUser",
        StateCode::ERROR => "Error",
        StateCode::DACS_DOWN => "DacsDown",
        StateCode::USER_UNKNOWN_TO_PERM_SYS => "UserUnknownToPermSys",
        StateCode::DACS_MAX_LOGINS_REACHED => "DacsMaxLoginsReached",
        StateCode::DACS_USER_ACCESS_TO_APP_DENIED => "DacsUserAccessToAppDenied",
        StateCode::GAP_FILL => "GapFill",
        StateCode::APP_AUTHORIZATION_FAILED => "AppAuthorizationFailed",
        _ => "Unknown",
    }
}

/// The states that clients of the real system know by their texts. Stream
/// states are those before the conversion of
/// [`stream::convert`](crate::stream::convert).
pub mod usual {
    use tapeline_rwf::{DataState, State, StateCode, StreamState};

    const fn suspect(stream: StreamState, code: StateCode, text: &'static str) -> State<'static> {
        State::new(stream, DataState::SUSPECT, code, text)
    }

    /// An image as it should be.
    pub const ALL_IS_WELL: State<'static> = State::open_ok("All is well");
    /// An image of all fields, although a view was asked for.
    pub const FULL_VIEW: State<'static> =
        State::new(StreamState::OPEN, DataState::OK, StateCode::FULL_VIEW_PROVIDED, "All is well");
    /// No such item.
    pub const NOT_FOUND: State<'static> =
        suspect(StreamState::CLOSED, StateCode::NOT_FOUND, "The record could not be found");
    /// The request names neither a service id nor a service name.
    pub const NO_SERVICE_NAMED: State<'static> = suspect(
        StreamState::CLOSED,
        StateCode::NONE,
        "Passed in request message does not identify any service.",
    );
    /// No service of this name or id is in the directory.
    pub const SERVICE_NOT_AVAILABLE: State<'static> =
        suspect(StreamState::CLOSED_RECOVER, StateCode::NONE, "Service not available");
    /// The service is down or does not accept requests.
    pub const SERVICE_NOT_UP: State<'static> =
        suspect(StreamState::CLOSED_RECOVER, StateCode::NONE, "Service not up");
    /// The service does not offer the domain.
    pub const CAPABILITY_NOT_SUPPORTED: State<'static> =
        suspect(StreamState::CLOSED_RECOVER, StateCode::NONE, "Capability not supported");
    /// The service offers no quality that was asked for.
    pub const NO_MATCHING_QOS: State<'static> = suspect(
        StreamState::CLOSED_RECOVER,
        StateCode::NONE,
        "Service does not provide a matching QoS",
    );
    /// No answer within the request time-out.
    pub const REQUEST_TIMEOUT: State<'static> =
        suspect(StreamState::CLOSED_RECOVER, StateCode::TIMEOUT, "Request timeout");
    /// The service was deleted from the directory.
    pub const SERVICE_LOST: State<'static> =
        suspect(StreamState::CLOSED_RECOVER, StateCode::NONE, "Service for this item was lost.");
    /// The connection was lost.
    pub const CHANNEL_DOWN: State<'static> =
        suspect(StreamState::CLOSED_RECOVER, StateCode::NONE, "channel down.");
    /// The login of the user ended.
    pub const LOGIN_CLOSED: State<'static> =
        suspect(StreamState::CLOSED, StateCode::NONE, "Login stream was closed.");
    /// The item limit of the user, the mount or the service is reached.
    pub const TOO_MANY_ITEMS: State<'static> =
        suspect(StreamState::CLOSED_RECOVER, StateCode::TOO_MANY_ITEMS, "Item limit reached");
}

/// Stream and data state in the words of tables: `open/suspect`.
pub fn brief(state: &State<'_>) -> String {
    let word = |code: String| code.to_lowercase().replace('_', "-");
    format!("{}/{}", word(state.stream.to_string()), word(state.data.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_print_as_the_vendors_apis_print_them() {
        let state = usual::ALL_IS_WELL;
        assert_eq!(MessageApiText(state).to_string(), "Open / Ok / None / 'All is well'");
        assert_eq!(
            TransportApiText(state).to_string(),
            "State: Open/Ok/None - text: \"All is well\""
        );
        let state =
            StateBuf::new(StreamState::REDIRECTED, DataState::SUSPECT, StateCode(3), "moved");
        assert_eq!(state.to_string(), "ClosedRedirected / Suspect / NotAuthorized / 'moved'");
        assert_eq!(
            TransportApiText(state.as_state()).to_string(),
            "State: Redirected/Suspect/NotEntitled - text: \"moved\""
        );
    }

    #[test]
    fn every_named_code_has_a_text() {
        for code in 0..=u8::MAX {
            let code = StateCode(code);
            assert_eq!(code.name().is_none(), code_name(code) == "Unknown", "{code}");
        }
    }

    #[test]
    fn open_is_the_only_state_that_goes_on() {
        let finals: Vec<_> = (1..=5).filter(|code| is_final(StreamState(*code))).collect();
        assert_eq!(finals, [2, 3, 4, 5]);
        assert!(is_recoverable(StreamState::CLOSED_RECOVER));
        assert!(!is_recoverable(StreamState::CLOSED));
    }

    #[test]
    fn no_change_keeps_the_data_state() {
        let mut state = StateBuf::from(usual::REQUEST_TIMEOUT);
        state.apply(&State::new(StreamState::OPEN, DataState::NO_CHANGE, StateCode::NONE, "on"));
        assert_eq!(state.to_string(), "Open / Suspect / None / 'on'");
        state.apply(&State::open_ok(""));
        assert_eq!(state.data, DataState::OK);
    }
}
