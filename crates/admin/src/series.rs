//! Which columns of views are series of `/metrics`.

use tapeline_counters::{Kind, Unit};

/// A series for each row of a view.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Series {
    pub(crate) view: &'static str,
    /// In which order the view was asked for, which bounds how many rows there are.
    pub(crate) by: Option<&'static str>,
    /// Its name without unit and `_total`.
    pub(crate) stem: &'static str,
    pub(crate) help: &'static str,
    pub(crate) column: &'static str,
    pub(crate) unit: Unit,
    pub(crate) kind: Kind,
    /// What one of the column is in the unit.
    pub(crate) per: u64,
    /// Names of labels, and the columns with their values.
    pub(crate) labels: Labels,
    /// What of a total is shown as its example.
    pub(crate) exemplar: Option<Example>,
}

/// An exemplar: one of what was added up, by name. As a label that name would be a series
/// of its own each time, and the old ones would never go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Example {
    pub(crate) label: &'static str,
    /// The column with the name.
    pub(crate) named: &'static str,
    /// The column with its part, in the unit of the total.
    pub(crate) column: &'static str,
}

type Labels = &'static [(&'static str, &'static str)];

/// Views that threads are asked for at a scrape, with the column that their rows are put
/// in order by: of those there are the first `top` alone.
pub(crate) const ASKED: [(&str, Option<&str>); 9] = [
    ("services", None),
    ("sources", None),
    ("mounts", BACKLOG),
    ("mounts", ROUND_TRIP),
    ("users", Some("total")),
    ("products", Some("denied")),
    ("peers", None),
    ("hops", None),
    ("stages", None),
];

const BACKLOG: Option<&str> = Some("backlogBytes");
const ROUND_TRIP: Option<&str> = Some("roundTripUs");

/// Views that are read where they are.
pub(crate) const READ: [&str; 1] = ["driver"];

impl Series {
    /// One of what there is now.
    const fn now(
        (view, column): (&'static str, &'static str),
        stem: &'static str,
        labels: Labels,
        help: &'static str,
    ) -> Self {
        let (by, unit, kind, per) = (None, Unit::None, Kind::Now, 1);
        Self { view, by, stem, help, column, unit, kind, per, labels, exemplar: None }
    }

    /// One that only grows.
    const fn total(
        from: (&'static str, &'static str),
        stem: &'static str,
        labels: Labels,
        help: &'static str,
    ) -> Self {
        Self { kind: Kind::Total, ..Self::now(from, stem, labels, help) }
    }

    const fn by(self, by: Option<&'static str>) -> Self {
        Self { by, ..self }
    }

    const fn in_bytes(self) -> Self {
        Self { unit: Unit::Bytes, ..self }
    }

    const fn in_ns(self) -> Self {
        Self { unit: Unit::Nanoseconds, ..self }
    }

    const fn in_us(self) -> Self {
        Self { per: 1_000, ..self.in_ns() }
    }
}

const OF_SERVICE: Labels = &[("service", "name")];
const OF_SOURCE: Labels = &[("source", "name")];
const OF_MOUNT: Labels = &[("channel", "channel"), ("user", "loginName")];
const OF_PEER: Labels = &[("peer", "name"), ("run", "incarnation")];
const OF_HOP: Labels = &[("service", "service"), ("hop", "hop")];
const OF_STAGE: Labels = &[("stage", "stage")];

/// All of them.
pub(crate) const SERIES: [Series; 33] = [
    Series::now(
        ("services", "State"),
        "tapeline_service_up",
        OF_SERVICE,
        "Whether a service is up.",
    ),
    Series::now(
        ("services", "items"),
        "tapeline_service_items",
        OF_SERVICE,
        "Items of a service that are open.",
    ),
    Series::now(
        ("services", "stale"),
        "tapeline_service_items_stale",
        OF_SERVICE,
        "Items of a service with the data state SUSPECT.",
    ),
    Series::now(("sources", "up"), "tapeline_source_up", OF_SOURCE, "Whether a source is up."),
    Series::total(
        ("sources", "losses"),
        "tapeline_source_losses",
        OF_SOURCE,
        "How often a source was lost.",
    ),
    Series::now(
        ("mounts", "backlogBytes"),
        "tapeline_mount_backlog",
        OF_MOUNT,
        "Bytes that wait for the socket of a mount, of those for whom most waits.",
    )
    .by(BACKLOG)
    .in_bytes(),
    Series::now(
        ("mounts", "roundTripUs"),
        "tapeline_mount_round_trip",
        OF_MOUNT,
        "How long a mount took the last time to answer, of those who took longest.",
    )
    .by(ROUND_TRIP)
    .in_us(),
    Series::now(
        ("mounts", "roundTripP99Us"),
        "tapeline_mount_round_trip_p99",
        OF_MOUNT,
        "What one in a hundred of the last answers of a mount took longer than.",
    )
    .by(ROUND_TRIP)
    .in_us(),
    Series::now(
        ("users", "total"),
        "tapeline_user_items",
        &[("user", "loginName")],
        "Items that a user has open, of those who have most.",
    )
    .by(Some("total")),
    Series::total(
        ("products", "denied"),
        "tapeline_product_denials",
        &[("product", "name"), ("exchange", "exchange"), ("service", "service")],
        "How often somebody was denied an item, or lost it, for lack of a product, of those of which most was denied.",
    )
    .by(Some("denied")),
    Series::now(
        ("peers", "up"),
        "tapeline_peer_up",
        OF_PEER,
        "Whether a peer on the backbone and this end hear each other.",
    ),
    Series::total(
        ("peers", "lost"),
        "tapeline_peer_frames_lost",
        OF_PEER,
        "Frames of a peer that are missing.",
    ),
    Series::now(
        ("peers", "clockErrorNs"),
        "tapeline_peer_clock_error",
        OF_PEER,
        "How well it is known how far the clock of a peer's host is ahead.",
    )
    .in_ns(),
    Series::now(
        ("hops", "p50Ns"),
        "tapeline_hop_p50",
        OF_HOP,
        "The median of how long messages of a service take for a hop.",
    )
    .in_ns(),
    Series::now(
        ("hops", "p99Ns"),
        "tapeline_hop_p99",
        OF_HOP,
        "What one message in a hundred of a service takes longer than for a hop.",
    )
    .in_ns(),
    Series::now(
        ("hops", "worstNs"),
        "tapeline_hop_worst",
        OF_HOP,
        "The longest that a message of a service took for a hop.",
    )
    .in_ns(),
    Series::total(
        ("hops", "samplesTotal"),
        "tapeline_hop_samples",
        OF_HOP,
        "Messages of a service that carried stamps.",
    ),
    Series {
        exemplar: Some(Example { label: "item", named: "worstItem", column: "worstNs" }),
        ..Series::total(
            ("hops", "timeTotalNs"),
            "tapeline_hop",
            OF_HOP,
            "How long these took for a hop, all together; the longest one by its item.",
        )
        .in_ns()
    },
    Series::now(
        ("hops", "clockErrorNs"),
        "tapeline_hop_clock_error",
        OF_HOP,
        "By how much the times of a hop may be wrong.",
    )
    .in_ns(),
    Series::now(
        ("stages", "p50Ns"),
        "tapeline_exchange_stage_p50",
        OF_STAGE,
        "The median of how long what clients ask for takes in a stage of the market.",
    )
    .in_ns(),
    Series::now(
        ("stages", "p99Ns"),
        "tapeline_exchange_stage_p99",
        OF_STAGE,
        "What one in a hundred takes longer than in a stage of the market.",
    )
    .in_ns(),
    Series::now(
        ("stages", "worstNs"),
        "tapeline_exchange_stage_worst",
        OF_STAGE,
        "The longest that something took in a stage of the market.",
    )
    .in_ns(),
    of_driver("naksSent", "tapeline_driver_naks_sent", "NAKs that the media driver sent."),
    of_driver(
        "naksReceived",
        "tapeline_driver_naks_received",
        "NAKs that the media driver received.",
    ),
    of_driver(
        "retransmitsSent",
        "tapeline_driver_retransmits_sent",
        "Retransmits that the media driver sent.",
    ),
    of_driver(
        "retransmittedBytes",
        "tapeline_driver_retransmitted",
        "Bytes that the media driver sent again.",
    )
    .in_bytes(),
    of_driver(
        "lossGapFills",
        "tapeline_driver_loss_gap_fills",
        "Gaps that the media driver filled with nothing: frames are lost.",
    ),
    of_driver(
        "flowControlLimits",
        "tapeline_driver_flow_control_limits",
        "Times that a sender of the media driver stood still, as receivers had no more room.",
    ),
    of_driver(
        "flowControlOverRuns",
        "tapeline_driver_flow_control_over_runs",
        "Packets beyond the room of a receiver, which the media driver dropped.",
    ),
    of_driver(
        "statusMessagesReceived",
        "tapeline_driver_status_messages_received",
        "Status messages that the media driver received.",
    ),
    of_driver("errors", "tapeline_driver_errors", "Errors of the media driver."),
    of_driver("bytesSent", "tapeline_driver_sent", "Bytes that the media driver sent.").in_bytes(),
    of_driver("bytesReceived", "tapeline_driver_received", "Bytes that the media driver received.")
        .in_bytes(),
];

/// What a media driver counts.
const fn of_driver(column: &'static str, stem: &'static str, help: &'static str) -> Series {
    Series::total(("driver", column), stem, &[], help)
}
