//! The calls of workers and witnesses about one action.

use deed_core::command::{Ask, Command, Request};
use deed_core::id::ActionKey;
use deed_core::text::{ExternalId, Namespace, Principal, Tool};
use deed_proto::v1;

use super::request::Repeatable;
use super::spec::specification;
use super::text::{self, key_text};
use super::{At, Invalid, evidence, number};
use crate::auth::Right;

/// A message that is one command.
pub trait Call: Repeatable {
    /// What its caller needs in the action's namespace.
    const RIGHT: Right;

    /// Parses it in the name of the caller's principal.
    fn command(self, principal: Principal) -> Result<Command, Invalid>;
}

/// Worker calls differ only in what they ask: each names its action, its owner and its request in the same way.
macro_rules! worker_calls {
    ($($message:ident: |$it:ident| $ask:expr;)*) => {$(
        impl Call for v1::$message {
            const RIGHT: Right = Right::Work;

            fn command(self, principal: Principal) -> Result<Command, Invalid> {
                let mut $it = self;
                let owner = $it.owner.clone();
                let request = $it.request(owner, principal)?;
                Ok(Command {
                    key: text::key($it.key)?,
                    request,
                    ask: $ask,
                })
            }
        }
    )*};
}

worker_calls! {
    PlanRequest: |it| Ask::Plan {
        spec: specification(it.specification)?,
    };
    ClaimRequest: |it| Ask::Claim {
        spec: specification(it.specification)?,
        begin: it.begin,
    };
    BeginRequest: |it| Ask::Begin {
        token: number::token(it.fencing_token)?,
    };
    ReportRequest: |it| Ask::Report {
        token: number::token(it.fencing_token)?,
        receipt: evidence::receipt(it.receipt)?,
        then: number::then(it.then)?,
        spec: it.specification.map(|spec| specification(Some(spec))).transpose()?,
    };
    VerifyRequest: |it| Ask::Verify {
        token: number::token(it.fencing_token)?,
        observation: evidence::observation(it.observation)?,
        then: number::then(it.then)?,
    };
    ReleaseRequest: |it| Ask::Release {
        token: number::token(it.fencing_token)?,
    };
}

/// Which action a witness speaks of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    /// By its key.
    Key(ActionKey),
    /// By what the receiver calls it.
    External {
        /// The tenant.
        namespace: Namespace,
        /// The capability.
        tool: Tool,
        /// The receiver's name.
        external_id: ExternalId,
    },
}

impl Target {
    /// Where the action is.
    pub fn namespace(&self) -> &Namespace {
        match self {
            Self::Key(key) => &key.namespace,
            Self::External { namespace, .. } => namespace,
        }
    }
}

/// A witness's word before its action is found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Observed {
    /// The action.
    pub target: Target,
    /// Who says so.
    pub request: Request,
    /// What it says.
    pub ask: Ask,
}

/// Parses `Observe`. Finding the action by its external id is the handler's work.
pub fn observe(mut message: v1::ObserveRequest, principal: Principal) -> Result<Observed, Invalid> {
    let owner = message.owner.clone();
    let request = message.request(owner, principal)?;
    Ok(Observed {
        target: target(message.target)?,
        request,
        ask: Ask::Observe {
            observation: evidence::witness(message.observation)?,
        },
    })
}

fn target(message: Option<v1::observe_request::Target>) -> Result<Target, Invalid> {
    use v1::observe_request::Target as Kind;
    match message {
        None => Err(Invalid::because(
            "is required: key, or external with namespace, tool and external_id",
        ))
        .at("target"),
        Some(Kind::Key(key)) => text::key(Some(key)).map(Target::Key),
        Some(Kind::External(it)) => {
            let parse = || {
                Ok(Target::External {
                    namespace: key_text(it.namespace, Namespace::new, "namespace")?,
                    tool: key_text(it.tool, Tool::new, "tool")?,
                    external_id: key_text(it.external_id, ExternalId::new, "external_id")?,
                })
            };
            parse().at("external")
        }
    }
}
