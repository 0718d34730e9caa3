//! Fair shares of the committer: the calls that are inside it at once are bounded, and where more want in than there are
//! places, the lines take turns. A process with a thousand calls in flight has one line, and so has a process with one.
//!
//! It knows neither what calls ask nor how long they take; who stands in which line is the edge's to say.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::Error;

/// Calls that may wait in all lines together before the longer ones are refused: some megabytes, and less than a second's
/// work.
const WAITING: usize = 16_384;

/// What a refused call waits before it comes back: many places have been given out by then.
const FULL_RETRY_AFTER: Duration = Duration::from_millis(200);

/// Those who take one turn together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Line {
    /// The calls on one session, by its number.
    Session(u64),
    /// The unary calls of one connection, by the address of its other end; those without an address share one line.
    Connection(Option<SocketAddr>),
}

/// The places, and the lines before them.
#[derive(Debug)]
pub struct Turns {
    state: Mutex<State>,
}

// Nobody waits while a place is free.
#[derive(Debug)]
struct State {
    free: usize,
    waiting: usize,
    lines: HashMap<Line, VecDeque<oneshot::Sender<Place>>>,
    /// The lines with somebody in them, in the order of their turns.
    order: VecDeque<Line>,
}

/// A place inside. Dropped, it goes to whoever is next.
#[derive(Debug)]
pub struct Place {
    turns: Option<Arc<Turns>>,
}

impl Turns {
    /// So many places.
    pub fn new(places: usize) -> Arc<Self> {
        let state = State {
            free: places.max(1),
            waiting: 0,
            lines: HashMap::new(),
            order: VecDeque::new(),
        };
        Arc::new(Self {
            state: Mutex::new(state),
        })
    }

    /// Waits for a place. Dropping the future leaves the line.
    pub async fn place(self: &Arc<Self>, line: Line) -> Result<Place, Error> {
        let granted = {
            let mut state = self.lock();
            if state.free > 0 {
                state.free -= 1;
                return Ok(Place::of(self));
            }
            state.join(line)?
        };
        // The lines live as long as this.
        granted.await.map_err(|_gone| Error::ShuttingDown)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many stand in line.
    #[cfg(test)]
    pub fn waiting(&self) -> usize {
        self.lock().waiting
    }
}

impl State {
    fn join(&mut self, line: Line) -> Result<oneshot::Receiver<Place>, Error> {
        let (grant, granted) = oneshot::channel();
        match self.lines.entry(line) {
            // SUBTLE: the first of a line is never refused. Else whoever fills the room would keep everybody else out of
            // it, and the turns would be his alone.
            Entry::Occupied(_) if self.waiting >= WAITING => {
                return Err(Error::Overloaded {
                    retry_after: FULL_RETRY_AFTER,
                });
            }
            Entry::Occupied(mut others) => others.get_mut().push_back(grant),
            Entry::Vacant(vacant) => {
                vacant.insert(VecDeque::from([grant]));
                self.order.push_back(line);
            }
        }
        self.waiting += 1;
        Ok(granted)
    }

    /// Whoever is next and still there.
    fn next(&mut self) -> Option<oneshot::Sender<Place>> {
        while let Some(line) = self.order.pop_front() {
            let Entry::Occupied(mut waiting) = self.lines.entry(line) else {
                continue;
            };
            let first = waiting.get_mut().pop_front();
            if waiting.get().is_empty() {
                waiting.remove();
            } else {
                self.order.push_back(line);
            }
            self.waiting -= usize::from(first.is_some());
            match first {
                Some(grant) if !grant.is_closed() => return Some(grant),
                Some(_) | None => {}
            }
        }
        None
    }
}

impl Place {
    fn of(turns: &Arc<Turns>) -> Self {
        Self {
            turns: Some(Arc::clone(turns)),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(turns) = self.turns.take() else {
            return;
        };
        loop {
            let next = {
                let mut state = turns.lock();
                let next = state.next();
                state.free += usize::from(next.is_none());
                next
            };
            let Some(grant) = next else { return };
            match grant.send(Self::of(&turns)) {
                Ok(()) => return,
                // SUBTLE: gone since it was looked at. The place is emptied, so that it is handed on by this loop and not
                // by its own drop: a thousand who went at once would be a thousand drops inside one another.
                Err(mut place) => place.turns = None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;

    use futures::poll;

    use super::*;

    const BUSY: Line = Line::Session(1);
    const QUIET: Line = Line::Session(2);

    type Waiting = Pin<Box<dyn Future<Output = Result<Place, Error>>>>;

    fn wait(turns: &Arc<Turns>, line: Line) -> Waiting {
        let turns = Arc::clone(turns);
        Box::pin(async move { turns.place(line).await })
    }

    /// Joins the line, and is not let in yet.
    async fn queue(turns: &Arc<Turns>, line: Line) -> Waiting {
        let mut waiting = wait(turns, line);
        assert!(poll!(waiting.as_mut()).is_pending());
        waiting
    }

    #[tokio::test]
    async fn a_line_of_one_comes_after_one_of_a_line_of_thousands() {
        let turns = Turns::new(1);
        let inside = turns.place(BUSY).await.unwrap();
        let mut thousands = Vec::new();
        for _ in 0..5_000 {
            thousands.push(queue(&turns, BUSY).await);
        }
        let mut one = queue(&turns, QUIET).await;
        drop(inside);
        let first = thousands.remove(0).await.unwrap();
        assert!(poll!(one.as_mut()).is_pending());
        drop(first);
        let mine = one.await.unwrap();
        assert!(poll!(thousands[0].as_mut()).is_pending());
        drop(mine);
        assert!(poll!(thousands[0].as_mut()).is_ready());
    }

    #[tokio::test]
    async fn places_of_those_who_went_are_handed_on() {
        let turns = Turns::new(1);
        let inside = turns.place(BUSY).await.unwrap();
        let (gone, granted, mut last) = (
            queue(&turns, BUSY).await,
            queue(&turns, BUSY).await,
            queue(&turns, BUSY).await,
        );
        drop(gone);
        drop(inside);
        // It has been given a place, and goes without having looked.
        drop(granted);
        assert!(poll!(last.as_mut()).is_ready());
        assert_eq!(turns.waiting(), 0);
        drop(last);
        assert!(poll!(wait(&turns, QUIET)).is_ready(), "a place was lost");
    }

    #[tokio::test]
    async fn a_full_room_refuses_the_longer_lines_and_lets_the_first_of_another_in() {
        let turns = Turns::new(1);
        let _inside = turns.place(BUSY).await.unwrap();
        let mut room = Vec::new();
        for _ in 0..WAITING {
            room.push(queue(&turns, BUSY).await);
        }
        assert!(matches!(wait(&turns, BUSY).await, Err(Error::Overloaded { .. })));
        let _first = queue(&turns, QUIET).await;
        assert!(matches!(wait(&turns, QUIET).await, Err(Error::Overloaded { .. })));
    }
}
