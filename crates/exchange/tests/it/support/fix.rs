//! Clients that speak FIX.

use tapeline_exchange::{Door, SessionId};
use tapeline_fix::{Credentials, Initiator, Message, Store, Verdict, Writer, tag};

use super::{EPOCH_NS, VOD, Venue};

/// A client that speaks FIX.
pub(crate) struct Client {
    pub(crate) initiator: Initiator,
    pub(crate) store: Store,
    name: &'static str,
    pub(crate) session: SessionId,
    /// What came, in short.
    pub(crate) heard: Vec<String>,
    /// The last that came, with `|` behind each field.
    pub(crate) last: String,
    /// Numbers of what came.
    pub(crate) numbers: Vec<u64>,
    pub(crate) is_over: bool,
}

impl Client {
    /// Connects, and does not log on.
    pub(crate) fn connect(venue: &mut Venue, name: &'static str, store: Store) -> Self {
        Self::connect_at(venue, (Door::Fix, "FGW"), name, store)
    }

    /// Connects at a door, to whoever is there, and does not log on.
    pub(crate) fn connect_at(
        venue: &mut Venue,
        (door, target): (Door, &str),
        name: &'static str,
        store: Store,
    ) -> Self {
        let session = venue.connect(door, name);
        // Of who was at the same place before.
        venue.wires.to.remove(&session);
        let initiator = Initiator::new(venue.now, name.as_bytes(), target.as_bytes(), 30);
        let (heard, numbers, last) = (Vec::new(), Vec::new(), String::new());
        Self { initiator, store, name, session, heard, last, numbers, is_over: false }
    }

    pub(crate) fn log_on(venue: &mut Venue, name: &'static str) -> Self {
        Self::log_on_again(venue, name, Store::new(100))
    }

    /// Logs on with the numbers of a session that is there already.
    pub(crate) fn log_on_again(venue: &mut Venue, name: &'static str, store: Store) -> Self {
        let mut client = Self::connect(venue, name, store);
        client.logs_on(venue);
        client
    }

    /// Logs on, and does not hear what comes.
    pub(crate) fn logs_on_unheard(&mut self, venue: &mut Venue) {
        let bytes = self.logon(venue);
        venue.exchange.received(venue.now, self.session, &bytes, &mut venue.wires);
        venue.exchange.cycle(venue.now, &mut venue.wires);
        venue.wires.to.remove(&self.session).expect("an answer");
    }

    pub(crate) fn logs_on(&mut self, venue: &mut Venue) {
        let bytes = self.logon(venue);
        self.talk(venue, bytes);
    }

    fn logon(&mut self, venue: &Venue) -> Vec<u8> {
        let password = format!("{}-secret1", self.name);
        let password = password.as_bytes();
        let credentials = Credentials { user: b"", password, ..Credentials::default() };
        let mut bytes = Vec::new();
        let (now, now_ns) = (venue.now, ns(venue));
        let Self { initiator, store, .. } = self;
        initiator.log_on(now, now_ns, &credentials, store, |sent| bytes.extend_from_slice(sent));
        bytes
    }

    /// Its own numbers go on, though it has lost those of the exchange.
    pub(crate) fn counts_on(&mut self, next_out: u32) {
        let mut frame = Vec::new();
        while self.store.next_out() < next_out {
            let ids = self.initiator.comp_ids();
            self.store.write_once(&ids, 0, b"0", |_| {}, &mut frame);
        }
    }

    /// Asks, and does not read what comes.
    pub(crate) fn asks_unheard(
        &mut self,
        venue: &mut Venue,
        msg_type: &str,
        body: impl FnOnce(&mut Writer<'_>),
    ) {
        let mut bytes = Vec::new();
        let (now, now_ns) = (venue.now, ns(venue));
        let send = |sent: &[u8]| bytes.extend_from_slice(sent);
        self.initiator.send(now, now_ns, msg_type.as_bytes(), body, &mut self.store, send);
        venue.exchange.received(venue.now, self.session, &bytes, &mut venue.wires);
        venue.exchange.cycle(venue.now, &mut venue.wires);
    }

    pub(crate) fn asks(
        &mut self,
        venue: &mut Venue,
        msg_type: &str,
        body: impl FnOnce(&mut Writer<'_>),
    ) -> Vec<String> {
        let mut bytes = Vec::new();
        let (now, now_ns) = (venue.now, ns(venue));
        let send = |sent: &[u8]| bytes.extend_from_slice(sent);
        self.initiator.send(now, now_ns, msg_type.as_bytes(), body, &mut self.store, send);
        self.talk(venue, bytes);
        self.said()
    }

    /// Says bytes, hears what comes, answers, until nobody says anything any more.
    pub(crate) fn talk(&mut self, venue: &mut Venue, mut bytes: Vec<u8>) {
        loop {
            venue.exchange.received(venue.now, self.session, &bytes, &mut venue.wires);
            venue.exchange.cycle(venue.now, &mut venue.wires);
            let came = venue.wires.to.remove(&self.session).unwrap_or_default();
            if came.is_empty() || self.is_over {
                return;
            }
            bytes.clear();
            let Self { initiator, store, heard, last, numbers, .. } = self;
            let send = |sent: &[u8]| bytes.extend_from_slice(sent);
            let verdict = initiator.received(venue.now, ns(venue), &came, store, send, |message| {
                heard.push(told(message));
                *last = message.fields().fold(String::new(), |text, field| {
                    text + &format!("{}={}|", field.tag, String::from_utf8_lossy(field.value))
                });
                let number = message.number(tag::MSG_SEQ_NUM).and_then(Result::ok);
                numbers.push(number.unwrap_or_default() as u64);
            });
            self.is_over = verdict == Verdict::Close;
        }
    }

    /// What has come since.
    pub(crate) fn said(&mut self) -> Vec<String> {
        std::mem::take(&mut self.heard)
    }

    /// What has come by now.
    pub(crate) fn hears(&mut self, venue: &mut Venue) -> Vec<String> {
        self.talk(venue, Vec::new());
        self.said()
    }

    /// The connection ends; the numbers stay.
    pub(crate) fn hangs_up(self, venue: &mut Venue) -> Store {
        venue.hangs_up(self.session);
        self.store
    }
}

pub(crate) fn ns(venue: &Venue) -> u64 {
    EPOCH_NS + venue.now.as_nanos()
}

/// A message in short.
pub(crate) fn told(message: &Message<'_>) -> String {
    let text = |tag| String::from_utf8_lossy(message.get(tag).unwrap_or(b"-")).into_owned();
    let mut line = match message.msg_type() {
        b"8" => {
            let [kind, status, name] = [tag::EXEC_TYPE, tag::ORD_STATUS, tag::CL_ORD_ID].map(text);
            let [filled, leaves, all] = [tag::CUM_QTY, tag::LEAVES_QTY, tag::ORDER_QTY].map(text);
            format!("{kind}/{status} {name} {filled}+{leaves} of {all}")
        }
        b"9" => format!("9 {} of {}", text(tag::CL_ORD_ID), text(tag::CXL_REJ_RESPONSE_TO)),
        b"r" => format!("r {} {}", text(tag::CL_ORD_ID), text(tag::MASS_CANCEL_RESPONSE)),
        b"j" => format!("j {} {}", text(tag::REF_MSG_TYPE), text(tag::BUSINESS_REJECT_REASON)),
        b"3" => format!("3 {} {}", text(tag::REF_TAG_ID), text(tag::SESSION_REJECT_REASON)),
        b"5" => format!("5 {}", text(tag::SESSION_STATUS)),
        b"AE" => {
            let [side, name, order] = [tag::SIDE, tag::CL_ORD_ID, tag::TRADE_REQUEST_ID].map(text);
            let [kind, both] = [tag::TRADE_REPORT_TYPE, tag::MATCH_STATUS].map(text);
            let what = match (kind.as_str(), both.as_str()) {
                ("0", "0") => "",
                ("6", "1") => " to cancel?",
                ("6", "0") => " cancelled",
                other => panic!("{other:?}"),
            };
            format!("AE {side} {name} {order}{what}")
        }
        b"AR" => {
            let [name, status] = [tag::TRADE_REPORT_ID, tag::TRD_RPT_STATUS].map(text);
            let [code, both] = [tag::TRADE_REPORT_REJECT_REASON, tag::MATCH_STATUS].map(text);
            format!("AR {name} {status} why {code} match {both}")
        }
        b"AQ" => {
            let [result, status] = [tag::TRADE_REQUEST_RESULT, tag::TRADE_REQUEST_STATUS].map(text);
            format!("AQ {result} {status}")
        }
        b"BF" => format!("BF {} {}", text(tag::USERNAME), text(tag::USER_STATUS)),
        b"B" => format!("B {} {}", text(tag::SECURITY_ID), text(tag::HEADLINE)),
        other => String::from_utf8_lossy(other).into_owned(),
    };
    for (tag, before) in [
        (tag::ON_BEHALF_OF_COMP_ID, " of "),
        (tag::ORIG_CL_ORD_ID, " was "),
        (tag::LAST_QTY, " "),
        (tag::LAST_PX, "@"),
        (tag::POSS_RESEND, " again "),
        (tag::MASS_STATUS_REQ_ID, " to "),
        (tag::LAST_RPT_REQUESTED, " last "),
    ] {
        if let Some(value) = message.get(tag) {
            line += before;
            line += &String::from_utf8_lossy(value);
        }
    }
    if let Some(text) = message.get(tag::TEXT) {
        line += ": ";
        line += String::from_utf8_lossy(text).split(':').next().unwrap_or_default();
    }
    line
}

/// An order like `buy 100@10.25`.
pub(crate) fn put_order(fields: &mut Writer<'_>, name: &str, text: &str) {
    let order = super::order(name, text);
    fields.text(tag::CL_ORD_ID, name.as_bytes());
    fields.number(tag::SECURITY_ID, VOD.into()).byte(tag::SECURITY_ID_SOURCE, b'8');
    fields.byte(tag::ORD_TYPE, b'0' + order.order_type).byte(tag::SIDE, b'0' + order.side);
    fields.number(tag::ORDER_QTY, order.quantity.into());
    fields.number(tag::DISPLAY_QTY, order.display.into());
    if order.limit > 0 {
        fields.decimal(tag::PRICE, order.limit);
    }
    put_rest(fields);
}

/// What every order has to have besides.
pub(crate) fn put_rest(fields: &mut Writer<'_>) {
    fields.number(tag::NO_PARTY_IDS, 1).text(tag::PARTY_ID, b"DESK");
    fields.byte(tag::PARTY_ID_SOURCE, b'D').number(tag::PARTY_ROLE, 76);
    fields.byte(tag::ACCOUNT_TYPE, b'1').byte(tag::ORDER_CAPACITY, b'P');
    fields.time(tag::TRANSACT_TIME, EPOCH_NS);
}

/// A cancel, or an amendment with what the order is to be.
pub(crate) fn put_change(fields: &mut Writer<'_>, name: &str, original: &str, text: Option<&str>) {
    fields.text(tag::CL_ORD_ID, name.as_bytes()).text(tag::ORIG_CL_ORD_ID, original.as_bytes());
    fields.number(tag::SECURITY_ID, VOD.into()).byte(tag::SECURITY_ID_SOURCE, b'8');
    fields.time(tag::TRANSACT_TIME, EPOCH_NS);
    let Some(text) = text else {
        fields.byte(tag::SIDE, b'2');
        return;
    };
    let order = super::order(name, text);
    fields.byte(tag::SIDE, b'0' + order.side).number(tag::ORDER_QTY, order.quantity.into());
    fields.number(tag::DISPLAY_QTY, order.display.into()).decimal(tag::PRICE, order.limit);
}
