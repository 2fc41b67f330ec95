//! Filter 7: where sequenced multicast data and its repair are found.

use tapeline_rwf::{
    DataType, DecodeError, ElementListWriter, EncodeError, Encoded, VectorAction, VectorHead,
};

use crate::Text;
use crate::element::{ElementValue, element_model};

element_model! {
    /// Filter 7: where a service sends sequenced multicast data, and who
    /// repairs it.
    pub SequencedMulticast of "sequenced multicast" {
        /// Host of the snapshot server.
        snapshot_server_host: Text = "SnapshotServerHost",
        /// Port of the snapshot server.
        snapshot_server_port: u64 = "SnapshotServerPort",
        /// Host of the gap recovery server.
        gap_recovery_server_host: Text = "GapRecoveryServerHost",
        /// Port of the gap recovery server.
        gap_recovery_server_port: u64 = "GapRecoveryServerPort",
        /// Host of the reference data server.
        reference_data_server_host: Text = "ReferenceDataServerHost",
        /// Port of the reference data server.
        reference_data_server_port: u64 = "ReferenceDataServerPort",
        /// Channels of the data.
        streaming_channels: MulticastChannels = "StreamingMulticastChannels",
        /// Channels of the repair.
        gap_channels: MulticastChannels = "GapMulticastChannels",
    }
}

element_model! {
    /// One multicast channel.
    pub MulticastChannel of "multicast channel" {
        /// Group address.
        group: Text = "MulticastGroup",
        /// Port.
        port: u64 = "Port",
        /// Domain of the data.
        domain: u64 = "Domain",
    }
}

/// A list of multicast channels, as changes of a vector.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct MulticastChannels(pub Vec<(VectorAction, u32, MulticastChannel)>);

impl ElementValue for MulticastChannels {
    const WIRE: DataType = DataType::VECTOR;

    /// An entry that cannot be understood is left out: the filter is
    /// information for a receiver of its own kind.
    fn read(value: &Encoded<'_>) -> Result<Option<Self>, DecodeError> {
        let mut channels = Vec::new();
        for entry in &value.vector()? {
            let entry = entry?;
            if let Ok(channel) = MulticastChannel::read(&entry.data) {
                channels.push((entry.action, entry.index, channel));
            }
        }
        Ok(Some(Self(channels)))
    }

    fn write(
        &self,
        list: &mut ElementListWriter<'_, '_>,
        name: &'static str,
    ) -> Result<(), EncodeError> {
        let head = VectorHead::new(DataType::ELEMENT_LIST);
        let mut vector = list.slot(name, DataType::VECTOR)?.vector(&head)?;
        for (action, index, channel) in &self.0 {
            match *action {
                VectorAction::CLEAR | VectorAction::DELETE => {
                    vector.bare_entry(*action, *index, None)?;
                }
                action => channel.write(vector.entry(action, *index, None)?)?,
            }
        }
        vector.finish()
    }
}
