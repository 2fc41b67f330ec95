//! Changes of the configuration, handed on to whoever can make them.

use axum::Json;
use axum::extract::{ConnectInfo, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

use crate::serve::Asked;
use crate::who::{Peer, who_says};

/// Requests that wait for their turn.
const WAITING: usize = 8;

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigAct {
    /// To know which configuration holds, and whether it is watched.
    Status,
    /// To know the configurations before.
    History,
    /// To know what a configuration would change.
    Plan(NewConfig),
    /// To have a configuration hold.
    Apply(NewConfig),
    /// To have the one before hold again.
    Rollback(NewConfig),
}

/// A configuration, and who brings it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NewConfig {
    /// The name of its file.
    pub name: String,
    /// What is in it.
    pub text: String,
    /// Who wants it, as they say; with the address it stands in the log and in the history.
    pub who: String,
    /// For how many seconds it is watched.
    pub watch_s: u64,
}

/// A request, and where its answer goes.
#[derive(Debug)]
pub struct ConfigRequest {
    /// What is wanted.
    pub act: ConfigAct,
    reply: oneshot::Sender<ConfigAnswer>,
}

impl ConfigRequest {
    /// Answers it.
    pub fn answer(self, answer: ConfigAnswer) {
        // Nobody may wait for it any more.
        let _ = self.reply.send(answer);
    }
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum ConfigAnswer {
    /// It was done, or is known.
    Done(Value),
    /// It was not done, for this reason; nothing has changed.
    Refused(String),
}

/// Where requests are put.
#[derive(Clone, Debug)]
pub struct ConfigSender(mpsc::Sender<ConfigRequest>);

impl ConfigSender {
    /// A queue, and its other end for whoever can change the configuration.
    pub fn queue() -> (Self, mpsc::Receiver<ConfigRequest>) {
        let (sender, requests) = mpsc::channel(WAITING);
        (Self(sender), requests)
    }

    /// Asks, and waits for the answer. `None`: nobody is there to give one.
    pub async fn ask(&self, act: ConfigAct) -> Option<ConfigAnswer> {
        let (reply, answer) = oneshot::channel();
        self.0.send(ConfigRequest { act, reply }).await.ok()?;
        answer.await.ok()
    }
}

pub(crate) async fn status(State(asked): State<Arc<Asked>>) -> Response {
    answer(&asked, ConfigAct::Status).await
}

/// What has a name and no body.
pub(crate) async fn history(State(asked): State<Arc<Asked>>) -> Response {
    answer(&asked, ConfigAct::History).await
}

pub(crate) async fn act(
    State(asked): State<Arc<Asked>>,
    Path(act): Path<String>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    Json(mut config): Json<NewConfig>,
) -> Response {
    config.who = who_says(&config.who, peer, &headers);
    let act = match act.as_str() {
        "plan" => ConfigAct::Plan(config),
        "apply" => ConfigAct::Apply(config),
        "rollback" => ConfigAct::Rollback(config),
        _ => return refused(StatusCode::NOT_FOUND, "there are plan, apply and rollback"),
    };
    answer(&asked, act).await
}

async fn answer(asked: &Asked, act: ConfigAct) -> Response {
    let Some(configure) = &asked.configure else {
        return refused(StatusCode::NOT_FOUND, "the configuration of this process cannot change");
    };
    match configure.ask(act).await {
        Some(ConfigAnswer::Done(json)) => Json(json).into_response(),
        Some(ConfigAnswer::Refused(why)) => refused(StatusCode::CONFLICT, &why),
        None => refused(StatusCode::SERVICE_UNAVAILABLE, "the process ends"),
    }
}

fn refused(status: StatusCode, why: &str) -> Response {
    (status, Json(json!({ "error": why }))).into_response()
}
