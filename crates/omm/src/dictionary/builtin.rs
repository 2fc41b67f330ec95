//! The dictionary that is part of the program.

use std::sync::LazyLock;

use super::FieldDictionary;

const FIELDS: &[u8] = include_bytes!("../../dictionary/tapeline.fields");
const ENUMS: &[u8] = include_bytes!("../../dictionary/tapeline.enums");

static BUILTIN: LazyLock<FieldDictionary> = LazyLock::new(|| {
    FieldDictionary::parse(FIELDS, ENUMS)
        .unwrap_or_else(|fault| unreachable!("the built-in dictionary has a fault: {fault}"))
});

impl FieldDictionary {
    /// Tapeline's own dictionary, for tools, tests, demonstrations and for
    /// installations that need no more than the common fields. It is parsed on
    /// first use.
    ///
    /// Several hundred well-known fields with their enumeration tables: level 1
    /// quotes and trades, order books, market makers, news, pages and chains,
    /// and the basics of foreign exchange and fixed income. Fields below 0 and
    /// at the ends of the range are for tests, one of every type.
    pub fn builtin() -> &'static Self {
        &BUILTIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_enumerated_field_has_a_table_that_fits() {
        use tapeline_rwf::DataType;

        let dictionary = FieldDictionary::builtin();
        for field in dictionary.fields() {
            let table = dictionary.enum_table(field.fid);
            assert_eq!(table.is_some(), field.rwf_type == DataType::ENUM, "{field:?}");
            for value in table.map_or(&[][..], |table| table.values()) {
                let want = usize::from(field.enum_length);
                assert!(value.display.len() <= want, "{} {value:?}", field.acronym);
            }
        }
        for table in dictionary.enum_tables() {
            for fid in table.fids() {
                assert!(dictionary.field(*fid).is_some(), "{fid}");
            }
        }
    }

    #[test]
    fn every_ripple_leads_to_another_field_of_the_same_type_and_ends() {
        let dictionary = FieldDictionary::builtin();
        for field in dictionary.fields() {
            let mut last = field;
            for _ in 0..10 {
                let Some(next) = last.ripples_to else { break };
                last = dictionary.field(next).expect("the target is defined");
                assert_eq!(last.rwf_type, field.rwf_type, "{}", field.acronym);
            }
            assert_eq!(last.ripples_to, None, "{}", field.acronym);
        }
        let trades: Vec<_> = (6..=10).map(|fid| dictionary.field(fid)?.ripples_to).collect();
        assert_eq!(trades, [Some(7), Some(8), Some(9), Some(10), None]);
    }

    #[test]
    fn the_text_ripples_only_to_fields_that_are_there() {
        for line in str::from_utf8(FIELDS).unwrap().lines().filter(|line| !line.starts_with('!')) {
            let acronym = line.split_whitespace().next().expect("an acronym");
            let field = FieldDictionary::builtin().field_by_acronym(acronym).expect("is defined");
            assert_eq!(field.ripples_to.is_none(), line.contains(" NULL "), "{line}");
        }
    }
}
