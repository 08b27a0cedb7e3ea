//! The one ordinary integration binary.

mod canonical;
