//! Fields that carry time stamps.

use tapeline_feed::DEFAULT_STAMP_FIELD;
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_rwf::DataType;

use crate::failure::Failure;

/// The field of this number or acronym; `None` if it is neither.
///
/// Errors: the field holds something else than a `UINT`, as which the time is
/// written.
pub(crate) fn stamp_field(
    text: &str,
    dictionary: &FieldDictionary,
) -> Result<Option<i16>, Failure> {
    let field_id = match text.parse() {
        Ok(field_id) => field_id,
        // Dictionaries of sites may not have it.
        Err(_) if text == "TIM_TRK_1" => DEFAULT_STAMP_FIELD,
        Err(_) => match dictionary.field_by_acronym(text) {
            Some(field) => field.fid,
            None => return Ok(None),
        },
    };
    match dictionary.field(field_id).map(|field| field.rwf_type) {
        Some(other) if other != DataType::UINT => Err(Failure::Setting(format!(
            "field {text} is {other}, but a time stamp is UINT; name another, as TIM_TRK_1 or 3902"
        ))),
        _ => Ok(Some(field_id)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_go_by_number_and_acronym() {
        let dictionary = FieldDictionary::builtin();
        let of = |text| stamp_field(text, dictionary).map_err(|failure| failure.to_string());
        assert_eq!(of("3903"), Ok(Some(3903)));
        assert_eq!(of("-30000"), Ok(Some(-30_000)), "a field that nobody knows");
        assert_eq!(of("TIM_TRK_1"), Ok(Some(3902)));
        assert_eq!(of("RTRSY.O"), Ok(None));
        let text =
            "field BID is REAL, but a time stamp is UINT; name another, as TIM_TRK_1 or 3902";
        assert_eq!(of("BID"), Err(text.to_owned()));
    }
}
