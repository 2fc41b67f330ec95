//! The sessions of the day, of a configuration.

use serde::Deserialize;
use tapeline_exchange::{ExchangeError, Plan};
use tapeline_instrument::{Schedule, Session, Turn};
use toml::Spanned;

const NS_PER_S: u64 = 1_000_000_000;

/// The sessions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct DaySection {
    /// `open`, `closed`, `sets`, or `turns` for those below.
    pub(crate) sessions: Sessions,
    /// London's day has an auction at noon.
    pub(crate) intraday_auction: Option<Spanned<bool>>,
    pub(crate) length_s: u32,
    pub(crate) utc_offset_s: i32,
    pub(crate) seed: u64,
    /// The call of a circuit breaker, and up to how much later it ends.
    pub(crate) breaker_call_s: u32,
    pub(crate) breaker_random_s: u32,
    /// How long a call goes on if orders without a limit would be left over, and if the
    /// price is too far away; and up to how much later it ends.
    pub(crate) market_extension_s: u32,
    pub(crate) price_extension_s: u32,
    pub(crate) extension_random_s: u32,
    #[serde(rename = "turn")]
    pub(crate) turns: Vec<TurnSection>,
}

/// Which sessions there are.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Sessions {
    Open,
    Closed,
    Sets,
    Turns,
}

/// A session that begins by the clock.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct TurnSection {
    /// Seconds since the day began.
    pub(crate) at_s: u32,
    pub(crate) session: SessionName,
    #[serde(default)]
    pub(crate) random_s: u32,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SessionName {
    Closed,
    OpeningCall,
    Regular,
    IntradayAuction,
    EdspAuction,
    PeriodicAuction,
    ClosingCall,
    ClosingPrice,
    PostClose,
    MarketClose,
    Halt,
    Pause,
}

impl Default for DaySection {
    fn default() -> Self {
        Self {
            sessions: Sessions::Open,
            intraday_auction: None,
            length_s: 86_400,
            utc_offset_s: 0,
            seed: 1,
            breaker_call_s: 300,
            breaker_random_s: 30,
            market_extension_s: 0,
            price_extension_s: 300,
            extension_random_s: 30,
            turns: Vec::new(),
        }
    }
}

impl TurnSection {
    fn turn(&self) -> Turn {
        let session = match self.session {
            SessionName::Closed => Session::Closed,
            SessionName::OpeningCall => Session::OpeningCall,
            SessionName::Regular => Session::Regular,
            SessionName::IntradayAuction => Session::IntradayCall,
            SessionName::EdspAuction => Session::EdspCall,
            SessionName::PeriodicAuction => Session::PeriodicCall,
            SessionName::ClosingCall => Session::ClosingCall,
            SessionName::ClosingPrice => Session::ClosingPrice,
            SessionName::PostClose => Session::PostClose,
            SessionName::MarketClose => Session::MarketClose,
            SessionName::Halt => Session::Halt,
            SessionName::Pause => Session::Pause,
        };
        Turn { at_s: self.at_s, session, random_s: self.random_s }
    }
}

impl DaySection {
    fn has_intraday_auction(&self) -> bool {
        self.intraday_auction.as_ref().is_some_and(|has| *has.get_ref())
    }

    /// What cannot be, and where the file says it.
    pub(super) fn fault(&self) -> Option<(usize, String)> {
        let at = self.intraday_auction.as_ref()?.span().start;
        let is_wrong = self.has_intraday_auction() && self.sessions != Sessions::Sets;
        is_wrong.then(|| {
            let what = "[day] has intraday-auction, and other sessions than \"sets\"; give a \
                        [[day.turn]] with session = \"intraday-auction\", or sessions = \"sets\"";
            (at, what.to_owned())
        })
    }

    pub(super) fn plan(&self) -> Result<Plan, ExchangeError> {
        Ok(match self.sessions {
            Sessions::Open => Plan::Open,
            Sessions::Closed => Plan::Closed,
            Sessions::Sets if self.has_intraday_auction() => {
                Plan::daily(Schedule::sets_with_intraday_auction())
            }
            Sessions::Sets => Plan::daily(Schedule::sets()),
            Sessions::Turns => {
                let turns = self.turns.iter().map(TurnSection::turn).collect();
                Plan::Schedule { schedule: Schedule::new(turns)?, day_s: self.length_s }
            }
        })
    }

    /// What the engine draws and counts.
    pub(super) fn engine(&self) -> tapeline_matching::Config {
        tapeline_matching::Config {
            seed: self.seed,
            breaker_call_ns: u64::from(self.breaker_call_s) * NS_PER_S,
            breaker_random_ns: u64::from(self.breaker_random_s) * NS_PER_S,
            market_extension_ns: u64::from(self.market_extension_s) * NS_PER_S,
            price_extension_ns: u64::from(self.price_extension_s) * NS_PER_S,
            extension_random_ns: u64::from(self.extension_random_s) * NS_PER_S,
            ..tapeline_matching::Config::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> DaySection {
        toml::from_str(text).expect("it can be read")
    }

    #[test]
    fn sessions_of_ones_own_follow_each_other() {
        let plan = |second: &str| {
            let text = format!(
                "sessions = \"turns\"\nlength-s = 300\n\
                 [[turn]]\nat-s = 0\nsession = \"opening-call\"\nrandom-s = 5\n\
                 [[turn]]\nat-s = 20\nsession = \"{second}\"\n"
            );
            day(&text).plan()
        };
        assert!(matches!(plan("regular"), Ok(Plan::Schedule { day_s: 300, .. })));
        assert!(plan("closing-call").is_err());
    }

    #[test]
    fn a_day_has_an_auction_at_noon_or_where_its_turns_say() {
        let sessions = |text: &str| match day(text).plan().expect("a day") {
            Plan::Schedule { schedule, .. } => {
                let turns = schedule.turns().iter();
                turns.map(|turn| char::from(turn.session.status())).collect()
            }
            _ => String::new(),
        };
        assert_eq!(sessions("sessions = \"sets\""), "aTdubcw");
        assert_eq!(sessions("sessions = \"sets\"\nintraday-auction = true"), "aTGTdubcw");
        let turns = [
            "opening-call",
            "regular",
            "intraday-auction",
            "regular",
            "edsp-auction",
            "regular",
            "periodic-auction",
            "pause",
            "regular",
        ];
        let turns = (0..)
            .zip(turns)
            .map(|(at, session)| format!("[[turn]]\nat-s = {at}\nsession = \"{session}\"\n"));
        let turns: String = turns.collect();
        assert_eq!(sessions(&format!("sessions = \"turns\"\n{turns}")), "aTGTqTrlT");
        let open = day("intraday-auction = true");
        let (at, what) = open.fault().expect("it is open all day");
        assert!(at > 0 && what.contains("sessions = \"sets\""), "{at} {what}");
        assert_eq!(day("intraday-auction = false").fault(), None);
    }
}
