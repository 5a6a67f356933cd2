//! The simulator: the engine's driver, the memory store and a destination under a virtual clock, from one seed. It never reads
//! a clock or draws a random number of its own.
