//! MCP over a pipe: the messages of a host are carried to the `/mcp` of a server, which is the one place that answers them.

pub(crate) mod hold;
pub(crate) mod pipe;
pub(crate) mod way;
pub(crate) mod wrap;
