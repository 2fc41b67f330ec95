//! What others have published of the same procedures: facts, with their
//! sources.

/// The latency of published systems against the rate.
const LATENCY: &str = include_str!("../published/latency.csv");

/// What the sources are.
pub(crate) const SOURCES: [(&str, &str); 3] = [
    (
        "STAC 2008",
        "Securities Technology Analysis Center, report on RMDS 6.3 on SUSE Linux Enterprise 10 \
         and its real-time edition, over 1 Gbit Ethernet and InfiniBand, 2008",
    ),
    (
        "Red Hat 2008",
        "Red Hat, study of RMDS 6.0 on Red Hat Enterprise Linux 4.4 and 5.1, on two and three \
         nodes; `bound`: processes bound to cores, 2008",
    ),
    (
        "IBM 2011",
        "IBM, report on ADS 2.1 on BladeCenter HS22V over 10 Gbit Ethernet with its reliable \
         multicast, 2011",
    ),
];

/// The highest published outbound rate of Producer 50/50, in updates a second,
/// and of what.
pub(crate) const FAN_OUT: (f64, &str) = (10_100_000.0, "STAC 2008, four servers on eight cores");

/// The highest published rate to one client, in updates a second, and of what.
pub(crate) const THROUGHPUT: (f64, &str) = (1_800_000.0, "highest published, one instance");

/// A published system.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct System {
    /// One of [`SOURCES`].
    pub(crate) source: &'static str,
    pub(crate) name: &'static str,
    /// Ordered by rate.
    pub(crate) points: Vec<Point>,
}

/// What was published of one rate; durations in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Point {
    pub(crate) rate_per_s: f64,
    pub(crate) mean_ns: f64,
    pub(crate) stddev_ns: f64,
    pub(crate) max_ns: f64,
}

/// Ping-pongs of published systems: one file for the tool that compares with
/// them and for its report.
const PING_PONG: &str = include_str!("../../gauge/published/sfnt-pingpong-tcp.csv");

/// A system whose ping-pong over TCP was published.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PingPong {
    pub(crate) name: String,
    /// Bytes, and the mean and the standard deviation of half round trips in
    /// nanoseconds.
    pub(crate) rows: Vec<(f64, f64, f64)>,
}

/// All of them, in the order of the file.
pub(crate) fn pingpong() -> Vec<PingPong> {
    let mut all: Vec<PingPong> = Vec::new();
    for line in PING_PONG.lines().skip(1) {
        // The name has commas, and is in quotes.
        let Some((name, figures)) = line.rsplit_once("\",") else { continue };
        let name = name.trim_start_matches('"').to_owned();
        let figures: Vec<f64> = figures.split(',').filter_map(|word| word.parse().ok()).collect();
        let [bytes, mean, _, _, _, _, stddev, _] = figures[..] else { continue };
        match all.last_mut().filter(|last| last.name == name) {
            Some(last) => last.rows.push((bytes, mean, stddev)),
            None => all.push(PingPong { name, rows: vec![(bytes, mean, stddev)] }),
        }
    }
    all
}

/// All systems, in the order of the file.
pub(crate) fn latency() -> Vec<System> {
    let mut systems: Vec<System> = Vec::new();
    let lines = LATENCY.lines().filter(|line| !line.starts_with('#')).skip(1);
    for (source, name, point) in lines.filter_map(row) {
        match systems.last_mut().filter(|last| (last.source, last.name) == (source, name)) {
            Some(last) => last.points.push(point),
            None => systems.push(System { source, name, points: vec![point] }),
        }
    }
    systems
}

fn row(line: &'static str) -> Option<(&'static str, &'static str, Point)> {
    let mut cells = line.split(',');
    let (source, name) = (cells.next()?, cells.next()?);
    let mut figure = || cells.next()?.parse::<f64>().ok();
    let (rate_per_s, mean_us, stddev_us, max_us) = (figure()?, figure()?, figure()?, figure()?);
    let point = Point {
        rate_per_s,
        mean_ns: mean_us * 1e3,
        stddev_ns: stddev_us * 1e3,
        max_ns: max_us * 1e3,
    };
    Some((source, name, point))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_systems_have_their_ping_pong_published() {
        let all = pingpong();
        assert_eq!(all.len(), 6);
        assert!(all.iter().all(|system| system.rows.len() == 17));
        assert_eq!(all[0].name, "E5-2620v4 bare metal, ultra-low-latency firmware");
        assert_eq!(all[0].rows[0], (1.0, 1768.0, 158.0));
    }

    #[test]
    fn every_line_of_the_file_is_read() {
        let systems = latency();
        let lines = LATENCY.lines().filter(|line| !line.starts_with('#')).count() - 1;
        assert_eq!(systems.iter().map(|system| system.points.len()).sum::<usize>(), lines);
        assert_eq!((systems.len(), lines), (13, 232));
        for system in &systems {
            assert!(SOURCES.iter().any(|(source, _)| *source == system.source), "{system:?}");
            let points = &system.points;
            assert!(points.is_sorted_by(|a, b| a.rate_per_s < b.rate_per_s), "{system:?}");
        }
    }

    #[test]
    fn figures_are_those_that_were_published() {
        let systems = latency();
        let ibm = systems.iter().find(|system| system.source == "IBM 2011").unwrap();
        let half_a_million = &ibm.points[5];
        let expected = Point {
            rate_per_s: 500_000.0,
            mean_ns: 178_700.0,
            stddev_ns: 52_650.0,
            max_ns: 846_000.0,
        };
        assert_eq!(*half_a_million, expected);
    }
}
