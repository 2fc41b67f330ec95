//! The sessions of a trading day, and which may follow which.

use crate::InstrumentError;

/// What can be done with an instrument now. The character of each is the trading
/// status of market data (MIT303, Symbol Status).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Session {
    /// Before the day: nothing.
    #[default]
    Closed = b'w',
    /// Orders are collected for the opening price.
    OpeningCall = b'a',
    /// Continuous trading.
    Regular = b'T',
    /// Orders are collected for the closing price.
    ClosingCall = b'd',
    /// Behind the closing auction: orders trade at its price, and at no other.
    ClosingPrice = b'u',
    /// Behind trading: cancels only.
    PostClose = b'b',
    /// After the day: orders of the day expire.
    MarketClose = b'c',
    /// Stopped by operators: cancels only.
    Halt = b'H',
    /// A price would have been too far from those before it: orders are collected for
    /// one price, and continuous trading goes on ("automatic execution suspension").
    BreakerCall = b'e',
    /// Behind a halt: orders are collected for one price, and continuous trading goes on.
    ResumeCall = b'f',
    /// Within the day orders are collected for one price. Of the book the best prices are
    /// shown and nothing else ("level 1").
    IntradayCall = b'G',
    /// Within the day orders are collected for one price, by which derivatives are settled
    /// ("exchange delivery settlement price").
    EdspCall = b'q',
    /// Within the day orders are collected for one price, again and again.
    PeriodicCall = b'r',
    /// Stopped by operators: nothing.
    Pause = b'l',
}

/// Why a session begins; the numbers are the reasons of Symbol Status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Cause {
    /// The schedule says so.
    #[default]
    Scheduled = 0,
    /// Orders without a limit would be left over.
    MarketOrders = 3,
    /// A price outside of what is tolerated.
    PriceOutside = 4,
    /// Operators want it.
    Operator = 9,
}

impl Session {
    /// All there are.
    pub const ALL: [Self; 14] = [
        Self::Closed,
        Self::OpeningCall,
        Self::Regular,
        Self::ClosingCall,
        Self::ClosingPrice,
        Self::PostClose,
        Self::MarketClose,
        Self::Halt,
        Self::BreakerCall,
        Self::ResumeCall,
        Self::IntradayCall,
        Self::EdspCall,
        Self::PeriodicCall,
        Self::Pause,
    ];

    /// Its character in market data.
    pub const fn status(self) -> u8 {
        self as u8
    }

    /// The session of a character; `None` for one that is not known.
    pub fn from_status(status: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|session| session.status() == status)
    }

    /// What a person calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::OpeningCall => "opening call",
            Self::Regular => "regular trading",
            Self::ClosingCall => "closing call",
            Self::ClosingPrice => "closing price trading",
            Self::PostClose => "post close",
            Self::MarketClose => "market close",
            Self::Halt => "halted",
            Self::BreakerCall => "circuit breaker call",
            Self::ResumeCall => "resume call",
            Self::IntradayCall => "intraday auction call",
            Self::EdspCall => "EDSP auction call",
            Self::PeriodicCall => "periodic auction call",
            Self::Pause => "paused",
        }
    }

    /// Orders are collected, and matched when it ends.
    #[inline]
    pub const fn is_call(self) -> bool {
        self.is_open_call() || self.is_call_within_day()
    }

    /// A call that takes all orders but those that must trade at once.
    #[inline]
    const fn is_open_call(self) -> bool {
        matches!(self, Self::OpeningCall | Self::ClosingCall | Self::BreakerCall | Self::ResumeCall)
    }

    /// The call of an auction that interrupts regular trading by the schedule.
    #[inline]
    pub const fn is_call_within_day(self) -> bool {
        matches!(self, Self::IntradayCall | Self::EdspCall | Self::PeriodicCall)
    }

    /// Trading is stopped by operators.
    pub const fn is_stopped(self) -> bool {
        matches!(self, Self::Halt | Self::Pause)
    }

    /// New orders are taken, whatever they are; [`ClosingPrice`](Self::ClosingPrice) and
    /// [calls within the day](Self::is_call_within_day) take those that are for it.
    #[inline]
    pub const fn takes_orders(self) -> bool {
        matches!(self, Self::Regular) || self.is_open_call()
    }

    /// Orders can be cancelled.
    #[inline]
    pub const fn takes_cancels(self) -> bool {
        let takes_few = matches!(self, Self::Halt | Self::ClosingPrice | Self::PostClose);
        self.takes_orders() || takes_few || self.is_call_within_day()
    }

    /// Of the book, market data has the best prices and no orders.
    #[inline]
    pub const fn shows_best_only(self) -> bool {
        matches!(self, Self::IntradayCall)
    }

    /// Orders were collected until now, and what matches is matched when this one begins
    /// behind a call.
    pub const fn ends_call(self) -> bool {
        matches!(self, Self::Regular | Self::ClosingPrice | Self::PostClose | Self::MarketClose)
    }

    /// The session that follows this one, if it may.
    ///
    /// ```text
    ///  to:            w  a  T  d  u  b  c  H  e  f  G  q  r  l
    ///  Closed       w .  s  o  .  .  .  .  .  .  .  .  .  .  .  s  by the schedule or by operators
    ///  OpeningCall  a .  .  s  .  .  .  o  o  .  .  .  .  .  o  o  by operators only
    ///  Regular      T .  .  .  s  .  .  o  o  p  .  s  s  s  o  p  by a price that is not tolerated
    ///  ClosingCall  d .  .  .  .  s  s  s  o  .  .  .  .  .  o
    ///  ClosingPrice u .  .  .  .  .  s  s  .  .  .  .  .  .  .
    ///  PostClose    b .  .  .  .  .  .  s  .  .  .  .  .  .  .
    ///  MarketClose  c s  .  .  .  .  .  .  .  .  .  .  .  .  .
    ///  Halt         H .  o  o  o  .  s  s  .  .  o  o  o  o  o
    ///  BreakerCall  e .  .  s  s  .  .  o  o  .  .  s  s  s  o
    ///  ResumeCall   f .  .  o  s  .  .  o  o  .  .  s  s  s  o
    ///  IntradayCall G .  .  s  .  .  .  o  o  .  .  .  .  .  o
    ///  EdspCall     q .  .  s  .  .  .  o  o  .  .  .  .  .  o
    ///  PeriodicCall r .  .  s  .  .  .  o  o  .  .  .  .  .  o
    ///  Pause        l .  o  o  o  .  s  s  o  .  o  o  o  o  .
    /// ```
    ///
    /// # Errors
    /// The table has no such step for this cause.
    pub fn followed_by(self, to: Self, cause: Cause) -> Result<Self, InstrumentError> {
        use Session::{
            BreakerCall, Closed, ClosingCall, ClosingPrice, EdspCall, Halt, IntradayCall,
            MarketClose, OpeningCall, Pause, PeriodicCall, PostClose, Regular, ResumeCall,
        };
        let is_operator = cause == Cause::Operator;
        let may = match (self, to) {
            (Closed, OpeningCall)
            | (OpeningCall | BreakerCall | IntradayCall | EdspCall | PeriodicCall, Regular)
            | (
                Regular | BreakerCall | ResumeCall,
                ClosingCall | IntradayCall | EdspCall | PeriodicCall,
            )
            | (ClosingCall, ClosingPrice)
            | (ClosingCall | ClosingPrice | Halt | Pause, PostClose)
            | (ClosingCall | ClosingPrice | PostClose | Halt | Pause, MarketClose)
            | (MarketClose, Closed) => true,
            (Closed | ResumeCall, Regular)
            | (
                OpeningCall | Regular | BreakerCall | ResumeCall | IntradayCall | EdspCall
                | PeriodicCall,
                MarketClose | Halt | Pause,
            )
            | (ClosingCall, Halt | Pause)
            | (Halt, Pause)
            | (Pause, Halt)
            | (
                Halt | Pause,
                OpeningCall | Regular | ClosingCall | ResumeCall | IntradayCall | EdspCall
                | PeriodicCall,
            ) => is_operator,
            (Regular, BreakerCall) => cause == Cause::PriceOutside,
            _ => false,
        };
        if may { Ok(to) } else { Err(InstrumentError::Session { from: self, to }) }
    }
}

/// A session, and when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Seconds since midnight, local time of the exchange.
    pub at_s: u32,
    /// What begins then.
    pub session: Session,
    /// It begins up to so many seconds later; whoever draws the number has it
    /// in the journal.
    pub random_s: u32,
}

/// The day of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    turns: Vec<Turn>,
}

impl Schedule {
    /// A day of turns.
    ///
    /// # Errors
    /// One is not behind the one before it, its random part included, or its
    /// session cannot follow.
    pub fn new(turns: Vec<Turn>) -> Result<Self, InstrumentError> {
        let mut session = Session::Closed;
        let mut free_s = 0;
        for (at, turn) in turns.iter().enumerate() {
            if turn.at_s < free_s {
                return Err(InstrumentError::Schedule(at + 1));
            }
            free_s = turn.at_s.saturating_add(turn.random_s).saturating_add(1);
            let cause = Self::cause(session, turn.session);
            session = session.followed_by(turn.session, cause)?;
        }
        Ok(Self { turns })
    }

    /// Why a turn takes place. A halt or a pause, and its end, are the operators', also where
    /// a schedule rehearses them.
    fn cause(from: Session, to: Session) -> Cause {
        let is_operators = from.is_stopped() || to.is_stopped();
        if is_operators { Cause::Operator } else { Cause::Scheduled }
    }

    /// Its turns, in the order of time, and why each takes place.
    pub fn causes(&self) -> impl Iterator<Item = (Turn, Cause)> {
        let before = self.turns.iter().rev().take(1).chain(&self.turns);
        let pairs = before.zip(&self.turns);
        pairs.map(|(before, turn)| (*turn, Self::cause(before.session, turn.session)))
    }

    /// The day of SETS, London: calls from 07:50 and 16:30, each ending at a
    /// random moment of half a minute, and trading at the closing price to 16:40.
    pub fn sets() -> Self {
        Self::sets_of(&[])
    }

    /// The same with an auction within the day: its call is from 12:00 to 12:02, and up to
    /// half a minute more.
    pub fn sets_with_intraday_auction() -> Self {
        let noon_s = 12 * 3600;
        let call = Turn { at_s: noon_s, session: Session::IntradayCall, random_s: 0 };
        let regular = Turn { at_s: noon_s + 120, session: Session::Regular, random_s: 30 };
        Self::sets_of(&[call, regular])
    }

    /// With some turns between the openings of regular trading and of the closing call.
    fn sets_of(midday: &[Turn]) -> Self {
        let turn = |hour: u32, minute: u32, session, random_s| Turn {
            at_s: hour * 3600 + minute * 60,
            session,
            random_s,
        };
        let mut turns = vec![
            turn(7, 50, Session::OpeningCall, 0),
            turn(8, 0, Session::Regular, 30),
            turn(16, 30, Session::ClosingCall, 0),
            turn(16, 35, Session::ClosingPrice, 30),
            turn(16, 40, Session::PostClose, 0),
            turn(17, 15, Session::MarketClose, 0),
            turn(17, 30, Session::Closed, 0),
        ];
        turns.splice(2..2, midday.iter().copied());
        Self { turns }
    }

    /// Its turns, in the order of time.
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_may_rehearse_a_halt() {
        let turn = |at_s, session| Turn { at_s, session, random_s: 0 };
        let turns = vec![
            turn(1, Session::OpeningCall),
            turn(2, Session::Regular),
            turn(3, Session::Halt),
            turn(4, Session::Regular),
        ];
        let day = Schedule::new(turns).expect("in order");
        let causes: Vec<Cause> = day.causes().map(|(_, cause)| cause).collect();
        assert_eq!(causes[..2], [Cause::Scheduled; 2]);
        assert_eq!(causes[2..], [Cause::Operator; 2]);
        // Nothing can be halted, or paused, that is closed.
        for session in [Session::Halt, Session::Pause] {
            assert!(Schedule::new(vec![turn(1, session)]).is_err());
        }
    }

    #[test]
    fn a_day_goes_round() {
        let day = Schedule::new(Schedule::sets().turns().to_vec()).expect("in order");
        let sessions: Vec<u8> = day.turns().iter().map(|turn| turn.session.status()).collect();
        assert_eq!(sessions, b"aTdubcw");
        for session in Session::ALL {
            assert_eq!(Session::from_status(session.status()), Some(session));
        }
        assert_eq!(Session::from_status(b'?'), None);
        let with_auction = Schedule::sets_with_intraday_auction().turns().to_vec();
        let day = Schedule::new(with_auction).expect("in order");
        let sessions: Vec<u8> = day.turns().iter().map(|turn| turn.session.status()).collect();
        assert_eq!(sessions, b"aTGTdubcw");
    }

    #[test]
    fn auctions_within_the_day_are_within_regular_trading() {
        let to = |from: Session, to, cause| from.followed_by(to, cause).is_ok();
        for call in [Session::IntradayCall, Session::EdspCall, Session::PeriodicCall] {
            for from in Session::ALL {
                let is_within =
                    matches!(from, Session::Regular | Session::BreakerCall | Session::ResumeCall);
                assert_eq!(to(from, call, Cause::Scheduled), is_within, "{from:?}");
                let may = is_within || from.is_stopped();
                assert_eq!(to(from, call, Cause::Operator), may, "{from:?}");
            }
            assert!(to(call, Session::Regular, Cause::Scheduled));
            assert!(!to(call, Session::ClosingCall, Cause::Operator), "it is matched first");
            assert!(call.is_call() && call.takes_cancels());
            assert!(!call.takes_orders(), "but those that are for it");
            assert_eq!(call.shows_best_only(), call == Session::IntradayCall);
        }
    }

    #[test]
    fn a_pause_is_a_halt_in_which_nothing_can_be_done() {
        let to = |from: Session, to, cause| from.followed_by(to, cause).is_ok();
        let [pause, halt] = [Session::Pause, Session::Halt];
        for other in Session::ALL.into_iter().filter(|other| !other.is_stopped()) {
            for cause in [Cause::Operator, Cause::Scheduled, Cause::PriceOutside] {
                assert_eq!(to(pause, other, cause), to(halt, other, cause), "to {other:?}");
                assert_eq!(to(other, pause, cause), to(other, halt, cause), "from {other:?}");
            }
        }
        assert!(to(pause, halt, Cause::Operator) && to(halt, pause, Cause::Operator));
        assert!(!pause.takes_orders() && !pause.takes_cancels() && halt.takes_cancels());
    }

    #[test]
    fn only_operators_halt_and_no_session_follows_itself() {
        let to = |from: Session, to, cause| from.followed_by(to, cause).is_ok();
        assert!(!to(Session::Regular, Session::Halt, Cause::Scheduled));
        assert!(to(Session::Regular, Session::Halt, Cause::Operator));
        for session in Session::ALL {
            assert!(!to(session, session, Cause::Operator));
        }
        let error = Session::Closed.followed_by(Session::ClosingCall, Cause::Operator);
        let text = error.expect_err("refused").to_string();
        assert_eq!(text, "session ClosingCall cannot follow Closed");
    }

    #[test]
    fn a_circuit_breakers_call_begins_by_a_price_and_ends_by_the_schedule() {
        let to = |from: Session, to, cause| from.followed_by(to, cause).is_ok();
        let (call, regular) = (Session::BreakerCall, Session::Regular);
        assert!(to(regular, call, Cause::PriceOutside));
        assert!(!to(regular, call, Cause::Operator) && !to(regular, call, Cause::Scheduled));
        assert!(to(call, regular, Cause::Scheduled) && call.is_call());
        assert!(to(call, Session::ClosingCall, Cause::Scheduled));
        for from in Session::ALL.into_iter().filter(|from| *from != regular) {
            assert!(!to(from, call, Cause::PriceOutside), "{from:?}");
        }
    }

    #[test]
    fn what_is_halted_goes_on_when_operators_say_so_and_ends_with_the_day() {
        let to = |from: Session, to, cause| from.followed_by(to, cause).is_ok();
        let (halt, call) = (Session::Halt, Session::ResumeCall);
        for next in [Session::Regular, call, Session::ClosingCall] {
            assert!(to(halt, next, Cause::Operator) && !to(halt, next, Cause::Scheduled));
        }
        assert!(to(halt, Session::MarketClose, Cause::Scheduled), "orders of the day end");
        assert!(call.is_call() && to(call, Session::Regular, Cause::Operator));
        assert!(
            to(call, Session::ClosingCall, Cause::Scheduled) && to(call, halt, Cause::Operator)
        );
        assert!(!to(Session::Regular, call, Cause::Operator), "it is behind a halt only");
    }

    #[test]
    fn the_closing_price_is_traded_at_behind_the_closing_call_only() {
        let to = |from: Session, to, cause| from.followed_by(to, cause).is_ok();
        for from in Session::ALL {
            let is_behind = to(from, Session::ClosingPrice, Cause::Scheduled);
            assert_eq!(is_behind, from == Session::ClosingCall, "{from:?}");
            assert_eq!(to(from, Session::ClosingPrice, Cause::Operator), is_behind, "{from:?}");
        }
        let session = Session::ClosingPrice;
        assert!(session.takes_cancels() && !session.takes_orders() && !session.is_call());
        assert!(Session::PostClose.takes_cancels() && !Session::PostClose.takes_orders());
    }

    #[test]
    fn a_schedule_whose_random_parts_overlap_is_refused() {
        let turn = |at_s, session, random_s| Turn { at_s, session, random_s };
        let turns = vec![turn(10, Session::OpeningCall, 5), turn(15, Session::Regular, 0)];
        assert_eq!(Schedule::new(turns), Err(InstrumentError::Schedule(2)));
    }
}
