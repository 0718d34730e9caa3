//! Columns: arrays on their way in, one per column, and single values on their way out.

use std::error::Error as StdError;

use bytes::{BufMut, BytesMut};
use deed_core::time::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};

/// A time in a `timestamptz` column. Both count microseconds; Postgres starts in 2000.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct At(pub Timestamp);

/// Where a row lies: good for as long as its lock is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    block: u32,
    line: u16,
}

impl Place {
    /// No row lies here: lines count from 1.
    pub const NOWHERE: Self = Self { block: 0, line: 0 };
}

impl ToSql for Place {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        out.put_u32(self.block);
        out.put_u16(self.line);
        Ok(IsNull::No)
    }

    accepts!(TID);
    to_sql_checked!();
}

impl<'a> FromSql<'a> for Place {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        let (block, line) = raw.split_at_checked(4).ok_or("a place has six bytes")?;
        Ok(Self {
            block: u32::from_be_bytes(block.try_into()?),
            line: u16::from_be_bytes(line.try_into()?),
        })
    }

    accepts!(TID);
}

/// 2000-01-01 in microseconds since 1970-01-01.
const POSTGRES_EPOCH: i64 = 946_684_800_000_000;

impl ToSql for At {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        out.put_i64(self.0.micros().saturating_sub(POSTGRES_EPOCH));
        Ok(IsNull::No)
    }

    accepts!(TIMESTAMPTZ);
    to_sql_checked!();
}

impl<'a> FromSql<'a> for At {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        let micros = i64::from_be_bytes(raw.try_into()?);
        Ok(Self(Timestamp::from_micros(
            micros.saturating_add(POSTGRES_EPOCH),
        )))
    }

    accepts!(TIMESTAMPTZ);
}

/// What is wrong with a row.
#[derive(Debug)]
pub struct Damage(pub String);

impl Damage {
    pub fn new(column: &str, what: impl std::fmt::Display) -> Self {
        Self(format!("column {column}: {what}"))
    }
}

/// Reads one column.
pub fn read<'a, T: FromSql<'a>>(row: &'a Row, column: &'static str) -> Result<T, Damage> {
    row.try_get(column).map_err(|error| {
        let why = StdError::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        Damage::new(column, why)
    })
}

/// Reads one column and turns it into a type of the core.
pub fn read_as<'a, T: FromSql<'a>, C>(
    row: &'a Row,
    column: &'static str,
    turn: impl FnOnce(T) -> Option<C>,
) -> Result<C, Damage> {
    turn(read(row, column)?).ok_or_else(|| Damage::new(column, "holds what no server writes"))
}

/// As [`read_as`], for a column that may be null.
pub fn read_opt<'a, T: FromSql<'a>, C>(
    row: &'a Row,
    column: &'static str,
    turn: impl FnOnce(T) -> Option<C>,
) -> Result<Option<C>, Damage> {
    match read::<Option<T>>(row, column)? {
        None => Ok(None),
        Some(found) => turn(found)
            .map(Some)
            .ok_or_else(|| Damage::new(column, "holds what no server writes")),
    }
}

/// A number of the core as a `bigint`. Those that are larger are no numbers that it counts to.
pub fn bigint(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The parameters of a statement.
pub type Parameters<'a> = Vec<(&'a (dyn ToSql + Sync), Type)>;

/// Makes a struct of one array per column, with its parameters in the order of the statement's `unnest`.
macro_rules! columns {
    ($(#[$doc:meta])* $name:ident { $($column:ident: $type:ty => $sql:ident,)* }) => {
        $(#[$doc])*
        #[derive(Default)]
        pub struct $name<'a> {
            $($column: Vec<$type>,)*
        }

        impl<'a> $name<'a> {
            /// Adds its parameters, in the order of the statement.
            pub fn parameters<'s>(&'s self, to: &mut super::columns::Parameters<'s>) {
                to.extend([$((&self.$column as &(dyn tokio_postgres::types::ToSql + Sync), tokio_postgres::types::Type::$sql),)*]);
            }
        }
    };
}

pub(super) use columns;
