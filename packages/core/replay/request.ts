/** What a run is given: its task, what was recorded, the handler, and what it needs from the world. */
import type { Effects, ToolCall } from "../effects.ts";
import type { Journal, KeyedEntry } from "../journal.ts";
import type { Clock, Digest, Scope, ValidateSchema } from "../ports.ts";
import type { Settings } from "../settings.ts";
import type { AskRequest, AwaitedCall, EventRequest, JsonObject, Open, TaskAtWork } from "../task.ts";
import type { ReportPorts } from "./reports.ts";
import type { FailedStep } from "./steps.ts";

export interface ReplayRequest {
  readonly task: TaskAtWork;
  readonly journal: Journal;
  /** Characters of JSON that the journal holds. */
  readonly journalSize: number;
  readonly handler: (effects: Effects) => Promise<JsonObject>;
  /** Aborted when the run must stop; the run then ends as `aborted`. */
  readonly signal: AbortSignal;
  /** The last run of a task that ended without its result: names of its effects are apart from those of the runs before. */
  readonly compensation?: { /** No further try follows: steps that fail are recorded as failed. */ readonly isLastTry: boolean };
  readonly ports: ReplayPorts;
  readonly settings: Settings;
}

export interface ReplayPorts extends ReportPorts {
  readonly clock: Clock;
  readonly scope: Scope;
  readonly digest: Digest;
  readonly validate: ValidateSchema;
  /** Throws, or aborts `signal`, when the run no longer holds its task; so do `report` and `announce`. */
  record(entries: readonly KeyedEntry[], asks: readonly Open[]): Promise<void>;
  /** Effects' own. */
  readonly tokenOf: (key: string) => { readonly token: string; readonly url: string };
  /** Whether the run holds its task for sure (P6), renewing its hold if there is doubt. If not, aborts `signal`. */
  isHeld(): boolean | Promise<boolean>;
  /** Effects' own. */
  deposit(key: string): Promise<string>;
  readonly accessToken: Effects["accessToken"];
  readonly openFile: Effects["openFile"];
  /** For the log: a try of a step failed. */
  stepFailed(failure: FailedStep): void;
  /** The digest of a question, for those who replay what they can no longer compare with what was asked. */
  askDigest?(key: string, request: AskRequest | EventRequest): string;
  /** The id of a call's child, for the same. */
  childId?(key: string, request: ToolCall): string;
  /**
   * Makes the child and opens the call, in one change. An error of CALL_ERRORS is what became of the call; anything else ends the run. Aborts `signal`
   * when the run no longer holds its task.
   */
  startChild(open: AwaitedCall, request: ToolCall): Promise<void>;
  /** Told of each call of the handler, by its entry's key. */
  called?(id: string): void;
}
