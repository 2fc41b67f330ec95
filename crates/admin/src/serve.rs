//! The thread and what it answers.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use axum::extract::{Path, Query as UrlQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use serde_json::json;
use tapeline_counters::{Act, Ask, Registry, Rows};
use tapeline_time::host_now;
use tokio::sync::oneshot;

use crate::config::{AdminConfig, AdminError};
use crate::events::EventFeed;
use crate::views::Wanted;
use crate::{access, health, metrics, page, views};

/// What clients are told whose mount an operator closes.
const CLOSED_BY_OPERATOR: &str = "closed by an operator";

/// What all requests share.
pub(crate) struct Edge {
    pub(crate) config: AdminConfig,
    registry: Registry,
    events: EventFeed,
}

/// A running edge thread. Dropped, it ends.
#[derive(Debug)]
pub struct Admin {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Admin {
    /// Starts to listen, on a thread of its own.
    ///
    /// Errors: the address cannot be listened on; there is no thread to be had.
    pub fn start(
        config: AdminConfig,
        registry: Registry,
        events: EventFeed,
    ) -> Result<Self, AdminError> {
        let at = config.listen;
        let listen = |error| AdminError::Listen { at, error };
        let listener = TcpListener::bind(at).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let (stop, stopped) = oneshot::channel();
        let edge = Arc::new(Edge { config, registry, events });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(AdminError::Thread)?;
        let run = move || {
            runtime.block_on(async move {
                let served = async {
                    let listener = tokio::net::TcpListener::from_std(listener)?;
                    axum::serve(listener, router(edge)).await
                };
                tokio::select! {
                    // Who still reads events is not waited for.
                    _ = stopped => {}
                    ended = served => {
                        if let Err(error) = ended {
                            tracing::error!(%error, "the admin port is closed");
                        }
                    }
                }
            });
        };
        let thread = thread::Builder::new().name("admin".to_owned()).spawn(run);
        let thread = thread.map_err(AdminError::Thread)?;
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens, with the port that the system chose if it was left to it.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Admin {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.stop.take().map(|stop| stop.send(()));
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn router(edge: Arc<Edge>) -> Router {
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
        .route("/v1/{view}", get(rows))
        .route("/v1/mounts/{server}/{channel}/close", post(close_mount))
        .route("/v1/users/{user}/logout", post(log_out))
        .fallback(|| async { (StatusCode::NOT_FOUND, "nothing is here; see /\n") })
        .layer(middleware::from_fn_with_state(Arc::clone(&edge), access::check))
        .with_state(edge)
}

async fn scrape(State(edge): State<Arc<Edge>>) -> Response {
    let Edge { config, registry, .. } = &*edge;
    let mut collected = Vec::new();
    for (view, by) in metrics::VIEWS {
        let by = by.map(ToOwned::to_owned);
        let limit = if by.is_some() { config.top } else { usize::MAX };
        let rows = Rows { view: view.to_owned(), by, limit, ..Rows::default() };
        collected.push(views::ask(registry, &Ask::Rows(rows), config.patience).await);
    }
    match metrics::write(registry, collected, config.version, config.top) {
        Ok(text) => ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn alive(State(edge): State<Arc<Edge>>) -> Response {
    health::is_alive(&edge.registry, host_now(), edge.config.patience).into_response()
}

async fn ready(State(edge): State<Arc<Edge>>) -> Response {
    health::is_ready(&edge.registry, host_now(), edge.config.patience).into_response()
}

async fn counters(State(edge): State<Arc<Edge>>) -> Response {
    Json(views::counters(&edge.registry)).into_response()
}

async fn process(State(edge): State<Arc<Edge>>) -> Response {
    let process = crate::process::Process::look();
    let counters = views::counters(&edge.registry);
    Json(json!({
        "releaseVersion": edge.config.version,
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

async fn events(State(edge): State<Arc<Edge>>) -> Response {
    edge.events.stream().into_response()
}

async fn rows(
    State(edge): State<Arc<Edge>>,
    Path(view): Path<String>,
    UrlQuery(wanted): UrlQuery<Wanted>,
) -> Response {
    let (status, json) = views::rows(&edge.registry, &view, &wanted, edge.config.patience).await;
    (status, Json(json)).into_response()
}

async fn close_mount(
    State(edge): State<Arc<Edge>>,
    Path((server, channel)): Path<(String, String)>,
) -> Response {
    tracing::info!(server, session = channel, "an operator closes a mount");
    let act = Act::CloseMount { server, channel, reason: CLOSED_BY_OPERATOR.to_owned() };
    done(&edge, act).await
}

async fn log_out(State(edge): State<Arc<Edge>>, Path(user): Path<String>) -> Response {
    tracing::info!(user, "an operator closes all mounts of a user");
    done(&edge, Act::Logout { user, reason: CLOSED_BY_OPERATOR.to_owned() }).await
}

async fn done(edge: &Edge, act: Act) -> Response {
    let (status, json) = views::act(&edge.registry, act, edge.config.patience).await;
    (status, Json(json)).into_response()
}
