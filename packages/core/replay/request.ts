/** What a run is given: the task, its journal, the handler, and what the run needs from the world. */
import type { Effects, ToolCall } from "../effects.ts";
import type { Journal, KeyedEntry } from "../journal.ts";
import type { Clock, Digest, Scope, ValidateSchema } from "../ports.ts";
import type { Settings } from "../settings.ts";
import type { Answer, AskRequest, AwaitedCall, EventRequest, JsonObject, Open, TaskAtWork } from "../task.ts";
import type { ReportPorts } from "./reports.ts";
import type { FailedStep } from "./steps.ts";

export interface ReplayRequest {
  readonly task: TaskAtWork;
  readonly journal: Journal;
  /** Characters of JSON in the journal. */
  readonly journalSize: number;
  readonly handler: (effects: Effects) => Promise<JsonObject>;
  /** The handler makes its calls one after the other, whatever it awaits. */
  readonly isSequential?: true;
  /** Aborted when the run must stop; the run then ends as `aborted`. */
  readonly signal: AbortSignal;
  /**
   * Present for the compensation of a task that ended without its result. The names of its effects are separate from those of earlier runs.
   * `isLastTry`: no further attempt follows, so a step that fails is recorded as failed.
   */
  readonly compensation?: { readonly isLastTry: boolean };
  readonly ports: ReplayPorts;
  readonly settings: Settings;
}

/** When the run no longer holds its task, `record`, `report`, `announce`, `isHeld` and `startChild` abort the request's signal. */
export interface ReplayPorts extends ReportPorts {
  readonly clock: Clock;
  readonly scope: Scope;
  readonly digest: Digest;
  readonly validate: ValidateSchema;
  /** Writes entries to the journal and opens events. */
  record(entries: readonly KeyedEntry[], asks: readonly Open[]): Promise<void>;
  /** The token and address of an event, by its key. */
  readonly tokenOf: (key: string) => { readonly token: string; readonly url: string };
  /** Whether the run is sure to hold its task, after a renewal if in doubt (R7). */
  isHeld(): boolean | Promise<boolean>;
  deposit(key: string): Promise<string>;
  readonly accessToken: Effects["accessToken"];
  readonly kept: Effects["kept"];
  readonly openFile: Effects["openFile"];
  /** Logs that an attempt of a step failed. */
  stepFailed(failure: FailedStep): void;
  /** Overrides the digest of a question. For replays of recorded tasks, whose keyed digests cannot be computed. */
  askDigest?(key: string, request: AskRequest | EventRequest): string;
  /** Overrides the id of a call's child, for the same reason. */
  childId?(key: string, request: ToolCall): string;
  /** Creates the child and opens the call, in one change. The handler receives errors of CALL_ERRORS; any other error ends the run. */
  startChild(open: AwaitedCall, request: ToolCall): Promise<void>;
  /** Observes every call of the handler, by the key of its entry. */
  called?(id: string): void;
  /** Observes each ask that an answer which came with the call settles, instead of being asked. */
  answeredEarly?(ask: Open, answer: Answer): void;
}
