//! Requests that a provider refuses before it looks for the item.

use tapeline_rwf::{DataState, Domain, Qos, StateCode, StreamState};
use thiserror::Error;

use crate::market::ItemRequest;
use crate::{ItemKeyRef, StateBuf, is_administrative};

/// Why a provider refuses a request. The texts begin as those that clients of
/// the vendor's providers know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Reject {
    /// Nobody is logged in on the connection.
    #[error("Message rejected - there is no logged in user for this session.")]
    NoLogin,
    /// The login message itself is not valid.
    #[error("Login message rejected - Invalid login domain message.")]
    InvalidLogin,
    /// The service does not accept requests.
    #[error("Request message rejected - the service Id = {0} does not accept any requests.")]
    NotAccepting(u16),
    /// The service does not offer the quality.
    #[error(
        "Request message rejected - the service Id = {service_id} does not support the specified \
         QoS({}/{}).", qos.timeliness, qos.rate
    )]
    Qos {
        /// Service of the request.
        service_id: u16,
        /// Quality that it asks for.
        qos: Qos,
    },
    /// The item is open on another stream of the connection.
    #[error(
        "Request Message rejected - Item already open with exact same message key on another stream."
    )]
    AlreadyOpen,
    /// A reissue is for another service.
    #[error(
        "Request Message rejected - Attempt to reissue the service Id from {from} to {to} while \
         this is not supported."
    )]
    ServiceChanged {
        /// Service of the stream.
        from: u16,
        /// Service of the reissue.
        to: u16,
    },
    /// A reissue is for another item, or changes what cannot change.
    #[error("Request Message rejected - Attempt to change the {0} of an open stream.")]
    Changed(&'static str),
    /// A directory request without info or state.
    #[error(
        "Source directory request rejected - request message must minimally have \
         SERVICE_INFO_FILTER and SERVICE_STATE_FILTER filters"
    )]
    DirectoryFilter,
    /// No dictionary has the name, or it is not loaded.
    #[error("Dictionary request message rejected - there is no such dictionary.")]
    Dictionary,
}

impl Reject {
    /// The state that answers the request: closed for now, not to be used like
    /// this. A reissue that is refused gets it too: the stream is over.
    pub fn state(&self) -> StateBuf {
        StateBuf::new(
            StreamState::CLOSED_RECOVER,
            DataState::SUSPECT,
            StateCode::USAGE_ERROR,
            self.to_string(),
        )
    }
}

/// Whether a request may follow on the stream of the item `open`: domain,
/// service and name must stay, and a quality that is wanted must be met by the
/// one that was matched. Parts of the key and quality may be left out.
///
/// The filter, identifier and attributes of an item must stay too; those of a
/// login, directory or dictionary may change, for they are what these are
/// reissued for.
pub fn check_reissue(open: &ItemKeyRef<'_>, reissue: &ItemRequest<'_>) -> Result<(), Reject> {
    if reissue.domain != open.domain {
        return Err(Reject::Changed("domain"));
    }
    if let (Some(from), Some(to)) = (open.service_id, reissue.key.service_id)
        && from != to
    {
        return Err(Reject::ServiceChanged { from, to });
    }
    let key = ItemKeyRef::of(reissue.domain, &reissue.key, None);
    let is_same = (key.name, key.name_type) == (open.name, open.name_type);
    // The user name of a login may change where it is a token; see there.
    if !key.name.is_empty() && !is_same && open.domain != Domain::LOGIN {
        return Err(Reject::Changed("name"));
    }
    if !is_administrative(open.domain)
        && let Some(part) = changed_part(open, &key)
    {
        return Err(Reject::Changed(part));
    }
    match open.qos {
        Some(matched) if reissue.qos.select(&[matched]).is_none() => {
            Err(Reject::Changed("quality of service"))
        }
        _ => Ok(()),
    }
}

/// The part of an item's key that differs from what is open.
fn changed_part(open: &ItemKeyRef<'_>, key: &ItemKeyRef<'_>) -> Option<&'static str> {
    if key.filter.is_some() && key.filter != open.filter {
        return Some("filter");
    }
    if key.identifier.is_some() && key.identifier != open.identifier {
        return Some("identifier");
    }
    (key.attrib.is_some() && key.attrib != open.attrib).then_some("attributes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qos::QosWish;
    use tapeline_rwf::{DataType, Encoded, MsgKey, Rate};

    fn request() -> ItemRequest<'static> {
        ItemRequest::new(Domain::MARKET_PRICE, 5, MsgKey::item(1, "TRI.N"))
    }

    #[test]
    fn refusals_are_usage_errors_with_the_known_texts() {
        assert_eq!(
            Reject::NotAccepting(3).state().to_string(),
            "ClosedRecover / Suspect / UsageError / 'Request message rejected - the service \
             Id = 3 does not accept any requests.'"
        );
        let qos = Qos::REALTIME_TICK_BY_TICK;
        assert_eq!(
            Reject::Qos { service_id: 3, qos }.to_string(),
            "Request message rejected - the service Id = 3 does not support the specified \
             QoS(REALTIME/TICK_BY_TICK)."
        );
        assert_eq!(
            Reject::ServiceChanged { from: 1, to: 2 }.to_string(),
            "Request Message rejected - Attempt to reissue the service Id from 1 to 2 while this \
             is not supported."
        );
    }

    #[test]
    fn a_reissue_may_change_interest_and_flow_but_not_the_item() {
        let matched = Qos::REALTIME_TICK_BY_TICK;
        let open = ItemKeyRef::of(Domain::MARKET_PRICE, &request().key, Some(matched));
        let check = |change: fn(&mut ItemRequest<'static>)| {
            let mut reissue = request();
            change(&mut reissue);
            check_reissue(&open, &reissue)
        };
        assert_eq!(check(|r| r.pause = true), Ok(()));
        assert_eq!(check(|r| r.no_refresh = true), Ok(()));
        assert_eq!(check(|r| r.key = MsgKey::EMPTY), Ok(()));
        assert_eq!(check(|r| r.key.filter = Some(7)), Err(Reject::Changed("filter")));
        assert_eq!(check(|r| r.key.identifier = Some(7)), Err(Reject::Changed("identifier")));
        let attrib = |r: &mut ItemRequest<'static>| {
            r.key.attrib = Some(Encoded::new(DataType::OPAQUE, b"x"));
        };
        assert_eq!(check(attrib), Err(Reject::Changed("attributes")));
        for domain in [Domain::LOGIN, Domain::SOURCE, Domain::DICTIONARY] {
            let open = ItemKeyRef { domain, ..open };
            let mut reissue = ItemRequest { domain, ..request() };
            reissue.key.filter = Some(7);
            attrib(&mut reissue);
            assert_eq!(check_reissue(&open, &reissue), Ok(()), "{domain}");
        }
        assert_eq!(check(|r| r.qos = QosWish::Exact(Qos::REALTIME_TICK_BY_TICK)), Ok(()));
        assert_eq!(
            check(|r| r.key = MsgKey::item(2, "TRI.N")),
            Err(Reject::ServiceChanged { from: 1, to: 2 })
        );
        assert_eq!(check(|r| r.key = MsgKey::item(1, "TRI.TO")), Err(Reject::Changed("name")));
        assert_eq!(check(|r| r.key.name_type = Some(2)), Err(Reject::Changed("name")));
        assert_eq!(check(|r| r.domain = Domain::MARKET_BY_ORDER), Err(Reject::Changed("domain")));
        let other = Qos { rate: Rate::JIT_CONFLATED, ..matched };
        let reissue = ItemRequest { qos: QosWish::Exact(other), ..request() };
        assert_eq!(check_reissue(&open, &reissue), Err(Reject::Changed("quality of service")));
    }
}
