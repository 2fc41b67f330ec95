//! Asks an admin port.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value as Json;
use tapeline_edge::client_tls;
use ureq::http::StatusCode;
use ureq::typestate::{WithBody, WithoutBody};
use ureq::{Agent, RequestBuilder};

use crate::failure::Failure;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Rows that are asked for at once: the most that there are in an answer.
const ROWS_A_PAGE: &str = "1000";

/// An admin port, and where it is.
pub(crate) struct Client {
    agent: Agent,
    base: String,
    /// What is shown.
    bearer: Option<String>,
}

/// Where the admin port is.
#[derive(clap::Args)]
pub(crate) struct Where {
    /// The admin port of the process, as it logs it; https://HOST:PORT for one with TLS
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:9400")]
    pub(crate) admin: String,
    /// The authorities that a port with TLS is believed by, as PEM
    #[arg(long, value_name = "FILE", default_value = "/etc/ssl/certs/ca-certificates.crt")]
    admin_ca: PathBuf,
    /// The file with the token that the port wants to be shown (`[admin] token-file`)
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

impl Where {
    /// Errors: the token or the authorities cannot be read.
    pub(crate) fn client(&self) -> Result<Client, Failure> {
        let token = self.token_file.as_deref().map(crate::composition::token).transpose()?;
        let bearer = token.map(|token| format!("Bearer {token}"));
        let config = Agent::config_builder()
            .timeout_connect(Some(PATIENCE))
            .timeout_recv_response(Some(PATIENCE))
            .http_status_as_error(false);
        let address = self.admin.trim_end_matches('/');
        let (config, base) = match address.starts_with("https://") {
            true => (config.tls_config(client_tls(&self.admin_ca)?), address.to_owned()),
            false => (config, format!("http://{}", address.trim_start_matches("http://"))),
        };
        Ok(Client { agent: config.build().into(), base, bearer })
    }
}

impl Client {
    fn asking(&self, path: &str) -> RequestBuilder<WithoutBody> {
        let request = self.agent.get(format!("{}{path}", self.base));
        match &self.bearer {
            Some(bearer) => request.header("Authorization", bearer),
            None => request,
        }
    }

    fn acting(&self, path: &str) -> RequestBuilder<WithBody> {
        let request = self.agent.post(format!("{}{path}", self.base));
        let request = request.header("X-Tapeline-Who", super::who());
        match &self.bearer {
            Some(bearer) => request.header("Authorization", bearer),
            None => request,
        }
    }

    /// What is at a path, as JSON, with what is to stand behind its `?`.
    pub(crate) fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<Json, Failure> {
        let mut request = self.asking(path);
        for (name, value) in query {
            request = request.query(name, value);
        }
        let mut answer = request.call().map_err(|error| self.unreached(&error))?;
        let json: Json = answer.body_mut().read_json().map_err(|error| self.unreached(&error))?;
        self.checked(json)
    }

    /// The same, where there may be nothing.
    pub(crate) fn find(&self, path: &str, query: &[(&str, &str)]) -> Result<Option<Json>, Failure> {
        let mut request = self.asking(path);
        for (name, value) in query {
            request = request.query(name, value);
        }
        let mut answer = request.call().map_err(|error| self.unreached(&error))?;
        if answer.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let json: Json = answer.body_mut().read_json().map_err(|error| self.unreached(&error))?;
        self.checked(json).map(Some)
    }

    /// All rows of a view, a page after the other.
    pub(crate) fn rows(&self, view: &str) -> Result<Vec<Json>, Failure> {
        let path = format!("/v1/{}", part(view));
        let page =
            |more: &[(&str, &str)]| self.get(&path, &[&[("limit", ROWS_A_PAGE)], more].concat());
        let mut rows = Vec::new();
        let mut said = page(&[])?;
        rows.append(&mut taken(&mut said));
        let mut ways: Vec<(String, u64)> = next(&said);
        // Rows that several shards have part of are gone on with by their key.
        while let Some(after) = said["after"].as_str().map(ToOwned::to_owned) {
            said = page(&[("after", &after)])?;
            rows.append(&mut taken(&mut said));
        }
        while let Some((at, from)) = ways.pop() {
            said = page(&[("at", &at), ("from", &from.to_string())])?;
            rows.append(&mut taken(&mut said));
            ways.extend(next(&said));
        }
        Ok(rows)
    }

    /// What is at a path, as text, and whether it is as it should be.
    pub(crate) fn text(&self, path: &str) -> Result<(bool, String), Failure> {
        let request = self.asking(path);
        let mut answer = request.call().map_err(|error| self.unreached(&error))?;
        let is_good = answer.status().is_success();
        let text = answer.body_mut().read_to_string().map_err(|error| self.unreached(&error))?;
        Ok((is_good, text))
    }

    /// Puts something to a path, and says what is answered.
    pub(crate) fn put(&self, path: &str, body: &Json) -> Result<Json, Failure> {
        let request = self.acting(path);
        let mut answer = request.send_json(body).map_err(|error| self.unreached(&error))?;
        let json: Json = answer.body_mut().read_json().map_err(|error| self.unreached(&error))?;
        self.checked(json)
    }

    /// Has something done. How often it was.
    pub(crate) fn act(&self, path: &str) -> Result<u64, Failure> {
        let request = self.acting(path);
        let mut answer = request.send_empty().map_err(|error| self.unreached(&error))?;
        let json: Json = answer.body_mut().read_json().map_err(|error| self.unreached(&error))?;
        let json = self.checked(json)?;
        Ok(json["done"].as_u64().unwrap_or(0))
    }

    /// Hands over each event as it comes, a line of JSON.
    pub(crate) fn watch(
        &self,
        mut take: impl FnMut(&str) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let request = self.asking("/v1/events");
        let answer = request.call().map_err(|error| self.unreached(&error))?;
        for line in BufReader::new(answer.into_body().into_reader()).lines() {
            if let Some(event) = line?.strip_prefix("data: ") {
                take(event)?;
            }
        }
        Ok(())
    }

    fn unreached(&self, error: &ureq::Error) -> Failure {
        let base = &self.base;
        Failure::Admin(format!(
            "no answer from {base}: {error}; start it with --admin-port, or say with --admin where it is"
        ))
    }

    fn checked(&self, json: Json) -> Result<Json, Failure> {
        match json["error"].as_str() {
            Some(error) => Err(Failure::Admin(format!("{}: {error}", self.base))),
            None => Ok(json),
        }
    }
}

/// The rows of a page.
fn taken(said: &mut Json) -> Vec<Json> {
    match said["rows"].take() {
        Json::Array(rows) => rows,
        _ => Vec::new(),
    }
}

/// Whose rows go on, and from which place.
fn next(said: &Json) -> Vec<(String, u64)> {
    let all = said["next"].as_object().into_iter().flatten();
    all.filter_map(|(at, from)| Some((at.clone(), from.as_u64()?))).collect()
}

/// A part of a path, with what has a meaning there escaped.
pub(crate) fn part(text: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                escaped.push(char::from(byte));
            }
            _ => {
                let _ = write!(escaped, "%{byte:02X}");
            }
        }
    }
    escaped
}
