//! Counts the instructions of the rows of the wire benchmark under callgrind:
//! figures that a busy machine cannot spoil.

#![allow(
    missing_docs,
    unused_qualifications,
    reason = "the attributes generate items of that kind"
)]

mod support;

use std::hint::black_box;

use gungraun::{library_benchmark, library_benchmark_group, main};
use support::{Fixture, Work};

// A fixture goes in and out behind a pointer, so that neither moving nor
// dropping it is counted.
fn fixture(message_name: &str) -> Box<Fixture> {
    Box::new(Fixture::new(message_name))
}

#[library_benchmark(setup = fixture)]
#[bench::header("update_8")]
#[bench::header_key("update_8_key")]
fn header(mut fixture: Box<Fixture>) -> Box<Fixture> {
    black_box(fixture.run(Work::Header));
    fixture
}

#[library_benchmark(setup = fixture)]
#[bench::decode_update_8("update_8")]
#[bench::decode_update_30("update_30")]
#[bench::decode_refresh_120("refresh_120")]
#[bench::decode_book_50("book_50")]
#[bench::decode_book_50_set("book_50_set")]
fn decode(mut fixture: Box<Fixture>) -> Box<Fixture> {
    black_box(fixture.run(Work::Decode));
    fixture
}

#[library_benchmark(setup = fixture)]
#[bench::encode_update_8("update_8")]
#[bench::encode_update_30("update_30")]
#[bench::encode_refresh_120("refresh_120")]
#[bench::encode_book_50("book_50")]
#[bench::encode_book_50_set("book_50_set")]
fn encode(mut fixture: Box<Fixture>) -> Box<Fixture> {
    black_box(fixture.run(Work::Encode));
    fixture
}

library_benchmark_group!(name = wire; benchmarks = header, decode, encode);
main!(library_benchmark_groups = wire);
