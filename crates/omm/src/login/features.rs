//! What the provider of a login can do.

use crate::element::element_model;
use crate::{Credential, Text};

element_model! {
    /// What the provider of a login can do and will do, in the key's
    /// attributes of its refresh. Every element may be left out; the methods
    /// give what counts then.
    pub LoginFeatures of "login refresh" {
        /// Application id, repeated or the provider's own.
        application_id: Text = "ApplicationId",
        /// Application name, repeated or the provider's own.
        application_name: Text = "ApplicationName",
        /// Position, repeated or the provider's own.
        position: Text = "Position",
        /// Whether the consumer gets its permission profile.
        provide_permission_profile: bool = "ProvidePermissionProfile",
        /// Whether images and updates have permission data.
        provide_permission_expressions: bool = "ProvidePermissionExpressions",
        /// Whether the provider recovers items.
        single_open: bool = "SingleOpen",
        /// Whether streams stay open with suspect data.
        allow_suspect_data: bool = "AllowSuspectData",
        /// Obsolete; read and not to be sent.
        support_pause_resume: bool = "SupportPauseResume",
        /// Whether posts are accepted.
        support_post: bool = "SupportOMMPost",
        /// Which batches are accepted, bits of [`BatchSupport`].
        support_batch_requests: u64 = "SupportBatchRequests",
        /// Whether views are honoured.
        support_view_requests: bool = "SupportViewRequests",
        /// Whether a pause of items and of the login is obeyed.
        support_optimized_pause_resume: bool = "SupportOptimizedPauseResume",
        /// Whether the messages of warm standby are understood.
        support_standby: bool = "SupportStandby",
        /// Which modes of warm standby, bits of [`StandbyModes`].
        support_standby_mode: u64 = "SupportStandbyMode",
        /// Whether symbol lists can open the streams of their items.
        support_enhanced_symbol_list: bool = "SupportEnhancedSymbolList",
        /// Whether a non-interactive provider may request dictionaries.
        support_provider_dictionary_download: bool = "SupportProviderDictionaryDownload",
        /// When a new token is due, in seconds since 1970 UTC.
        authentication_tt_reissue: u64 = "AuthenticationTTReissue",
        /// An answer of the authenticator.
        authentication_extended_resp: Credential = "AuthenticationExtendedResp",
        /// Why the authenticator refused; 0 when it did not.
        authentication_error_code: u64 = "AuthenticationErrorCode",
        /// The same in words.
        authentication_error_text: Text = "AuthenticationErrorText",
        /// Whether the provider wants to measure round trips.
        round_trip_latency: u64 = "RoundTripLatency",
    }
}

bitflags::bitflags! {
    /// Which batches a provider accepts, as `SupportBatchRequests` says.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct BatchSupport: u64 {
        /// Requests for several items.
        const REQUESTS = 0x1;
        /// Changes of several streams.
        const REISSUES = 0x2;
        /// Closes of several streams.
        const CLOSES = 0x4;
        const _ = !0;
    }

    /// Which modes of warm standby a provider takes part in, as
    /// `SupportStandbyMode` says.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct StandbyModes: u64 {
        /// A whole server is active or standby.
        const LOGIN_BASED = 0x1;
        /// Each service is active or standby.
        const SERVICE_BASED = 0x2;
        const _ = !0;
    }
}

impl LoginFeatures {
    /// Whether the provider recovers items; absent means yes.
    pub fn is_single_open(&self) -> bool {
        self.single_open.unwrap_or(true)
    }

    /// Whether streams stay open with suspect data; absent means yes.
    pub fn allows_suspect_data(&self) -> bool {
        self.allow_suspect_data.unwrap_or(true)
    }

    /// Whether posts are accepted; absent means no.
    pub fn accepts_posts(&self) -> bool {
        self.support_post.unwrap_or(false)
    }

    /// Which batches are accepted; absent means none.
    pub fn batches(&self) -> BatchSupport {
        BatchSupport::from_bits_retain(self.support_batch_requests.unwrap_or(0))
    }

    /// Whether views are honoured; absent means no.
    pub fn honours_views(&self) -> bool {
        self.support_view_requests.unwrap_or(false)
    }

    /// Whether a pause is obeyed; absent means no.
    pub fn obeys_pause(&self) -> bool {
        self.support_optimized_pause_resume.unwrap_or(false)
    }

    /// Whether symbol lists can open the streams of their items; absent means
    /// no.
    pub fn opens_symbol_list_streams(&self) -> bool {
        self.support_enhanced_symbol_list.unwrap_or(false)
    }

    /// Whether the provider can be one of a warm standby group in this mode.
    /// A provider that names no modes is taken to know both.
    pub fn supports_standby(&self, mode: StandbyModes) -> bool {
        self.support_standby.unwrap_or(false)
            && self
                .support_standby_mode
                .is_none_or(|modes| StandbyModes::from_bits_retain(modes).contains(mode))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_absent_is_not_supported_but_single_open_and_suspect_data() {
        let none = LoginFeatures::default();
        assert!(none.is_single_open() && none.allows_suspect_data());
        assert!(!none.accepts_posts() && !none.honours_views() && !none.obeys_pause());
        assert!(!none.opens_symbol_list_streams());
        assert_eq!(none.batches(), BatchSupport::empty());
        assert!(!none.supports_standby(StandbyModes::LOGIN_BASED));
    }

    #[test]
    fn standby_modes_are_checked_only_where_they_are_given() {
        let supports = |modes| {
            let features = LoginFeatures {
                support_standby: Some(true),
                support_standby_mode: modes,
                ..LoginFeatures::default()
            };
            [StandbyModes::LOGIN_BASED, StandbyModes::SERVICE_BASED]
                .map(|mode| features.supports_standby(mode))
        };
        assert_eq!(supports(None), [true, true]);
        assert_eq!(supports(Some(1)), [true, false]);
        assert_eq!(supports(Some(2)), [false, true]);
    }
}
