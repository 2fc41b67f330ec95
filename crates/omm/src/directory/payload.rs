//! The payload of directory messages.
//!
//! ```text
//! MAP key UINT (service id) { FILTER_LIST
//!     1 INFO   ELEMENT_LIST       5 DATA   ELEMENT_LIST
//!     2 STATE  ELEMENT_LIST       6 LINK   MAP { ELEMENT_LIST }
//!     3 GROUP  ELEMENT_LIST …     7 SEQUENCED_MULTICAST  ELEMENT_LIST
//!     4 LOAD   ELEMENT_LIST
//! }
//! ```

use tapeline_rwf::{
    DataType, EncodeError, Encoded, FilterAction, FilterListHead, MapAction, MapHead, Slot,
};

use super::{
    FilterContent, FilterEntry, SequencedMulticast, ServiceData, ServiceEntry, ServiceGroupInfo,
    ServiceInfo, ServiceLinks, ServiceLoad, ServiceState,
};
use crate::ModelError;
use crate::error::{ModelErrorKind, expect_type};

/// A service id that came as a map key.
pub(super) fn service_id(model: &'static str, key: &Encoded<'_>) -> Result<u16, ModelError> {
    let value = key.uint().map_err(ModelError::in_part(model, "service id"))?;
    let value = value.ok_or(ModelError::missing(model, "service id"))?;
    u16::try_from(value).map_err(|_| {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        ModelError::new(model, "service id", ModelErrorKind::OutOfRange { value })
    })
}

/// Reads the services of a directory message.
pub(super) fn read(
    model: &'static str,
    payload: &Encoded<'_>,
) -> Result<Vec<ServiceEntry>, ModelError> {
    let malformed = ModelError::in_part(model, "map");
    expect_type(model, "payload", DataType::MAP, payload.data_type())?;
    if payload.is_empty() {
        return Ok(Vec::new());
    }
    let map = payload.map().map_err(malformed)?;
    expect_type(model, "map key", DataType::UINT, map.key_type())?;
    let mut services = Vec::new();
    for entry in &map {
        let entry = entry.map_err(malformed)?;
        let service_id = service_id(model, &entry.key)?;
        let filters = match entry.action {
            MapAction::DELETE => Vec::new(),
            _ => {
                let found = entry.data.data_type();
                expect_type(model, "map entry", DataType::FILTER_LIST, found)?;
                read_filters(model, &entry.data)?
            }
        };
        services.push(ServiceEntry { action: entry.action, service_id, filters });
    }
    Ok(services)
}

fn read_filters(model: &'static str, data: &Encoded<'_>) -> Result<Vec<FilterEntry>, ModelError> {
    let malformed = ModelError::in_part(model, "filter list");
    let mut filters = Vec::new();
    for entry in &data.filter_list().map_err(malformed)? {
        let entry = entry.map_err(malformed)?;
        if entry.action == FilterAction::CLEAR {
            filters.push(FilterEntry::Clear { id: entry.id });
        } else if let Some(content) = read_content(entry.id, &entry.data)? {
            filters.push(FilterEntry::Content { action: entry.action, content });
        }
    }
    Ok(filters)
}

/// Reads one filter; `None` for one that the model does not know.
fn read_content(id: u8, data: &Encoded<'_>) -> Result<Option<FilterContent>, ModelError> {
    Ok(Some(match id {
        1 => FilterContent::Info(ServiceInfo::read(data)?.checked()?),
        2 => FilterContent::State(ServiceState::read(data)?.checked()?),
        3 => FilterContent::Group(ServiceGroupInfo::read(data)?.checked()?),
        4 => FilterContent::Load(ServiceLoad::read(data)?.checked()?),
        5 => FilterContent::Data(ServiceData::read(data)?.checked()?),
        6 => FilterContent::Links(ServiceLinks::read(data)?),
        7 => FilterContent::Multicast(SequencedMulticast::read(data)?),
        _ => return Ok(None),
    }))
}

/// Writes the services of a directory message.
pub(super) fn write(slot: Slot<'_, '_>, services: &[ServiceEntry]) -> Result<(), EncodeError> {
    let mut map = slot.map(&MapHead::new(DataType::UINT, DataType::FILTER_LIST))?;
    for service in services {
        let key = u64::from(service.service_id);
        match service.action {
            MapAction::DELETE => map.bare_entry(MapAction::DELETE, key, None)?,
            action => write_filters(map.entry(action, key, None)?, &service.filters)?,
        }
    }
    map.finish()
}

/// A list with nothing but links is a list of maps; otherwise links say that
/// they are one.
fn write_filters(slot: Slot<'_, '_>, filters: &[FilterEntry]) -> Result<(), EncodeError> {
    let is_link = |entry: &FilterEntry| {
        matches!(entry, FilterEntry::Content { content: FilterContent::Links(_), .. })
    };
    let list_type = match !filters.is_empty() && filters.iter().all(is_link) {
        true => DataType::MAP,
        false => DataType::ELEMENT_LIST,
    };
    let mut list = slot.filter_list(&FilterListHead::new(list_type))?;
    for entry in filters {
        match entry {
            FilterEntry::Clear { id } => {
                list.bare_entry(FilterAction::CLEAR, *id, None, None)?;
            }
            FilterEntry::Content { action, content } => {
                let own_type = match is_link(entry) && list_type != DataType::MAP {
                    true => Some(DataType::MAP),
                    false => None,
                };
                write_content(list.entry(*action, content.id(), own_type, None)?, content)?;
            }
        }
    }
    list.finish()
}

fn write_content(slot: Slot<'_, '_>, content: &FilterContent) -> Result<(), EncodeError> {
    match content {
        FilterContent::Info(info) => info.write(slot),
        FilterContent::State(state) => state.write(slot),
        FilterContent::Group(group) => group.write(slot),
        FilterContent::Load(load) => load.write(slot),
        FilterContent::Data(data) => data.write(slot),
        FilterContent::Links(links) => links.write(slot),
        FilterContent::Multicast(multicast) => multicast.write(slot),
    }
}
