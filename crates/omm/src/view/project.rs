//! Cutting a payload down to a view, and to what may be seen.

use tapeline_rwf::{
    DataType, DecodeError, ElementEntry, ElementList, ElementListHead, EncodeError, Encoded,
    Encoder, FieldList, FieldListHead, FilterAction, FilterList, FilterListHead, Map, MapAction,
    MapHead, Msg, Primitive, Series, SeriesHead, SetDefs, Slot, Vector, VectorAction, VectorHead,
};
use thiserror::Error;

use super::{FieldMask, View};

/// Why a payload was not cut down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ProjectError {
    /// The payload is no RWF.
    #[error("payload cannot be read: {0}")]
    Decode(#[from] DecodeError),
    /// The result cannot be written.
    #[error("result cannot be written: {0}")]
    Encode(#[from] EncodeError),
}

impl View {
    /// Writes a message with only what the view wants of its payload. Returns
    /// the length in bytes, or `None` for an update of which nothing is left.
    ///
    /// As [`Projection::project_msg`].
    pub fn project_msg(
        &self,
        msg: &Msg<'_>,
        buffer: &mut [u8],
    ) -> Result<Option<usize>, ProjectError> {
        Projection { view: Some(self), mask: None }.project_msg(msg, buffer)
    }

    fn is_for_names(&self) -> bool {
        matches!(self.0, super::Members::Names(_))
    }
}

/// What somebody gets of an item: what is wanted of what may be seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Projection<'a> {
    /// What is wanted; everything without.
    pub view: Option<&'a View>,
    /// What may be seen; everything without.
    pub mask: Option<&'a FieldMask>,
}

impl Projection<'_> {
    /// Writes a message with only what is left of its payload. Returns the
    /// length in bytes, or `None` for an update of which nothing is left:
    /// there is nothing to send then. One with permission data or a sequence
    /// number is sent all the same: these are for the requester too.
    ///
    /// Errors: as of [`project`](Self::project).
    pub fn project_msg(
        &self,
        msg: &Msg<'_>,
        buffer: &mut [u8],
    ) -> Result<Option<usize>, ProjectError> {
        let payload = msg.payload();
        if let Msg::Update(update) = msg {
            let is_told = update.perm_data.is_some() || update.seq_num.is_some();
            if !is_told && !self.keeps_any(&payload, &SetDefs::NONE)? {
                return Ok(None);
            }
        }
        let mut encoder = Encoder::new(buffer);
        self.project(&payload, encoder.begin(msg, payload.data_type())?)?;
        Ok(Some(encoder.finish()?))
    }

    /// Writes a payload with only what is left of it.
    ///
    /// In field lists the fields of the view stay, in element lists the named
    /// elements. In maps, vectors and series this goes for every entry; summary
    /// data stays whole. Updates of map entries of which nothing is left are
    /// left out. Set-defined data becomes standard data, since the definitions
    /// no longer fit. A payload of another kind than the view is for stays as
    /// it is.
    ///
    /// A mask goes for field lists wherever they are, in summary data, elements
    /// and filter lists too. A message within the message, into which nobody
    /// looks, is left empty.
    ///
    /// Errors: the payload is malformed; the buffer is too small.
    pub fn project(&self, payload: &Encoded<'_>, slot: Slot<'_, '_>) -> Result<(), ProjectError> {
        self.project_data(payload, &SetDefs::NONE, slot)
    }

    /// The rest of it where the view has no say.
    const fn masked(&self) -> Self {
        Self { view: None, mask: self.mask }
    }

    fn cuts_fields(&self) -> bool {
        self.mask.is_some() || self.view.is_some_and(|view| !view.is_for_names())
    }

    fn keeps_field(&self, field_id: i16) -> bool {
        self.view.is_none_or(|view| view.is_for_names() || view.has_field(field_id))
            && self.mask.is_none_or(|mask| mask.shows(field_id))
    }

    fn keeps_name(&self, name: &[u8]) -> bool {
        self.view.is_none_or(|view| !view.is_for_names() || view.has_name(name))
    }

    fn project_data(
        &self,
        data: &Encoded<'_>,
        defs: &SetDefs<'_>,
        slot: Slot<'_, '_>,
    ) -> Result<(), ProjectError> {
        if data.is_empty() {
            return Ok(slot.empty()?);
        }
        match data.data_type() {
            DataType::FIELD_LIST => self.project_fields(&data.field_list_with(defs)?, slot),
            DataType::ELEMENT_LIST => self.project_elements(&data.element_list_with(defs)?, slot),
            DataType::MAP => self.project_map(&data.map()?, slot),
            DataType::VECTOR => self.project_vector(&data.vector()?, slot),
            DataType::SERIES => self.project_series(&data.series()?, slot),
            DataType::FILTER_LIST if self.mask.is_some() => {
                self.project_filter_list(&data.filter_list()?, slot)
            }
            DataType::MSG if self.mask.is_some() => Ok(slot.empty()?),
            _ => Ok(slot.encoded(data)?),
        }
    }

    fn project_fields(&self, list: &FieldList<'_>, slot: Slot<'_, '_>) -> Result<(), ProjectError> {
        let mut writer =
            slot.field_list(&FieldListHead { info: list.info(), set: None, standard: true })?;
        for entry in list {
            let entry = entry?;
            if !self.keeps_field(entry.field_id) {
                continue;
            }
            if entry.is_set_defined() && !entry.value.data_type().is_container() {
                // Fixed-size forms of a set are not the forms of standard data.
                writer.put(entry.field_id, entry.primitive(DataType::UNKNOWN)?)?;
            } else {
                writer.bytes(entry.field_id, entry.value.bytes())?;
            }
        }
        Ok(writer.finish()?)
    }

    fn project_elements(
        &self,
        list: &ElementList<'_>,
        slot: Slot<'_, '_>,
    ) -> Result<(), ProjectError> {
        let mut writer =
            slot.element_list(&ElementListHead { info: list.info(), set: None, standard: true })?;
        for entry in list {
            let ElementEntry { name, value, is_set_defined } = entry?;
            if !self.keeps_name(name) {
                continue;
            }
            let data_type = value.data_type();
            if self.mask.is_some() && data_type.is_container() && !value.is_empty() {
                self.masked().project_data(
                    &value,
                    &SetDefs::NONE,
                    writer.slot(name, data_type)?,
                )?;
            } else if is_set_defined && !data_type.is_container() {
                writer.put(name, value.primitive()?)?;
            } else {
                writer.bytes(name, data_type, value.bytes())?;
            }
        }
        Ok(writer.finish()?)
    }

    fn project_filter_list(
        &self,
        list: &FilterList<'_>,
        slot: Slot<'_, '_>,
    ) -> Result<(), ProjectError> {
        let (container_type, total_count_hint) = (list.container_type(), list.total_count_hint());
        let mut writer = slot.filter_list(&FilterListHead { container_type, total_count_hint })?;
        for entry in list {
            let entry = entry?;
            let own_type = Some(entry.data.data_type()).filter(|own| *own != container_type);
            let (action, id, perm_data) = (entry.action, entry.id, entry.perm_data);
            match action == FilterAction::CLEAR || entry.data.data_type() == DataType::NO_DATA {
                true => writer.bare_entry(action, id, None, perm_data)?,
                false => self.masked().project_data(
                    &entry.data,
                    &SetDefs::NONE,
                    writer.entry(action, id, own_type, perm_data)?,
                )?,
            }
        }
        Ok(writer.finish()?)
    }

    /// Summary data: all that may be seen, with set-defined data as standard data.
    fn project_summary(
        &self,
        data: &Encoded<'_>,
        defs: &SetDefs<'_>,
        slot: Slot<'_, '_>,
    ) -> Result<(), ProjectError> {
        match defs.local.is_none() && self.mask.is_none() {
            true => Ok(slot.encoded(data)?),
            false => self.masked().project_data(data, defs, slot),
        }
    }

    fn project_map(&self, map: &Map<'_>, slot: Slot<'_, '_>) -> Result<(), ProjectError> {
        let defs = map.set_defs();
        let mut writer = slot.map(&MapHead {
            key_type: map.key_type(),
            container_type: map.container_type(),
            key_field_id: map.key_field_id(),
            set_defs: None,
            total_count_hint: map.total_count_hint(),
        })?;
        if let Some(summary) = map.summary() {
            self.project_summary(&summary, &defs, writer.summary()?)?;
        }
        for entry in map {
            let entry = entry?;
            let key = Primitive::Other(map.key_type(), entry.key.bytes());
            if entry.action == MapAction::DELETE || map.container_type() == DataType::NO_DATA {
                writer.bare_entry(entry.action, key, entry.perm_data)?;
            } else if entry.action != MapAction::UPDATE || self.keeps_any(&entry.data, &defs)? {
                let slot = writer.entry(entry.action, key, entry.perm_data)?;
                self.project_data(&entry.data, &defs, slot)?;
            }
        }
        Ok(writer.finish()?)
    }

    /// Entries stay even when empty: other entries are counted by them.
    fn project_vector(&self, vector: &Vector<'_>, slot: Slot<'_, '_>) -> Result<(), ProjectError> {
        let defs = vector.set_defs();
        let flags = vector.flags();
        let mut writer = slot.vector(&VectorHead {
            container_type: vector.container_type(),
            supports_sorting: flags.contains(tapeline_rwf::VectorFlags::SUPPORTS_SORTING),
            set_defs: None,
            total_count_hint: vector.total_count_hint(),
        })?;
        if let Some(summary) = vector.summary() {
            self.project_summary(&summary, &defs, writer.summary()?)?;
        }
        for entry in vector {
            let entry = entry?;
            let (action, index, perm_data) = (entry.action, entry.index, entry.perm_data);
            let is_bare = matches!(action, VectorAction::CLEAR | VectorAction::DELETE);
            if is_bare || vector.container_type() == DataType::NO_DATA {
                writer.bare_entry(action, index, perm_data)?;
            } else {
                self.project_data(&entry.data, &defs, writer.entry(action, index, perm_data)?)?;
            }
        }
        Ok(writer.finish()?)
    }

    fn project_series(&self, series: &Series<'_>, slot: Slot<'_, '_>) -> Result<(), ProjectError> {
        let defs = series.set_defs();
        let mut writer = slot.series(&SeriesHead {
            container_type: series.container_type(),
            set_defs: None,
            total_count_hint: series.total_count_hint(),
        })?;
        if let Some(summary) = series.summary() {
            self.project_summary(&summary, &defs, writer.summary()?)?;
        }
        for entry in series {
            let entry = entry?;
            match series.container_type() {
                DataType::NO_DATA => writer.bare_entry()?,
                _ => self.project_data(&entry, &defs, writer.entry()?)?,
            }
        }
        Ok(writer.finish()?)
    }

    /// Whether anything is left of the data. What neither the view nor the mask is
    /// for counts as left.
    fn keeps_any(&self, data: &Encoded<'_>, defs: &SetDefs<'_>) -> Result<bool, DecodeError> {
        match data.data_type() {
            DataType::FIELD_LIST if self.cuts_fields() => {
                for entry in &data.field_list_with(defs)? {
                    if self.keeps_field(entry?.field_id) {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            DataType::ELEMENT_LIST if self.view.is_some_and(View::is_for_names) => {
                for entry in &data.element_list_with(defs)? {
                    if self.keeps_name(entry?.name) {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            DataType::MAP => {
                let map = data.map()?;
                for entry in &map {
                    let entry = entry?;
                    if entry.action != MapAction::UPDATE
                        || self.keeps_any(&entry.data, &map.set_defs())?
                    {
                        return Ok(true);
                    }
                }
                Ok(map.summary().is_some())
            }
            _ => Ok(true),
        }
    }
}
