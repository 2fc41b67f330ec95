//! Who recovers items, and what a requester is told meanwhile.

use tapeline_rwf::{DataState, State, StreamState};

/// Who recovers items, by the `SingleOpen` and `AllowSuspectData` of a login.
/// The first outranks the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecoveryPolicy {
    /// This end recovers items; the requester only ever sees them open, until
    /// there is nothing to recover.
    pub single_open: bool,
    /// Streams may stay open with suspect data.
    pub allow_suspect_data: bool,
}

impl Default for RecoveryPolicy {
    /// Both, as in a login that says nothing.
    fn default() -> Self {
        Self { single_open: true, allow_suspect_data: true }
    }
}

impl RecoveryPolicy {
    /// What a requester is told when a request gets no answer, in time or at
    /// all: open while anybody keeps trying or suspect data is allowed.
    pub const fn unanswered(self) -> StreamState {
        match self.single_open || self.allow_suspect_data {
            true => StreamState::OPEN,
            false => StreamState::CLOSED_RECOVER,
        }
    }
}

/// The stream state that a requester is told for the state that a stream has.
///
/// ```text
/// actual                    SingleOpen   no SingleOpen,   neither
///                                        suspect allowed
/// OPEN, SUSPECT             OPEN         OPEN             CLOSED_RECOVER
/// CLOSED_RECOVER, SUSPECT   OPEN ¹       CLOSED_RECOVER   CLOSED_RECOVER
/// all others                unchanged    unchanged        unchanged
/// ```
///
/// ¹ and the item is asked for again. Private streams and dictionaries that are
/// complete are never recovered: their states are not to be converted.
pub fn convert(state: &State<'_>, policy: RecoveryPolicy) -> StreamState {
    match (state.stream, state.data) {
        (StreamState::CLOSED_RECOVER, _) if policy.single_open => StreamState::OPEN,
        (StreamState::OPEN, DataState::SUSPECT)
            if !policy.single_open && !policy.allow_suspect_data =>
        {
            StreamState::CLOSED_RECOVER
        }
        (stream, _) => stream,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_rwf::StateCode;

    #[test]
    fn states_are_converted_by_the_table() {
        use StreamState as S;
        // SingleOpen and AllowSuspectData: both, first, second, none.
        let policies = [(true, true), (true, false), (false, true), (false, false)];
        for (stream, data, told) in [
            (S::OPEN, DataState::SUSPECT, [S::OPEN, S::OPEN, S::OPEN, S::CLOSED_RECOVER]),
            (
                S::CLOSED_RECOVER,
                DataState::SUSPECT,
                [S::OPEN, S::OPEN, S::CLOSED_RECOVER, S::CLOSED_RECOVER],
            ),
            (S::OPEN, DataState::OK, [S::OPEN; 4]),
            (S::CLOSED, DataState::SUSPECT, [S::CLOSED; 4]),
            (S::REDIRECTED, DataState::SUSPECT, [S::REDIRECTED; 4]),
            (S::NON_STREAMING, DataState::SUSPECT, [S::NON_STREAMING; 4]),
        ] {
            let state = State::new(stream, data, StateCode::NONE, "");
            let converted = policies.map(|(single_open, allow_suspect_data)| {
                convert(&state, RecoveryPolicy { single_open, allow_suspect_data })
            });
            assert_eq!(converted, told, "{stream} / {data}");
        }
    }
}
