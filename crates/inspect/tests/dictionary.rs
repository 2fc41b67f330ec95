//! The built-in dictionary knows the fields of the golden vectors.

use tapeline_golden::{field_types, vectors};
use tapeline_inspect::{Fields, Outcome, Vector};
use tapeline_omm::dictionary::FieldDictionary;

#[test]
fn fields_of_the_vectors_have_their_types() {
    let dictionary = FieldDictionary::builtin();
    for (fid, name) in field_types() {
        let known = dictionary.data_type(fid).map(|data_type| data_type.to_string());
        assert_eq!(known.as_deref(), Some(name.as_str()), "field {fid}");
    }
}

#[test]
fn every_vector_passes_its_check() {
    let mut count = 0;
    for file in ["primitives", "containers", "messages", "rdm_messages", "malformed", "rmtes"] {
        for record in vectors(file) {
            let vector = Vector::parse(&record.to_string()).expect("an object");
            let outcome = vector.check(FieldDictionary::builtin());
            assert_eq!(outcome, Outcome::Passed, "{}", record["name"]);
            count += 1;
        }
    }
    assert_eq!(count, 457 + 397 + 325 + 117 + 249 + 48);
}
