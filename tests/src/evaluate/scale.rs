//! The lengths of time of the experiment. The sources give none, so all of them are our choice. What has to outlast
//! something else does so by far, because the machine may be busy; shares depend on the order of the lengths, hardly on
//! the lengths.

use std::time::Duration;

/// Sends of one step: the first, and the one retry of the published experiment.
pub const SENDS: u32 = 2;

/// Concurrent workers start at random within this time: so far apart do the copies of one message come.
pub const ARRIVALS: Duration = Duration::from_millis(100);

/// Between two attempts, where nothing has to be waited for.
pub const BACKOFF: Duration = Duration::from_millis(50);

/// The first pause of a worker that finds the action held; each further one is twice as long, up to [`ASK_AGAIN_MAX`].
pub const ASK_AGAIN: Duration = Duration::from_millis(100);

pub const ASK_AGAIN_MAX: Duration = Duration::from_millis(800);

/// An agent that has come to no end by then leaves the step undecided. Far beyond the longest way: two sends, two settle
/// windows, and as much again for the machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// One set of lengths that fit together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// What the receiver needs to bring an effect about.
    pub service: Duration,
    /// An agent waits this long for an answer.
    pub answer_timeout: Duration,
    /// An answer that is too late comes this much after its effect: surely beyond the timeout.
    pub answer_late: Duration,
    /// Lookups miss an effect for this long: a lookup right after a timeout misses it surely.
    pub hidden: Duration,
    /// What Deed is told about the receiver: an effect is visible so long after its send is over. It outlasts `hidden` and
    /// `commit_in_window` though both count from the start of the send.
    pub settle_window: Duration,
    /// A late commit that the settle window covers, after the timeout.
    pub commit_in_window: Duration,
    /// A late commit that nobody was told of: beyond timeout, settle window and the retry after them, and seen by the
    /// lookup after that retry.
    pub commit_beyond_window: Duration,
    /// Beyond the agent's own timeout, so that a timeout is an honest receipt and not a cut-off.
    pub send_timeout: Duration,
    /// Longer than any step of a healthy worker here, so that a busy machine costs no lease.
    pub lease: Duration,
}

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

impl Scale {
    /// A second here stands for some 40 s outside.
    pub const PUBLISHED: Self = Self {
        service: ms(20),
        answer_timeout: ms(800),
        answer_late: ms(2_400),
        hidden: ms(2_400),
        settle_window: ms(4_000),
        commit_in_window: ms(2_400),
        commit_beyond_window: ms(7_000),
        send_timeout: ms(1_600),
        lease: ms(10_000),
    };

    /// For a test that somebody waits for. A busy machine makes more timeouts of it, and no duplicate of Deed's.
    pub const QUICK: Self = Self {
        service: ms(20),
        answer_timeout: ms(300),
        answer_late: ms(1_200),
        hidden: ms(900),
        settle_window: ms(1_500),
        commit_in_window: ms(900),
        commit_beyond_window: ms(2_700),
        send_timeout: ms(600),
        lease: ms(10_000),
    };
}
