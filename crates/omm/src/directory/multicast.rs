//! Filter 7: where sequenced multicast data and its repair are found.

use tapeline_rwf::{DataType, ElementListWriter, EncodeError, Encoded, VectorAction, VectorHead};

use crate::element::{ElementValue, element_model};
use crate::{ModelErrorKind, Text};

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

    /// Entries that take a channel away have none.
    fn read(value: &Encoded<'_>) -> Result<Option<Self>, ModelErrorKind> {
        let mut channels = Vec::new();
        for entry in &value.vector()? {
            let entry = entry?;
            let channel = match entry.action {
                VectorAction::CLEAR | VectorAction::DELETE => MulticastChannel::default(),
                _ => MulticastChannel::read(&entry.data).map_err(|error| error.kind)?,
            };
            channels.push((entry.action, entry.index, channel));
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

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_rwf::{ElementListHead, Encoder};

    #[test]
    fn a_channel_that_cannot_be_read_makes_the_filter_invalid() {
        let read = |action: VectorAction, is_good: bool| {
            let mut buffer = [0; 256];
            let mut encoder = Encoder::new(&mut buffer);
            let head = VectorHead::new(DataType::ELEMENT_LIST);
            let mut vector = encoder.container(DataType::VECTOR).vector(&head).expect("room");
            if action == VectorAction::DELETE {
                vector.bare_entry(action, 0, None).expect("room");
            } else {
                let slot = vector.entry(action, 0, None).expect("room");
                let mut list = slot.element_list(&ElementListHead::STANDARD).expect("room");
                match is_good {
                    true => list.put("Port", 1_u64).expect("room"),
                    false => list.put("Port", 1_i64).expect("room"),
                }
                list.finish().expect("room");
            }
            vector.finish().expect("room");
            let bytes = encoder.finish_bytes().expect("room");
            MulticastChannels::read(&Encoded::new(DataType::VECTOR, bytes))
        };
        let count = |read: Result<Option<MulticastChannels>, _>| {
            read.map(|channels| channels.map(|channels| channels.0.len()))
        };
        assert_eq!(count(read(VectorAction::SET, true)), Ok(Some(1)));
        assert_eq!(count(read(VectorAction::DELETE, true)), Ok(Some(1)));
        let wrong = ModelErrorKind::WrongType { expected: DataType::UINT, found: DataType::INT };
        assert_eq!(count(read(VectorAction::SET, false)), Err(wrong));
    }
}
