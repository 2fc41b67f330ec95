//! The media driver inside this process.

use std::path::Path;

use rusteron_media_driver::bindings::aeron_threading_mode_enum;
use rusteron_media_driver::{AeronCError, AeronDriver, AeronDriverContext};

use super::limits::Buffers;
use super::words::{c_string, nanos};
use crate::settings::EngineSettings;

/// For the values of counters; those of a few streams fit into the smallest
/// that Aeron allows, and it takes five times as much memory in all.
const COUNTER_BYTES: usize = 1 << 20;

/// A started driver that works only when it is told to.
pub(super) fn start(
    settings: &EngineSettings,
    buffers: Buffers,
    directory: &Path,
) -> Result<AeronDriver, AeronCError> {
    let context = AeronDriverContext::new()?;
    context.set_dir(&c_string(&directory.to_string_lossy()))?;
    context.set_dir_delete_on_start(true)?;
    context.set_dir_delete_on_shutdown(true)?;
    context.set_threading_mode(aeron_threading_mode_enum::AERON_THREADING_MODE_INVOKER)?;
    set_buffers(&context, settings, buffers)?;
    set_times(&context, settings)?;
    // The cause is read here: closing the context overwrites it.
    let driver = AeronDriver::new(&context).map_err(AeronCError::capture_errmsg)?;
    // With an invoker, this starts no thread; Aeron refuses `false`.
    driver.start(true).map_err(AeronCError::capture_errmsg)?;
    Ok(driver)
}

fn set_buffers(
    context: &AeronDriverContext,
    settings: &EngineSettings,
    buffers: Buffers,
) -> Result<(), AeronCError> {
    context.set_counters_buffer_length(COUNTER_BYTES)?;
    // Taken for real: a page that is not there when it is written to ends the
    // process.
    context.set_term_buffer_sparse_file(false)?;
    context.set_perform_storage_checks(true)?;
    context.set_mtu_length(settings.mtu_bytes as usize)?;
    context.set_ipc_mtu_length(settings.ipc_mtu_bytes as usize)?;
    // Each publication says its own.
    let term_bytes = settings.data_term_bytes_over(1) as usize;
    context.set_term_buffer_length(term_bytes)?;
    context.set_ipc_term_buffer_length(term_bytes)?;
    context.set_socket_so_rcvbuf(buffers.receive_bytes as usize)?;
    context.set_socket_so_sndbuf(buffers.send_bytes as usize)?;
    context.set_rcv_initial_window_length(buffers.window_bytes as usize)?;
    Ok(())
}

fn set_times(context: &AeronDriverContext, settings: &EngineSettings) -> Result<(), AeronCError> {
    context.set_nak_multicast_max_backoff_ns(nanos(settings.nak_backoff))?;
    context.set_nak_multicast_group_size(settings.nak_group_size)?;
    context.set_retransmit_unicast_linger_ns(nanos(settings.retransmit_linger))?;
    context.set_timer_interval_ns(nanos(settings.timer_interval))?;
    context.set_image_liveness_timeout_ns(nanos(settings.image_liveness))?;
    context.set_rcv_status_message_timeout_ns(nanos(settings.status_interval))?;
    context.set_publication_connection_timeout_ns(nanos(settings.connection_timeout))?;
    context.set_publication_linger_timeout_ns(nanos(settings.publication_linger))?;
    context.set_untethered_window_limit_timeout_ns(nanos(settings.window_limit_timeout))?;
    context.set_untethered_resting_timeout_ns(nanos(settings.resting_timeout))?;
    let patience = settings.patience();
    context.set_client_liveness_timeout_ns(nanos(patience.with_client))?;
    // Only for publications that several threads share, which we have not; it
    // must exceed the liveness.
    context.set_publication_unblock_timeout_ns(nanos(patience.with_client * 2))?;
    context.set_driver_timeout_ms(patience.with_driver.as_millis() as u64)?;
    Ok(())
}
