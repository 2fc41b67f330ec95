//! The names that JSON has for codes of the wire.

use crate::write::text::{BLOCK, push_block};

/// A name in its quotes, ready to be written.
pub(crate) struct Quoted {
    block: [u8; BLOCK],
    len: u8,
}

impl Quoted {
    const fn new(text: &str) -> Self {
        let mut block = [0; BLOCK];
        // A name that is too long for a block does not compile.
        block.split_at_mut(text.len()).0.copy_from_slice(text.as_bytes());
        Self { block, len: text.len() as u8 }
    }

    #[inline]
    pub(crate) fn push_to(&self, out: &mut Vec<u8>) {
        push_block(out, &self.block, usize::from(self.len));
    }
}

macro_rules! names {
    ($($(#[$meta:meta])* $module:ident: $repr:ty { $($code:literal $name:literal,)* })*) => {$(
        $(#[$meta])*
        pub(crate) mod $module {
            use super::Quoted;

            /// The name of a code, if it has one.
            #[allow(dead_code, reason = "most are only written")]
            pub(crate) const fn name(code: $repr) -> Option<&'static str> {
                match code {
                    $($code => Some($name),)*
                    _ => None,
                }
            }

            /// The name of a code as it is written.
            #[inline]
            pub(crate) const fn quoted(code: $repr) -> Option<&'static Quoted> {
                match code {
                    $($code => Some(const { &Quoted::new(concat!("\"", $name, "\"")) }),)*
                    _ => None,
                }
            }

            /// The code of a name; case counts.
            #[allow(dead_code, reason = "containers are found by their members")]
            pub(crate) fn code(name: &str) -> Option<$repr> {
                match name {
                    $($name => Some($code),)*
                    _ => None,
                }
            }
        }
    )*};
}

names! {
    /// `Type`.
    class: u8 {
        1 "Request", 2 "Refresh", 3 "Status", 4 "Update", 5 "Close", 6 "Ack", 7 "Generic",
        8 "Post",
    }
    /// `Domain`.
    domain: u8 {
        1 "Login", 4 "Source", 5 "Dictionary", 6 "MarketPrice", 7 "MarketByOrder",
        8 "MarketByPrice", 9 "MarketMaker", 10 "SymbolList", 11 "ServiceProviderStatus",
        12 "History", 13 "Headline", 14 "Story", 15 "ReplayHeadline", 16 "ReplayStory",
        17 "Transaction", 22 "YieldCurve", 27 "Contribution", 29 "ProviderAdmin",
        30 "Analytics", 31 "Reference", 33 "NewsTextAnalytics", 34 "EconomicIndicator",
        35 "Poll", 36 "Forecast", 37 "MarketByTime", 127 "System",
    }
    /// `NameType` in the login domain.
    login_name_type: u8 {
        1 "Name", 2 "EmailAddress", 3 "Token", 4 "Cookie", 5 "AuthnToken",
    }
    /// `NameType` in all other domains.
    item_name_type: u8 {
        0 "Unspecified", 1 "Ric", 2 "Contributor",
    }
    /// `State.Stream`.
    stream_state: u8 {
        0 "Unspecified", 1 "Open", 2 "NonStreaming", 3 "ClosedRecover", 4 "Closed",
        5 "Redirected",
    }
    /// `State.Data`.
    data_state: u8 {
        0 "NoChange", 1 "Ok", 2 "Suspect",
    }
    /// `State.Code`.
    state_code: u8 {
        0 "None", 1 "NotFound", 2 "Timeout", 3 "NotEntitled", 4 "InvalidArgument",
        5 "UsageError", 6 "Preempted", 7 "JitConflationStarted", 8 "RealtimeResumed",
        9 "FailoverStarted", 10 "FailoverCompleted", 11 "GapDetected", 12 "NoResources",
        13 "TooManyItems", 14 "AlreadyOpen", 15 "SourceUnknown", 16 "NotOpen",
        19 "NonUpdatingItem", 20 "UnsupportedViewType", 21 "InvalidView",
        22 "FullViewProvided", 23 "UnableToRequestAsBatch", 26 "NoBatchViewSupportInReq",
        27 "ExceededMaxMountsPerUser", 28 "Error", 29 "DacsDown", 30 "UserUnknownToPermSys",
        31 "MaxLoginsReached", 32 "UserAccessToAppDenied", 34 "GapFill",
        35 "AppAuthorizationFailed",
    }
    /// `Qos.Timeliness`.
    timeliness: u8 {
        0 "Unspecified", 1 "Realtime", 2 "DelayedUnknown", 3 "Delayed",
    }
    /// `Qos.Rate`.
    rate: u8 {
        0 "Unspecified", 1 "TickByTick", 2 "JitConflated", 3 "TimeConflated",
    }
    /// `UpdateType`.
    update_type: u8 {
        0 "Unspecified", 1 "Quote", 2 "Trade", 3 "NewsAlert", 4 "VolumeAlert",
        5 "OrderIndication", 6 "ClosingRun", 7 "Correction", 8 "MarketDigest",
        9 "QuotesTrade", 10 "Multiple", 11 "Verify",
    }
    /// `NakCode`.
    nak_code: u8 {
        0 "None", 1 "AccessDenied", 2 "DeniedBySrc", 3 "SourceDown", 4 "SourceUnknown",
        5 "NoResources", 6 "NoResponse", 7 "GatewayDown", 10 "SymbolUnknown", 11 "NotOpen",
        12 "InvalidContent",
    }
    /// `Action` of a map entry.
    map_action: u8 {
        1 "Update", 2 "Add", 3 "Delete",
    }
    /// `Action` of a vector entry.
    vector_action: u8 {
        1 "Update", 2 "Set", 3 "Clear", 4 "Insert", 5 "Delete",
    }
    /// `Action` of a filter list entry.
    filter_action: u8 {
        1 "Update", 2 "Set", 3 "Clear",
    }
    /// `ViewType`.
    view_type: u8 {
        1 "FidList", 2 "NameList",
    }
    /// `Type` of elements and arrays, by the code of the data type.
    data_type: u8 {
        3 "Int", 4 "UInt", 5 "Float", 6 "Double", 8 "Real", 9 "Date", 10 "Time", 11 "DateTime",
        12 "Qos", 13 "State", 14 "Enum", 15 "Array", 16 "Buffer", 17 "AsciiString",
        18 "Utf8String", 19 "RmtesString", 128 "NoData", 130 "Opaque", 131 "Xml",
        132 "FieldList", 133 "ElementList", 134 "AnsiPage", 135 "FilterList", 136 "Vector",
        137 "Map", 138 "Series", 141 "Msg", 142 "Json",
    }
    /// The key of a container in messages, entries and summaries, by the code
    /// of the data type.
    container: u8 {
        130 "Opaque", 131 "Xml", 132 "Fields", 133 "Elements", 134 "AnsiPage",
        135 "FilterList", 136 "Vector", 137 "Map", 138 "Series", 141 "Message", 142 "Json",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_codes_are_each_others_inverse() {
        for number in 0..=255 {
            let is_inverse = |name: Option<&str>, code: &dyn Fn(&str) -> Option<u8>| {
                name.is_none_or(|name| code(name) == Some(number))
            };
            assert!(is_inverse(class::name(number), &class::code));
            assert!(is_inverse(domain::name(number), &domain::code));
            assert!(is_inverse(state_code::name(number), &state_code::code));
            assert!(is_inverse(data_type::name(number), &data_type::code));
            assert!(is_inverse(container::name(number), &container::code));
        }
        assert_eq!(domain::code("marketprice"), None);
    }

    #[test]
    fn names_are_written_in_quotes() {
        for number in 0..=255 {
            let mut written = Vec::new();
            if let Some(name) = state_code::quoted(number) {
                name.push_to(&mut written);
            }
            let name = state_code::name(number);
            let expected = name.map(|name| format!("\"{name}\"")).unwrap_or_default();
            assert_eq!(written, expected.as_bytes());
        }
    }
}
