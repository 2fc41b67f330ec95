//! Which cells a matrix has.

use super::super::options::{MAX_RATE_PER_S, Options, most_bytes, transport};
use super::judge::{Bounds, CellKey};
use crate::message::HEAD_BYTES;
use crate::{GaugeError, Transport};

const MAX_CELLS: usize = 10_000;

/// The published study's, and what is measured if nothing is said.
const SIZES: [u64; 4] = [100, 500, 800, 1000];
const RATES: [u64; 12] =
    [100, 500, 1_000, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 750_000, 1_000_000];

/// What a matrix consists of.
pub(super) struct MatrixPlan {
    pub(super) transports: Vec<Transport>,
    /// In the order in which they are measured: by rate, then by size.
    pub(super) cells: Vec<CellKey>,
    pub(super) seconds: f64,
    pub(super) bounds: Option<Bounds>,
    pub(super) factors: (f64, f64),
    pub(super) resume: Option<String>,
}

impl MatrixPlan {
    pub(super) fn of(options: &Options) -> Result<Self, GaugeError> {
        let given = &options.common.given;
        let list = |name: &str, usual: &[u64], least: u64, most: u64| {
            let Some(text) = given.text(name) else { return Ok(usual.to_vec()) };
            let number = |part: &str| {
                let read = part.trim().parse().ok().filter(|n| (least..=most).contains(n));
                read.ok_or_else(|| {
                    GaugeError::option(name, part, &format!("give numbers of {least} to {most}"))
                })
            };
            text.split(',').map(number).collect::<Result<Vec<u64>, _>>()
        };
        let transports = given.text("transports").unwrap_or("tcp").split(',');
        let transports: Vec<Transport> =
            transports.map(|name| transport(name.trim())).collect::<Result<_, _>>()?;
        let most = transports.iter().copied().map(most_bytes).min().unwrap_or_default();
        let sizes = list("sizes", &SIZES, HEAD_BYTES as u64, most as u64)?;
        let rates = list("rates", &RATES, 1, MAX_RATE_PER_S)?;
        let mut cells: Vec<CellKey> = rates
            .iter()
            .flat_map(|rate| sizes.iter().map(|bytes| CellKey { rate_per_s: *rate, bytes: *bytes }))
            .collect();
        cells.sort_unstable();
        cells.dedup();
        if cells.len() * transports.len() > MAX_CELLS {
            return Err(GaugeError::Usage(format!("at most {MAX_CELLS} cells")));
        }
        let bounds = match given.text("bounds") {
            Some("none") => None,
            Some(text) => {
                let read = text.parse();
                Some(read.map_err(|what: String| GaugeError::option("bounds", text, &what))?)
            }
            None => Some(Bounds::default()),
        };
        let factors = match given.text("own-factors") {
            None => (2.0, 10.0),
            Some(text) => {
                let pair = text.split_once(',').and_then(|(mean, max)| {
                    Some((mean.trim().parse().ok()?, max.trim().parse().ok()?))
                });
                let what = "give two factors, as 2,10";
                pair.ok_or_else(|| GaugeError::option("own-factors", text, what))?
            }
        };
        Ok(Self {
            transports,
            cells,
            seconds: match (given.has("quick"), given.has("seconds") || given.has("minutes")) {
                (true, false) => 3.0,
                _ => options.seconds.as_secs_f64(),
            },
            bounds,
            factors,
            resume: given.text("resume").map(str::to_owned),
        })
    }

    /// How long it takes, in seconds.
    pub(super) fn takes_s(&self, left_out: usize, warm_up_s: f64) -> f64 {
        let cells = self.cells.len() * self.transports.len() - left_out;
        cells as f64 * (self.seconds + warm_up_s)
    }
}
