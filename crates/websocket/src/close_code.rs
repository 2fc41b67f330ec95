//! Why a WebSocket is closed, as its close frame says (RFC 6455, section 7.4.1,
//! and the registry that it founds).

/// There is no more to say.
pub const NORMAL: u16 = 1000;
/// The server ends.
pub const GOING_AWAY: u16 = 1001;
/// What came is no WebSocket frame, or not the one that is due.
pub const PROTOCOL_ERROR: u16 = 1002;
/// A binary message came where texts are spoken.
pub const UNSUPPORTED_DATA: u16 = 1003;
/// A text is not UTF-8.
pub const INVALID_DATA: u16 = 1007;
/// A message is longer than may be.
pub const TOO_BIG: u16 = 1009;
/// The client does not read what it is sent: try again later.
pub const TRY_AGAIN_LATER: u16 = 1013;
