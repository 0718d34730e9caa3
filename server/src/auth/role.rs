//! Roles, as people give them, and the rights that calls need.

use std::fmt;

/// What a principal is in one namespace, or in all of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// Claims, begins, reports, looks up.
    Worker,
    /// Hands in what it saw, and nothing else.
    Witness,
    /// Decides what evidence cannot.
    Operator,
    /// Reads.
    Viewer,
    /// Everything.
    Admin,
}

/// What a call needs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Right {
    /// To hold leases and report under them: the calls of workers.
    Work,
    /// To hand in evidence without a lease: `Observe`.
    Observe,
    /// To see actions and their history: `Ledger`.
    Read,
    /// To decide: `Operations`.
    Decide,
}

impl Right {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Work, Self::Observe, Self::Read, Self::Decide];
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Work => "work",
            Self::Observe => "hand in evidence",
            Self::Read => "read",
            Self::Decide => "decide",
        })
    }
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Worker,
        Self::Witness,
        Self::Operator,
        Self::Viewer,
        Self::Admin,
    ];

    /// As it is written in the auth file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Worker => "worker",
            Self::Witness => "witness",
            Self::Operator => "operator",
            Self::Viewer => "viewer",
            Self::Admin => "admin",
        }
    }

    /// The role of this word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.word() == word)
    }

    /// What it allows. A worker has to read what it works on, an operator what it decides about; a witness reads nothing,
    /// so that a webhook's credentials show nobody what the namespace does.
    pub fn rights(self) -> Rights {
        Rights::of(match self {
            Self::Worker => &[Right::Work, Right::Observe, Right::Read],
            Self::Witness => &[Right::Observe],
            Self::Operator => &[Right::Read, Right::Decide],
            Self::Viewer => &[Right::Read],
            Self::Admin => &Right::ALL,
        })
    }
}

/// A set of rights.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Rights(u8);

impl Rights {
    /// These.
    pub fn of(rights: &[Right]) -> Self {
        rights
            .iter()
            .fold(Self::default(), |all, right| all.and(Self(right.bit())))
    }

    /// Both sets.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether this one is among them.
    pub fn allow(self, right: Right) -> bool {
        self.0 & right.bit() != 0
    }
}

impl Right {
    fn bit(self) -> u8 {
        match self {
            Self::Work => 1,
            Self::Observe => 2,
            Self::Read => 4,
            Self::Decide => 8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_allows_what_its_name_says_and_no_more() {
        let table = [
            (Role::Worker, [true, true, true, false]),
            (Role::Witness, [false, true, false, false]),
            (Role::Operator, [false, false, true, true]),
            (Role::Viewer, [false, false, true, false]),
            (Role::Admin, [true; 4]),
        ];
        assert_eq!(table.map(|(role, _)| role), Role::ALL);
        for (role, allowed) in table {
            assert_eq!(
                Right::ALL.map(|right| role.rights().allow(right)),
                allowed,
                "{role:?}"
            );
            assert_eq!(Role::named(role.word()), Some(role));
        }
        assert_eq!(Role::named("root"), None);
    }
}
