//! How the core's small types look in a column or in JSON: one text or one number each. The core knows no serde, so the
//! mapping lives here, with the one function pair that every field of a document names (`with = "stored"`).
//!
//! Reading checks what writing guaranteed: a text that is no `Note`, a token of zero, a word nobody knows is refused, not
//! repaired.

use std::collections::BTreeMap;

use deed_core::id::{EvidenceId, RequestId, Token};
use deed_core::text::{
    ActionId, Description, ExternalId, FactName, HashScheme, LabelKey, LabelValue, Note, Owner, Principal,
};
use deed_core::time::{Span, Timestamp};
use serde::de::Error as _;
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

/// A type of the core with a place in a document.
pub trait Stored: Sized {
    fn store<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error>;
    fn load<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error>;
}

pub fn serialize<T: Stored, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    value.store(to)
}

pub fn deserialize<'de, T: Stored, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    T::load(from)
}

/// A stored type as serde wants it.
#[derive(Debug)]
pub struct Of<T>(pub T);

impl<T: Stored> Serialize for Of<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.store(to)
    }
}

impl<'de, T: Stored> Deserialize<'de> for Of<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        T::load(from).map(Self)
    }
}

struct By<'a, T>(&'a T);

impl<T: Stored> Serialize for By<'_, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.store(to)
    }
}

impl<T: Stored> Stored for Option<T> {
    fn store<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Some(value) => to.serialize_some(&By(value)),
            None => to.serialize_none(),
        }
    }

    fn load<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Option::<Of<T>>::deserialize(from)?.map(|Of(value)| value))
    }
}

impl<T: Stored> Stored for Vec<T> {
    fn store<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut list = to.serialize_seq(Some(self.len()))?;
        for value in self {
            list.serialize_element(&By(value))?;
        }
        list.end()
    }

    fn load<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Vec::<Of<T>>::deserialize(from)?
            .into_iter()
            .map(|Of(value)| value)
            .collect())
    }
}

impl<K: Stored + Ord, V: Stored> Stored for BTreeMap<K, V> {
    fn store<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.len()))?;
        for (key, value) in self {
            map.serialize_entry(&By(key), &By(value))?;
        }
        map.end()
    }

    fn load<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Entries<K, V>(std::marker::PhantomData<(K, V)>);
        impl<'de, K: Stored + Ord, V: Stored> serde::de::Visitor<'de> for Entries<K, V> {
            type Value = BTreeMap<K, V>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
                let mut map = BTreeMap::new();
                while let Some((Of(key), Of(value))) = from.next_entry::<Of<K>, Of<V>>()? {
                    map.insert(key, value);
                }
                Ok(map)
            }
        }
        from.deserialize_map(Entries(std::marker::PhantomData))
    }
}

macro_rules! texts {
    ($($name:ident),*) => {$(
        impl Stored for $name {
            fn store<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }

            fn load<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $name::new(String::deserialize(from)?).map_err(D::Error::custom)
            }
        }
    )*};
}

texts!(
    ActionId,
    Description,
    ExternalId,
    FactName,
    HashScheme,
    LabelKey,
    LabelValue,
    Note,
    Owner,
    Principal
);

impl Stored for Timestamp {
    fn store<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i64(self.micros())
    }

    fn load<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        i64::deserialize(from).map(Self::from_micros)
    }
}

impl Stored for Span {
    fn store<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(self.micros())
    }

    fn load<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        u64::deserialize(from).map(Self::from_micros)
    }
}

impl Stored for Token {
    fn store<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(self.number())
    }

    fn load<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::new(u64::deserialize(from)?).ok_or_else(|| D::Error::custom("no token"))
    }
}

macro_rules! uuids {
    ($($name:ident),*) => {$(
        impl Stored for $name {
            fn store<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(&self.0)
            }

            fn load<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = String::deserialize(from)?;
                Uuid::parse_str(&text).map(Self).map_err(D::Error::custom)
            }
        }
    )*};
}

uuids!(EvidenceId, RequestId);
