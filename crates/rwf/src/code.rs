//! Wire codes: small integers with names, every value representable.

use crate::error::EncodeError;

/// Defines a newtype over an unsigned integer whose well-known values have
/// names. Any value passes through unchanged, so that a code of a later minor
/// version is carried, not lost.
macro_rules! wire_code {
    (
        $(#[$meta:meta])*
        $name:ident($repr:ty) {
            $( $value:literal => $constant:ident $text:literal, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub $repr);

        impl $name {
            $(
                #[doc = concat!("Code ", stringify!($value), ": ", $text, ".")]
                pub const $constant: Self = Self($value);
            )*

            /// The name of the code in the field's own spelling, if it is a known one.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $( $value => Some(stringify!($constant)), )*
                    _ => None,
                }
            }

            /// The code of a name as [`name`](Self::name) gives it.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $( stringify!($constant) => Some(Self::$constant), )*
                    _ => None,
                }
            }
        }

        impl ::core::fmt::Display for $name {
            /// The name, or the number of a code that has none.
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                match self.name() {
                    Some(name) => f.pad(name),
                    None => ::core::fmt::Display::fmt(&self.0, f),
                }
            }
        }

        impl ::core::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }

        impl From<$repr> for $name {
            fn from(code: $repr) -> Self {
                Self(code)
            }
        }

        impl From<$name> for $repr {
            fn from(code: $name) -> Self {
                code.0
            }
        }
    };
}

wire_code! {
    /// The type of a primitive, of a set-defined value or of a container.
    ///
    /// ```text
    ///   0        unknown
    ///   3..19    primitives, their length given from outside
    ///  64..84    set-only forms of a fixed size
    /// 128..255   containers; most places on the wire hold the code − 128
    /// ```
    DataType(u8) {
        0 => UNKNOWN "type not known without a dictionary",
        3 => INT "signed integer",
        4 => UINT "unsigned integer",
        5 => FLOAT "IEEE 754 binary32",
        6 => DOUBLE "IEEE 754 binary64",
        8 => REAL "decimal or fraction: an integer and a scale hint",
        9 => DATE "day, month, year",
        10 => TIME "time of day, minutes to nanoseconds",
        11 => DATETIME "date and time of day",
        12 => QOS "quality of service",
        13 => STATE "stream and data state with code and text",
        14 => ENUM "index into an enumeration table",
        15 => ARRAY "items of one primitive type",
        16 => BUFFER "bytes",
        17 => ASCII_STRING "7-bit text",
        18 => UTF8_STRING "UTF-8 text",
        19 => RMTES_STRING "ISO 2022 style text with partial updates",
        64 => INT_1 "signed, 1 byte",
        65 => UINT_1 "unsigned, 1 byte",
        66 => INT_2 "signed, 2 bytes",
        67 => UINT_2 "unsigned, 2 bytes",
        68 => INT_4 "signed, 4 bytes",
        69 => UINT_4 "unsigned, 4 bytes",
        70 => INT_8 "signed, 8 bytes",
        71 => UINT_8 "unsigned, 8 bytes",
        72 => FLOAT_4 "binary32, 4 bytes",
        73 => DOUBLE_8 "binary64, 8 bytes",
        74 => REAL_4RB "real of 1 to 4 value bytes behind a format byte",
        75 => REAL_8RB "real of 2, 4, 6 or 8 value bytes behind a format byte",
        76 => DATE_4 "date, 4 bytes",
        77 => TIME_3 "time to the second, 3 bytes",
        78 => TIME_5 "time to the millisecond, 5 bytes",
        79 => DATETIME_7 "date and time to the second, 7 bytes",
        80 => DATETIME_9 "date and time to the millisecond, 9 bytes",
        81 => DATETIME_11 "date and time to the microsecond, 11 bytes",
        82 => DATETIME_12 "date and time to the nanosecond, 12 bytes",
        83 => TIME_7 "time to the microsecond, 7 bytes",
        84 => TIME_8 "time to the nanosecond, 8 bytes",
        128 => NO_DATA "no container",
        130 => OPAQUE "bytes of no known form",
        131 => XML "XML text",
        132 => FIELD_LIST "values by field id",
        133 => ELEMENT_LIST "values by name, each with its type",
        134 => ANSI_PAGE "ANSI page",
        135 => FILTER_LIST "containers by filter id",
        136 => VECTOR "containers by index",
        137 => MAP "containers by key",
        138 => SERIES "containers in a row",
        141 => MSG "a whole message",
        142 => JSON "JSON text",
    }
}

impl DataType {
    /// Whether the code is in the range of containers, 128 to 255.
    pub const fn is_container(self) -> bool {
        self.0 >= 128
    }

    /// The type behind a set-only form: `INT_2` is an `INT`. Other types are
    /// returned as they are.
    pub const fn base(self) -> Self {
        match self.0 {
            64 | 66 | 68 | 70 => Self::INT,
            65 | 67 | 69 | 71 => Self::UINT,
            72 => Self::FLOAT,
            73 => Self::DOUBLE,
            74 | 75 => Self::REAL,
            76 => Self::DATE,
            77 | 78 | 83 | 84 => Self::TIME,
            79..=82 => Self::DATETIME,
            code => Self(code),
        }
    }

    /// The size in bytes of a set-only form; `None` for types whose size is on
    /// the wire (also `REAL_4RB` and `REAL_8RB`, whose format byte tells it).
    pub const fn set_size(self) -> Option<usize> {
        Some(match self.0 {
            64 | 65 => 1,
            66 | 67 => 2,
            68 | 69 | 72 | 76 => 4,
            70 | 71 | 73 | 84 => 8,
            77 => 3,
            78 => 5,
            79 | 83 => 7,
            80 => 9,
            81 => 11,
            82 => 12,
            _ => return None,
        })
    }

    /// The container type of a code that is written minus 128.
    pub(crate) const fn from_container_code(code: u8) -> Self {
        Self(code | 0x80)
    }

    /// The code to write where the wire holds container types minus 128; an
    /// error for what is no container.
    pub(crate) const fn container_code(self) -> Result<u8, EncodeError> {
        if self.is_container() {
            return Ok(self.0 & 0x7F);
        }
        Err(EncodeError::OutOfRange { what: "a container type" })
    }

    /// Whether values of this type have a length of their own: `INT` to
    /// `RMTES_STRING`, not the set-only forms.
    pub const fn is_primitive(self) -> bool {
        matches!(self.0, 3..=6 | 8..=19)
    }

    /// Whether values of this type can be set-defined: all but `STATE`.
    pub(crate) const fn can_be_set_defined(self) -> bool {
        self.is_container()
            || (self.is_primitive() && self.0 != Self::STATE.0)
            || matches!(self.0, 64..=84)
    }
}

wire_code! {
    /// The domain (message model) of a message: what its payload means.
    /// 1 to 127 are reserved by the model, 128 to 255 are the user's.
    Domain(u8) {
        1 => LOGIN "login",
        4 => SOURCE "source directory",
        5 => DICTIONARY "dictionary",
        6 => MARKET_PRICE "market price (level 1)",
        7 => MARKET_BY_ORDER "market by order",
        8 => MARKET_BY_PRICE "market by price",
        9 => MARKET_MAKER "market maker",
        10 => SYMBOL_LIST "symbol list",
        11 => SERVICE_PROVIDER_STATUS "service provider status",
        12 => HISTORY "history",
        13 => HEADLINE "news headline",
        14 => STORY "news story",
        15 => REPLAYHEADLINE "replayed headline",
        16 => REPLAYSTORY "replayed story",
        17 => TRANSACTION "transaction",
        22 => YIELD_CURVE "yield curve",
        27 => CONTRIBUTION "contribution",
        29 => PROVIDER_ADMIN "provider administration",
        30 => ANALYTICS "analytics",
        31 => REFERENCE "reference data",
        33 => NEWS_TEXT_ANALYTICS "news text analytics",
        34 => ECONOMIC_INDICATOR "economic indicator",
        35 => POLL "poll",
        36 => FORECAST "forecast",
        37 => MARKET_BY_TIME "market by time",
        127 => SYSTEM "system",
    }
}

wire_code! {
    /// The life of a stream, as its provider sees it.
    StreamState(u8) {
        0 => UNSPECIFIED "not given; the vendor's encoder refuses it",
        1 => OPEN "updates will follow",
        2 => NON_STREAMING "complete after this; no updates",
        3 => CLOSED_RECOVER "closed; may be asked for again later",
        4 => CLOSED "closed; asking again is of no use",
        5 => REDIRECTED "closed; ask for the item named in the key instead",
    }
}

wire_code! {
    /// Whether the data of a stream can be trusted.
    DataState(u8) {
        0 => NO_CHANGE "as it was before",
        1 => OK "current",
        2 => SUSPECT "stale or not known to be current",
    }
}

wire_code! {
    /// Why a state was sent.
    StateCode(u8) {
        0 => NONE "nothing to add",
        1 => NOT_FOUND "no such item",
        2 => TIMEOUT "no answer in time",
        3 => NOT_ENTITLED "the user may not have it",
        4 => INVALID_ARGUMENT "the request is not valid",
        5 => USAGE_ERROR "the request is not allowed here",
        6 => PREEMPTED "gave way to a stream of higher priority",
        7 => JIT_CONFLATION_STARTED "updates are being merged",
        8 => REALTIME_RESUMED "updates are no longer merged",
        9 => FAILOVER_STARTED "moving to another source",
        10 => FAILOVER_COMPLETED "moved to another source",
        11 => GAP_DETECTED "messages were lost",
        12 => NO_RESOURCES "out of resources",
        13 => TOO_MANY_ITEMS "limit of open items reached",
        14 => ALREADY_OPEN "the item is open on this connection",
        15 => SOURCE_UNKNOWN "no such service",
        16 => NOT_OPEN "no such stream",
        19 => NON_UPDATING_ITEM "the item never updates",
        20 => UNSUPPORTED_VIEW_TYPE "views of this kind are not supported",
        21 => INVALID_VIEW "the view is not valid",
        22 => FULL_VIEW_PROVIDED "all fields are given although a view was asked for",
        23 => UNABLE_TO_REQUEST_AS_BATCH "batches are not supported",
        26 => NO_BATCH_VIEW_SUPPORT_IN_REQ "batches with views are not supported",
        27 => EXCEEDED_MAX_MOUNTS_PER_USER "too many mounts of this user",
        28 => ERROR "internal error of the sender",
        29 => DACS_DOWN "no connection to the permission system",
        30 => USER_UNKNOWN_TO_PERM_SYS "no such user",
        31 => DACS_MAX_LOGINS_REACHED "too many logins of this user",
        32 => DACS_USER_ACCESS_TO_APP_DENIED "the user may not use this application",
        34 => GAP_FILL "content fills a gap",
        35 => APP_AUTHORIZATION_FAILED "the application is not authorised",
    }
}

wire_code! {
    /// What caused an update (market data domains).
    UpdateType(u8) {
        0 => UNSPECIFIED "not given",
        1 => QUOTE "quote",
        2 => TRADE "trade",
        3 => NEWS_ALERT "news alert",
        4 => VOLUME_ALERT "volume alert",
        5 => ORDER_INDICATION "order indication",
        6 => CLOSING_RUN "closing run",
        7 => CORRECTION "correction",
        8 => MARKET_DIGEST "market digest",
        9 => QUOTES_TRADE "quotes and a trade",
        10 => MULTIPLE "several updates merged",
        11 => VERIFY "verification",
    }
}

wire_code! {
    /// Why a post was not accepted.
    NakCode(u8) {
        0 => NONE "accepted",
        1 => ACCESS_DENIED "the user may not post this",
        2 => DENIED_BY_SRC "the source refused",
        3 => SOURCE_DOWN "the source is down",
        4 => SOURCE_UNKNOWN "no such source",
        5 => NO_RESOURCES "out of resources",
        6 => NO_RESPONSE "no answer in time",
        7 => GATEWAY_DOWN "the way to the source is down",
        10 => SYMBOL_UNKNOWN "no such item",
        11 => NOT_OPEN "the stream is not open",
        12 => INVALID_CONTENT "the content is not valid",
    }
}

wire_code! {
    /// How old data may be, by its quality of service.
    Timeliness(u8) {
        0 => UNSPECIFIED "not given; the vendor's encoder refuses it",
        1 => REALTIME "real time",
        2 => DELAYED_UNKNOWN "delayed, by how much is not known",
        3 => DELAYED "delayed by the time info, in seconds",
    }
}

wire_code! {
    /// How complete a run of updates is, by its quality of service.
    Rate(u8) {
        0 => UNSPECIFIED "not given; the vendor's encoder refuses it",
        1 => TICK_BY_TICK "every update",
        2 => JIT_CONFLATED "merged when the receiver is slow",
        3 => TIME_CONFLATED "merged over the rate info, in milliseconds",
    }
}

wire_code! {
    /// What a map entry does. Unknown actions carry data and pass through.
    MapAction(u8) {
        1 => UPDATE "change the entry of this key",
        2 => ADD "add or replace the entry of this key",
        3 => DELETE "remove the entry of this key; no data",
    }
}

wire_code! {
    /// What a vector entry does. Unknown actions carry data and pass through.
    VectorAction(u8) {
        1 => UPDATE "change the entry at this index",
        2 => SET "set the entry at this index",
        3 => CLEAR "empty the entry at this index; no data",
        4 => INSERT "insert before this index",
        5 => DELETE "remove the entry at this index; no data",
    }
}

wire_code! {
    /// What a filter list entry does. Unknown actions carry data and pass through.
    FilterAction(u8) {
        1 => UPDATE "change the entry of this id",
        2 => SET "set the entry of this id",
        3 => CLEAR "empty the entry of this id; no data",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_codes_belong_together() {
        for code in 0..=u8::MAX {
            let data_type = DataType(code);
            if let Some(name) = data_type.name() {
                assert_eq!(DataType::from_name(name), Some(data_type));
            }
        }
        assert_eq!(Domain::MARKET_PRICE.to_string(), "MARKET_PRICE");
        assert_eq!(Domain(200).to_string(), "200");
        assert_eq!(format!("{:?}", StateCode::NOT_FOUND), "StateCode(NOT_FOUND)");
        assert_eq!(DataType::from_name("NONSENSE"), None);
    }

    #[test]
    fn set_only_forms_have_a_base_and_a_size() {
        assert_eq!(DataType::INT_4.base(), DataType::INT);
        assert_eq!(DataType::DATETIME_12.base(), DataType::DATETIME);
        assert_eq!(DataType::DATETIME_12.set_size(), Some(12));
        assert_eq!(DataType::REAL_4RB.set_size(), None);
        assert_eq!(DataType::MAP.base(), DataType::MAP);
        for code in 64..=84 {
            let data_type = DataType(code);
            assert!(data_type.base().0 < 64, "{data_type}");
            assert!(data_type.set_size().is_some() || data_type.base() == DataType::REAL);
        }
    }

    #[test]
    fn container_codes_lose_the_top_bit_on_the_wire() {
        assert_eq!(DataType::MAP.container_code(), Ok(9));
        assert!(DataType::UINT.container_code().is_err());
        assert_eq!(DataType::from_container_code(9), DataType::MAP);
        assert_eq!(DataType::from_container_code(0), DataType::NO_DATA);
    }
}
