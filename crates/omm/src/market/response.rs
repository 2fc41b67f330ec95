//! Headers of responses, with the flags that belong together.

use tapeline_rwf::{
    Domain, MsgKey, RefreshFlags, RefreshMsg, State, StatusFlags, StatusMsg, StreamState,
};

/// Which part of an image a refresh is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// Its number from 0, if it is given: for maps, vectors and series.
    pub number: Option<u16>,
    /// Whether it is the last one.
    pub is_last: bool,
}

impl Part {
    /// The only part, without a number.
    pub const ONLY: Self = Self { number: None, is_last: true };

    /// A part by number.
    pub const fn numbered(number: u16, is_last: bool) -> Self {
        Self { number: Some(number), is_last }
    }

    /// Whether it is the first one.
    pub fn is_first(self) -> bool {
        self.number.is_none_or(|number| number == 0)
    }
}

/// The header of an image, open and ok. Solicited when it answers a request;
/// otherwise it replaces the image of all requesters, and its first part clears
/// what they have.
pub fn image(
    domain: Domain,
    stream_id: i32,
    key: Option<MsgKey<'_>>,
    solicited: bool,
    part: Part,
) -> RefreshMsg<'_> {
    let mut flags = RefreshFlags::empty();
    flags.set(RefreshFlags::SOLICITED, solicited);
    flags.set(RefreshFlags::CLEAR_CACHE, !solicited && part.is_first());
    flags.set(RefreshFlags::REFRESH_COMPLETE, part.is_last);
    let state = State::open_ok("");
    let part_num = part.number;
    RefreshMsg { flags, state, key, part_num, ..RefreshMsg::new(domain, stream_id) }
}

/// The header of a change of state.
pub fn status(domain: Domain, stream_id: i32, state: State<'_>) -> StatusMsg<'_> {
    StatusMsg { state: Some(state), ..StatusMsg::new(domain, stream_id) }
}

/// The header that sends a requester to another item, or to a private stream of
/// the same.
pub fn redirect<'a>(
    domain: Domain,
    stream_id: i32,
    state: State<'a>,
    to: Redirect<'a>,
) -> StatusMsg<'a> {
    let mut flags = StatusFlags::empty();
    flags.set(StatusFlags::PRIVATE_STREAM, to.private);
    let state = State { stream: StreamState::REDIRECTED, ..state };
    StatusMsg { flags, key: Some(to.key), ..status(domain, stream_id, state) }
}

/// Where a requester is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redirect<'a> {
    /// What to request instead.
    pub key: MsgKey<'a>,
    /// Whether as a private stream.
    pub private: bool,
}

impl<'a> Redirect<'a> {
    /// Where a status sends its requester; `None` when it does not, or does not
    /// say where.
    pub fn of(status: &StatusMsg<'a>) -> Option<Self> {
        let state = status.state?;
        let key = status.key.filter(|_| state.stream == StreamState::REDIRECTED)?;
        Some(Self { key, private: status.flags.contains(StatusFlags::PRIVATE_STREAM) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_unsolicited_part_clears() {
        let flags = |solicited, part| image(Domain::MARKET_PRICE, 5, None, solicited, part).flags;
        assert_eq!(
            flags(true, Part::ONLY),
            RefreshFlags::SOLICITED | RefreshFlags::REFRESH_COMPLETE
        );
        assert_eq!(
            flags(false, Part::ONLY),
            RefreshFlags::CLEAR_CACHE | RefreshFlags::REFRESH_COMPLETE
        );
        assert_eq!(flags(false, Part::numbered(0, false)), RefreshFlags::CLEAR_CACHE);
        assert_eq!(flags(false, Part::numbered(1, true)), RefreshFlags::REFRESH_COMPLETE);
    }

    #[test]
    fn a_redirect_needs_its_state_and_a_key() {
        let to = Redirect { key: MsgKey::item(1, "TRI.TO"), private: true };
        let state = State::open_ok("Use another name");
        let mut status = redirect(Domain::MARKET_PRICE, 5, state, to);
        assert_eq!(status.state.map(|s| s.stream), Some(StreamState::REDIRECTED));
        assert_eq!(Redirect::of(&status), Some(to));
        status.key = None;
        assert_eq!(Redirect::of(&status), None);
        status.key = Some(to.key);
        status.state = Some(State::open_ok(""));
        assert_eq!(Redirect::of(&status), None);
    }
}
