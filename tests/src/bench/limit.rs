//! The column *limit*: Deed's own statements and its core, driven set-based without a service. What Postgres gives when
//! nobody waits for anybody.

use anyhow::{Context, bail, ensure};
use deed_core::Protocol;
use deed_core::command::{Ask, Command, Then};
use deed_core::evidence::Receipt;
use deed_core::id::{ActionKey, Token, Version};
use deed_core::judgement::Judgement;
use deed_core::reply::{NextStep, Reply};
use deed_core::spec::Specification;
use deed_server::store::{Busy, Connect, Connector, Database, Lookup, Row, Session, Transact, Write};

use super::course::Caller;
use super::work;

/// One connection that claims and reports many actions in a transaction each.
pub struct Limit {
    session: Session,
    protocol: Protocol,
    spec: Specification,
    owner: String,
    size: usize,
}

impl Limit {
    pub fn connect(url: &str, number: usize, size: usize) -> anyhow::Result<Self> {
        Ok(Self {
            session: Connector::new(Database::parse(url)?).connect(),
            protocol: Protocol::default(),
            spec: work::core_specification()?,
            owner: work::owner(number),
            size,
        })
    }

    fn command(&self, key: ActionKey, ask: Ask) -> anyhow::Result<Command> {
        let request = work::core_request(&self.owner)?;
        Ok(Command { key, request, ask })
    }

    /// One transaction for commands in key order.
    async fn transact(&mut self, commands: &[Command]) -> anyhow::Result<Vec<Judgement>> {
        let lookups: Vec<_> = commands.iter().map(lookup).collect();
        let reading = self.session.read(&lookups, Busy::Skip).await?;
        let mut judged: Vec<(Option<Version>, Judgement)> = Vec::with_capacity(commands.len());
        for (command, row) in commands.iter().zip(reading.rows) {
            let (action, remembered) = match row {
                Row::Busy => bail!("somebody else holds a row of this load"),
                Row::Absent(remembered) => (None, remembered),
                Row::Found(action, remembered) => (Some(action), remembered),
            };
            let judgement = self
                .protocol
                .decide(action.as_deref(), &remembered, command, reading.now);
            judged.push((action.map(|action| action.version), judgement));
        }
        let writes: Vec<_> = judged
            .iter()
            .filter_map(|(previous, judgement)| {
                Some(Write {
                    previous: *previous,
                    next: judgement.next.as_deref()?,
                    events: &judgement.events,
                    registers: judgement.registers.as_ref(),
                })
            })
            .collect();
        ensure!(writes.len() == commands.len(), "a command changed nothing");
        let written = self.session.write(&writes, false).await?;
        ensure!(written.iter().all(|written| *written), "a row was not written");
        Ok(judged.into_iter().map(|(_, judgement)| judgement).collect())
    }
}

fn lookup(command: &Command) -> Lookup {
    let (token, tool) = match &command.ask {
        Ask::Report { token, .. } => (Some(*token), None),
        Ask::Claim { spec, .. } => (None, Some(spec.tool.clone())),
        _ => (None, None),
    };
    Lookup {
        key: command.key.clone(),
        request: command.request.id,
        token,
        external_id: None,
        tool,
    }
}

fn granted(judgement: &Judgement) -> anyhow::Result<Token> {
    match &judgement.reply {
        Ok(Reply::Step(answer)) => match &answer.step {
            NextStep::Execute(execute) if execute.begun => Ok(execute.token),
            other => bail!("a fresh action is not granted: {other:?}"),
        },
        other => bail!("a claim was answered by {other:?}"),
    }
}

impl Caller for Limit {
    async fn act(&mut self) -> anyhow::Result<u64> {
        let ids = (0..self.size).map(|_| work::core_key(&work::fresh_id()));
        let mut keys = ids.collect::<anyhow::Result<Vec<_>>>()?;
        keys.sort();
        let claim = |key| {
            let spec = Box::new(self.spec.clone());
            self.command(key, Ask::Claim { spec, begin: true })
        };
        let claims = keys.iter().cloned().map(claim);
        let claims = claims.collect::<anyhow::Result<Vec<_>>>()?;
        let grants = self.transact(&claims).await?;
        let report = |(key, grant): (ActionKey, &Judgement)| {
            let receipt = Receipt::Completed {
                external_id: None,
                result: None,
            };
            let ask = Ask::Report {
                token: granted(grant)?,
                receipt,
                then: Then::Nothing,
                spec: None,
            };
            self.command(key, ask)
        };
        let reports = keys.into_iter().zip(&grants).map(report);
        let reports = reports.collect::<anyhow::Result<Vec<_>>>()?;
        let settled = self.transact(&reports).await?;
        let first = settled.first().context("an empty batch")?;
        ensure!(first.reply.is_ok(), "a report was refused: {:?}", first.reply);
        Ok(self.size as u64)
    }
}
