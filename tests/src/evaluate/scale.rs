//! The lengths of time of the experiment. The sources give none, so all of them are our choice: a second of the outside
//! world is 10 ms here, and what has to outlast something else does so by several hundred milliseconds, because the
//! machine may be busy.

use std::time::Duration;

/// So many milliseconds of the outside world pass in one millisecond here.
pub const OUTSIDE_MS_PER_MS: u32 = 100;

/// What the receiver needs to bring an effect about.
pub const SERVICE: Duration = Duration::from_millis(20);

/// An agent waits this long for an answer: half a minute outside.
pub const ANSWER_TIMEOUT: Duration = Duration::from_millis(300);

/// An answer that is too late comes this much after its effect: surely beyond the timeout, also on a busy machine.
pub const ANSWER_LATE: Duration = Duration::from_millis(1_200);

/// Lookups miss an effect for this long. Three timeouts: a lookup right after a timeout misses it surely, also when the
/// machine is busy.
pub const HIDDEN: Duration = Duration::from_millis(900);

/// What Deed is told about the receiver: an effect is visible so long after its send is over. It outlasts [`HIDDEN`] and
/// [`COMMIT_IN_WINDOW`], counted from the timeout, by almost a second.
pub const SETTLE_WINDOW: Duration = Duration::from_millis(1_500);

/// A late commit that the settle window covers.
pub const COMMIT_IN_WINDOW: Duration = Duration::from_millis(900);

/// A late commit that nobody was told of: beyond timeout, settle window and the retry after them.
pub const COMMIT_BEYOND_WINDOW: Duration = Duration::from_millis(4_000);

/// Beyond the agent's own timeout, so that a timeout is an honest receipt and not a cut-off.
pub const SEND_TIMEOUT: Duration = Duration::from_millis(600);

/// Longer than any step of a healthy worker here, so that a busy machine costs no lease.
pub const LEASE: Duration = Duration::from_millis(5_000);

/// Between two attempts, where nothing has to be waited for.
pub const BACKOFF: Duration = Duration::from_millis(50);

/// The first pause of a worker that finds the action held; each further one is twice as long, up to [`ASK_AGAIN_MAX`].
pub const ASK_AGAIN: Duration = Duration::from_millis(100);

pub const ASK_AGAIN_MAX: Duration = Duration::from_millis(800);

/// Concurrent workers start at random within this time: so far apart do the copies of one message come.
pub const ARRIVALS: Duration = Duration::from_millis(100);

/// An agent that has come to no end by then leaves the step undecided. Far beyond the longest way: two sends, two settle
/// windows, and as much again for the machine.
pub const PATIENCE: Duration = Duration::from_secs(40);

/// Sends of one step: the first, and the one retry of the published experiment.
pub const SENDS: u32 = 2;
