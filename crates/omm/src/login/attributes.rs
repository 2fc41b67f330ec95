//! What a login request says about its user and application.

use tapeline_rwf::UpdateType;

use crate::element::element_model;
use crate::{Credential, Secret, Text};

element_model! {
    /// What a login request says about its user and application, in the key's
    /// attributes. Every element may be left out; the methods give what counts
    /// then.
    pub LoginAttributes of "login request" {
        /// Application id for permissioning, a decimal number 1 to 65535; 256
        /// is the generic one.
        application_id: Text = "ApplicationId",
        /// Name of the application, for people.
        application_name: Text = "ApplicationName",
        /// Where the user is: `a.b.c.d/hostname` or `a.b.c.d/net`. Part of the
        /// identity for permissioning.
        position: Text = "Position",
        /// A credential.
        password: Secret = "Password",
        /// Whether the consumer wants its permission profile.
        provide_permission_profile: bool = "ProvidePermissionProfile",
        /// Whether the consumer wants permission data in images and updates.
        provide_permission_expressions: bool = "ProvidePermissionExpressions",
        /// Whether streams may stay open with suspect data.
        allow_suspect_data: bool = "AllowSuspectData",
        /// Whether the provider is to recover items.
        single_open: bool = "SingleOpen",
        /// Tells instances of one application apart.
        instance_id: Text = "InstanceId",
        /// Whether a non-interactive provider asks to download dictionaries.
        support_provider_dictionary_download: bool = "SupportProviderDictionaryDownload",
        /// Whether the list of standby servers is wanted in the refresh.
        download_connection_config: bool = "DownloadConnectionConfig",
        /// 0 for a consumer, 1 for a provider.
        role: u64 = "Role",
        /// Token in place of the user name.
        authentication_token: Credential = "AuthenticationToken",
        /// More for the authenticator.
        authentication_extended: Credential = "AuthenticationExtended",
        /// 2 when the client answers round trip measurements.
        round_trip_latency: u64 = "RoundTripLatency",
        /// The update types that are wanted, bit n for type n.
        update_type_filter: u64 = "UpdateTypeFilter",
        /// The update types that are not wanted, bit n for type n.
        negative_update_type_filter: u64 = "NegativeUpdateTypeFilter",
    }
}

impl LoginAttributes {
    /// [`role`](Self::role) of a consumer.
    pub const CONSUMER: u64 = 0;
    /// [`role`](Self::role) of a non-interactive provider.
    pub const PROVIDER: u64 = 1;
    /// [`round_trip_latency`](Self::round_trip_latency) of a client that
    /// answers measurements.
    pub const ANSWERS_ROUND_TRIPS: u64 = 2;

    /// Whether the consumer wants its permission profile; absent means yes.
    pub fn wants_permission_profile(&self) -> bool {
        self.provide_permission_profile.unwrap_or(true)
    }

    /// Whether permission data is to be sent; absent means yes.
    pub fn wants_permission_expressions(&self) -> bool {
        self.provide_permission_expressions.unwrap_or(true)
    }

    /// Whether the provider is to recover items; absent means yes.
    pub fn wants_single_open(&self) -> bool {
        self.single_open.unwrap_or(true)
    }

    /// Whether streams may stay open with suspect data; absent means yes.
    pub fn allows_suspect_data(&self) -> bool {
        self.allow_suspect_data.unwrap_or(true)
    }

    /// Whether this is a non-interactive provider; absent means no.
    pub fn is_provider(&self) -> bool {
        self.role == Some(Self::PROVIDER)
    }

    /// Whether the standby servers are wanted in the refresh; absent means no.
    pub fn wants_connection_config(&self) -> bool {
        self.download_connection_config.unwrap_or(false)
    }

    /// Whether round trips may be measured: only clients that announced it get
    /// the messages.
    pub fn answers_round_trips(&self) -> bool {
        self.round_trip_latency == Some(Self::ANSWERS_ROUND_TRIPS)
    }

    /// Whether updates of a type are to be sent: in the one filter, if there
    /// is one, and not in the other. Types above 63 have no bit and are sent.
    pub fn wants_update_type(&self, update_type: UpdateType) -> bool {
        let Some(bit) = 1_u64.checked_shl(update_type.0.into()) else {
            return true;
        };
        self.update_type_filter.is_none_or(|wanted| wanted & bit != 0)
            && self.negative_update_type_filter.is_none_or(|unwanted| unwanted & bit == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_attributes_mean_their_defaults() {
        let none = LoginAttributes::default();
        assert!(none.wants_permission_profile() && none.wants_permission_expressions());
        assert!(none.wants_single_open() && none.allows_suspect_data());
        assert!(!none.is_provider() && !none.wants_connection_config());
        assert!(!none.answers_round_trips());
    }

    #[test]
    fn update_types_pass_one_filter_or_escape_the_other() {
        let wants = |filter, negative| {
            let attributes = LoginAttributes {
                update_type_filter: filter,
                negative_update_type_filter: negative,
                ..LoginAttributes::default()
            };
            [UpdateType::QUOTE, UpdateType::TRADE, UpdateType(200)]
                .map(|update_type| attributes.wants_update_type(update_type))
        };
        assert_eq!(wants(None, None), [true, true, true]);
        assert_eq!(wants(Some(0b10), None), [true, false, true]);
        assert_eq!(wants(None, Some(0b10)), [false, true, true]);
    }
}
