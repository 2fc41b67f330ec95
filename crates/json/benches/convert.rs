//! Times the rows of the JSON benchmark. How to run it beside the Java rows:
//! `interop/json-bench/README.md`.

mod support;

use criterion::{Criterion, criterion_group, criterion_main};
use support::Fixture;

fn rows(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("json");
    for mut fixture in Fixture::all() {
        let row = format!("write_{}", fixture.name);
        group.bench_function(row, |bencher| bencher.iter(|| fixture.write()));
        let row = format!("read_{}", fixture.name);
        group.bench_function(row, |bencher| bencher.iter(|| fixture.read()));
    }
    group.finish();
}

criterion_group!(json, rows);
criterion_main!(json);
