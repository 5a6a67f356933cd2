//! Seeded fault plans, sans-I/O, shared by the testbed and the simulator.
