//! Which options there are.

/// An option of a classic tool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClassicOption {
    /// As it is written, with its dash.
    pub(crate) name: &'static str,
    /// What follows it.
    pub(crate) value: Value,
    /// What comes of it here.
    pub(crate) effect: Effect,
    /// What counts without it.
    pub(crate) default: &'static str,
    /// What it means, with units.
    pub(crate) meaning: &'static str,
}

/// What follows an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// Nothing.
    Nothing,
    /// A value, which is called this.
    Named(&'static str),
    /// 0 or 1, or nothing for 1.
    Switch,
}

/// What comes of an option here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It is this option of ours.
    Is(&'static str),
    /// What it asks for is always so.
    Always,
    /// These values ask for what is always so; others are accepted with a
    /// warning that says why they change nothing.
    Only(&'static [&'static str], &'static str),
    /// It is accepted with a warning that says why it changes nothing.
    Ignored(&'static str),
}

const fn option(
    name: &'static str,
    value: Value,
    effect: Effect,
    default: &'static str,
    meaning: &'static str,
) -> ClassicOption {
    ClassicOption { name, value, effect, default, meaning }
}

use Effect::{Always, Ignored, Is, Only};
use Value::{Named, Nothing, Switch};

/// The connections that are spoken.
const RSSL: &[&str] = &["rssl", "socket"];
const NO_SSL: &str =
    "only RSSL over TCP is spoken here, and is used; the framing of SSL was never published";
const NO_CLOUD: &str = "connections to a cloud service are not made here; name a host with -h";

/// The options of `sink_driven_src`, and those that its open equal adds.
pub(crate) static SOURCE: [ClassicOption; 17] = [
    option("-S", Named("NAME"), Is("--service"), "SAMPLE", "service that is published"),
    option(
        "-N",
        Named("PORT"),
        Is("--port"),
        "14002",
        "port to listen on, at all addresses; 0 for any that is free",
    ),
    option(
        "-Q",
        Named("FILE"),
        Is("--data"),
        "a built-in sample",
        "data file with the image and the updates that every item gets: TOML, or XML as MsgData.xml",
    ),
    option(
        "-q",
        Named("ITEM"),
        Is("--template"),
        "all of the sample in turn",
        "item of the sample that every other item is like; with -Q, the name of the file's item",
    ),
    option(
        "-K",
        Nothing,
        Always,
        "always so",
        "go through the updates again and again, and accept any name",
    ),
    option("-c", Nothing, Always, "always so", "update an item for as long as it is open"),
    option(
        "-U",
        Named("RATE"),
        Is("--rate"),
        "1000",
        "updates a second at the start, over all items; `ur RATE` changes it",
    ),
    option(
        "-tps",
        Named("N"),
        Is("--tps"),
        "1000",
        "ticks a second: updates leave in a burst every 1/N s",
    ),
    option(
        "-ts",
        Nothing,
        Is("--stamp"),
        "no time stamps",
        "put the time into some updates, 10 a second unless -UL says otherwise",
    ),
    option(
        "-tsn",
        Named("NAME"),
        Is("--stamp-on"),
        "every item in turn, field 3902",
        "the item whose updates carry the time; or, if it is the number or acronym of a field, \
         the field that has it in any item",
    ),
    option(
        "-UL",
        Named("RATE"),
        Is("--stamp-rate"),
        "0; 10 with -ts or -tsn",
        "updates a second that carry the time, among those of -U; `ul RATE` changes it",
    ),
    option(
        "-I",
        Named("SECONDS"),
        Is("--interval"),
        "1",
        "seconds between lines of statistics; 0 for none",
    ),
    option(
        "-tcpnodelay",
        Switch,
        Is("--no-delay"),
        "1",
        "1: send at once (TCP_NODELAY); 0: let TCP gather what it sends",
    ),
    option(
        "-tcpnode1",
        Nothing,
        Is("--no-delay=1"),
        "1",
        "the same as -tcpnodelay 1, as a published procedure has it",
    ),
    option("-E", Named("TYPE"), Only(RSSL, NO_SSL), "rssl", "type of the connections"),
    option(
        "-f",
        Named("FILE"),
        Is("--file"),
        "none",
        "items of a non-interactive provider, one a line (ours, with --connect)",
    ),
    option("-h", Nothing, Is("--help"), "", "list all options"),
];

/// The options of `rmdstestclient` (later `testclient`).
pub(crate) static CLIENT: [ClassicOption; 29] = [
    option("-S", Named("NAME"), Is("--service"), "the first one", "service of the items"),
    option("-h", Named("HOST"), Is("--host"), "127.0.0.1", "host of the server"),
    option("-p", Named("PORT"), Is("--port"), "14002", "port of the server"),
    option("-u", Named("USER"), Is("--user"), "tapeline", "user who logs in"),
    option("-pw", Named("TEXT"), Is("--password"), "none", "password of the user"),
    option(
        "-f",
        Named("FILE"),
        Is("--file"),
        "none",
        "file with names of items, one a line; or in XML, as 350k.xml, those of the domain",
    ),
    option("-il", Named("NAMES"), Is("--il"), "none", "names of items, separated by commas"),
    option("-md", Named("DOMAIN"), Is("--md"), "6", "domain by number or name; 6 is MARKET_PRICE"),
    option(
        "-d",
        Named("N"),
        Is("--decode"),
        "1",
        "how much of each update is decoded while measuring: 0 its header, 1 up to the time \
         stamp, 2 all fields without their values, 3 all values",
    ),
    option("decodeFormat", Named("N"), Is("--decode"), "1", "the same as -d"),
    option("-decodeFormat", Named("N"), Is("--decode"), "1", "the same as -d"),
    option(
        "-I",
        Named("SECONDS"),
        Is("--interval"),
        "1",
        "measure, with a line of statistics every so many seconds; 0 for the last table alone",
    ),
    option(
        "-o",
        Named("N"),
        Is("--open-window"),
        "what the service allows",
        "requests that may be without an answer at one time",
    ),
    option("-tt", Nothing, Is("--statistics"), "data is shown", "measure rates and latencies"),
    option(
        "-lmfile",
        Named("FILE"),
        Is("--latency-file"),
        "none",
        "measure, and write each latency into this file in microseconds, one a line; if its \
         name ends in .csv, with a head, the moment and the item",
    ),
    option(
        "-X",
        Nothing,
        Is("--show-data"),
        "not while measuring",
        "show the data, also while measuring",
    ),
    option("-ct", Named("TYPE"), Only(RSSL, NO_SSL), "rssl", "type of the connection"),
    option(
        "-rf",
        Named("N"),
        Ignored("what it meant was never published"),
        "no effect",
        "not known",
    ),
    option(
        "-rtt",
        Nothing,
        Ignored("round trips are not measured here; -tt measures from source to client"),
        "no effect",
        "measure round trips",
    ),
    option(
        "-tss",
        Nothing,
        Ignored("what it printed was never published; -tt and -lmfile tell latencies"),
        "no effect",
        "style of time stamps",
    ),
    option(
        "-K",
        Nothing,
        Ignored("it is an option of the source, where it is always so"),
        "no effect",
        "none; it belongs to the source",
    ),
    option("-authm", Named("METHOD"), Ignored(NO_CLOUD), "no effect", "cloud: way to log in"),
    option("-turl", Named("URL"), Ignored(NO_CLOUD), "no effect", "cloud: where tokens are got"),
    option("-surl", Named("URL"), Ignored(NO_CLOUD), "no effect", "cloud: service discovery"),
    option("-sloc", Named("PLACE"), Ignored(NO_CLOUD), "no effect", "cloud: location"),
    option("-phost", Named("HOST"), Ignored(NO_CLOUD), "no effect", "cloud: host of a proxy"),
    option("-pport", Named("PORT"), Ignored(NO_CLOUD), "no effect", "cloud: port of a proxy"),
    option("-pluginName", Named("LIB"), Ignored(NO_CLOUD), "no effect", "library to connect with"),
    option(
        "-tunnel",
        Named("TYPE"),
        Is("--tunnel"),
        "none",
        "encryption: `ssl`; others are refused",
    ),
];
