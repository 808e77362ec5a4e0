//! diskproof's own engine: io_uring, in a process of its own that is this very program.
