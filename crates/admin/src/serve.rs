//! What is answered.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use axum::extract::{ConnectInfo, Path, Query as UrlQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use serde::Deserialize;
use serde_json::json;
use tapeline_channel::Tls;
use tapeline_counters::{Act, Ask, Registry, Rows};
use tapeline_edge::Edge;
use tapeline_time::{Time, host_now};

use crate::config::{AdminConfig, AdminError};
use crate::configure::{self, ConfigSender};
use crate::events::EventFeed;
use crate::health::Probe;
use crate::tls::TlsListener;
use crate::views::{Collected, Wanted};
use crate::who::{Peer, who};
use crate::{access, health, metrics, page, plain, series, views};

/// What clients are told whose mount an operator closes.
const CLOSED_BY_OPERATOR: &str = "closed by an operator";

/// What all requests share.
pub(crate) struct Asked {
    pub(crate) config: AdminConfig,
    registry: Registry,
    events: EventFeed,
    pub(crate) configure: Option<ConfigSender>,
    opened: Time,
}

impl Asked {
    fn probe(&self) -> Probe {
        Probe { opened: self.opened, now: host_now(), patience: self.config.patience }
    }
}

/// A port that is open for as long as the edge is there.
#[derive(Debug)]
pub struct Admin {
    address: SocketAddr,
}

impl Admin {
    /// Starts to listen, as a task of the edge. `configure` leads to whoever can
    /// change the configuration of the process, if somebody can.
    ///
    /// Errors: others could reach it who should not; the address cannot be listened on.
    pub fn start(
        edge: &Edge,
        config: AdminConfig,
        registry: Registry,
        events: EventFeed,
        configure: Option<ConfigSender>,
    ) -> Result<Self, AdminError> {
        config.check()?;
        let (at, tls) = (config.listen, config.tls.clone());
        let listen = |error| AdminError::Listen { at, error };
        let listener = TcpListener::bind(at).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let listener = {
            let _inside = edge.handle().enter();
            tokio::net::TcpListener::from_std(listener).map_err(listen)?
        };
        let opened = host_now();
        let router = router(Arc::new(Asked { config, registry, events, configure, opened }));
        edge.spawn(|mut ending| async move {
            tokio::select! {
                // Who still reads events is not waited for.
                () = ending.wait() => {}
                ended = serve(listener, tls, router) => {
                    if let Err(error) = ended {
                        tracing::error!(%error, "the admin port is closed");
                    }
                }
            }
        });
        Ok(Self { address })
    }

    /// Where it listens, with the port that the system chose if it was left to it.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

async fn serve(
    listener: tokio::net::TcpListener,
    tls: Option<Tls>,
    router: Router,
) -> std::io::Result<()> {
    match tls {
        Some(tls) => {
            let router = router.into_make_service_with_connect_info::<Peer>();
            axum::serve(TlsListener::new(listener, tls), router).await
        }
        None => {
            let router = router.into_make_service_with_connect_info::<Peer>();
            axum::serve(listener, router).await
        }
    }
}

fn router(asked: Arc<Asked>) -> Router {
    Router::new()
        .route("/", get(page::html))
        .route("/admin.js", get(page::script))
        .route("/admin.css", get(page::style))
        .route("/metrics", get(scrape))
        .route("/healthz", get(alive))
        .route("/readyz", get(ready))
        .route("/v1/counters", get(counters))
        .route("/v1/process", get(process))
        .route("/v1/events", get(events))
        .route("/v1/config", get(configure::status))
        .route("/v1/config/history", get(configure::history))
        .route("/v1/config/{act}", post(configure::act))
        .route("/v1/{view}", get(rows))
        .route("/v1/mounts/{server}/{channel}/close", post(close_mount))
        .route("/v1/users/{user}/logout", post(log_out))
        .route("/v1/drain", post(drain))
        .route("/v1/sources/{source}/drain", post(drain_source))
        .route("/v1/sources/{source}/undrain", post(undrain_source))
        .route("/v1/items/{item}/trace", post(trace))
        .route("/v1/operate", post(operate))
        .fallback(|| async { (StatusCode::NOT_FOUND, "nothing is here; see /\n") })
        .layer(middleware::from_fn_with_state(Arc::clone(&asked), access::check))
        .with_state(asked)
}

async fn scrape(State(asked): State<Arc<Asked>>, headers: HeaderMap) -> Response {
    let Asked { config, registry, .. } = &*asked;
    // All at once: a thread that rests is woken for them once.
    let asked = series::ASKED.map(|(view, by)| {
        let by = by.map(ToOwned::to_owned);
        let limit = if by.is_some() { config.top } else { usize::MAX };
        let rows = Rows { view: view.to_owned(), by, limit, ..Rows::default() };
        (views::Asked::put(registry, &Ask::Rows(rows.clone())), rows)
    });
    let mut collected = Vec::new();
    for (view, rows) in asked {
        let first = view.answers(config.patience).await;
        let (all, _) = views::together(registry, &rows, first, None, config.patience).await;
        collected.push(all);
    }
    for view in series::READ {
        let rows = Rows { view: view.to_owned(), limit: usize::MAX, ..Rows::default() };
        let mut read = Collected::default();
        views::read(registry, &rows, &mut read);
        collected.push(read);
    }
    match metrics::write(registry, collected, config.version, config.top) {
        Ok(text) if plain::is_wanted(&headers) => {
            ([(header::CONTENT_TYPE, plain::CONTENT_TYPE)], plain::text(&text)).into_response()
        }
        Ok(text) => ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn alive(State(asked): State<Arc<Asked>>) -> Response {
    health::is_alive(&asked.registry, asked.probe()).into_response()
}

async fn ready(State(asked): State<Arc<Asked>>) -> Response {
    health::is_ready(&asked.registry, asked.probe()).into_response()
}

async fn counters(State(asked): State<Arc<Asked>>) -> Response {
    Json(views::counters(&asked.registry)).into_response()
}

async fn process(State(asked): State<Arc<Asked>>) -> Response {
    let process = crate::process::Process::look();
    let counters = views::counters(&asked.registry);
    Json(json!({
        "releaseVersion": asked.config.version,
        "systemRelease": crate::process::system_release(),
        "unixSeconds": crate::process::unix_s(),
        "residentBytes": process.resident_bytes,
        "cpuSeconds": process.cpu_s,
        "descriptors": process.descriptors,
        "maxDescriptors": process.max_descriptors,
        "datagramsDropped": process.datagrams_dropped,
        "threads": counters.get("thread"),
        "backbone": counters.get("backbone"),
    }))
    .into_response()
}

async fn events(State(asked): State<Arc<Asked>>) -> Response {
    asked.events.stream().into_response()
}

async fn rows(
    State(asked): State<Arc<Asked>>,
    Path(view): Path<String>,
    UrlQuery(wanted): UrlQuery<Wanted>,
) -> Response {
    let (status, json) = views::rows(&asked.registry, &view, &wanted, asked.config.patience).await;
    (status, Json(json)).into_response()
}

async fn close_mount(
    State(asked): State<Arc<Asked>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    Path((server, channel)): Path<(String, String)>,
) -> Response {
    let who = who(peer, &headers);
    tracing::info!(server, session = channel, who, "an operator closes a mount");
    let act = Act::CloseMount { server, channel, reason: CLOSED_BY_OPERATOR.to_owned() };
    done(&asked, act).await
}

async fn log_out(
    State(asked): State<Arc<Asked>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    Path(user): Path<String>,
) -> Response {
    tracing::info!(user, who = who(peer, &headers), "an operator logs a user out");
    done(&asked, Act::Logout { user }).await
}

/// Which server is to be drained, and how fast.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Drain {
    server: String,
    per_s: u32,
}

async fn drain(
    State(asked): State<Arc<Asked>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    UrlQuery(wanted): UrlQuery<Drain>,
) -> Response {
    let Drain { server, per_s } = wanted;
    let who = who(peer, &headers);
    match per_s {
        0 => tracing::info!(server, who, "an operator has ports be opened again"),
        _ => tracing::info!(server, per_s, who, "an operator drains servers of their mounts"),
    }
    done(&asked, Act::Drain { server, per_s }).await
}

async fn drain_source(
    State(asked): State<Arc<Asked>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    Path(name): Path<String>,
) -> Response {
    tracing::info!(source = name, who = who(peer, &headers), "an operator drains a source");
    done(&asked, Act::DrainSource { name, drains: true }).await
}

async fn undrain_source(
    State(asked): State<Arc<Asked>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    Path(name): Path<String>,
) -> Response {
    let who = who(peer, &headers);
    tracing::info!(source = name, who, "an operator has a source be asked again");
    done(&asked, Act::DrainSource { name, drains: false }).await
}

/// Of which service an item is to be traced, and for how long.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Traced {
    #[serde(default)]
    service: String,
    for_ms: u64,
}

async fn trace(
    State(asked): State<Arc<Asked>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    Path(item): Path<String>,
    UrlQuery(wanted): UrlQuery<Traced>,
) -> Response {
    let Traced { service, for_ms } = wanted;
    tracing::info!(item, service, for_ms, who = who(peer, &headers), "an operator traces an item");
    done(&asked, Act::Trace { item, service, for_ms }).await
}

/// What a market is to do.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Operate {
    words: String,
}

async fn operate(
    State(asked): State<Arc<Asked>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    UrlQuery(wanted): UrlQuery<Operate>,
) -> Response {
    let words = wanted.words;
    tracing::info!(words, who = who(peer, &headers), "an operator wants something done");
    let words = words.split_whitespace().map(ToOwned::to_owned).collect();
    done(&asked, Act::Operate { words }).await
}

async fn done(asked: &Asked, act: Act) -> Response {
    let (status, json) = views::act(&asked.registry, act, asked.config.patience).await;
    (status, Json(json)).into_response()
}
