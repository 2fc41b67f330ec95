//! `docs/sizing.md`, and what a site needs as text.

use std::fmt::Write as _;

use tapeline_measure::table::Table;

use super::{Costs, Needs, Site};

const HEAD: &str = "\
# Sizing

What each thing costs, and what a site of any size needs. This page is written by \
`tapeline-lab size --measure --page docs/sizing.md` and not by hand; its figures are in \
[measured.json](../crates/bench/src/size/measured.json).

Memory is what the process of a hub or a server touches of its own, as the difference over \
large numbers (`tapeline bench memory`). Times are those of the thread that does the work, \
from its own clock, so that other work on the machine does not count: hub, server and what \
is between them take turns on one thread with source and clients, 64 updates at once, as in \
a busy turn. A server's times have the writes to sockets in them.

";

const BEHIND_COSTS: &str = "\
A mount's memory is what the first mounts with one item take each, nearly all of it what the \
allocator keeps of the buffers of their opening; one with 1,000 items took no more where it \
was measured (`tapeline bench memory`), so that what is reckoned here is too much rather \
than too little. Each item that a mount has open is a watcher more. Where hub and server \
keep images, an item takes the bytes of its image more in each of them.

## What a site needs

```text
tapeline-lab size --mounts 1000 --items 100000 --items-per-mount 500 --rate 100000
tapeline-lab size --mounts 1000 --items 100000 --rate 100000 --fan-out 20 --json needs.json
tapeline-lab size --measure --json here.json      # what things cost on this machine: 2 minutes
tapeline-lab size --costs here.json --check       # three predicted rates beside measured ones
```

A thread is to be busy for `--busy` of the time at most (0.7): an update that comes while \
another one is worked on waits, and beyond that they wait for each other. `servers` is also \
the number of shards of one server: each is a thread that wants a core of its own, as the \
hub does.

";

const ASSUMPTIONS: &str = "\
## Where this ends

- **Mounts are spread as they come**, so each server takes in the updates of nearly all \
items. Where mounts that watch the same items share a server, it takes in less.
- **Updates are as long as the measured one** (74 bytes of payload) and come many at a time. \
One that comes alone costs some four times as much, all parties together \
([BENCHMARKING.md](../BENCHMARKING.md)); at rates that are low enough for that, a thread is \
not busy. `--update-bytes` changes the network, not the time.
- **Plain RSSL over TCP.** JSON and views are in the table and not in what a site needs. \
TLS, compression, conflation, posts and entitlements are in neither; what some of them cost \
an update is in BENCHMARKING.md.
- **Nobody is slow.** A mount that does not read holds up to its output bound of memory.
- **One hub has all services.** What presence, the directory, requests and repair of up to a \
hundred servers cost it is in [scale.md](scale.md), and not in these figures.
- **The processor is the one named above.** Measure on yours (`--measure`) before you buy.
";

/// Sites that the page shows.
fn sites() -> [(&'static str, Site); 4] {
    let default = Site::default();
    [
        (
            "a desk: 20 mounts of 500 of 5,000 items, 2,000 updates/s",
            Site {
                mounts: 20,
                items: 5_000,
                items_per_mount: 500,
                rate_per_s: 2e3,
                ..default.clone()
            },
        ),
        (
            "a floor: 500 mounts of 1,000 of 100,000 items, 50,000 updates/s",
            Site { mounts: 500, ..default.clone() },
        ),
        (
            "the published fan-out: 100 mounts, 200,000 updates/s to half of them",
            Site { rate_per_s: 2e5, items: 50_500, fan_out: Some(50.5), ..default.clone() },
        ),
        (
            "a house: 10,000 mounts of 500 of 500,000 items, 200,000 updates/s",
            Site {
                mounts: 10_000,
                items: 500_000,
                items_per_mount: 500,
                rate_per_s: 2e5,
                ..default
            },
        ),
    ]
}

/// The page of these costs.
pub fn page(costs: &Costs) -> String {
    let mut page = format!("{HEAD}{}", costs_as_rows(costs));
    page.push_str(BEHIND_COSTS);
    page.push_str(
        "| site | fan-out | servers | core of the hub | of each server | MiB of the hub | of each \
         server | out of each server, MB/s | all images after |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for (name, site) in sites() {
        match site.needs(costs) {
            Ok(needs) => {
                let _ = writeln!(page, "| {name} | {} |", cells(&needs).join(" | "));
            }
            Err(error) => {
                let _ = writeln!(page, "| {name} | {error} | | | | | | | |");
            }
        }
    }
    page.push('\n');
    page.push_str(ASSUMPTIONS);
    page
}

fn costs_as_rows(costs: &Costs) -> String {
    let Costs { hub, server, .. } = costs;
    let mut text = format!(
        "## What each thing costs\n\nOn: {}. {}. An update is {:.0} bytes on a mount's connection.\n\n\
         | | hub | server |\n|---|---:|---:|\n",
        costs.processor, costs.conditions, costs.update_wire_bytes
    );
    let bytes = |bytes: f64| format!("{bytes:.0} B");
    let nanos = |nanos: f64| match nanos {
        long if long >= 10_000.0 => format!("{:.0} µs", long / 1e3),
        nanos => format!("{nanos:.0} ns"),
    };
    let none = || "-".to_owned();
    let rows = [
        ("memory of a mount without items", none(), bytes(server.mount_bytes)),
        (
            "memory of an item, with its first watcher",
            bytes(hub.item_bytes),
            bytes(server.item_bytes),
        ),
        ("memory of a further watcher", none(), bytes(server.watcher_bytes)),
        ("a login, and the first item", none(), nanos(server.login_ns)),
        (
            "request and image of an item that nobody has",
            nanos(hub.item_open_ns),
            nanos(server.item_open_ns),
        ),
        ("the same of one that others have", nanos(hub.image_ns), nanos(server.watcher_open_ns)),
        (
            "an update that comes in",
            nanos(hub.update_ns + costs.backbone_update_ns),
            nanos(server.update_ns),
        ),
        ("a copy that goes out", none(), nanos(server.copy_ns)),
        ("an update as JSON, once for each form", none(), nanos(server.json_ns)),
        ("a copy of it for a mount", none(), nanos(server.json_copy_ns)),
        ("a view of three of nine fields, once for each view", none(), nanos(server.view_ns)),
        ("a copy of that for a mount", none(), nanos(server.view_copy_ns)),
    ];
    for (name, hub, server) in rows {
        let _ = writeln!(text, "| {name} | {hub} | {server} |");
    }
    text.push_str("\nThe hub's part of an update has the backbone in it.\n\n");
    text
}

fn cells(needs: &Needs) -> Vec<String> {
    let mebibytes = |bytes: f64| format!("{:.1}", bytes / f64::from(1 << 20));
    vec![
        format!("{:.1}", needs.fan_out),
        needs.servers.to_string(),
        format!("{:.0} %", needs.hub.cores * 100.0),
        format!("{:.0} %", needs.server.cores * 100.0),
        mebibytes(needs.hub.memory_bytes),
        mebibytes(needs.server.memory_bytes),
        format!("{:.1}", needs.server.out_bytes_per_s / 1e6),
        format!("{:.1} s", needs.opening_s),
    ]
}

impl Needs {
    /// For people.
    pub fn table(&self) -> String {
        let head = [
            "fan-out",
            "servers",
            "core of the hub",
            "of each server",
            "MiB of the hub",
            "of each server",
            "MB/s out of each",
            "all images after",
        ];
        let mut table = Table::new(&head);
        table.row(cells(self));
        table.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_what_was_measured() {
        let page_there = include_str!("../../../../docs/sizing.md");
        assert!(
            page_there == page(&Costs::measured()),
            "docs/sizing.md is old: tapeline-lab size --page docs/sizing.md"
        );
    }

    #[test]
    fn every_cost_and_every_site_has_a_row() {
        let page = page(&Costs::measured());
        assert_eq!(page.matches("\n| memory of").count(), 3);
        for (name, _) in sites() {
            assert!(page.contains(&format!("\n| {name} |")), "{name}");
        }
    }
}
