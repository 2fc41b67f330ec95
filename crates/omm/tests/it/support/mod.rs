//! Strategies for every model.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use tapeline_omm::directory::{
    ConsumerStatus, ConsumerStatusEntry, DirectoryFilter, DirectoryMsg, DirectoryRefresh,
    DirectoryRequest, DirectoryStatus, DirectoryUpdate, FilterContent, FilterEntry, Link,
    LinkEntry, LinkInfo, MulticastChannel, MulticastChannels, SequencedMulticast, ServiceData,
    ServiceEntry, ServiceGroupInfo, ServiceInfo, ServiceLinks, ServiceLoad, ServiceState,
};
use tapeline_omm::login::{
    ConnectionConfig, ConsumerConnectionStatus, LoginAttributes, LoginErrorAttributes,
    LoginFeatures, LoginMsg, LoginRefresh, LoginRequest, LoginRtt, LoginStatus, StandbyServer,
};
use tapeline_omm::{Credential, GroupId, OpenData, Secret, StateBuf, Text};
use tapeline_rwf::{
    DataState, DataType, Domain, FilterAction, MapAction, Qos, Rate, StateCode, StreamState,
    Timeliness, VectorAction,
};

pub(crate) fn text() -> impl Strategy<Value = Text> {
    "[ -~]{0,12}".prop_map(Text::from)
}

pub(crate) fn some<S: Strategy>(strategy: S) -> impl Strategy<Value = Option<S::Value>> {
    option::of(strategy)
}

pub(crate) fn state() -> impl Strategy<Value = StateBuf> {
    (1_u8..=5, 0_u8..=2, any::<u8>(), text()).prop_map(|(stream, data, code, text)| {
        StateBuf::new(StreamState(stream), DataState(data), StateCode(code), text)
    })
}

pub(crate) fn qos() -> impl Strategy<Value = Qos> {
    (1_u8..=3, 1_u8..=3, any::<bool>(), any::<(u16, u16)>()).prop_map(
        |(timeliness, rate, dynamic, (time, rate_info))| Qos {
            timeliness: Timeliness(timeliness),
            rate: Rate(rate),
            dynamic,
            time_info_s: if timeliness == 3 { time } else { 0 },
            rate_info_ms: if rate == 3 { rate_info } else { 0 },
        },
    )
}

fn credential() -> impl Strategy<Value = Credential> {
    prop_oneof![text().prop_map(Credential::Ascii), text().prop_map(Credential::Buffer)]
}

fn attributes() -> impl Strategy<Value = LoginAttributes> {
    let texts = (some(text()), some(text()), some(text()), some(text()), some(text()));
    let flags = vec(some(any::<bool>()), 6);
    let numbers = vec(some(any::<u64>()), 4);
    (texts, flags, numbers, some(credential()), some(credential())).prop_map(
        |((id, name, position, password, instance), flags, numbers, token, extended)| {
            LoginAttributes {
                application_id: id,
                application_name: name,
                position,
                password: password.map(Secret::from),
                provide_permission_profile: flags[0],
                provide_permission_expressions: flags[1],
                allow_suspect_data: flags[2],
                single_open: flags[3],
                instance_id: instance,
                support_provider_dictionary_download: flags[4],
                download_connection_config: flags[5],
                role: numbers[0],
                authentication_token: token,
                authentication_extended: extended,
                round_trip_latency: numbers[1],
                update_type_filter: numbers[2],
                negative_update_type_filter: numbers[3],
            }
        },
    )
}

fn features() -> impl Strategy<Value = LoginFeatures> {
    let texts = vec(some(text()), 4);
    let flags = vec(some(any::<bool>()), 11);
    let numbers = vec(some(any::<u64>()), 5);
    (texts, flags, numbers, some(credential())).prop_map(|(texts, flags, numbers, answer)| {
        LoginFeatures {
            application_id: texts[0].clone(),
            application_name: texts[1].clone(),
            position: texts[2].clone(),
            provide_permission_profile: flags[0],
            provide_permission_expressions: flags[1],
            single_open: flags[2],
            allow_suspect_data: flags[3],
            support_pause_resume: flags[4],
            support_post: flags[5],
            support_batch_requests: numbers[0],
            support_view_requests: flags[6],
            support_optimized_pause_resume: flags[7],
            support_standby: flags[8],
            support_standby_mode: numbers[1],
            support_enhanced_symbol_list: flags[9],
            support_provider_dictionary_download: flags[10],
            authentication_tt_reissue: numbers[2],
            authentication_extended_resp: answer,
            authentication_error_code: numbers[3],
            authentication_error_text: texts[3].clone(),
            round_trip_latency: numbers[4],
        }
    })
}

fn connection_config() -> impl Strategy<Value = ConnectionConfig> {
    let server = (text(), any::<u64>(), some(any::<u64>()), some(0_u16..=1)).prop_map(
        |(hostname, port, load_factor, server_type)| StandbyServer {
            hostname: Some(hostname),
            port: Some(port),
            load_factor,
            server_type,
        },
    );
    (some(any::<u64>()), vec(server, 0..4)).prop_map(|(num_standby_servers, servers)| {
        ConnectionConfig { num_standby_servers, servers }
    })
}

fn user() -> impl Strategy<Value = (Option<Text>, Option<u8>)> {
    prop_oneof![Just((None, None)), (text().prop_map(Some), some(any::<u8>()))]
}

pub(crate) fn login_msg() -> impl Strategy<Value = LoginMsg> {
    let request = (any::<i32>(), text(), some(any::<u8>()), any::<(bool, bool)>(), attributes())
        .prop_map(|(stream_id, user_name, name_type, (pause, no_refresh), attributes)| {
            let request = LoginRequest::new(stream_id, user_name);
            LoginMsg::Request(LoginRequest { name_type, pause, no_refresh, attributes, ..request })
        });
    let refresh = (
        any::<i32>(),
        any::<(bool, bool)>(),
        state(),
        user(),
        features(),
        some(connection_config()),
    )
        .prop_map(|(stream_id, (solicited, clear_cache), state, user, features, config)| {
            LoginMsg::Refresh(LoginRefresh {
                stream_id,
                solicited,
                clear_cache,
                state,
                user_name: user.0,
                name_type: user.1,
                features,
                connection_config: config,
            })
        });
    let status =
        (any::<i32>(), any::<bool>(), some(state()), user(), some(any::<u64>()), some(text()))
            .prop_map(|(stream_id, clear_cache, state, user, code, text)| {
                LoginMsg::Status(LoginStatus {
                    stream_id,
                    clear_cache,
                    state,
                    user_name: user.0,
                    name_type: user.1,
                    error: LoginErrorAttributes {
                        authentication_error_code: code,
                        authentication_error_text: text,
                    },
                })
            });
    let standby =
        (any::<i32>(), some(1_u8..=3), any::<u64>()).prop_map(|(stream_id, action, mode)| {
            let action = action.map(MapAction);
            let has_mode = action.is_some_and(|action| action != MapAction::DELETE);
            LoginMsg::ConsumerConnectionStatus(ConsumerConnectionStatus {
                stream_id,
                action,
                mode: has_mode.then(|| mode.into()),
            })
        });
    let rtt = (any::<i32>(), any::<u64>(), some(any::<u64>()), some(any::<u64>())).prop_map(
        |(stream_id, ticks, round_trip_latency, tcp_retrans)| {
            LoginMsg::Rtt(LoginRtt { stream_id, ticks, round_trip_latency, tcp_retrans })
        },
    );
    let close = any::<i32>().prop_map(|stream_id| LoginMsg::Close { stream_id });
    prop_oneof![request, refresh, status, standby, rtt, close]
}

fn info() -> impl Strategy<Value = ServiceInfo> {
    let flags = vec(some(any::<bool>()), 4);
    let names = || some(vec(text(), 0..4));
    let capabilities = vec(any::<u8>().prop_map(Domain), 0..6);
    let qualities = some(vec(qos(), 0..4));
    (text(), some(text()), flags, capabilities, (names(), names()), qualities, some(text()))
        .prop_map(|(name, vendor, flags, capabilities, dictionaries, qos, item_list)| ServiceInfo {
            name: Some(name),
            vendor,
            is_source: flags[0],
            capabilities: Some(capabilities),
            dictionaries_provided: dictionaries.0,
            dictionaries_used: dictionaries.1,
            qos,
            supports_qos_range: flags[1],
            item_list,
            supports_out_of_band_snapshots: flags[2],
            accepting_consumer_status: flags[3],
        })
}

fn group() -> impl Strategy<Value = GroupId> {
    vec(any::<u8>(), 0..5).prop_map(|bytes| GroupId::try_from(bytes.as_slice()).expect("short"))
}

fn links() -> impl Strategy<Value = ServiceLinks> {
    let set = (any::<bool>(), some(any::<u64>()), any::<bool>(), some(any::<u64>()), some(text()))
        .prop_map(|(is_new, link_type, is_up, code, text)| Link::Set {
            action: if is_new { MapAction::ADD } else { MapAction::UPDATE },
            info: LinkInfo { link_type, is_up: Some(is_up), code, text },
        });
    let change = prop_oneof![4 => set, 1 => Just(Link::Delete)];
    let entry =
        ("[a-d]", change).prop_map(|(name, change)| LinkEntry { name: Text::from(name), change });
    vec(entry, 0..4).prop_map(ServiceLinks)
}

fn multicast() -> impl Strategy<Value = SequencedMulticast> {
    let channel = (some(text()), some(any::<u64>()), some(any::<u64>()))
        .prop_map(|(group, port, domain)| MulticastChannel { group, port, domain });
    let entry =
        (any::<bool>(), 0_u32..100, channel).prop_map(|(is_set, index, channel)| match is_set {
            true => (VectorAction::SET, index, channel),
            false => (VectorAction::INSERT, index, channel),
        });
    let entry = entry.boxed();
    let channels = || some(vec(entry.clone(), 0..3).prop_map(MulticastChannels));
    (vec(some(text()), 3), vec(some(any::<u64>()), 3), channels(), channels()).prop_map(
        |(hosts, ports, streaming_channels, gap_channels)| SequencedMulticast {
            snapshot_server_host: hosts[0].clone(),
            snapshot_server_port: ports[0],
            gap_recovery_server_host: hosts[1].clone(),
            gap_recovery_server_port: ports[1],
            reference_data_server_host: hosts[2].clone(),
            reference_data_server_port: ports[2],
            streaming_channels,
            gap_channels,
        },
    )
}

fn content() -> impl Strategy<Value = FilterContent> {
    let status = || some(state());
    let state = (any::<bool>(), some(any::<bool>()), status()).prop_map(
        |(is_up, accepting_requests, status)| ServiceState {
            is_up: Some(is_up),
            accepting_requests,
            status,
        },
    );
    let group = (group(), some(group()), status()).prop_map(|(group, merged, status)| {
        ServiceGroupInfo { group: Some(group), merged_to_group: merged, status }
    });
    let load = (some(any::<u64>()), some(any::<u64>()), some(0_u64..=65_535)).prop_map(
        |(open_limit, open_window, load_factor)| ServiceLoad {
            open_limit,
            open_window,
            load_factor,
        },
    );
    let data = some((any::<u64>(), vec(any::<u8>(), 0..8))).prop_map(|data| match data {
        None => ServiceData::default(),
        Some((data_type, bytes)) => ServiceData {
            data_type: Some(data_type),
            data: Some(OpenData { data_type: DataType::OPAQUE, bytes: bytes.into() }),
        },
    });
    prop_oneof![
        info().prop_map(FilterContent::Info),
        state.prop_map(FilterContent::State),
        group.prop_map(FilterContent::Group),
        load.prop_map(FilterContent::Load),
        data.prop_map(FilterContent::Data),
        links().prop_map(FilterContent::Links),
        multicast().prop_map(FilterContent::Multicast),
    ]
}

pub(crate) fn services() -> impl Strategy<Value = Vec<ServiceEntry>> {
    let set = (any::<bool>(), content()).prop_map(|(is_set, content)| FilterEntry::Content {
        action: if is_set { FilterAction::SET } else { FilterAction::UPDATE },
        content,
    });
    let clear = (1_u8..=7).prop_map(|id| FilterEntry::Clear { id });
    let filter = prop_oneof![6 => set, 1 => clear];
    let entry =
        (1_u8..=3, 0_u16..6, vec(filter, 0..5)).prop_map(|(action, service_id, filters)| {
            match MapAction(action) {
                MapAction::DELETE => ServiceEntry::delete(service_id),
                action => ServiceEntry { action, service_id, filters },
            }
        });
    vec(entry, 0..4)
}

pub(crate) fn directory_msg() -> impl Strategy<Value = DirectoryMsg> {
    let filter = || any::<u32>().prop_map(DirectoryFilter::from_bits_retain);
    let service = || some(any::<u16>());
    let request = (any::<i32>(), filter(), service(), any::<(bool, bool)>()).prop_map(
        |(stream_id, filter, service_id, (streaming, no_refresh))| {
            DirectoryMsg::Request(DirectoryRequest {
                stream_id,
                filter,
                service_id,
                streaming,
                no_refresh,
            })
        },
    );
    let refresh = (any::<i32>(), any::<(bool, bool)>(), state(), filter(), service(), services())
        .prop_map(|(stream_id, (solicited, clear_cache), state, filter, service_id, services)| {
            DirectoryMsg::Refresh(DirectoryRefresh {
                stream_id,
                solicited,
                clear_cache,
                state,
                filter,
                service_id,
                services,
            })
        });
    let update = (any::<i32>(), some(filter()), service(), services()).prop_map(
        |(stream_id, filter, service_id, services)| {
            DirectoryMsg::Update(DirectoryUpdate { stream_id, filter, service_id, services })
        },
    );
    let status = (any::<i32>(), any::<bool>(), some(state()), some(filter()), service()).prop_map(
        |(stream_id, clear_cache, state, filter, service_id)| {
            let status = DirectoryStatus { stream_id, clear_cache, state, filter, service_id };
            DirectoryMsg::Status(status)
        },
    );
    let entry = (1_u8..=3, any::<u16>(), some(any::<u64>()), some(any::<u64>())).prop_map(
        |(action, service_id, mirroring, standby)| {
            let action = MapAction(action);
            let has_modes = action != MapAction::DELETE;
            ConsumerStatusEntry {
                action,
                service_id,
                source_mirroring: mirroring.filter(|_| has_modes).map(Into::into),
                warm_standby: standby.filter(|_| has_modes).map(Into::into),
            }
        },
    );
    let generic = (any::<i32>(), vec(entry, 0..4)).prop_map(|(stream_id, entries)| {
        DirectoryMsg::ConsumerStatus(ConsumerStatus { stream_id, entries })
    });
    let close = any::<i32>().prop_map(|stream_id| DirectoryMsg::Close { stream_id });
    prop_oneof![request, refresh, update, status, generic, close]
}
