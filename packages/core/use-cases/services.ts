import type { Audit } from "../callers/audit.ts";
import type {
  Claims,
  Clock,
  Deposits,
  Digest,
  EventTokens,
  Ids,
  Log,
  OauthProviders,
  Observer,
  Outbox,
  RunQueue,
  Scope,
  WakeUps,
  TaskStore,
  ValidateSchema,
} from "../ports.ts";
import type { FileStore } from "../ports/files.ts";
import type { KeptGrants } from "../callers/kept-grants.ts";
import type { Settings } from "../settings.ts";
import type { Ask, JsonObject, Task, Violation } from "../task.ts";
import type { ApprovalRecord } from "../ports/approval-record.ts";
import type { StandingApprovals } from "../ports/standing-approvals.ts";
import type { Room } from "../ports/room.ts";
import type { Slots } from "../ports/slots.ts";
import type { Snoozes } from "../ports/snoozes.ts";
import type { Serving } from "./versions.ts";
import type { Suspects } from "./suspects.ts";

/** What would be refused later of the content of an answer that fits its question, by paths in the answer: `/content/size`. */
export type Foresee = (task: Pick<Task, "id" | "call">, ask: Pick<Ask, "request">, content: JsonObject) => Promise<readonly Violation[]>;

/** What the use cases need. Apps build it once per process. */
export interface Services {
  readonly store: TaskStore;
  readonly queue: RunQueue;
  readonly wakeUps: WakeUps;
  readonly clock: Clock;
  readonly scope: Scope;
  readonly ids: Ids;
  readonly digest: Digest;
  readonly validate: ValidateSchema;
  readonly log: Log;
  readonly settings: Settings;
  readonly observer?: Observer;
  /** Without it there is no audit. */
  readonly audit?: Audit;
  /** What happened, for those who subscribe to it. Without it nobody can. */
  readonly outbox?: Outbox;
  /** For workers. Without it deposits cannot be read. */
  readonly deposits?: Deposits;
  /** For front ends. Without it new calls are accepted until the store is full. */
  readonly room?: Room;
  /** For front ends. Without it an answer counts if it fits its question. */
  readonly foresee?: Foresee;
  /** Figures of approvals. */
  readonly approvals?: ApprovalRecord;
  readonly standing?: StandingApprovals;
  /** Claims across processes. Without it there is only this process. */
  readonly claims?: Claims;
  /** For front ends. Without it nobody can put a question aside. */
  readonly snoozes?: Snoozes;
  /** For workers. Without it tools cannot act in a person's name. */
  readonly oauth?: OauthProviders;
  /** Without it every task asks for consent. */
  readonly grants?: KeptGrants;
  /** Without it tools cannot wait for events. */
  readonly eventTokens?: EventTokens;
  /** Without it tools cannot ask for files. */
  readonly files?: FileStore;
  /** For workers. Without it, versions that this worker lacks count as served by no worker. */
  readonly serving?: Serving;
  /** For workers. Without it tools have no limits. */
  readonly slots?: Slots;
  /** Aborted when the process is about to end: active runs stop and are put back for other workers. */
  readonly stopping?: AbortSignal;
  /** Separates suspects. Without it they run concurrently. */
  readonly suspects?: Suspects;
}
