//! Aeron's client, and the driver where it is in this process.

use std::cell::{Cell, OnceCell, RefCell};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use rusteron_media_driver::{
    Aeron, AeronCError, AeronCnc, AeronContext, AeronDriver, AeronErrorHandlerCallback,
};
use tapeline_time::Time;

use super::directory::{self, Lock};
use super::driver;
use super::limits::Buffers;
use super::words::{c_string, failed, nanos, one_line, words};
use crate::error::BackboneError;
use crate::settings::{Driver, EngineSettings};

/// Turns at the end, in which goodbyes reach the network.
const LAST_TURNS: usize = 64;

/// How often it is looked whether the driver of another process is still the
/// one that was found at the start.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// How often it is looked whether the driver complains.
const COMPLAINTS_INTERVAL: Duration = Duration::from_secs(1);

/// What the two halves of a port need to be alive as long as they are. The
/// client goes before the driver, in the order of the fields.
pub(super) struct Shared {
    pub(super) client: Aeron,
    driver: Option<AeronDriver>,
    /// What the driver complains of, where it is in this process.
    complaints: Option<Complaints>,
    /// Only of a driver of another process.
    neighbour: Option<Neighbour>,
    /// The last thing that Aeron reported from outside of calls.
    reported: Reported,
    failure: OnceCell<String>,
    /// A publisher waits for its limit, which the driver moves.
    pub(super) is_waited_for: Cell<bool>,
    /// Nobody takes the folder before the driver has left it.
    _lock: Option<Rc<Lock>>,
}

type Reported = Rc<RefCell<Option<String>>>;

/// The driver of another process, told from its successor.
struct Neighbour {
    counters: PathBuf,
    /// Device and inode of the counters' file.
    identity: (u64, u64),
    next_look: Cell<Time>,
}

impl Shared {
    /// Starts the driver, unless it is another process, and connects to it.
    pub(super) fn start(
        settings: &EngineSettings,
        buffers: Buffers,
        directory: &Path,
        lock: Option<&Rc<Lock>>,
    ) -> Result<Self, BackboneError> {
        let driver = match settings.driver {
            Driver::Embedded { .. } => Some(
                driver::start(settings, buffers, directory)
                    .map_err(|error| failed("start the driver", directory, &error))?,
            ),
            Driver::Neighbour { .. } | Driver::External { .. } => None,
        };
        let reported = Reported::default();
        let client = connect(settings, directory, Rc::clone(&reported))
            .map_err(|error| failed("connect to the driver", directory, &error))?;
        let complaints = driver.is_some().then(|| Complaints::of(directory)).flatten();
        let neighbour = driver.is_none().then(|| Neighbour::find(directory)).flatten();
        Ok(Self {
            client,
            driver,
            complaints,
            neighbour,
            reported,
            failure: OnceCell::new(),
            is_waited_for: Cell::new(false),
            _lock: lock.cloned(),
        })
    }

    pub(super) const fn has_driver(&self) -> bool {
        self.driver.is_some()
    }

    pub(super) fn work_driver(&self) -> usize {
        let Some(driver) = &self.driver else { return 0 };
        self.done(driver.main_do_work())
    }

    pub(super) fn work_client(&self, now: Time) -> usize {
        let done = self.done(self.client.main_do_work());
        if self.client.is_closed() {
            let reported = self.reported.take();
            let cause =
                reported.as_deref().unwrap_or("its driver is gone, or this thread stood still");
            self.fail(format!("Aeron's client is closed: {cause}"));
        } else if self.neighbour.as_ref().is_some_and(|neighbour| !neighbour.is_there(now)) {
            self.fail("the driver has ended or was replaced".to_owned());
        }
        if let Some(complaint) = self.complaints.as_ref().and_then(|all| all.since_last_look(now)) {
            *self.reported.borrow_mut() = Some(complaint);
        }
        done
    }

    fn fail(&self, reason: String) {
        // The first one is the cause of the rest.
        let _ = self.failure.set(reason);
    }

    /// Why it is of no use any more.
    pub(super) fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }

    /// Takes the last thing that Aeron reported though it goes on.
    pub(super) fn take_report(&self) -> Option<String> {
        self.reported.take()
    }

    fn done(&self, result: Result<i32, AeronCError>) -> usize {
        match result {
            Ok(done) => usize::try_from(done).unwrap_or(0),
            Err(error) => {
                *self.reported.borrow_mut() = Some(words(&error));
                0
            }
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        for _ in 0..LAST_TURNS {
            self.done(self.client.main_do_work());
            self.work_driver();
        }
    }
}

impl Neighbour {
    fn find(directory: &Path) -> Option<Self> {
        let counters = directory::counters(directory);
        let identity = identity(&counters)?;
        Some(Self { counters, identity, next_look: Cell::new(Time::ZERO) })
    }

    /// A driver that was killed leaves its files, and its successor has new
    /// ones of the same names: a client that has the old ones in its memory
    /// would wait for the time-out.
    fn is_there(&self, now: Time) -> bool {
        if now < self.next_look.get() {
            return true;
        }
        self.next_look.set(now.after(LOOK_INTERVAL));
        identity(&self.counters) == Some(self.identity)
    }
}

/// The log of errors in a driver's folder. What a driver cannot do for others,
/// such as to receive what a peer sends, is told nowhere else.
struct Complaints {
    counters: AeronCnc,
    seen: Cell<i64>,
    next_look: Cell<Time>,
}

impl Complaints {
    fn of(directory: &Path) -> Option<Self> {
        let counters = AeronCnc::open(&c_string(&directory.to_string_lossy())).ok()?;
        Some(Self { counters, seen: Cell::new(0), next_look: Cell::new(Time::ZERO) })
    }

    /// The last one, if there are more than at the last look.
    fn since_last_look(&self, now: Time) -> Option<String> {
        if now < self.next_look.get() {
            return None;
        }
        self.next_look.set(now.after(COMPLAINTS_INTERVAL));
        let (mut count, mut last, mut newest) = (0, String::new(), i64::MIN);
        self.counters.error_log_read_fn(
            |observed, _, at, text| {
                count += i64::from(observed);
                if at >= newest {
                    newest = at;
                    last = one_line(text);
                }
            },
            0,
        );
        (self.seen.replace(count) < count).then_some(last)
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    path.metadata().ok().map(|data| (data.dev(), data.ino()))
}

/// Keeps what Aeron reports from outside of calls. Without it, Aeron's client
/// ends the process.
struct KeepReport(Reported);

impl AeronErrorHandlerCallback for KeepReport {
    fn handle_aeron_error_handler(&mut self, code: std::os::raw::c_int, message: &str) {
        *self.0.borrow_mut() = Some(format!("error {code}: {}", one_line(message)));
    }
}

fn connect(
    settings: &EngineSettings,
    directory: &Path,
    reported: Reported,
) -> Result<Aeron, AeronCError> {
    let context = AeronContext::new()?;
    context.set_dir(&c_string(&directory.to_string_lossy()))?;
    context.set_use_conductor_agent_invoker(true)?;
    context.set_keepalive_interval_ns(nanos(settings.keepalive_interval))?;
    context.set_driver_timeout_ms(settings.patience().with_driver.as_millis() as u64)?;
    context.set_error_handler(Some(KeepReport(reported)))?;
    let client = Aeron::new(&context)?;
    client.start()?;
    Ok(client)
}
