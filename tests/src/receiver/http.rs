//! The receiver's HTTP side: paths, status codes, Retry-After. Decides nothing; `world` does.
//!
//! | call | answer |
//! | --- | --- |
//! | `POST /effects` | 201 applied, 202 accepted; 4xx/503 with [`ErrorAnswer`]; or no answer |
//! | `GET /effects?business_id=…[&kind=…][&facts=a,b][&fencing_token=…]` | 200 [`LookupAnswer`] |
//! | `GET /ledger` | every application, hidden ones too |
//! | `GET /ledger/summary` | [`Summary`](super::Summary) |
//! | `DELETE /ledger` | 204; forgets everything but the dials |
//! | `PUT /dials` | 204; [`Dials`] replaced, what is left out is at its default |
//! | `PUT /dials/{business_id}` | 204; [`Queued`] faults for the next requests about this id |
//! | `POST /release/{business_id}` | 204; ends the delays under way and shows what is hidden |

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{ConnectInfo, Json, Path, Query, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};

use super::connection::Switch;
use super::dials::{Dials, Queued};
use super::messages::{EffectRequest, ErrorAnswer, ErrorBody, LookupAnswer, LookupRequest};
use super::world::{Outcome, World, error};

type Shared = State<Arc<World>>;

pub fn router(world: Arc<World>) -> Router {
    Router::new()
        .route("/effects", post(apply).get(look_up))
        .route("/ledger", get(ledger).delete(reset))
        .route("/ledger/summary", get(summary))
        .route("/dials", put(turn))
        .route("/dials/{business_id}", put(queue))
        .route("/release/{business_id}", post(release))
        .with_state(world)
}

async fn apply(
    State(world): Shared,
    ConnectInfo(switch): ConnectInfo<Switch>,
    body: Result<Json<EffectRequest>, JsonRejection>,
) -> Response {
    let request = match body {
        Ok(Json(request)) => request,
        Err(rejection) => return malformed(&rejection.body_text()),
    };
    // SUBTLE: a task of its own. The server drops a handler whose client has gone, and with it an effect that was
    // already on its way: the very case that the receiver is here for.
    let outcome = tokio::spawn(world.apply(request)).await.unwrap_or(Outcome::Cut);
    respond(outcome, &switch, |answer| {
        let status = if answer.retry_after_ms.is_some() {
            StatusCode::ACCEPTED
        } else {
            StatusCode::CREATED
        };
        with_retry_after(status, answer.retry_after_ms, Json(answer))
    })
}

async fn look_up(
    State(world): Shared,
    ConnectInfo(switch): ConnectInfo<Switch>,
    query: Result<Query<LookupRequest>, QueryRejection>,
) -> Response {
    let lookup = match query {
        Ok(Query(lookup)) => lookup,
        Err(rejection) => return malformed(&rejection.body_text()),
    };
    let outcome = tokio::spawn(world.look_up(lookup)).await.unwrap_or(Outcome::Cut);
    respond(outcome, &switch, |answer: LookupAnswer| {
        Json(answer).into_response()
    })
}

async fn ledger(State(world): Shared) -> Response {
    Json(world.read(|ledger| ledger.applications.clone())).into_response()
}

async fn summary(State(world): Shared) -> Response {
    Json(world.read(super::Ledger::summary)).into_response()
}

async fn reset(State(world): Shared) -> Response {
    match world.reset() {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(cause) => {
            let body = error(
                "internal",
                &format!("the journal cannot be emptied: {cause}"),
                None,
            );
            (
                StatusCode::INTERNAL_SERVER_ERROR,
                Json(ErrorAnswer { error: body }),
            )
                .into_response()
        }
    }
}

async fn turn(State(world): Shared, body: Result<Json<Dials>, JsonRejection>) -> Response {
    match body {
        Ok(Json(dials)) => {
            world.turn(dials);
            StatusCode::NO_CONTENT.into_response()
        }
        Err(rejection) => malformed(&rejection.body_text()),
    }
}

async fn queue(
    State(world): Shared,
    Path(business_id): Path<String>,
    body: Result<Json<Queued>, JsonRejection>,
) -> Response {
    match body {
        Ok(Json(queued)) => {
            world.queue(&business_id, queued);
            StatusCode::NO_CONTENT.into_response()
        }
        Err(rejection) => malformed(&rejection.body_text()),
    }
}

async fn release(State(world): Shared, Path(business_id): Path<String>) -> StatusCode {
    world.release(&business_id);
    StatusCode::NO_CONTENT
}

fn respond<T>(outcome: Outcome<T>, switch: &Switch, answer: impl FnOnce(T) -> Response) -> Response {
    match outcome {
        Outcome::Answer(body) => answer(body),
        Outcome::Error(status, body) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            with_retry_after(status, body.retry_after_ms, Json(ErrorAnswer { error: body }))
        }
        Outcome::Cut => {
            switch.cut();
            // Never reaches the client: the connection is cut.
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// Retry-After counts whole seconds: rounded up, since coming early is no use.
fn with_retry_after(status: StatusCode, retry_after_ms: Option<u64>, body: impl IntoResponse) -> Response {
    let mut response = (status, body).into_response();
    if let Some(ms) = retry_after_ms {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, HeaderValue::from(ms.div_ceil(1000)));
    }
    response
}

fn malformed(message: &str) -> Response {
    let error: ErrorBody = error("malformed", message, None);
    (StatusCode::BAD_REQUEST, Json(ErrorAnswer { error })).into_response()
}
