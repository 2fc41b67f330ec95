//! Messages about the session itself.

use tapeline_layout::{Text, message};

message! {
    /// `A`: who wants in. On the recovery channel the same.
    Logon: 80, fill 0 {
        /// The user.
        4 => user: Text<25>,
        /// Its password.
        29 => password: Text<25>,
        /// What the password shall be from now on; empty for no change.
        54 => new_password: Text<25>,
        /// Of the protocol: 1.
        79 => version: u8,
    }
}

message! {
    /// `B`: the answer.
    LogonReply: 38, fill 0 {
        /// 0 if it is accepted.
        4 => reject_code: i32,
        /// Days until the password expires, in digits.
        8 => password_expiry_days: Text<30>,
    }
}

message! {
    /// `5`: the end, from either side; the client answers one and closes.
    Logout: 24, fill 0 {
        /// Why, for people.
        4 => reason: Text<20>,
    }
}

message! {
    /// `0`: still there.
    Heartbeat: 4, fill 0 {}
}

message! {
    /// `M`: all messages of a partition from a number on, on the recovery
    /// channel.
    MissedMessageRequest: 9, fill 0 {
        /// The partition.
        4 => app_id: i8,
        /// The last number that the client has.
        5 => last_sequence: i32,
    }
}

message! {
    /// `N`: whether they come.
    MissedMessageAck: 5, fill 0 {
        /// 0 they do, 1 too many requests, 2 no such partition, 3 unavailable.
        4 => status: u8,
    }
}

message! {
    /// `P`: all of them came.
    MissedMessageReport: 5, fill 0 {
        /// 0 all, 1 as many as may, 3 unavailable.
        4 => status: u8,
    }
}

message! {
    /// `3`: a message that cannot be.
    Reject: 59, fill 0 {
        /// Why.
        4 => code: i32,
        /// The field that is wrong.
        8 => reason: Text<30>,
        /// The message's type.
        38 => rejected_type: u8,
        /// Its client order id, if what is wrong is behind it.
        39 => cl_ord_id: Text<20>,
    }
}

message! {
    /// `n`: a partition, or what serves recovery, goes or comes back.
    SystemStatus: 6, fill 0 {
        /// The partition.
        4 => app_id: u8,
        /// 1 recovery resumed, 2 recovery unavailable, 3 partition unavailable.
        5 => status: u8,
    }
}
