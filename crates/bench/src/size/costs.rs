//! What each thing costs.

use serde::{Deserialize, Serialize};

/// The measurement that `docs/sizing.md` shows, and that is reckoned with unless another
/// is given.
const MEASURED: &str = include_str!("measured.json");

/// What was measured. Times are of the thread that does the work, where it has many updates
/// to do in a turn; memory is what a process touches of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// The processor that it was measured on.
    pub processor: String,
    /// What figures were made with, and what else was at work meanwhile.
    pub conditions: String,
    /// Bytes of an update on a mount's connection.
    pub update_wire_bytes: f64,
    /// Of the hub.
    pub hub: HubCosts,
    /// What carries an update from one to the other, in the hub's process.
    pub backbone_update_ns: f64,
    /// Of the server.
    pub server: ServerCosts,
}

/// What each thing costs a hub.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HubCosts {
    /// Memory of an item.
    pub item_bytes: f64,
    /// To open an item: its request and its image.
    pub item_open_ns: f64,
    /// An image that a further watcher has asked for, where none are kept.
    pub image_ns: f64,
    /// An update.
    pub update_ns: f64,
}

/// What each thing costs a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerCosts {
    /// Memory of a mount that has nothing open.
    pub mount_bytes: f64,
    /// Memory of an item with its first watcher.
    pub item_bytes: f64,
    /// Memory of a further watcher of an item.
    pub watcher_bytes: f64,
    /// A mount from its connection to the image of the one item that it opens.
    pub login_ns: f64,
    /// To open an item that nobody has: its request and its image.
    pub item_open_ns: f64,
    /// To open one that others have.
    pub watcher_open_ns: f64,
    /// An update, but for its copies.
    pub update_ns: f64,
    /// A copy of an update for a mount, the write to its socket included.
    pub copy_ns: f64,
    /// An update that somebody wants as JSON, once for all who want it in the same form.
    pub json_ns: f64,
    /// A copy of it for a mount.
    pub json_copy_ns: f64,
    /// An update of which somebody wants three fields of nine, once for all with the same
    /// view.
    pub view_ns: f64,
    /// A copy of these for a mount.
    pub view_copy_ns: f64,
}

impl Costs {
    /// Those of the page.
    pub fn measured() -> Self {
        // That it can be read is tested here: it is part of the program.
        Self::from_json(MEASURED).unwrap_or_default()
    }

    /// From a file that `tapeline-lab size --measure` wrote.
    ///
    /// Errors: the text is no such file.
    pub fn from_json(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// For such a file.
    pub fn to_json(&self) -> String {
        // Texts and numbers: nothing is refused.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Time of an update that goes to so many mounts, in hub, backbone and server together.
    pub fn update_ns(&self, fan_out: f64) -> f64 {
        let Self { hub, backbone_update_ns, server, .. } = self;
        hub.update_ns + backbone_update_ns + server.update_ns + fan_out * server.copy_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_measured_is_whole_and_is_written_as_it_is_read() {
        let costs = Costs::measured();
        assert_eq!(Costs::from_json(&costs.to_json()), Ok(costs.clone()));
        let Costs { hub, server, .. } = &costs;
        for figure in [
            costs.update_wire_bytes,
            costs.backbone_update_ns,
            hub.item_bytes,
            hub.item_open_ns,
            hub.image_ns,
            hub.update_ns,
            server.mount_bytes,
            server.item_bytes,
            server.watcher_bytes,
            server.login_ns,
            server.item_open_ns,
            server.watcher_open_ns,
            server.update_ns,
            server.copy_ns,
            server.json_ns,
            server.json_copy_ns,
            server.view_ns,
            server.view_copy_ns,
        ] {
            assert!(figure > 0.0 && figure.is_finite(), "{costs:?}");
        }
        assert!(Costs::from_json("{}").is_err());
    }
}
