//! What a provider offers.

use std::sync::Arc;

use tapeline_omm::Text;
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_omm::directory::{
    FilterContent, FilterEntry, ServiceEntry, ServiceInfo, ServiceLoad, ServiceState,
};
use tapeline_omm::login::{BatchSupport, LoginFeatures};
use tapeline_rwf::{Domain, Qos};

use crate::consumer::{ENUMS_NAME, FIELDS_NAME};

/// What a provider offers, and how much it takes.
#[derive(Clone, Debug)]
pub struct ProviderConfig {
    /// The services to begin with; [`ServiceSpec`] makes them.
    pub services: Vec<ServiceEntry>,
    /// Served as `RWFFld` and `RWFEnum`. Without one, requests for
    /// dictionaries are events as others are.
    pub dictionary: Option<Arc<FieldDictionary>>,
    /// What the provider says of itself to who logs in. Posts, batches, views
    /// and pauses are supported by default.
    pub features: LoginFeatures,
    /// The text of an accepted login.
    pub login_text: String,
    /// Whether one client may have an item on several streams. Default: no, as
    /// with the vendor's providers.
    pub accept_duplicates: bool,
    /// How many streams one client may have. Default 1,000,000.
    pub max_streams_per_client: usize,
    /// How many directory streams and dictionary downloads one client may
    /// have at a time. Default 16.
    pub max_administrative_streams: usize,
}

impl ProviderConfig {
    /// A provider of these services.
    pub fn new(services: impl IntoIterator<Item = ServiceEntry>) -> Self {
        Self {
            services: services.into_iter().collect(),
            dictionary: None,
            features: LoginFeatures {
                support_post: Some(true),
                support_batch_requests: Some(BatchSupport::all().bits() & 0x7),
                support_view_requests: Some(true),
                support_optimized_pause_resume: Some(true),
                ..LoginFeatures::default()
            },
            login_text: "Login accepted".to_owned(),
            accept_duplicates: false,
            max_streams_per_client: 1_000_000,
            max_administrative_streams: 16,
        }
    }

    /// The same with a dictionary.
    #[must_use]
    pub fn dictionary(self, dictionary: Arc<FieldDictionary>) -> Self {
        Self { dictionary: Some(dictionary), ..self }
    }
}

/// A service as most are; turns into the [`ServiceEntry`] of a directory.
///
/// ```
/// use tapeline_api::{ProviderConfig, ServiceSpec};
/// use tapeline_rwf::Domain;
///
/// let feed = ServiceSpec::new(1, "FEED").domain(Domain::MARKET_BY_ORDER).open_window(100);
/// let config = ProviderConfig::new([feed.entry()]);
/// # let _ = config;
/// ```
#[derive(Clone, Debug)]
pub struct ServiceSpec {
    service_id: u16,
    info: ServiceInfo,
    state: ServiceState,
    load: ServiceLoad,
}

impl ServiceSpec {
    /// A service that is up: market price, dictionaries, real time tick by
    /// tick.
    pub fn new(service_id: u16, name: impl Into<Text>) -> Self {
        let dictionaries = vec![Text::from(FIELDS_NAME), Text::from(ENUMS_NAME)];
        let info = ServiceInfo {
            name: Some(name.into()),
            capabilities: Some(vec![Domain::DICTIONARY, Domain::MARKET_PRICE]),
            dictionaries_provided: Some(dictionaries.clone()),
            dictionaries_used: Some(dictionaries),
            qos: Some(vec![Qos::REALTIME_TICK_BY_TICK]),
            is_source: Some(true),
            ..ServiceInfo::default()
        };
        Self {
            service_id,
            info,
            state: ServiceState::new(true, true),
            load: ServiceLoad::default(),
        }
    }

    /// One more domain.
    #[must_use]
    pub fn domain(mut self, domain: Domain) -> Self {
        self.info.capabilities.get_or_insert_default().push(domain);
        self
    }

    /// Whether it is up and takes requests.
    #[must_use]
    pub fn state(mut self, is_up: bool, accepting_requests: bool) -> Self {
        self.state = ServiceState::new(is_up, accepting_requests);
        self
    }

    /// How many requests of one client may be without their image.
    #[must_use]
    pub fn open_window(mut self, requests: u64) -> Self {
        self.load.open_window = Some(requests);
        self
    }

    /// Anything else about it.
    #[must_use]
    pub fn info(mut self, change: impl FnOnce(&mut ServiceInfo)) -> Self {
        change(&mut self.info);
        self
    }

    /// The service as a directory has it: new, with info, state and load.
    pub fn entry(&self) -> ServiceEntry {
        let mut filters = vec![
            FilterEntry::set(FilterContent::Info(self.info.clone())),
            FilterEntry::set(FilterContent::State(self.state.clone())),
        ];
        if self.load != ServiceLoad::default() {
            filters.push(FilterEntry::set(FilterContent::Load(self.load.clone())));
        }
        ServiceEntry::add(self.service_id, filters)
    }
}
