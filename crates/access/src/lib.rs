//! Who may call the gateway, how much, and what is recorded of it.
//!
//! [`auth`] implements [`Authenticate`](tidegate_gateway::caller::Authenticate): it finds out who sends a request and what
//! that caller may use. [`govern`] implements [`Govern`](tidegate_gateway::calls::Govern): limits, numbers and the audit
//! log. [`credentials`] finds the credentials of callers for servers, and [`otlp`] sends
//! traces. This is a crate of its own because it brings cryptography and metrics, which `tidegate run` does not need.

pub mod auth;
pub mod credentials;
pub mod govern;
pub mod otlp;
