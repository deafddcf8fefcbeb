//! Streamable HTTP on either side: in front of a client, behind it a server, both protocol eras.
//!
//! `legacy` requests belong to a session that `initialize` began; since 2026-07-28 (`modern`) every request stands alone
//! and says in its headers what its body says.

mod back;
mod body;
mod bridge;
mod exchange;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod headers;
mod modern;
mod peer;
mod remote;
mod respond;
mod reverse;
mod safety;
mod serve;
mod session;
mod sse;

pub use back::back;
pub use bridge::Bridge;
pub use remote::{Remote, RemoteError, header_of};
pub use reverse::Reverse;
pub use safety::Safety;
pub use serve::{Front, Options, ServeError, serve};
