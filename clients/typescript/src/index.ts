/** Factum's client: has things done elsewhere, once, and says what can be proved about them. */
export { Factum, Refused, Unreachable, type Following, type Options, type Submission, type Waiting } from "./client.js";
export { outcomeOf, type Done, type NotDone, type Outcome, type Pending, type PossibleDuplicate, type Unknown } from "./outcome.js";
export type { Decided, Event, EventPage, Problem, Proposal, State, Status } from "./status.js";
export { answer, keyOf, REQUEST_KEY, tool, type CallOptions, type Described, type Tool, type ToolOptions } from "./tool.js";
export {
  absent,
  accepted,
  answered,
  attempt,
  busy,
  declined,
  done,
  found,
  inconclusive,
  NotSent,
  notSent,
  queued,
  rejected,
  unknown,
  type AttemptOptions,
  type Begun,
  type Report,
  type Task,
} from "./work.js";
export { Worker, type Carrier, type WorkerOptions } from "./worker.js";
