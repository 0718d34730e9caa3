//! The two published tasks, as steps that each have one effect.
//!
//! Owns the names of steps and parts. That a step has two parts, so that partial success can happen to it, and which step
//! can be taken back, are our choices.

use deed_client::EffectClass;

/// What an agent is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Task {
    ActivateCustomer,
    RecordInvoice,
}

/// One tool call with one effect in the receiver.
#[derive(Debug, PartialEq, Eq)]
pub struct Step {
    pub tool: &'static str,
    /// The facts that it brings about. A partial success brings about only the first.
    pub parts: [&'static str; 2],
    pub class: EffectClass,
}

const ACTIVATE_CUSTOMER: [Step; 3] = [
    Step {
        tool: "create_customer",
        parts: ["customer_created", "contact_stored"],
        class: EffectClass::Reversible,
    },
    Step {
        tool: "set_active",
        parts: ["status_active", "activation_noted"],
        class: EffectClass::Reversible,
    },
    Step {
        tool: "send_welcome",
        parts: ["message_sent", "message_noted"],
        class: EffectClass::Irreversible,
    },
];

const RECORD_INVOICE: [Step; 3] = [
    Step {
        tool: "create_row",
        parts: ["row_created", "amount_stored"],
        class: EffectClass::Reversible,
    },
    Step {
        tool: "append_record",
        parts: ["record_appended", "total_raised"],
        class: EffectClass::Irreversible,
    },
    Step {
        tool: "set_recorded",
        parts: ["status_recorded", "recording_noted"],
        class: EffectClass::Reversible,
    },
];

impl Task {
    pub const ALL: [Self; 2] = [Self::ActivateCustomer, Self::RecordInvoice];

    pub fn name(self) -> &'static str {
        match self {
            Self::ActivateCustomer => "activate_customer",
            Self::RecordInvoice => "record_invoice",
        }
    }

    pub fn steps(self) -> &'static [Step; 3] {
        match self {
            Self::ActivateCustomer => &ACTIVATE_CUSTOMER,
            Self::RecordInvoice => &RECORD_INVOICE,
        }
    }

    /// What the receiver knows the step's effect by; its faults are drawn from it too, so all arms meet the same.
    pub fn business_id(self, seed: u64, step: &Step) -> String {
        format!("{}-{seed}/{}", self.name(), step.tool)
    }
}
