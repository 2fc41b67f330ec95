//! On which cores threads run, and before whom.

use rustix::thread::{CpuSet, sched_setaffinity};
use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

use crate::NodeError;

/// Where the threads of a process run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// A core for each thread: the first one's, then that of each shard, and from the
    /// beginning again where there are more threads. None: the kernel decides.
    pub cores: Vec<usize>,
    /// The priority in the class `SCHED_FIFO`, 1 to 99, in which threads go before all
    /// that is not in it. `None`: the usual class.
    pub fifo_priority: Option<u8>,
}

impl Placement {
    /// Has the calling thread, the one with this number, run where it is to.
    ///
    /// Errors: there is no such core; the process may not have the priority.
    pub(crate) fn apply(&self, number: usize) -> Result<(), NodeError> {
        if let Some(core) = self.core_of(number) {
            let mut set = CpuSet::new();
            let failed = |error: std::io::Error| NodeError::Core { core, error };
            if core >= CpuSet::MAX_CPU {
                return Err(failed(std::io::ErrorKind::InvalidInput.into()));
            }
            set.set(core);
            sched_setaffinity(None, &set).map_err(|error| failed(error.into()))?;
        }
        if let Some(fifo) = self.fifo_priority {
            let failed = |error: String| NodeError::Priority { priority: fifo, error };
            let priority = ThreadPriority::Crossplatform(
                fifo.try_into().map_err(|error| failed(format!("{error:?}")))?,
            );
            let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
            set_thread_priority_and_policy(thread_native_id(), priority, policy)
                .map_err(|error| failed(format!("{error:?}")))?;
        }
        Ok(())
    }

    fn core_of(&self, number: usize) -> Option<usize> {
        let place = number.checked_rem(self.cores.len())?;
        self.cores.get(place).copied()
    }
}

#[cfg(test)]
mod tests {
    use rustix::thread::sched_getaffinity;
    use thread_priority::{ScheduleParams, thread_schedule_policy_param};

    use super::*;

    #[test]
    fn threads_have_the_cores_in_order() {
        let placement = Placement { cores: vec![3, 5], fifo_priority: None };
        let cores = [0, 1, 2].map(|number| placement.core_of(number));
        assert_eq!(cores, [Some(3), Some(5), Some(3)]);
        assert_eq!(Placement::default().core_of(1), None);
    }

    #[test]
    fn a_thread_runs_on_its_core_and_one_that_there_is_not_is_named() {
        let pinned = std::thread::spawn(|| {
            let allowed = sched_getaffinity(None).expect("the kernel tells");
            let core = (0..CpuSet::MAX_CPU).find(|core| allowed.is_set(*core)).expect("one");
            let placement = Placement { cores: vec![core], fifo_priority: None };
            placement.apply(0).expect("it is there");
            let now = sched_getaffinity(None).expect("the kernel tells");
            (now.count(), now.is_set(core))
        });
        assert_eq!(pinned.join().expect("no panic"), (1, true));
        let nowhere = Placement { cores: vec![CpuSet::MAX_CPU], fifo_priority: None };
        let error = nowhere.apply(0).expect_err("there is no such core");
        assert!(error.to_string().contains("core 1024"), "{error}");
    }

    #[test]
    fn a_thread_has_its_real_time_priority_or_it_is_said_what_it_lacks() {
        let applied = std::thread::spawn(|| {
            let placement = Placement { cores: Vec::new(), fifo_priority: Some(7) };
            placement.apply(0).map(|()| {
                thread_schedule_policy_param(thread_native_id()).expect("the kernel tells")
            })
        });
        match applied.join().expect("no panic") {
            Ok(now) => {
                let fifo = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
                assert_eq!(now, (fifo, ScheduleParams { sched_priority: 7 }));
            }
            Err(error) => {
                let error = error.to_string();
                assert!(error.starts_with("a thread cannot have the real-time priority 7: "));
                assert!(error.ends_with("CAP_SYS_NICE, or a limit as of `ulimit -r`"), "{error}");
            }
        }
    }

    #[test]
    fn a_priority_that_there_is_not_is_named() {
        let placement = Placement { cores: Vec::new(), fifo_priority: Some(100) };
        let error = placement.apply(0).expect_err("it ends at 99").to_string();
        assert!(error.contains("priority 100"), "{error}");
    }
}
