//! What the filters of a service hold, one struct each.

use tapeline_rwf::{Domain, Qos};

use crate::element::element_model;
use crate::{GroupId, ModelError, OpenData, StateBuf, Text};

element_model! {
    /// Filter 1: what a service is and offers.
    pub ServiceInfo of "service info" {
        /// Name of the service, unique on its connection; required.
        name: Text = "Name",
        /// Who offers it.
        vendor: Text = "Vendor",
        /// Whether this is the original publisher rather than a consolidation.
        is_source: bool = "IsSource",
        /// The domains that are offered; required.
        capabilities: Vec<Domain> = "Capabilities",
        /// Dictionaries that can be requested from the service.
        dictionaries_provided: Vec<Text> = "DictionariesProvided",
        /// Dictionaries that its data needs.
        dictionaries_used: Vec<Text> = "DictionariesUsed",
        /// The qualities of service that are offered.
        qos: Vec<Qos> = "QoS",
        /// Whether requests may give a range of qualities.
        supports_qos_range: bool = "SupportsQoSRange",
        /// Name of the symbol list with all items.
        item_list: Text = "ItemList",
        /// Whether snapshots are given beyond the open limit.
        supports_out_of_band_snapshots: bool = "SupportsOutOfBandSnapshots",
        /// Whether the messages of source mirroring are accepted.
        accepting_consumer_status: bool = "AcceptingConsumerStatus",
    }
}

element_model! {
    /// Filter 2: how a service is.
    pub ServiceState of "service state" {
        /// Whether it is up; required.
        is_up: bool = "ServiceState",
        /// Whether the provider takes new requests.
        accepting_requests: bool = "AcceptingRequests",
        /// A state for all open items of the service, to be applied once and
        /// not kept.
        status: StateBuf = "Status",
    }
}

element_model! {
    /// Filter 3: a change of one group of items; several per service.
    pub ServiceGroupInfo of "service group" {
        /// The group; required.
        group: GroupId = "Group",
        /// The group that all its items move to, the group itself vanishing.
        merged_to_group: GroupId = "MergedToGroup",
        /// A state for all open items of the group, to be applied once, before
        /// the items move.
        status: StateBuf = "Status",
    }
}

element_model! {
    /// Filter 4: how much a service can take.
    pub ServiceLoad of "service load" {
        /// How many streaming items one client may have open.
        open_limit: u64 = "OpenLimit",
        /// How many requests may be without their image at a time; 0: none are
        /// accepted.
        open_window: u64 = "OpenWindow",
        /// How busy it is, 0 to 65535, higher being busier.
        load_factor: u64 = "LoadFactor",
    }
}

element_model! {
    /// Filter 5: data that a service broadcasts.
    pub ServiceData of "service data" {
        /// What the data is: 0 none, 1 time, 2 alert, 3 headline, 4 status.
        data_type: u64 = "Type",
        /// The data; there exactly if the type is.
        data: OpenData = "Data",
    }
}

/// What a service does with requests, by its state and whether it accepts
/// requests. Neither makes open streams stale by itself: a status does.
///
/// ```text
/// up  accepting   new request                  reissue
///  1      1       processed                    processed
///  1      0       refused                      processed
///  0      1       kept until a source comes    kept
///  0      0       refused                      refused
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Admission {
    /// Requests are processed.
    Process,
    /// New requests are refused; reissues are processed.
    ReissuesOnly,
    /// Requests are accepted and wait for a source.
    Pending,
    /// Requests are refused.
    Refuse,
}

impl ServiceInfo {
    pub(super) fn checked(self) -> Result<Self, ModelError> {
        const MODEL: &str = "service info";
        if self.name.is_none() {
            return Err(ModelError::missing(MODEL, "Name"));
        }
        if self.capabilities.is_none() {
            return Err(ModelError::missing(MODEL, "Capabilities"));
        }
        Ok(self)
    }

    /// Whether the service offers a domain.
    pub fn offers(&self, domain: Domain) -> bool {
        self.capabilities.as_ref().is_some_and(|offered| offered.contains(&domain))
    }

    /// The qualities of service that are offered; empty when none are listed,
    /// which counts as real time, tick by tick.
    pub fn offered_qos(&self) -> &[Qos] {
        self.qos.as_deref().unwrap_or_default()
    }

    /// Whether snapshots are given beyond the open limit; absent means yes.
    pub fn gives_out_of_band_snapshots(&self) -> bool {
        self.supports_out_of_band_snapshots.unwrap_or(true)
    }

    /// Whether the messages of source mirroring are accepted; absent means
    /// yes.
    pub fn accepts_consumer_status(&self) -> bool {
        self.accepting_consumer_status.unwrap_or(true)
    }
}

impl ServiceState {
    pub(super) fn checked(self) -> Result<Self, ModelError> {
        match self.is_up {
            Some(_) => Ok(self),
            None => Err(ModelError::missing("service state", "ServiceState")),
        }
    }

    /// A state without a status.
    pub fn new(is_up: bool, accepting_requests: bool) -> Self {
        Self { is_up: Some(is_up), accepting_requests: Some(accepting_requests), status: None }
    }

    /// What the service does with requests; requests are accepted when it does
    /// not say.
    pub fn admission(&self) -> Admission {
        match (self.is_up.unwrap_or(false), self.accepting_requests.unwrap_or(true)) {
            (true, true) => Admission::Process,
            (true, false) => Admission::ReissuesOnly,
            (false, true) => Admission::Pending,
            (false, false) => Admission::Refuse,
        }
    }

    /// Whether a consumer sends requests to the service: only to one that is
    /// up and accepts them. Otherwise it keeps them back.
    pub fn is_usable(&self) -> bool {
        self.admission() == Admission::Process
    }
}

impl ServiceGroupInfo {
    pub(super) fn checked(self) -> Result<Self, ModelError> {
        match self.group {
            Some(_) => Ok(self),
            None => Err(ModelError::missing("service group", "Group")),
        }
    }
}

impl ServiceData {
    pub(super) fn checked(self) -> Result<Self, ModelError> {
        const MODEL: &str = "service data";
        match (self.data_type, &self.data) {
            (Some(_), None) => Err(ModelError::missing(MODEL, "Data")),
            (None, Some(_)) => Err(ModelError::missing(MODEL, "Type")),
            _ => Ok(self),
        }
    }
}

impl ServiceLoad {
    pub(super) fn checked(self) -> Result<Self, ModelError> {
        match self.load_factor {
            Some(value @ 65_536..) => Err(ModelError::new(
                "service load",
                "LoadFactor",
                crate::ModelErrorKind::OutOfRange {
                    value: i64::try_from(value).unwrap_or(i64::MAX),
                },
            )),
            _ => Ok(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_and_accepting_requests_decide_on_requests() {
        for (is_up, accepting, admission, is_usable) in [
            (true, true, Admission::Process, true),
            (true, false, Admission::ReissuesOnly, false),
            (false, true, Admission::Pending, false),
            (false, false, Admission::Refuse, false),
        ] {
            let state = ServiceState::new(is_up, accepting);
            assert_eq!((state.admission(), state.is_usable()), (admission, is_usable));
        }
        let silent = ServiceState { is_up: Some(true), ..ServiceState::default() };
        assert_eq!(silent.admission(), Admission::Process);
    }

    #[test]
    fn required_elements_are_asked_for() {
        let text = |result: Result<(), ModelError>| result.unwrap_err().to_string();
        let info = ServiceInfo::default();
        assert_eq!(text(info.clone().checked().map(drop)), "service info: Name is missing");
        let info = ServiceInfo { name: Some("FEED".into()), ..info };
        assert_eq!(text(info.clone().checked().map(drop)), "service info: Capabilities is missing");
        let info = ServiceInfo { capabilities: Some(vec![Domain::MARKET_PRICE]), ..info };
        assert!(info.clone().checked().is_ok());
        assert!(info.offers(Domain::MARKET_PRICE) && !info.offers(Domain::DICTIONARY));
        assert_eq!(
            text(ServiceState::default().checked().map(drop)),
            "service state: ServiceState is missing"
        );
        assert_eq!(
            text(ServiceGroupInfo::default().checked().map(drop)),
            "service group: Group is missing"
        );
        let data = ServiceData { data_type: Some(1), data: None };
        assert_eq!(text(data.checked().map(drop)), "service data: Data is missing");
        let load = ServiceLoad { load_factor: Some(65_536), ..ServiceLoad::default() };
        assert_eq!(
            text(load.checked().map(drop)),
            "service load: LoadFactor is 65536, which is out of range"
        );
    }
}
