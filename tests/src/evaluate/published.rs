//! The figures that the paper reports, quoted as reported: nothing here was measured by us.

use super::setting::{Arm, Level};
use super::task::Task;

/// Percent of episodes with a duplicate; the paper has no other arm and no other level.
pub fn duplicates(task: Task, level: Level, arm: Arm) -> Option<u32> {
    let [baseline, wrapper] = match (task, level) {
        (Task::RecordInvoice, Level::Low) => [32, 0],
        (Task::RecordInvoice, Level::Medium) => [52, 16],
        (Task::RecordInvoice, Level::High) => [76, 20],
        (Task::ActivateCustomer, Level::Low) => [20, 0],
        (Task::ActivateCustomer, Level::Medium) => [44, 16],
        (Task::ActivateCustomer, Level::High) => [72, 20],
        (Task::ActivateCustomer | Task::RecordInvoice, Level::Calm) => return None,
    };
    match arm {
        Arm::Blind => Some(baseline),
        Arm::Verify => Some(wrapper),
        Arm::Deed => None,
    }
}
