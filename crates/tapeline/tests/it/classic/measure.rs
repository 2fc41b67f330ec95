//! A test procedure of the field, from the time stamp to the latency file.

use std::fs;

use serde_json::Value;

use super::support::{Meter, Run, Running, arg, client, file, folder, node, source};

/// A data file of the vendor's form.
const SAMPLE_XML: &str = r#"<msgFormat><marketPriceMsgList>
<refreshMsg><dataBody><fieldList entryCount="2">
<fieldEntry fieldId="3" dataType="RSSL_DT_RMTES_STRING" data="OWN SAMPLE"/>
<fieldEntry fieldId="22" dataType="RSSL_DT_REAL" data="45.10"/>
</fieldList></dataBody></refreshMsg>
<updateMsg><dataBody><fieldList entryCount="1">
<fieldEntry fieldId="22" dataType="RSSL_DT_REAL" data="45.12"/>
</fieldList></dataBody></updateMsg>
</marketPriceMsgList></msgFormat>"#;

/// The figures of the last table, below its heads.
fn total(run: &Run) -> Vec<(String, f64)> {
    let mut lines = run.out.lines().rev();
    let [figures, heads] = [lines.next(), lines.next()].map(|line| line.expect("a table"));
    let heads = heads.split("  ").map(str::trim).filter(|head| !head.is_empty());
    let figures = figures.split("  ").map(str::trim).filter(|figure| !figure.is_empty());
    let number = |text: &str| text.replace(' ', "").parse().expect("a number");
    heads.map(str::to_owned).zip(figures.map(number)).collect()
}

fn figure(total: &[(String, f64)], head: &str) -> f64 {
    let found = total.iter().find(|(other, _)| other == head);
    found.unwrap_or_else(|| panic!("no {head} in {total:?}")).1
}

#[test]
fn a_published_procedure_runs_as_it_stands() {
    let folder = folder();
    let data = file(&folder, "sample.xml", SAMPLE_XML);
    let items = file(&folder, "rdf.items", "A.X\nB.X\nRTRSY.O\nC.X\n");
    let latencies = folder.path().join("result");
    let mut source = source(&[
        "-Q",
        arg(&data),
        "-q",
        "GOOG.O",
        "-K",
        "-c",
        "-tcpnode1",
        "-ts",
        "-tsn",
        "RTRSY.O",
        "-UL",
        "100",
        "-tps",
        "500",
    ]);
    source.say("ur 2000");
    source.log_until("rate changed");
    let node = node(&source);
    let done = client(
        &node,
        &[
            "-md",
            "6",
            "decodeFormat",
            "3",
            "-I",
            "1",
            "-o",
            "2",
            "-u",
            "rmrds",
            "-tt",
            "-lmfile",
            arg(&latencies),
            "-f",
            arg(&items),
            "-ct",
            "rssl",
            "-rf",
            "12",
            "--updates",
            "5000",
        ],
    );
    assert_eq!(done.status, Some(0), "{}", done.err);
    let warning = "tapeline: `-rf 12` has no effect: what it meant was never published\n";
    assert_eq!(done.err, warning);
    let total = total(&done);
    let heads: Vec<&str> = total.iter().map(|(head, _)| head.as_str()).collect();
    let classic = ["update rate", "mean us", "std dev us", "max us", "min us", "points"];
    assert_eq!(heads[..6], classic);
    let rate = figure(&total, "update rate");
    // On a busy machine the first or the last second may be a short one.
    assert!((1000.0..=3000.0).contains(&rate), "2,000 a second were wanted:\n{}", done.out);

    let file = fs::read_to_string(&latencies).expect("the latency file is there");
    let values: Vec<f64> = file.lines().map(|line| line.parse().expect("a number")).collect();
    let points = figure(&total, "points") as usize;
    assert_eq!(values.len(), points, "a line is a point");
    assert!(values.len() >= 150, "100 a second for 2.5 s: {}", values.len());
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    let deviation = (squares / (count - 1.0)).sqrt();
    let max = values.iter().copied().fold(0.0, f64::max);
    let min = values.iter().copied().fold(f64::MAX, f64::min);
    for (head, value) in
        [("mean us", mean), ("std dev us", deviation), ("max us", max), ("min us", min)]
    {
        assert!((figure(&total, head) - value).abs() <= 0.051, "{head} is {value}\n{}", done.out);
    }
}

#[test]
fn the_rate_that_is_typed_is_what_the_client_gets() {
    let mut source = source(&["-U", "200"]);
    let node = node(&source);
    let mut meter = Meter::start(&node, &["A.X", "B.X"]);
    meter.until_rate(200);
    source.say("ur 1000");
    meter.until_rate(1000);
    source.say("ur 0");
    meter.until_rate(0);
}

#[test]
fn the_rate_of_stamps_that_is_typed_is_what_the_client_gets() {
    let mut source = source(&["-U", "500", "-UL", "50"]);
    let node = node(&source);
    let mut meter = Meter::start(&node, &["A.X", "B.X"]);
    let points = |interval: &Value| interval["latencyUs"]["count"].as_u64().unwrap_or(0);
    meter.until(|interval| (45..=55).contains(&points(interval)));
    source.say("ul 200");
    meter.until(|interval| (180..=220).contains(&points(interval)));
    source.say("ul 0");
    meter.until(|interval| points(interval) == 0);
}

#[test]
fn stamps_of_one_item_are_of_no_other() {
    let folder = folder();
    let latencies = folder.path().join("result.csv");
    let source = source(&["-U", "1000", "-UL", "200", "-tsn", "RTRSY.O"]);
    let node = node(&source);
    let args = ["-il", "A.X,RTRSY.O,B.X", "-lmfile", arg(&latencies), "--updates", "1000"];
    let done = client(&node, &args);
    assert_eq!(done.status, Some(0), "{}", done.err);
    let file = fs::read_to_string(&latencies).expect("the latency file is there");
    let mut lines = file.lines();
    assert_eq!(lines.next(), Some("received_us,item,latency_us"));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert!((100..=250).contains(&rows.len()), "a fifth of 1,000: {}", rows.len());
    let mut last_us = 0;
    for row in rows {
        let received_us: u64 = row[0].parse().expect("a number");
        assert!(received_us >= last_us, "{row:?}");
        last_us = received_us;
        assert_eq!(row[1], "RTRSY.O");
        row[2].parse::<u64>().expect("a number");
    }
}

#[test]
fn a_source_whose_stamped_item_nobody_opens_says_so() {
    let mut source = Running::start(&["source", "-S", "RDFD", "-N", "0", "-ts", "-tsn", "RTRSY.O"]);
    let node = node(&source);
    let mut meter = Meter::start(&node, &["A.X"]);
    source.log_until("no update carries the time: the item of -tsn is not open");
    meter.until(|interval| interval["updatesPerSecond"].as_u64() > Some(0));
}

#[test]
fn a_field_of_its_own_may_carry_the_stamps() {
    let source = source(&["-U", "1000", "-UL", "500", "-tsn", "TIM_TRK_2"]);
    let node = node(&source);
    for (field, has_points) in [("TIM_TRK_2", true), ("3902", false)] {
        let done = client(&node, &["A.X", "-tt", "--stamp-field", field, "--updates", "200"]);
        assert_eq!(done.status, Some(0), "{}", done.err);
        let has_latency = !done.out.lines().last().expect("a table").contains(" -");
        assert_eq!(has_latency, has_points, "{field}\n{}", done.out);
    }
}

#[test]
fn items_of_a_small_open_window_all_get_their_image() {
    let source = source(&["-U", "0"]);
    let node = node(&source);
    let names: Vec<String> = (0..50).map(|number| format!("RDT{number}")).collect();
    for window in ["1", "7", "500"] {
        let done = client(
            &node,
            &["-il", &names.join(","), "-o", window, "--exit-after-image", "-I", "0"],
        );
        assert_eq!(done.status, Some(0), "{}", done.err);
        assert!(done.out.contains("50 of 50 images in "), "window {window}\n{}", done.out);
    }
}

#[test]
fn an_item_file_in_xml_gives_the_items_of_the_domain() {
    let folder = folder();
    let text = "<itemList><item domain=\"MarketPrice\" name=\"RDT0\"/>\
                <item domain=\"MarketByOrder\" name=\"RDT1\"/></itemList>";
    let items = file(&folder, "350k.xml", text);
    let source = source(&["-U", "0"]);
    let done = client(&node(&source), &["-f", arg(&items), "--exit-after-image", "-I", "0"]);
    assert_eq!(done.status, Some(0), "{}", done.err);
    assert!(done.out.contains("1 of 1 images in "), "{}", done.out);
}

#[test]
fn data_is_shown_beside_statistics_if_asked_for() {
    let source = source(&["-U", "100"]);
    let node = node(&source);
    let shown = client(&node, &["A.X", "-tt", "-X", "--updates", "3"]);
    assert!(shown.out.starts_with("A.X RDFD refresh"), "{}", shown.out);
    assert!(shown.out.contains("update rate"), "{}", shown.out);
    let hidden = client(&node, &["A.X", "-tt", "--updates", "3"]);
    assert!(!hidden.out.contains("refresh"), "{}", hidden.out);
}
