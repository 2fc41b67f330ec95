//! The list of standby servers that a login may download.

use tapeline_rwf::{
    DataType, ElementListHead, EncodeError, Encoded, Slot, VectorAction, VectorHead,
};

use crate::element::element_model;
use crate::error::expect_type;
use crate::{ModelError, Text};

const MODEL: &str = "connection configuration";
const ELEMENT: &str = "ConnectionConfig";

/// The servers that a consumer may use as standby, in the payload of a login
/// refresh.
///
/// ```text
/// ELEMENT_LIST { ConnectionConfig: VECTOR
///     summary  ELEMENT_LIST { NumStandbyServers UINT }
///     entries  SET i → ELEMENT_LIST { Hostname, Port, LoadFactor, ServerType }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ConnectionConfig {
    /// How many standby servers to use at once, if said.
    pub num_standby_servers: Option<u64>,
    /// The servers, in the order of their indexes.
    pub servers: Vec<StandbyServer>,
}

element_model! {
    /// One server of a [`ConnectionConfig`].
    pub StandbyServer of "connection configuration" {
        /// Host name; required.
        hostname: Text = "Hostname",
        /// Port; required.
        port: u64 = "Port",
        /// How busy it is; comparable within the list.
        load_factor: u64 = "LoadFactor",
        /// 0 active, 1 standby.
        server_type: u16 = "ServerType",
    }
}

element_model! {
    Summary of "connection configuration" {
        num_standby_servers: u64 = "NumStandbyServers",
    }
}

impl ConnectionConfig {
    /// Reads it from a payload; `None` when the payload has none.
    ///
    /// Errors: summary data without `NumStandbyServers`, a server without host
    /// name or port.
    pub(super) fn read(payload: &Encoded<'_>) -> Result<Option<Self>, ModelError> {
        let malformed = ModelError::in_part(MODEL, ELEMENT);
        let list = payload.element_list().map_err(malformed)?;
        let Some(element) = list.element(ELEMENT).map_err(malformed)? else {
            return Ok(None);
        };
        expect_type(MODEL, ELEMENT, DataType::VECTOR, element.value.data_type())?;
        let vector = element.value.vector().map_err(malformed)?;
        let num_standby_servers = match vector.summary() {
            None => None,
            Some(summary) => Some(
                Summary::read(&summary)?
                    .num_standby_servers
                    .ok_or(ModelError::missing(MODEL, "NumStandbyServers"))?,
            ),
        };
        let mut servers = Vec::new();
        for entry in &vector {
            let entry = entry.map_err(malformed)?;
            if matches!(entry.action, VectorAction::CLEAR | VectorAction::DELETE) {
                continue;
            }
            let server = StandbyServer::read(&entry.data)?;
            if server.hostname.is_none() {
                return Err(ModelError::missing(MODEL, "Hostname"));
            }
            if server.port.is_none() {
                return Err(ModelError::missing(MODEL, "Port"));
            }
            servers.push(server);
        }
        Ok(Some(Self { num_standby_servers, servers }))
    }

    pub(super) fn write(&self, slot: Slot<'_, '_>) -> Result<(), EncodeError> {
        let mut list = slot.element_list(&ElementListHead::STANDARD)?;
        let head = VectorHead::new(DataType::ELEMENT_LIST);
        let mut vector = list.slot(ELEMENT, DataType::VECTOR)?.vector(&head)?;
        if self.num_standby_servers.is_some() {
            let summary = Summary { num_standby_servers: self.num_standby_servers };
            summary.write(vector.summary()?)?;
        }
        for (index, server) in self.servers.iter().enumerate() {
            server.write(vector.entry(VectorAction::SET, index as u32, None)?)?;
        }
        vector.finish()?;
        list.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_rwf::Encoder;

    fn read_back(config: &ConnectionConfig) -> Result<Option<ConnectionConfig>, ModelError> {
        let mut buffer = [0; 512];
        let mut encoder = Encoder::new(&mut buffer);
        config.write(encoder.container(DataType::ELEMENT_LIST)).expect("the buffer is large");
        let bytes = encoder.finish_bytes().expect("the buffer is large");
        ConnectionConfig::read(&Encoded::new(DataType::ELEMENT_LIST, bytes))
    }

    fn server() -> StandbyServer {
        StandbyServer {
            hostname: Some("standby1".into()),
            port: Some(14002),
            load_factor: Some(3),
            server_type: Some(1),
        }
    }

    #[test]
    fn servers_and_their_number_are_read_back() {
        let config =
            ConnectionConfig { num_standby_servers: Some(1), servers: vec![server(), server()] };
        assert_eq!(read_back(&config), Ok(Some(config)));
        let config = ConnectionConfig { num_standby_servers: None, servers: vec![] };
        assert_eq!(read_back(&config), Ok(Some(config)));
    }

    #[test]
    fn a_server_needs_host_and_port() {
        for (part, server) in [
            ("Hostname", StandbyServer { hostname: None, ..server() }),
            ("Port", StandbyServer { port: None, ..server() }),
        ] {
            let config = ConnectionConfig { num_standby_servers: None, servers: vec![server] };
            assert_eq!(read_back(&config), Err(ModelError::missing(MODEL, part)));
        }
    }

    #[test]
    fn summary_data_needs_the_number_of_servers() {
        let mut buffer = [0; 64];
        let mut encoder = Encoder::new(&mut buffer);
        let slot = encoder.container(DataType::ELEMENT_LIST);
        let mut list = slot.element_list(&ElementListHead::STANDARD).expect("room");
        let head = VectorHead::new(DataType::ELEMENT_LIST);
        let slot = list.slot(ELEMENT, DataType::VECTOR).expect("room");
        let mut vector = slot.vector(&head).expect("room");
        vector.summary().and_then(Slot::empty).expect("room");
        vector.finish().and_then(|()| list.finish()).expect("room");
        let bytes = encoder.finish_bytes().expect("room");
        assert_eq!(
            ConnectionConfig::read(&Encoded::new(DataType::ELEMENT_LIST, bytes)),
            Err(ModelError::missing(MODEL, "NumStandbyServers"))
        );
    }
}
