//! What a converter may be told.

/// Options of the conversion. The names in parentheses are those of the vendor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "switches that have nothing to do with each other"
)]
pub struct Options {
    /// Enumerations are written as their display text (`jsonExpandedEnumFields`).
    pub expand_enums: bool,
    /// A key that nothing is known of is an error; else it is skipped
    /// (`catchUnknownJsonKeys`).
    pub catch_unknown_keys: bool,
    /// A field that the dictionary lacks is an error on input; else it is
    /// skipped (`catchUnknownJsonFids`).
    pub catch_unknown_fields: bool,
    /// Display texts are taken for enumerations on input; else they give a
    /// blank (`allowEnumDisplayStrings`).
    pub allow_enum_displays: bool,
    /// The service of keys that name none, except in the login and source
    /// domains (`defaultServiceId`).
    pub default_service: Option<u16>,
    /// A request without `Qos` asks for everything from real time tick by tick
    /// to delayed by an unknown time and conflated (`useDefaultDynamicQos`).
    pub default_dynamic_qos: bool,
    /// Sizes that input and output may have.
    pub limits: Limits,
}

/// Bounds of what is read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest JSON text in bytes, for a whole frame; more than
    /// [`MOST_TEXT_BYTES`](Self::MOST_TEXT_BYTES) count as that.
    pub text_bytes: usize,
    /// How many objects and arrays may be inside each other.
    pub depth: usize,
    /// Longest RWF message in bytes that one JSON message may become. Arrays
    /// of items of a fixed length make it longer than its text.
    pub rwf_bytes: usize,
    /// Longest text in bytes that one RWF message may become: about, since only
    /// entries without bytes of their own are counted.
    pub json_bytes: usize,
}

impl Limits {
    /// The most bytes that a JSON text can ever have, as places in it are kept in
    /// 32 bits: 4 GiB less one.
    pub const MOST_TEXT_BYTES: usize = u32::MAX as usize;
}

impl Default for Options {
    /// Expanded enumerations, as the vendor's servers write them and as the
    /// Python libraries expect them; everything else as the vendor's converter.
    fn default() -> Self {
        Self {
            expand_enums: true,
            catch_unknown_keys: false,
            catch_unknown_fields: true,
            allow_enum_displays: true,
            default_service: None,
            default_dynamic_qos: false,
            limits: Limits::default(),
        }
    }
}

impl Default for Limits {
    /// Text of 4 MiB, 64 levels, RWF of 4 MiB, written text of 64 MiB.
    fn default() -> Self {
        Self { text_bytes: 4 << 20, depth: 64, rwf_bytes: 4 << 20, json_bytes: 64 << 20 }
    }
}
