//! How a consumer is to behave.

use std::sync::Arc;
use std::time::Duration;

use tapeline_omm::dictionary::FieldDictionary;
use tapeline_omm::post::PostTracker;
use tapeline_omm::stream::StreamOptions;
use tapeline_rwf::PostUserInfo;

use super::{ServerOrder, StandbySet};
use crate::{Login, Protocol, ReconnectPolicy, Server};

/// How a consumer is to behave. The defaults are those of the vendor's
/// libraries.
#[derive(Clone, Debug)]
pub struct ConsumerConfig {
    /// The servers, in the order to try them.
    pub servers: Vec<Server>,
    /// With which of them to begin. Default: the first one.
    pub order: ServerOrder,
    /// Other servers that stand by for the one that is connected. Default: none.
    pub standby: Option<StandbySet>,
    /// What is spoken with them. Default: RSSL.
    pub protocol: Protocol,
    /// Who logs in.
    pub login: Login,
    /// When to dial again.
    pub reconnect: ReconnectPolicy,
    /// Where the dictionary comes from.
    pub dictionary: DictionarySource,
    /// How long the login may be without an answer. Default 45 s.
    pub login_timeout: Duration,
    /// How long the directory may be without an answer. Default 45 s.
    pub directory_timeout: Duration,
    /// How long to wait for the dictionary, from the directory on. After it,
    /// items are requested without one. Default 45 s.
    pub dictionary_timeout: Duration,
    /// How long an item may be without an answer. Default 15 s.
    pub request_timeout: Duration,
    /// How long to wait before an item that was closed with recovery is
    /// requested again. The first time after an image, or after it was opened,
    /// it is requested at once. Default 1 s.
    pub retry_delay: Duration,
    /// Whether the open windows of services are obeyed. Default: yes.
    pub obey_open_window: bool,
    /// How long a post may be without its ack. Default 15 s.
    pub post_ack_timeout: Duration,
    /// How many posts may wait for their ack. Default 100,000.
    pub max_outstanding_posts: usize,
    /// Who posts, where a post does not say.
    pub post_user_info: PostUserInfo,
    /// How many items may be open. Default 1,000,000.
    pub max_items: usize,
}

/// Where the dictionary of a consumer comes from.
#[derive(Clone, Debug, Default)]
pub enum DictionarySource {
    /// None is needed. A connection that speaks [JSON](Protocol::Json) uses the
    /// built-in one.
    #[default]
    None,
    /// This one, as from files.
    Given(Arc<FieldDictionary>),
    /// `RWFFld` and `RWFEnum` of a service that provides them; items are
    /// requested when it is there.
    Download,
}

impl ConsumerConfig {
    /// A consumer of these servers, with the defaults.
    pub fn new(servers: impl IntoIterator<Item = Server>, login: Login) -> Self {
        let usual_timeout = Duration::from_secs(45);
        Self {
            servers: servers.into_iter().collect(),
            order: ServerOrder::default(),
            standby: None,
            protocol: Protocol::default(),
            login,
            reconnect: ReconnectPolicy::default(),
            dictionary: DictionarySource::None,
            login_timeout: usual_timeout,
            directory_timeout: usual_timeout,
            dictionary_timeout: usual_timeout,
            request_timeout: Duration::from_millis(StreamOptions::DEFAULT_REQUEST_TIMEOUT_MS),
            retry_delay: Duration::from_secs(1),
            obey_open_window: true,
            post_ack_timeout: Duration::from_millis(PostTracker::DEFAULT_TIMEOUT_MS),
            max_outstanding_posts: PostTracker::DEFAULT_MAX_OUTSTANDING,
            post_user_info: PostUserInfo { address: 0, user_id: 0 },
            max_items: 1_000_000,
        }
    }

    /// What bounds the [counts](crate::ConsumerCounters) of a consumer, for the
    /// registry that they are entered in.
    pub const fn bounds(&self) -> [(&'static str, u64); 2] {
        [("items", self.max_items as u64), ("outstanding_posts", self.max_outstanding_posts as u64)]
    }
}
