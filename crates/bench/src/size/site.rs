//! A site, and what it needs.

use thiserror::Error;

use super::Costs;

/// A server or a hub is to be busy for no more of the time than this, unless told
/// otherwise: beyond, updates wait for each other.
const BUSY_MOST: f64 = 0.7;

/// Most servers that are reckoned with at one hub.
const SERVERS_MOST: u32 = 1_000;

/// What a site is to carry.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// Consumers' connections.
    pub mounts: u64,
    /// Different items that are open.
    pub items: u64,
    /// Updates a second that come from sources, of items that are open.
    pub rate_per_s: f64,
    /// Items that each mount has open, in the mean.
    pub items_per_mount: u64,
    /// Mounts that an update goes to, in the mean. `None`: as many as watch an item in the
    /// mean, as if all items were updated equally often.
    pub fan_out: Option<f64>,
    /// Bytes of an update on a mount's connection. `None`: as measured.
    pub update_wire_bytes: Option<f64>,
    /// Share of the time for which a thread may be busy.
    pub busy_most: f64,
}

impl Default for Site {
    fn default() -> Self {
        Self {
            mounts: 100,
            items: 100_000,
            rate_per_s: 50_000.0,
            items_per_mount: 1_000,
            fan_out: None,
            update_wire_bytes: None,
            busy_most: BUSY_MOST,
        }
    }
}

/// No number of servers carries a site.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum TooMuch {
    /// The hub is busy for longer than it may be.
    #[error(
        "one hub would be busy {percent:.0} % of the time with {rate_per_s:.0} updates a second: \
         spread the services over several hubs"
    )]
    Hub {
        /// How busy.
        percent: f64,
        /// With what.
        rate_per_s: f64,
    },
    /// Each server takes in what any of its mounts watches, which is too much already.
    #[error(
        "a server would be busy {percent:.0} % of the time with what comes in, before any copy: \
         give mounts that watch the same a server of their own, or spread the services"
    )]
    Server {
        /// How busy.
        percent: f64,
    },
}

/// What a hub, or each of the servers, needs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PartNeeds {
    /// Share of a core.
    pub cores: f64,
    /// Memory of the process, but for what it has before anything is opened.
    pub memory_bytes: f64,
    /// Bytes a second that come in, and go out, without heads of TCP and IP.
    pub in_bytes_per_s: f64,
    /// What goes out.
    pub out_bytes_per_s: f64,
}

/// What a site needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Needs {
    /// Mounts that an update goes to.
    pub fan_out: f64,
    /// Servers, or shards of a server: threads with a core each.
    pub servers: u32,
    /// Of the hub, with the backbone.
    pub hub: PartNeeds,
    /// Of each server.
    pub server: PartNeeds,
    /// Updates a second to all mounts.
    pub out_per_s: f64,
    /// How long hub and servers work until all mounts have all their images, if they do so
    /// at once.
    pub opening_s: f64,
}

impl Site {
    /// How many mounts an update goes to.
    fn fan_out(&self) -> f64 {
        let watchers = (self.mounts * self.items_per_mount) as f64;
        self.fan_out.unwrap_or(watchers / self.items.max(1) as f64)
    }

    /// What it needs, by these costs.
    ///
    /// Errors: no number of servers would do.
    pub fn needs(&self, costs: &Costs) -> Result<Needs, TooMuch> {
        let Self { rate_per_s, busy_most, .. } = *self;
        let fan_out = self.fan_out();
        let busy = |ns: f64| rate_per_s * ns / 1e9;
        let hub_cores = busy(costs.hub.update_ns + costs.backbone_update_ns);
        if hub_cores > busy_most {
            return Err(TooMuch::Hub { percent: hub_cores * 100.0, rate_per_s });
        }
        // Mounts are spread over servers as they come, so that each server has nearly all
        // items, and takes in nearly all updates.
        let fixed = busy(costs.server.update_ns);
        let copies = busy(fan_out * costs.server.copy_ns);
        let (servers, cores) = (1..=SERVERS_MOST)
            .map(|servers| (servers, fixed + copies / f64::from(servers)))
            .find(|(_, cores)| *cores <= busy_most)
            .ok_or(TooMuch::Server { percent: fixed * 100.0 })?;
        let bytes = self.update_wire_bytes.unwrap_or(costs.update_wire_bytes);
        let into = rate_per_s * bytes;
        let server_out = into * fan_out / f64::from(servers);
        let hub = PartNeeds {
            cores: hub_cores,
            memory_bytes: self.items as f64 * costs.hub.item_bytes,
            in_bytes_per_s: into,
            out_bytes_per_s: into,
        };
        let server = PartNeeds {
            cores,
            memory_bytes: self.server_bytes(costs, servers),
            in_bytes_per_s: into,
            out_bytes_per_s: server_out,
        };
        let out_per_s = rate_per_s * fan_out;
        let opening_s = self.opening_s(costs, servers);
        Ok(Needs { fan_out, servers, hub, server, out_per_s, opening_s })
    }

    /// Memory of each of so many servers.
    fn server_bytes(&self, costs: &Costs, servers: u32) -> f64 {
        let mounts = self.mounts as f64 / f64::from(servers);
        let watchers = mounts * self.items_per_mount as f64;
        // At most all items, and no more than its mounts can have.
        let items = watchers.min(self.items as f64);
        mounts * costs.server.mount_bytes
            + items * costs.server.item_bytes
            + (watchers - items) * costs.server.watcher_bytes
    }

    fn opening_s(&self, costs: &Costs, servers: u32) -> f64 {
        let (hub, server) = (&costs.hub, &costs.server);
        let mounts = self.mounts as f64 / f64::from(servers);
        let watchers = mounts * self.items_per_mount as f64;
        let items = watchers.min(self.items as f64);
        let further = watchers - items;
        let of_server = mounts * server.login_ns
            + items * server.item_open_ns
            + further * server.watcher_open_ns;
        let all_items = self.items as f64;
        let further = (self.mounts * self.items_per_mount) as f64 - all_items;
        let of_hub = all_items * hub.item_open_ns + further.max(0.0) * hub.image_ns;
        of_server.max(of_hub) / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::super::{HubCosts, ServerCosts};
    use super::*;

    fn costs() -> Costs {
        Costs {
            processor: String::new(),
            conditions: String::new(),
            update_wire_bytes: 100.0,
            hub: HubCosts {
                item_bytes: 500.0,
                item_open_ns: 4_000.0,
                image_ns: 1_000.0,
                update_ns: 300.0,
            },
            backbone_update_ns: 100.0,
            server: ServerCosts {
                mount_bytes: 10_000.0,
                item_bytes: 200.0,
                watcher_bytes: 20.0,
                login_ns: 50_000.0,
                item_open_ns: 5_000.0,
                watcher_open_ns: 2_000.0,
                update_ns: 200.0,
                copy_ns: 50.0,
                ..ServerCosts::default()
            },
        }
    }

    fn is_near(figure: f64, expected: f64) -> bool {
        (figure / expected - 1.0).abs() < 1e-9
    }

    #[test]
    fn what_a_site_needs_is_the_sum_of_what_is_in_it() {
        let needs = Site::default().needs(&costs()).unwrap();
        // 100 mounts of 1,000 of 100,000 items: each item has one watcher.
        assert!(is_near(needs.fan_out, 1.0) && needs.servers == 1, "{needs:?}");
        assert!(is_near(needs.hub.cores, 50_000.0 * 400e-9), "{needs:?}");
        assert!(is_near(needs.server.cores, 50_000.0 * 250e-9), "{needs:?}");
        assert!(is_near(needs.hub.memory_bytes, 5e7), "{needs:?}");
        assert!(is_near(needs.server.memory_bytes, 1e6 + 2e7), "{needs:?}");
        assert!(is_near(needs.server.out_bytes_per_s, 5e6), "{needs:?}");
        assert!(is_near(needs.opening_s, 0.505), "{needs:?}");
    }

    #[test]
    fn servers_are_added_until_none_is_busy_for_too_long() {
        let site = Site { rate_per_s: 200_000.0, fan_out: Some(200.0), ..Site::default() };
        let needs = site.needs(&costs()).unwrap();
        // 0.04 of a core each for what comes in; 2 cores for 40 M copies.
        assert_eq!(needs.servers, 4, "{needs:?}");
        assert!(is_near(needs.server.cores, 0.04 + 0.5), "{needs:?}");
        assert!(is_near(needs.out_per_s, 4e7), "{needs:?}");
        // Each has a quarter of the mounts, which have a quarter of the items.
        assert!(
            is_near(needs.server.memory_bytes, 25.0 * 10_000.0 + 25_000.0 * 200.0),
            "{needs:?}"
        );
        let alike = Site { items: 1_000, ..site };
        let needs = alike.needs(&costs()).unwrap();
        let expected = 250_000.0 + 1_000.0 * 200.0 + 24_000.0 * 20.0;
        assert!(is_near(needs.server.memory_bytes, expected), "{needs:?}");
    }

    #[test]
    fn what_no_number_of_servers_carries_is_said() {
        let site = Site { rate_per_s: 2e6, ..Site::default() };
        let error = site.needs(&costs()).unwrap_err();
        assert!(error.to_string().starts_with("one hub would be busy 80 % of the time"), "{error}");
        let mut dear = costs();
        dear.server.update_ns = 900.0;
        let error = Site { rate_per_s: 1e6, ..Site::default() }.needs(&dear).unwrap_err();
        assert_eq!(error, TooMuch::Server { percent: 90.0 });
    }
}
