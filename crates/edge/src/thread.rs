//! The thread.

use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::EdgeError;

/// How long tasks may take to their end. What is recorded is written by then, or
/// the disk does not take it.
const FAREWELL: Duration = Duration::from_secs(5);

/// The one thread of a process that may wait. Dropped, it ends: its tasks are told,
/// and waited for.
#[derive(Debug)]
pub struct Edge {
    handle: Handle,
    tasks: Mutex<JoinSet<()>>,
    is_over: watch::Sender<bool>,
    stop: Option<oneshot::Sender<JoinSet<()>>>,
    thread: Option<JoinHandle<()>>,
}

/// By which a task hears that the edge ends. Clones hear the same.
#[derive(Clone, Debug)]
pub struct Ending(watch::Receiver<bool>);

impl Ending {
    /// Waits for the end.
    pub async fn wait(&mut self) {
        // An edge that is gone has ended.
        let _ = self.0.wait_for(|is_over| *is_over).await;
    }
}

impl Edge {
    /// Starts the thread, with nothing to do.
    ///
    /// Errors: there is no thread to be had, or no descriptors for it.
    pub fn start() -> Result<Self, EdgeError> {
        let runtime =
            Builder::new_current_thread().enable_all().build().map_err(EdgeError::Thread)?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<JoinSet<()>>();
        let run = move || {
            runtime.block_on(async {
                let Ok(mut tasks) = stopped.await else { return };
                let all = async { while tasks.join_next().await.is_some() {} };
                if timeout(FAREWELL, all).await.is_err() {
                    tracing::warn!("the edge thread leaves work behind that did not end in time");
                }
            });
            // A worker may wait for a web server; its answer is of no use any more.
            runtime.shutdown_background();
        };
        let thread = thread::Builder::new().name("edge".to_owned()).spawn(run);
        Ok(Self {
            handle,
            tasks: Mutex::default(),
            is_over: watch::Sender::new(false),
            stop: Some(stop),
            thread: Some(thread.map_err(EdgeError::Thread)?),
        })
    }

    /// Has a task run on the thread. It ends soon after its [`Ending`] says so, and
    /// waits only for what does not hold up the others for long: the file system,
    /// and futures. What takes longer is for [`tokio::task::spawn_blocking`]; the end
    /// does not wait for that.
    pub fn spawn<T>(&self, task: impl FnOnce(Ending) -> T)
    where
        T: Future<Output = ()> + Send + 'static,
    {
        let task = task(Ending(self.is_over.subscribe()));
        // What is behind a poisoned lock is whole: nothing in here panics half-way.
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that have ended are forgotten, so that the set does not grow.
        while tasks.try_join_next().is_some() {}
        tasks.spawn_on(task, &self.handle);
    }

    /// Where sockets, signals and timers are made for tasks of the thread, before
    /// these run: `let _inside = edge.handle().enter()`.
    pub const fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for Edge {
    fn drop(&mut self) {
        self.is_over.send_replace(true);
        let tasks = std::mem::take(self.tasks.get_mut().unwrap_or_else(PoisonError::into_inner));
        // The thread may have ended by itself.
        let _ = self.stop.take().map(|stop| stop.send(tasks));
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn all_tasks_share_one_thread_and_are_waited_for_at_the_end() {
        let edge = Edge::start().expect("a thread");
        let (sender, names) = channel();
        for number in 0..3 {
            let sender = sender.clone();
            edge.spawn(|mut ending| async move {
                ending.wait().await;
                tokio::time::sleep(Duration::from_millis(number)).await;
                let name = thread::current().name().map(ToOwned::to_owned);
                sender.send(name).expect("somebody listens");
            });
        }
        drop(sender);
        assert!(names.try_recv().is_err(), "it is not over yet");
        drop(edge);
        let names: Vec<_> = names.into_iter().flatten().collect();
        assert_eq!(names, ["edge"; 3]);
    }
}
