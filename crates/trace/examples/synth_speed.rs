//! How fast a trace is made, and made and counted: `cargo run --release --example synth_speed`.

use std::time::Instant;

use heatsoak_trace::stats::Statistics;
use heatsoak_trace::synth::{Shape, Synthetic};
use heatsoak_trace::{Record, Source};

/// As many I/Os as the longest of the published traces, with queues as deep.
const SHAPE: &str = r#"{
  "reads": 38830000, "writes": 10980000,
  "read_bytes": 1699755000000, "write_bytes": 940190000000,
  "sizes": [{"below": 4096, "share": 0.06}, {"bytes": 4096, "share": 0.262},
    {"bytes": 8192, "share": 0.031}, {"bytes": 16384, "share": 0.024},
    {"bytes": 32768, "share": 0.017}, {"bytes": 65536, "share": 0.384},
    {"bytes": 131072, "share": 0.18}],
  "depths": [{"from": 1, "to": 1, "share": 0.5}, {"from": 2, "to": 2, "share": 0.219},
    {"from": 3, "to": 3, "share": 0.041}, {"from": 4, "to": 5, "share": 0.057},
    {"from": 6, "to": 10, "share": 0.088}, {"from": 11, "to": 20, "share": 0.06},
    {"from": 21, "to": 32, "share": 0.021}, {"from": 33, "share": 0.014}],
  "mean_depth": 5.5, "sequential_share": 0.67, "span_bytes": 200000000000,
  "hot": {"span_share": 0.2, "read_share": 0.5, "write_share": 0.8},
  "pauses": {"think_us": 500, "task_bursts": 20000, "rest_s": 30},
  "reference": {"read_us": 100, "write_us": 50, "mb_s": 500}
}"#;

fn main() {
    for counts in [false, true] {
        let shape: Shape = serde_json::from_str(SHAPE).expect("the shape is sound");
        let mut made = Synthetic::new(shape, 1.0, 0).expect("the shape can be made");
        let mut statistics = Statistics::new(25_000_000);
        let mut records: Vec<Record> = Vec::with_capacity(4096);
        let began = Instant::now();
        let mut ios = 0;
        while made.fill(&mut records, 4096).expect("nothing is read") > 0 {
            ios += records.len();
            if counts {
                statistics.feed(&records);
            }
            records.clear();
        }
        let took_s = began.elapsed().as_secs_f64();
        let what = if counts { "made and counted" } else { "made" };
        println!(
            "{ios} records {what} in {took_s:.2} s: {:.1} M/s",
            ios as f64 / took_s / 1e6
        );
    }
}
