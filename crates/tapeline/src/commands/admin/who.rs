//! Who is at this terminal.

/// The name of the user, which stands in the log of the process that is acted on.
pub(crate) fn who() -> String {
    let user =
        ["SUDO_USER", "USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    let user = user.filter(|user| user.bytes().all(|byte| byte.is_ascii_graphic()));
    user.unwrap_or_else(|| rustix::process::getuid().as_raw().to_string())
}
