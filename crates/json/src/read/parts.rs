//! Parts that messages share: states, qualities, users.

use std::borrow::Cow;
use std::net::Ipv4Addr;

use tapeline_rwf::{DataState, PostUserInfo, Qos, Rate, StateCode, StreamState, Timeliness};

use super::code::{code_member, int, int_member, switch, wrong_kind};
use super::object::{Member, Object, object};
use super::text::string;
use super::{Reader, Refusal};
use crate::error::TokenKind;
use crate::names;
use crate::tape::{Kind, Value};

/// A state whose text may be the JSON text's or its own.
pub(super) struct ReadState<'t> {
    pub(super) stream: StreamState,
    pub(super) data: DataState,
    pub(super) code: StateCode,
    pub(super) text: Cow<'t, str>,
}

impl ReadState<'_> {
    /// What a refresh without a state has.
    pub(super) const OPEN_OK: Self = Self {
        stream: StreamState::OPEN,
        data: DataState::OK,
        code: StateCode::NONE,
        text: Cow::Borrowed(""),
    };

    pub(super) fn as_state(&self) -> tapeline_rwf::State<'_> {
        tapeline_rwf::State {
            stream: self.stream,
            data: self.data,
            code: self.code,
            text: self.text.as_bytes(),
        }
    }
}

impl Reader<'_> {
    /// With unknown keys caught, every member has to be known.
    #[inline]
    pub(super) fn check_members(
        &self,
        object: &Object<'_>,
        is_known: impl Fn(Member) -> bool,
    ) -> Result<(), Refusal> {
        match self.options.catch_unknown_keys {
            true => object.check_members(is_known),
            false => Ok(()),
        }
    }

    pub(super) fn state<'t>(&self, value: Value<'t>, key: &str) -> Result<ReadState<'t>, Refusal> {
        use Member::{Code, Data, Stream, Text};

        let state = Object::new(object(value, key)?);
        self.check_members(&state, |member| matches!(member, Stream | Data | Code | Text))?;
        let text = match state.get(Text).filter(|text| !text.is_null()) {
            Some(text) => string(text, "Text")?,
            None => Cow::Borrowed(""),
        };
        let stream = code_member(&state, Stream, StreamState::OPEN.0, names::stream_state::code)?;
        let data = code_member(&state, Data, DataState::OK.0, names::data_state::code)?;
        let code = code_member(&state, Code, 0, names::state_code::code)?;
        for (member, code, max) in [(Stream, stream, 0x1F), (Data, data, 0x07)] {
            if code > max {
                let value = state.get(member).unwrap_or(value);
                return Err(Refusal::unexpected(&value, member.name()));
            }
        }
        Ok(ReadState {
            stream: StreamState(stream),
            data: DataState(data),
            code: StateCode(code),
            text,
        })
    }

    pub(super) fn qos(&self, value: Value<'_>, key: &str) -> Result<Qos, Refusal> {
        use Member::{
            Dynamic, Rate as RateMember, RateInfo, TimeInfo, Timeliness as TimelinessMember,
        };

        let qos = Object::new(object(value, key)?);
        self.check_members(&qos, |member| {
            matches!(member, TimelinessMember | RateMember | Dynamic | TimeInfo | RateInfo)
        })?;
        let timeliness = code_member(&qos, TimelinessMember, 0, names::timeliness::code)?;
        let rate = code_member(&qos, RateMember, 0, names::rate::code)?;
        if timeliness > 7 || rate > 15 {
            return Err(Refusal::unexpected(&value, key));
        }
        let info = |member, is_there: bool| {
            let info = int_member(&qos, member)?;
            Ok::<_, Refusal>(info.filter(|_| is_there).unwrap_or(0))
        };
        Ok(Qos {
            timeliness: Timeliness(timeliness),
            rate: Rate(rate),
            dynamic: switch(&qos, Dynamic, false)?,
            time_info_s: info(TimeInfo, timeliness > 2)?,
            rate_info_ms: info(RateInfo, rate > 2)?,
        })
    }
}

/// Who posted: `{"Address":"10.1.2.3","UserID":1234}`; the address may be a
/// number.
pub(super) fn post_user_info(message: &Object<'_>) -> Result<Option<PostUserInfo>, Refusal> {
    const KEY: &str = "PostUserInfo";
    let Some(value) = message.get(Member::PostUserInfo) else { return Ok(None) };
    let info = Object::new(object(value, KEY)?);
    let address = info.required(Member::Address, Some(KEY))?;
    let user_id = info.required(Member::UserId, Some(KEY))?;
    let address = match address.kind() {
        Kind::Number => int(address, "Address")?,
        Kind::String => match address.raw().parse::<Ipv4Addr>() {
            Ok(address) => address.to_bits(),
            Err(_) => return Err(Refusal::unexpected(&address, "Address")),
        },
        _ => return Err(wrong_kind(&address, "Address", TokenKind::String)),
    };
    // Some clients put the number in quotes.
    let quoted = (user_id.kind() == Kind::String).then(|| user_id.raw().parse().ok()).flatten();
    let user_id = quoted.map_or_else(|| int(user_id, "UserID"), Ok)?;
    Ok(Some(PostUserInfo { address, user_id }))
}
