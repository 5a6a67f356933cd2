//! A destination's section of the engine's configuration.

/// The limits of every destination but its pause margin. They are short because all of it is on loopback; each is still longer
/// than what it bounds, apart from the wait for an answer, which the testbed's late answers outlast on purpose.
const LIMITS: &str = "send_wait = \"2 s\", write = \"5 s\", answer_wait = \"1200 ms\", linger = \"200 ms\", \
                      skew = \"100 ms\", backoff = \"100 ms\", backoff_max = \"2 s\", callback_wait = \"4 s\"";
/// The circuit stays closed, since losses are the point here.
const GATE: &str = "gate = { in_flight_max = 64, burst = 64, circuit_failures = 0 }";

/// The section of a destination at the testbed; a pause of the process is guarded against up to `pause_s` seconds.
pub(crate) fn section(name: &str, base: &str, pause_s: u32) -> String {
    format!(
        "\n[destinations.{name}]\nprovider = \"testbed\"\nbase = \"{base}\"\naccount = \"testbed\"\n\
         limits = {{ {LIMITS}, pause_margin = \"{pause_s} s\" }}\n{GATE}\n"
    )
}
