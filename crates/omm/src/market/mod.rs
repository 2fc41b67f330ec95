//! Item domains: prices, books, symbol lists and whatever else is requested
//! by service and name.
//!
//! The infrastructure takes every domain that is not administrative as an
//! item domain: same requests, same stream rules, the payload passed through.
//! The views here are for those who look into it.

mod book;
pub mod fid;
mod price;
mod request;
mod response;
mod symbol_list;

pub use book::{Book, BookHead, BookRow, BookRows, BookWriter};
pub use price::market_price;
pub use request::{ItemRequest, RequestPayload};
pub use response::{Part, Redirect, image, redirect, status};
pub use symbol_list::{
    DataStreams, SymbolEntry, SymbolList, SymbolListBehaviors, write_symbol_names,
};
