//! The two classic text files.
//!
//! ```text
//! !tag Version   1.0.0                                  what the file is
//! ! a comment
//! TRDPRC_1   "Last trade price"  6  TRDPRC_2  PRICE  17  REAL  7
//! ```
//!
//! ```text
//! RDN_EXCHID     4                                      fields of the next table
//! RDN_EXCHD2  1709
//!       0        "   "   undefined                      its values
//!       1        "ASE"   an exchange
//! PRCTCK_1      14                                      fields of the next table
//!       1        #DE#    up                             bytes in hexadecimal
//! ```
//!
//! Blanks and tabs separate words; lines end with LF or CR LF.

mod enums;
mod fields;
mod line;
mod print;

pub(super) use enums::parse_enums;
pub(super) use fields::{NO_RIPPLE, parse_fields};
pub(super) use line::text;
pub(super) use print::{print_enums, print_fields};
