//! What a service says to a request before it is sent.

use tapeline_rwf::{Domain, Qos, State};

use super::Directory;
use crate::market::ItemRequest;
use crate::state::usual;

impl Directory {
    /// Whether a request can be sent to its service now, and at which quality.
    ///
    /// The service must be known, be up and accept requests, offer the domain,
    /// and offer a quality that the request takes. Dictionaries have no
    /// quality. The quality to ask for upstream is the one returned, exactly.
    ///
    /// Errors: the state that the requester is told, before the conversion of
    /// [`stream::convert`](crate::stream::convert).
    pub fn admit(&self, request: &ItemRequest<'_>) -> Result<Option<Qos>, State<'static>> {
        let service_id = request.key.service_id.ok_or(usual::NO_SERVICE_NAMED)?;
        let service = self.service(service_id).ok_or(usual::SERVICE_NOT_AVAILABLE)?;
        if !service.is_usable() {
            return Err(usual::SERVICE_NOT_UP);
        }
        let info = service.info.as_ref().filter(|info| info.offers(request.domain));
        let info = info.ok_or(usual::CAPABILITY_NOT_SUPPORTED)?;
        if request.domain == Domain::DICTIONARY {
            return Ok(None);
        }
        request.qos.select(info.offered_qos()).map(Some).ok_or(usual::NO_MATCHING_QOS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::{
        DirectoryUpdate, FilterContent, FilterEntry, ServiceEntry, ServiceInfo, ServiceState,
    };
    use crate::qos::QosWish;
    use tapeline_rwf::{MsgKey, Rate};

    fn directory(is_up: bool) -> Directory {
        let info = ServiceInfo {
            name: Some("FEED".into()),
            capabilities: Some(vec![Domain::MARKET_PRICE, Domain::DICTIONARY]),
            ..ServiceInfo::default()
        };
        let filters = vec![
            FilterEntry::set(FilterContent::Info(info)),
            FilterEntry::set(FilterContent::State(ServiceState::new(is_up, true))),
        ];
        let mut directory = Directory::default();
        let _ =
            directory.apply_update(&DirectoryUpdate::new(2, vec![ServiceEntry::add(1, filters)]));
        directory
    }

    #[test]
    fn a_request_passes_service_state_capability_and_quality_in_this_order() {
        let item = |domain, service_id| {
            ItemRequest::new(domain, 5, MsgKey { service_id, ..MsgKey::item(0, "TRI.N") })
        };
        let price = item(Domain::MARKET_PRICE, Some(1));
        let slow = Qos { rate: Rate::JIT_CONFLATED, ..Qos::REALTIME_TICK_BY_TICK };
        let picky = ItemRequest { qos: QosWish::Exact(slow), ..price };
        let dictionary = ItemRequest { domain: Domain::DICTIONARY, ..picky };
        for (is_up, request, answer) in [
            (true, item(Domain::MARKET_PRICE, None), Err(usual::NO_SERVICE_NAMED)),
            (true, item(Domain::MARKET_PRICE, Some(2)), Err(usual::SERVICE_NOT_AVAILABLE)),
            (false, price, Err(usual::SERVICE_NOT_UP)),
            (true, item(Domain::MARKET_BY_ORDER, Some(1)), Err(usual::CAPABILITY_NOT_SUPPORTED)),
            (true, picky, Err(usual::NO_MATCHING_QOS)),
            (true, dictionary, Ok(None)),
            (true, price, Ok(Some(Qos::REALTIME_TICK_BY_TICK))),
        ] {
            assert_eq!(directory(is_up).admit(&request), answer, "{request:?}");
        }
    }
}
