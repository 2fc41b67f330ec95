//! Aeron as the backbone sets it up: a driver that its owner works, and clients
//! that theirs do.

use std::ffi::CString;

use rusteron_media_driver::bindings::aeron_threading_mode_enum;
use rusteron_media_driver::{Aeron, AeronCError, AeronContext, AeronDriver, AeronDriverContext};

/// Shared memory.
pub(crate) fn channel() -> CString {
    c_string("aeron:ipc")
}

fn c_string(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}

/// A driver with its files in this folder, which goes with it.
pub(crate) fn driver(directory: &str, term_bytes: usize) -> Result<AeronDriver, AeronCError> {
    let context = AeronDriverContext::new()?;
    context.set_dir(&c_string(directory))?;
    context.set_dir_delete_on_start(true)?;
    context.set_dir_delete_on_shutdown(true)?;
    context.set_threading_mode(aeron_threading_mode_enum::AERON_THREADING_MODE_INVOKER)?;
    context.set_ipc_term_buffer_length(term_bytes)?;
    let driver = AeronDriver::new(&context)?;
    driver.start(true)?;
    Ok(driver)
}

/// A client of the driver in this folder.
pub(crate) fn client(directory: &str) -> Result<Aeron, AeronCError> {
    let context = AeronContext::new()?;
    context.set_dir(&c_string(directory))?;
    context.set_use_conductor_agent_invoker(true)?;
    let client = Aeron::new(&context)?;
    client.start()?;
    Ok(client)
}
