//! What consumers, providers and publishers count, for the
//! [registry](tapeline_counters::Registry) of the application that they are in.

use tapeline_counters::counts;
use tapeline_rwf::MsgClass;

counts! {
    /// A consumer of an application.
    pub struct ConsumerCounters = "consumer" {
        /// Items that are open, or are to be.
        items: usize = now, at most "max_items";
        /// Servers that it is logged in at.
        servers: usize = now;
        /// Posts that wait for their ack.
        outstanding_posts: usize = now, at most "max_outstanding_posts";
        /// Connections that came about.
        connected: u64 = total;
        /// Connections that were lost, and attempts to connect that failed.
        lost: u64 = total;
        /// Times that another server of a standby set became the active one, for
        /// everything or for a service.
        take_overs: u64 = total;
        /// Items that went on at another server of a standby set that had them.
        items_taken_over: u64 = total;
        /// Servers of a standby set that were left out for good.
        left_out: u64 = total;
        /// Requests of items that were sent, also after a connection was lost; of a
        /// batch each item.
        requests: u64 = total;
        /// Images that came for items, each part of them.
        refreshes: u64 = total;
        /// Updates that came for items.
        updates: u64 = total;
        /// Statuses that came for items.
        statuses: u64 = total;
        /// Posts that were sent.
        posts: u64 = total;
        /// Posts that were refused, or had no ack in time.
        posts_failed: u64 = total;
        /// Messages that could not be read, and were left out.
        malformed: u64 = total;
    }
}

counts! {
    /// A provider of an application, over all of its clients.
    pub struct ProviderCounters = "provider" {
        /// Clients that are connected.
        clients: usize = now;
        /// Streams that are open.
        streams: usize = now;
        /// Clients that connected.
        connected: u64 = total;
        /// Clients that were cut off, for they read too slowly.
        cut_off: u64 = total;
        /// Requests that opened a stream.
        requests: u64 = total;
        /// Images that were sent on streams, each part of them.
        refreshes: u64 = total;
        /// Updates that were sent on streams.
        updates: u64 = total;
        /// Statuses that were sent on streams.
        statuses: u64 = total;
        /// Posts that came.
        posts: u64 = total;
        /// Messages that could not be read, and were left out.
        malformed: u64 = total;
    }
}

impl ProviderCounters {
    /// A message of this class was sent on a stream, or could not be.
    #[inline]
    pub(crate) fn sent(&mut self, class: MsgClass, is_sent: bool) {
        let count = match class {
            MsgClass::Update => &mut self.updates,
            MsgClass::Refresh => &mut self.refreshes,
            MsgClass::Status => &mut self.statuses,
            _ => return,
        };
        *count += u64::from(is_sent);
    }
}

counts! {
    /// A publisher of an application.
    pub struct PublisherCounters = "publisher" {
        /// Items that are open.
        items: usize = now, at most "max_items";
        /// Connections that came about.
        connected: u64 = total;
        /// Connections that were lost, and attempts to connect that failed.
        lost: u64 = total;
        /// Images that were submitted, each part of them, and again where a
        /// connection was lost.
        refreshes: u64 = total;
        /// Updates that were sent.
        updates: u64 = total;
        /// Statuses that were sent.
        statuses: u64 = total;
        /// Messages that could not be read, and were left out.
        malformed: u64 = total;
    }
}
