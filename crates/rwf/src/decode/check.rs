//! A complete walk through data, for those who want to know before they use it.

use crate::DataType;
use crate::decode::{Encoded, SetDefs};
use crate::error::{DecodeError, Path};

/// Decodes data in full, everything inside it included, and gives the first
/// error if there is one.
///
/// Field values without a set definition have the type that `field_type` gives;
/// [`DataType::UNKNOWN`] leaves a value unchecked. The walk allocates nothing,
/// and its time grows with the number of bytes, not with what counts claim.
///
/// ```
/// use tapeline_rwf::{DataType, Encoded, check};
///
/// let message = [0, 9, 4, 6, 0, 0, 0, 5, 0, 4, 1, 8, 0, 1, 0, 22, 9, 12];
/// let error = check(&Encoded::new(DataType::MSG, &message), |_| DataType::REAL).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "field value needs 9 bytes, 1 are left (byte 17, in MSG/FIELD_LIST)"
/// );
/// ```
pub fn check(data: &Encoded<'_>, field_type: impl Fn(i16) -> DataType) -> Result<(), DecodeError> {
    Walk { field_type }.data(data, &SetDefs::NONE)
}

struct Walk<F> {
    field_type: F,
}

impl<F: Fn(i16) -> DataType> Walk<F> {
    fn data(&self, data: &Encoded<'_>, defs: &SetDefs<'_>) -> Result<(), DecodeError> {
        if data.is_empty() {
            // An empty container is none at all; the outermost message is more.
            let outermost = data.data_type() == DataType::MSG && data.path() == Path::ROOT;
            return if outermost { data.msg().map(drop) } else { Ok(()) };
        }
        match data.data_type() {
            DataType::FIELD_LIST => self.field_list(data, defs),
            DataType::ELEMENT_LIST => self.element_list(data, defs),
            DataType::FILTER_LIST => self.filter_list(data),
            DataType::VECTOR => self.vector(data),
            DataType::SERIES => self.series(data),
            DataType::MAP => self.map(data),
            DataType::MSG => self.msg(data),
            DataType::ARRAY => array(data),
            _ => data.primitive().map(drop),
        }
    }

    fn field_list(&self, data: &Encoded<'_>, defs: &SetDefs<'_>) -> Result<(), DecodeError> {
        for entry in &data.field_list_with(defs)? {
            let entry = entry?;
            self.data(&entry.typed((self.field_type)(entry.field_id)), &SetDefs::NONE)?;
        }
        Ok(())
    }

    fn element_list(&self, data: &Encoded<'_>, defs: &SetDefs<'_>) -> Result<(), DecodeError> {
        for entry in &data.element_list_with(defs)? {
            self.data(&entry?.value, &SetDefs::NONE)?;
        }
        Ok(())
    }

    fn filter_list(&self, data: &Encoded<'_>) -> Result<(), DecodeError> {
        for entry in &data.filter_list()? {
            self.data(&entry?.data, &SetDefs::NONE)?;
        }
        Ok(())
    }

    fn vector(&self, data: &Encoded<'_>) -> Result<(), DecodeError> {
        let vector = data.vector()?;
        let defs = vector.set_defs();
        self.summary(vector.summary(), &defs)?;
        for entry in &vector {
            self.data(&entry?.data, &defs)?;
        }
        Ok(())
    }

    fn series(&self, data: &Encoded<'_>) -> Result<(), DecodeError> {
        let series = data.series()?;
        let defs = series.set_defs();
        self.summary(series.summary(), &defs)?;
        if series.container_type() == DataType::NO_DATA {
            // Entries without a byte: as many as the count says, none to check.
            return Ok(());
        }
        for entry in &series {
            self.data(&entry?, &defs)?;
        }
        Ok(())
    }

    fn map(&self, data: &Encoded<'_>) -> Result<(), DecodeError> {
        let map = data.map()?;
        let defs = map.set_defs();
        self.summary(map.summary(), &defs)?;
        for entry in &map {
            let entry = entry?;
            self.data(&entry.key, &SetDefs::NONE)?;
            self.data(&entry.data, &defs)?;
        }
        Ok(())
    }

    fn summary(&self, data: Option<Encoded<'_>>, defs: &SetDefs<'_>) -> Result<(), DecodeError> {
        data.map_or(Ok(()), |data| self.data(&data, defs))
    }

    fn msg(&self, data: &Encoded<'_>) -> Result<(), DecodeError> {
        let msg = data.msg()?;
        if let Some(attrib) = msg.key().and_then(|key| key.attrib) {
            self.data(&attrib, &SetDefs::NONE)?;
        }
        self.data(&msg.payload(), &SetDefs::NONE)
    }
}

fn array(data: &Encoded<'_>) -> Result<(), DecodeError> {
    let Some(array) = data.array()? else { return Ok(()) };
    for item in &array {
        // Arrays hold no arrays, so this goes no deeper.
        item?.primitive()?;
    }
    Ok(())
}
