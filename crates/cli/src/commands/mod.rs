//! The commands, a file per noun. Each says what it found and leaves every decision to the engine.

pub(crate) mod admin;
pub(crate) mod callbacks;
pub(crate) mod cancel;
pub(crate) mod contract;
pub(crate) mod conversation;
pub(crate) mod destination;
pub(crate) mod destination_test;
pub(crate) mod doctor;
pub(crate) mod evidence;
pub(crate) mod explain;
pub(crate) mod list;
#[cfg(feature = "proof")]
pub(crate) mod model;
pub(crate) mod proposal;
pub(crate) mod register;
pub(crate) mod review;
pub(crate) mod serve;
#[cfg(feature = "proof")]
pub(crate) mod sim;
pub(crate) mod status;
pub(crate) mod submit;
pub(crate) mod submit_file;
pub(crate) mod testbed;
pub(crate) mod transfer;
pub(crate) mod watch;
pub(crate) mod work;
