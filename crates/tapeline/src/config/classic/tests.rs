//! What the keys of sites mean here.

use super::super::{CacheOf, Port, ProviderKind};
use super::*;

const SITE: Site<'static> = Site { host: "me", instance: "1" };

fn read_text(text: &str) -> Result<Settings, Vec<String>> {
    let mut settings = Settings::default();
    match read(&mut settings, Path::new("rmds.cnf"), text, SITE) {
        Ok(_) => Ok(settings),
        Err(faults) => Err(faults.iter().map(ToString::to_string).collect()),
    }
}

#[test]
fn keys_of_a_site_are_understood() {
    let settings = read_text(
        "! a site\n*p2ps*flushInterval : 20\n*ADS*tcpNoDelay = False\n*P2PS*sslPort : 14002\n\
         *P2PS*maxOutputBuffers : 400\n*P2PS*14002*pingTimeout : 30\n\
         *P2PS*enableCache : False\n*p2ps*compressionType : 0\n*RRCP*userQLimit : 32768\n\
         me*Src_Dist*feed1.route*hostList : mds1, mds2\nme*Src_Dist*feed1.route*port : 14005\n",
    )
    .expect("good keys");
    assert_eq!(settings.server.flush_interval_ms, 20);
    assert!(!settings.server.tcp_no_delay && !settings.server.cache);
    assert_eq!(settings.server.rssl_port, Port::At(14002));
    assert_eq!(settings.server.output_max_bytes, 400 * 6144);
    assert_eq!(settings.ports[0].port, 14_002);
    assert_eq!(settings.ports[0].max_ping_timeout_s, Some(30));
    assert!(!settings.server.compression);
    assert_eq!(settings.sources.len(), 1);
    assert_eq!(settings.sources[0].hosts, ["mds1", "mds2"]);
    assert_eq!(settings.sources[0].port, 14005);
}

fn remarks(text: &str) -> Vec<String> {
    let read = read(&mut Settings::default(), Path::new("rmds.cnf"), text, SITE);
    read.expect("good values").nothing.iter().map(ToString::to_string).collect()
}

#[test]
fn more_exact_keys_count_and_other_hosts_are_skipped() {
    let settings = read_text(
        "*p2ps*14005*itemLimit : 7\n*p2ps*itemLimit : 5\nother*p2ps*14005*itemLimit : 9\n\
         me*p2ps*maxMounts : 2\n*p2ps*maxMounts : 1\n*p2ps*sslPort : 14005\n",
    )
    .expect("good keys");
    assert_eq!((settings.server.item_limit, settings.server.max_mounts), (7, 2));
}

#[test]
fn what_is_one_users_is_not_everybodys() {
    let text = "*ads*BIGUSER*itemLimit : 10\nme*ads*BIGUSER*itemLimit : 20\n\
                *ads*itemLimit : 500\n*ads*ann*itemLimitPerMount : 7\n*ads*ann*maxPriorityClass : 3\n";
    let settings = read_text(text).expect("good");
    assert_eq!(settings.server.item_limit, 500);
    let users: Vec<_> = settings
        .users
        .iter()
        .map(|user| {
            let of_mount = user.item_limit_per_mount;
            (user.name.as_str(), user.item_limit, of_mount, user.max_priority_class)
        })
        .collect();
    assert_eq!(users, [("BIGUSER", Some(20), None, None), ("ann", None, Some(7), Some(3))]);
    assert!(remarks(text).is_empty(), "{:?}", remarks(text));
    assert_eq!(
        remarks("*ads*maxPriorityClass : 3\n"),
        ["rmds.cnf:1:1: `maxPriorityClass` changes nothing: write *ads*USER*maxPriorityClass"]
    );
}

#[test]
fn each_port_has_what_is_its_own() {
    let text = "*p2ps*portList : 14002 14012, 14022\n*p2ps*pingTimeout : 60\n\
                *p2ps*14012*pingTimeout : 30\n*p2ps*14012*tcpNoDelay : False\n\
                *p2ps*99*pingTimeout : 5\n";
    let settings = read_text(text).expect("good");
    assert_eq!(settings.server.rssl_port, Port::At(14_002));
    assert_eq!((settings.server.max_ping_timeout_s, settings.server.tcp_no_delay), (60, true));
    let ports: Vec<_> = settings
        .ports
        .iter()
        .map(|port| (port.port, port.max_ping_timeout_s, port.tcp_no_delay))
        .collect();
    assert_eq!(ports, [(14_012, Some(30), Some(false)), (14_022, None, None)]);
    assert_eq!(
        remarks(text),
        ["rmds.cnf:5:1: `pingTimeout` of `p2ps*99` changes nothing: there are settings for \
          all, for the ports 14002 14012 14022 and, of items, for users"]
    );
}

#[test]
fn of_the_routes_those_count_that_are_listed() {
    let text = "*adh*routeList : R1, R3\n*R1.route*hostList : a b\n*R1.route*port : 14005\n\
                *adh*R2.route*hostList : c\n*R3.route*hostList : d\n\
                *R3.route*serviceList : S1 S2\n*S1*serviceId : 7\n";
    let settings = read_text(text).expect("good");
    let sources: Vec<_> = settings
        .sources
        .iter()
        .map(|it| (it.name.as_deref().unwrap_or_default(), it.hosts.join(" "), it.port))
        .collect();
    let expected = [("R1", "a b".to_owned(), 14_005), ("R3", "d".to_owned(), 14_002)];
    assert_eq!(sources, expected);
    assert_eq!(settings.sources[1].services, ["S1", "S2"]);
}

#[test]
fn routes_users_and_services_are_taken_by_the_most_exact_line_for_this_instance() {
    let text = "me*adh*R1.route*port : 15001\n*adh*R1.route*port : 15002\n\
                *R1.route*hostList : a\nme.1.adh*R2.route*hostList : b\n\
                *src_dist*route*port : 15003\n*src_dist*R2.route*port : 15004\n\
                me.1.ads*BIGUSER*itemLimit : 10\nme.2.ads*BIGUSER*itemLimit : 20\n\
                *ads*BIGUSER*itemLimit : 30\nme.1*FEED*serviceId : 7\nme.2*FEED*serviceId : 8\n\
                *FEED*serviceId : 9\n";
    let of = |instance| {
        let (mut settings, site) = (Settings::default(), Site { instance, ..SITE });
        let remarks = read(&mut settings, Path::new("rmds.cnf"), text, site).expect("good");
        assert_eq!(remarks.nothing, []);
        settings
    };
    let of_this = of("1");
    let sources = of_this.sources.iter();
    let sources: Vec<_> =
        sources.map(|it| (it.name.as_deref(), it.hosts.join(" "), it.port)).collect();
    let expected = [(Some("R1"), "a".to_owned(), 15_001), (Some("R2"), "b".to_owned(), 15_004)];
    assert_eq!(sources, expected);
    assert_eq!((of_this.users[0].item_limit, of_this.services[0].id), (Some(10), Some(7)));
    let of_second = of("2");
    assert_eq!(of_second.sources.len(), 2, "R2 is named by a line for all");
    assert!(of_second.sources[1].hosts.is_empty());
    assert_eq!((of_second.users[0].item_limit, of_second.services[0].id), (Some(20), Some(8)));
    let of_third = of("3");
    assert_eq!((of_third.users[0].item_limit, of_third.services[0].id), (Some(30), Some(9)));
}

#[test]
fn lines_of_routes_that_are_for_nothing_are_told() {
    assert_eq!(
        remarks(
            "*R1.route*hostList : a\n*ads*R1.route*port : 1\n*R2*port : 2\n*rrcp*routeList : R1\n"
        ),
        [
            "rmds.cnf:2:1: `port` of `ads*R1*route` changes nothing: there are \
             *ROUTE.route*hostList, port and serviceList and *routeList of a hub, and \
             *SERVICE*serviceId, cacheType, cacheLocation and rrmpFlushInterval",
            "rmds.cnf:3:1: `port` of `R2` changes nothing: there are *ROUTE.route*hostList, port \
             and serviceList and *routeList of a hub, and *SERVICE*serviceId, cacheType, \
             cacheLocation and rrmpFlushInterval",
            "rmds.cnf:4:1: `routeList` of `rrcp` changes nothing: there are \
             *ROUTE.route*hostList, port and serviceList and *routeList of a hub, and \
             *SERVICE*serviceId, cacheType, cacheLocation and rrmpFlushInterval",
        ]
    );
}

#[test]
fn keys_of_another_instance_are_not_this_ones() {
    let text = "me.1.p2ps*maxMounts : 10\nme.2.p2ps*maxMounts : 20\n";
    let mounts = |instance| {
        let (mut settings, site) = (Settings::default(), Site { instance, ..SITE });
        read(&mut settings, Path::new("rmds.cnf"), text, site).expect("good");
        settings.server.max_mounts
    };
    assert_eq!((mounts("1"), mounts("2"), mounts("3")), (10, 20, 100));
}

#[test]
fn the_pool_is_the_shared_buffers_and_those_of_each_mount() {
    let text = "*p2ps*poolSize : 2000\n*p2ps*guaranteedOutputBuffers : 200\n\
                *p2ps*maxMounts : 50\n*RRCP*udpRecvBufSize : 4096\n";
    let settings = read_text(text).expect("good");
    assert_eq!(settings.server.output_pool_bytes, (2_000 + 200 * 50) * 6_144);
    assert_eq!(settings.backbone.socket_buffer_bytes, 4 << 20);
    assert!(remarks(text).is_empty(), "{:?}", remarks(text));
}

#[test]
fn what_means_nothing_here_is_told_a_line_each_and_stops_nothing() {
    let text = "*p2ps*flushIntervall : 20\n*RRCP*userQLimit : 32768\n*p2ps*flushInterval : 5\n";
    assert_eq!(
        remarks(text),
        [
            "rmds.cnf:1:1: unknown key `flushIntervall`; did you mean `flushInterval`?",
            "rmds.cnf:2:1: `userQLimit` changes nothing: it says how the classic programs are \
             built",
        ]
    );
    assert_eq!(read_text(text).expect("good").server.flush_interval_ms, 5);
}

#[test]
fn wrong_values_name_their_line() {
    let cases = [
        (
            "*p2ps*flushInterval\n",
            "rmds.cnf:1:1: `*p2ps*flushInterval` has no value; write key : value",
        ),
        (
            "*p2ps*flushInterval : soon\n",
            "rmds.cnf:1:1: `flushInterval` is a string; give an integer",
        ),
        (
            "*p2ps*compressionType : 7\n",
            "rmds.cnf:1:1: compression `7`: give 0 none, 1 zlib or 2 LZ4",
        ),
    ];
    for (text, fault) in cases {
        assert_eq!(read_text(text), Err(vec![fault.to_owned()]), "{text}");
    }
}

#[test]
fn services_have_their_numbers() {
    let settings = read_text(
        "*FEED*serviceId : 257\n*adh*feed1.route*RATES*serviceId : 4\n*FEED*serviceId : 258\n",
    );
    let services = settings.expect("good keys").services;
    let told: Vec<_> = services.iter().map(|it| (it.name.as_str(), it.id)).collect();
    assert_eq!(told, [("RATES", Some(4)), ("FEED", Some(258))]);
    assert_eq!(
        read_text("*adh*serviceId : 1\n*A*serviceId : x\n*B*serviceId : 2\n*C*serviceId : 2\n"),
        Err(vec![
            "rmds.cnf:1:1: `serviceId` needs a service; write *FEED*serviceId : 257".to_owned(),
            "rmds.cnf:2:1: `serviceId` is a string; give an integer".to_owned(),
            "rmds.cnf:4:1: services `B` and `C` have the same `id`; give each its own".to_owned(),
        ])
    );
}

#[test]
fn output_is_held_back_by_a_timer_only() {
    let interval_ms = |text| read_text(text).expect("good").server.flush_interval_ms;
    assert_eq!(interval_ms("*p2ps*flushInterval : 20\n*p2ps*timedWrites : True\n"), 20);
    let off = "*p2ps*timedWrites : False\n*p2ps*flushInterval : 20\n";
    assert_eq!(interval_ms(off), 0, "whatever the order");
    let exact = "me*p2ps*timedWrites : True\n*p2ps*timedWrites : False\n*ads*flushInterval : 5\n";
    assert_eq!(interval_ms(exact), 5, "the more exact line counts");
    assert!(remarks(exact).is_empty(), "{:?}", remarks(exact));
}

#[test]
fn pings_to_clients_are_those_of_the_port_or_of_all() {
    let text = "*p2ps*portList : 14002 14012\n*p2ps*serverToClientPings : False\n\
                *p2ps*14012*serverToClientPings : True\n";
    let settings = read_text(text).expect("good");
    assert!(!settings.server.pings_to_clients);
    let ports = settings.ports.iter().map(|port| (port.port, port.pings_to_clients));
    assert_eq!(ports.collect::<Vec<_>>(), [(14_012, Some(true))]);
    assert!(remarks(text).is_empty(), "{:?}", remarks(text));
}

#[test]
fn multicast_goes_as_far_and_through_buffers_as_large_as_is_said() {
    let text = "*RRCP*PacketTTL : 5\nme*RRCP*PacketTTL : 7\n*RRCP*udpSendBufSize : 1024\n\
                *RRCP*udpRecvBufSize : 4096\n*ads*PacketTTL : 9\n";
    let backbone = read_text(text).expect("good").backbone;
    assert_eq!(backbone.ttl, Some(7));
    assert_eq!(backbone.socket_send_buffer_bytes, Some(1 << 20));
    assert_eq!(backbone.socket_buffer_bytes, 4 << 20);
    let said = remarks(text);
    assert!(said.len() == 1 && said[0].starts_with("rmds.cnf:5:1: `PacketTTL`"), "{said:?}");
    assert_eq!(
        read_text("*RRCP*PacketTTL : 256\n"),
        Err(vec!["rmds.cnf:1:1: `PacketTTL` is 256; give 0 to 255".to_owned()])
    );
}

#[test]
fn services_say_who_provides_and_who_keeps_their_items() {
    let text = "*FEED*cacheType : sinkDriven\nme*FEED*cacheType : sourceDriven\n\
                *FEED*cacheLocation : srcApp\n*FEED*serviceId : 257\n\
                *RATES*cacheLocation : ADH\n*NEWS*cacheLocation : p2ps\n\
                *NEWS*cacheType : peculiar\n*cacheType : sinkDriven\n";
    let services = read_text(text).expect("good").services;
    let told: Vec<_> =
        services.iter().map(|it| (it.name.as_str(), it.id, it.kind, it.cache)).collect();
    assert_eq!(
        told,
        [
            ("FEED", Some(257), ProviderKind::NonInteractive, CacheOf::Nobody),
            ("RATES", None, ProviderKind::Any, CacheOf::Hub),
            ("NEWS", None, ProviderKind::Any, CacheOf::Server),
        ]
    );
    assert_eq!(
        remarks(text),
        [
            "rmds.cnf:7:1: `cacheType` is `peculiar` and changes nothing: give one of sinkDriven, \
             sourceDriven",
            "rmds.cnf:8:1: `cacheType` changes nothing: write *SERVICE*cacheType",
        ]
    );
}

#[test]
fn no_service_waits_on_the_backbone_longer_than_is_said_of_it() {
    let interval_ms = |text| read_text(text).expect("good").backbone.flush_interval_ms;
    assert_eq!(interval_ms("*FEED*rrmpFlushInterval : 20\n"), 20);
    assert_eq!(interval_ms("*rrmpFlushInterval : 20\n"), 20);
    assert_eq!(interval_ms("*FEED*rrmpFlushInterval : 20\n*NEWS*rrmpFlushInterval : 5\n"), 5);
    assert_eq!(
        interval_ms("me*FEED*rrmpFlushInterval : 20\n*FEED*rrmpFlushInterval : 5\n"),
        20,
        "of lines for one service the more exact counts"
    );
    assert_eq!(
        read_text("*A*rrmpFlushInterval : soon\n*B*rrmpFlushInterval : 1\n"),
        Err(vec!["rmds.cnf:1:1: `rrmpFlushInterval` is a string; give an integer".to_owned()])
    );
}

/// A line for each parameter that was published, as published files have them.
const PUBLISHED: &str = "*P2PS*portList : 8101\n*P2PS*sslPort : 14002\n\
    *P2PS*allowRSSLConnections : True\n*P2PS*allowSSLConnections : True\n\
    *P2PS*allowCompMode : True\n*P2PS*compressionType : 0\n*P2PS*disableHostLookup : True\n\
    *P2PS*rsslMsgPacking : True\n*P2PS*sslMsgPacking : True\n*P2PS*flushInterval : 20\n\
    *P2PS*timedWrites : True\n*P2PS*tcpNoDelay : False\n*P2PS*tcpSendBufSize : 64240\n\
    *P2PS*guaranteedOutputBuffers : 1600\n*P2PS*maxOutputBuffers : 1600\n\
    *P2PS*poolSize : 2000\n*P2PS*outputThresholdBreach : 30\n*P2PS*outputThresholdOK : 10\n\
    *P2PS*hashTableSize : 200000\n*P2PS*itemLimit : 100000\n*P2PS*itemLimitPerMount : 500000\n\
    *P2PS*aggregateItemLimit : 100000\n*P2PS*maxMounts : 100\n*P2PS*minimumOpenWindow : 500\n\
    *P2PS*enableCache : False\n*P2PS*pingInterval : 10\n*P2PS*8101*pingTimeout : 30\n\
    *P2PS*8101*clientToServerPings : False\n*P2PS*8101*serverToClientPings : False\n\
    *P2PS*rrmpProtocols : rrmp4and6\n*P2PS*sessionStatsWindow : 1\n\
    *usePointToPointData : False\n*Src_Dist*feed.route*hostList : mds1\n\
    *Src_Dist*feed.route*port : 14002\n*Src_Dist*feed.route*sslMountVersion : 5\n\
    *src_dist*route*numIpcInputBuffers : 10\n*src_dist*route*numIpcOutputBuffers : 100\n\
    *src_dist*server*ipc*transmissionBus*guaranteedOutputBuffers : 200\n\
    *src_dist*server*ipc*transmissionBus*numInputBuffers : 3\n\
    *src_dist*server*ipc*transmissionBus*poolSize : 1600\n\
    *Src_Dist*server*ipc*transmissionBus*inputBias : 60\n*RRCP*maxPktPoolSize : 80000\n\
    *RRCP*pktPoolLimitHigh : 70000\n*RRCP*pktPoolLimitLow : 60000\n*RRCP*userQLimit : 32768\n\
    *RRCP*udpRecvBufSize : 4096\n*RRCP*udpSendBufSize : 4096\n\
    *RRCP*switchReorderFixEnabled : False\n*RRCP*ndata : 7\n*RRCP*nmissing : 128\n\
    *RRCP*nrreq : 3\n*RRCP*tdata : 1\n*RRCP*trreq : 4\n*RRCP*twait : 3\n*RRCP*tbchold : 3\n\
    *RRCP*tpphold : 3\n*RRCP*PacketTTL : 5\n*RRCP*DisconnectOnGap : 0\n\
    *RRCP*HsmMultAddress : 239.1.1.1\n*RRCP*HsmPort : 1\n*RRCP*HsmInterface : eth0\n\
    *RRCP*HsmInterval : 0\n*RRCP*tcpControlPort : 1\n*RRCP*portRoamRange : 1\n\
    *RRCP*SendAddress : 239.1.1.1\n*RRCP*SendPort : 1\n*RRCP*RecvAddress : 239.1.1.1\n\
    *RRCP*RecvPort : 1\n*RRCP*UnicastPort : 1\n*FEED*cacheType : sinkDriven\n\
    *FEED*cacheLocation : srcApp\n*FEED*dataType : 6\n*FEED*rrmpFlushInterval : 20\n";

#[test]
fn every_published_parameter_is_known() {
    let read = |name: &str, text: &str| {
        Settings::parse(Path::new(name), text, crate::config::INSTANCE).expect("it is good")
    };
    let settings = read("rmds.cnf", PUBLISHED);
    let said: Vec<_> = settings.remarks.nothing.iter().map(|fault| fault.text.as_str()).collect();
    let unknown: Vec<_> = said.iter().filter(|text| text.starts_with("unknown")).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    let imported = crate::config::import(&settings);
    assert_eq!(crate::config::differences(&settings, &read("a.toml", &imported)), []);
}
