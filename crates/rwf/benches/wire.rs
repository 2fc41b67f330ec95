//! Times the rows of the wire benchmark. How to run it beside the Java rows:
//! `interop/wire-bench/README.md`.

mod support;

use criterion::{Criterion, criterion_group, criterion_main};
use support::{Fixture, ROWS, Work};

fn rows(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("wire");
    for (name, work, message_name) in ROWS {
        let mut fixture = Fixture::new(message_name);
        // A match outside of the loop, so that no branch is timed.
        group.bench_function(name, |bencher| match work {
            Work::Header => bencher.iter(|| fixture.run(Work::Header)),
            Work::Decode => bencher.iter(|| fixture.run(Work::Decode)),
            Work::Encode => bencher.iter(|| fixture.run(Work::Encode)),
        });
    }
    group.finish();
}

criterion_group!(wire, rows);
criterion_main!(wire);
