//! Enumeration tables: what the numbers of enumerated fields stand for.

/// The values of one or more enumerated fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnumTable {
    /// The fields that use the table, in the order of the file.
    pub(super) fids: Vec<i16>,
    /// Ascending by number, each number once.
    pub(super) values: Vec<EnumValue>,
}

/// One value of an enumeration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnumValue {
    /// The number that fields carry.
    pub value: u16,
    /// What to show: RMTES text, padding blanks included. It is not always
    /// ASCII; tick arrows are the single bytes DE and FE.
    pub display: Box<[u8]>,
    /// What the value means, for people; empty if the file does not say.
    pub meaning: Box<str>,
}

impl EnumTable {
    /// The fields that use the table.
    pub fn fids(&self) -> &[i16] {
        &self.fids
    }

    /// The values, ascending by number; numbers may have gaps.
    pub fn values(&self) -> &[EnumValue] {
        &self.values
    }

    /// The value of a number.
    pub fn value(&self, number: u16) -> Option<&EnumValue> {
        // Most tables count from 0 without a gap, at least at their start.
        match self.values.get(usize::from(number)) {
            Some(found) if found.value == number => Some(found),
            _ => {
                let at = self.values.binary_search_by_key(&number, |value| value.value);
                at.ok().map(|at| &self.values[at])
            }
        }
    }

    /// The first value with a display text, compared byte by byte. Displays
    /// are not always unique; the lowest number wins.
    pub fn value_of_display(&self, display: &[u8]) -> Option<&EnumValue> {
        self.values.iter().find(|value| *value.display == *display)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(numbers: &[u16]) -> EnumTable {
        let value = |&value| EnumValue {
            value,
            display: format!("D{}", value % 10).into_bytes().into(),
            meaning: "".into(),
        };
        EnumTable { fids: vec![4], values: numbers.iter().map(value).collect() }
    }

    #[test]
    fn every_number_is_found_with_and_without_gaps() {
        for numbers in [&[0, 1, 2, 3][..], &[0, 1, 5, 158, 65535], &[7], &[1, 2, 3], &[]] {
            let table = table(numbers);
            for number in 0..=u16::MAX {
                let found = table.value(number).map(|value| value.value);
                assert_eq!(found, numbers.contains(&number).then_some(number), "{numbers:?}");
            }
        }
    }

    #[test]
    fn the_lowest_number_wins_when_displays_repeat() {
        let table = table(&[3, 8, 13, 18]);
        assert_eq!(table.value_of_display(b"D8").map(|value| value.value), Some(8));
        assert_eq!(table.value_of_display(b"D9"), None);
    }
}
