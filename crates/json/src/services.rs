//! Names and numbers of services.

/// The services that a connection knows, by number and by name.
pub trait Services {
    /// The name to write for a number; without one the number is written.
    fn name(&self, id: u16) -> Option<&str>;

    /// The number of a name.
    fn id(&self, name: &str) -> Option<u16>;

    /// The service of requests and posts that name none, unless
    /// [`Options::default_service`](crate::Options) says which; in the login
    /// and source domains there is no such thing. Default: none.
    fn default_id(&self) -> Option<u16> {
        None
    }
}

/// No service has a name.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoServices;

impl Services for NoServices {
    fn name(&self, _: u16) -> Option<&str> {
        None
    }

    fn id(&self, _: &str) -> Option<u16> {
        None
    }
}
