//! Quality of service: what is better, and what a request is given.
//!
//! Order for *better*: timeliness first, then rate.
//!
//! ```text
//! timeliness        rank      rate                         rank
//! REALTIME             0      TICK_BY_TICK                    0
//! DELAYED by n s       n      TIME_CONFLATED m ms        2m − 1   (m < 65535)
//! DELAYED_UNKNOWN  65536      JIT_CONFLATED              131070
//!                             TIME_CONFLATED 65535 ms    131071
//! UNSPECIFIED      worst      UNSPECIFIED                 worst
//! ```

use core::cmp::Ordering;

use tapeline_rwf::{Qos, Rate, RequestMsg, Timeliness};

use crate::{ModelError, ModelErrorKind};

/// How far a timeliness is from the best, 0 being real time.
pub const fn timeliness_rank(qos: &Qos) -> u32 {
    match qos.timeliness {
        Timeliness::REALTIME => 0,
        Timeliness::DELAYED => qos.time_info_s as u32,
        Timeliness::DELAYED_UNKNOWN => 65_536,
        _ => u32::MAX,
    }
}

/// How far a rate is from the best, 0 being tick by tick.
pub const fn rate_rank(qos: &Qos) -> u32 {
    match qos.rate {
        Rate::TICK_BY_TICK => 0,
        Rate::TIME_CONFLATED if qos.rate_info_ms == u16::MAX => 131_071,
        Rate::TIME_CONFLATED => (2 * qos.rate_info_ms as u32).saturating_sub(1),
        Rate::JIT_CONFLATED => 131_070,
        _ => u32::MAX,
    }
}

/// Orders two qualities; `Less` is the better one.
pub fn compare(a: &Qos, b: &Qos) -> Ordering {
    let rank = |qos| (timeliness_rank(qos), rate_rank(qos));
    rank(a).cmp(&rank(b))
}

/// Whether two qualities are the same, whether or not they may change over the
/// life of a stream.
pub fn is_same(a: &Qos, b: &Qos) -> bool {
    a.timeliness == b.timeliness
        && a.rate == b.rate
        && (a.timeliness != Timeliness::DELAYED || a.time_info_s == b.time_info_s)
        && (a.rate != Rate::TIME_CONFLATED || a.rate_info_ms == b.rate_info_ms)
}

/// What quality a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum QosWish {
    /// None: the best there is.
    #[default]
    Best,
    /// Exactly this one.
    Exact(Qos),
    /// The best between the two, in timeliness and in rate.
    Range {
        /// The best end.
        best: Qos,
        /// The worst end.
        worst: Qos,
    },
}

impl QosWish {
    /// The wish of a request.
    ///
    /// Errors: a worst quality without a best one; a range with an end that is
    /// unspecified, which the vendor's library refuses as invalid data.
    pub fn of(request: &RequestMsg<'_>) -> Result<Self, ModelError> {
        const MODEL: &str = "item request";
        match (request.qos, request.worst_qos) {
            (None, None) => Ok(Self::Best),
            (Some(qos), None) => Ok(Self::Exact(qos)),
            (None, Some(_)) => Err(ModelError::missing(MODEL, "best quality of service")),
            (Some(best), Some(worst)) if is_specified(&best) && is_specified(&worst) => {
                Ok(Self::Range { best, worst })
            }
            (Some(_), Some(_)) => Err(ModelError::new(
                MODEL,
                "quality of service",
                ModelErrorKind::Rule("is a range with an unspecified end"),
            )),
        }
    }

    /// The quality that a service gives for this wish, of those it offers. A
    /// service without a list counts as real time, tick by tick. `None`: the
    /// request is not forwarded.
    pub fn select(&self, offered: &[Qos]) -> Option<Qos> {
        let offered = match offered {
            [] => &[Qos::REALTIME_TICK_BY_TICK],
            offered => offered,
        };
        match self {
            Self::Best => offered.iter().min_by(|a, b| compare(a, b)).copied(),
            Self::Exact(wanted) => offered.iter().find(|qos| is_same(qos, wanted)).copied(),
            Self::Range { best, worst } => offered
                .iter()
                .filter(|qos| is_between(qos, best, worst))
                .min_by(|a, b| compare(a, b))
                .copied(),
        }
    }

    /// The best and the worst quality of the request, as the message has them.
    pub const fn parts(&self) -> (Option<Qos>, Option<Qos>) {
        match *self {
            Self::Best => (None, None),
            Self::Exact(qos) => (Some(qos), None),
            Self::Range { best, worst } => (Some(best), Some(worst)),
        }
    }
}

fn is_specified(qos: &Qos) -> bool {
    qos.timeliness != Timeliness::UNSPECIFIED && qos.rate != Rate::UNSPECIFIED
}

fn is_between(qos: &Qos, best: &Qos, worst: &Qos) -> bool {
    (timeliness_rank(best)..=timeliness_rank(worst)).contains(&timeliness_rank(qos))
        && (rate_rank(best)..=rate_rank(worst)).contains(&rate_rank(qos))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_rwf::Domain;

    fn qos(timeliness: Timeliness, rate: Rate, infos: (u16, u16)) -> Qos {
        Qos { timeliness, rate, dynamic: false, time_info_s: infos.0, rate_info_ms: infos.1 }
    }

    const BEST: Qos = Qos::REALTIME_TICK_BY_TICK;

    #[test]
    fn timeliness_counts_before_rate() {
        let mut all = [
            qos(Timeliness::DELAYED_UNKNOWN, Rate::TICK_BY_TICK, (0, 0)),
            qos(Timeliness::REALTIME, Rate::TIME_CONFLATED, (0, u16::MAX)),
            qos(Timeliness::DELAYED, Rate::TICK_BY_TICK, (900, 0)),
            qos(Timeliness::REALTIME, Rate::JIT_CONFLATED, (0, 0)),
            qos(Timeliness::UNSPECIFIED, Rate::TICK_BY_TICK, (0, 0)),
            qos(Timeliness::REALTIME, Rate::TIME_CONFLATED, (0, 1000)),
            BEST,
        ];
        all.sort_by(compare);
        let ranks: Vec<_> = all.iter().map(|q| (timeliness_rank(q), rate_rank(q))).collect();
        assert_eq!(
            ranks,
            [(0, 0), (0, 1999), (0, 131_070), (0, 131_071), (900, 0), (65_536, 0), (u32::MAX, 0)]
        );
    }

    #[test]
    fn wishes_are_given_what_the_service_offers() {
        let slow = qos(Timeliness::REALTIME, Rate::TIME_CONFLATED, (0, 500));
        let delayed = qos(Timeliness::DELAYED, Rate::TICK_BY_TICK, (900, 0));
        let worst = qos(Timeliness::DELAYED, Rate::TIME_CONFLATED, (900, 1000));
        let range = QosWish::Range { best: BEST, worst };
        for (wish, offered, given) in [
            (QosWish::Best, &[][..], Some(BEST)),
            (QosWish::Best, &[delayed, slow], Some(slow)),
            (QosWish::Exact(BEST), &[], Some(BEST)),
            (QosWish::Exact(slow), &[], None),
            (QosWish::Exact(slow), &[delayed, slow], Some(slow)),
            (range, &[delayed, slow], Some(slow)),
            (range, &[delayed], Some(delayed)),
            (range, &[qos(Timeliness::REALTIME, Rate::JIT_CONFLATED, (0, 0))], None),
        ] {
            assert_eq!(wish.select(offered), given, "{wish:?} of {offered:?}");
        }
    }

    #[test]
    fn a_dynamic_offer_matches_an_exact_wish() {
        let dynamic = Qos { dynamic: true, ..BEST };
        assert_eq!(QosWish::Exact(BEST).select(&[dynamic]), Some(dynamic));
    }

    #[test]
    fn ranges_need_two_specified_ends() {
        let mut request = RequestMsg::new(Domain::MARKET_PRICE, 5);
        assert_eq!(QosWish::of(&request), Ok(QosWish::Best));
        request.worst_qos = Some(BEST);
        assert!(QosWish::of(&request).is_err());
        request.qos = Some(qos(Timeliness::UNSPECIFIED, Rate::TICK_BY_TICK, (0, 0)));
        assert_eq!(
            QosWish::of(&request).unwrap_err().to_string(),
            "item request: quality of service is a range with an unspecified end"
        );
        request.qos = Some(BEST);
        let wish = QosWish::of(&request).expect("both ends are specified");
        assert_eq!(wish.parts(), (Some(BEST), Some(BEST)));
    }
}
