import type { Audit } from "../audit.ts";
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
  RunQueue,
  Scope,
  WakeUps,
  TaskStore,
  ValidateSchema,
} from "../ports.ts";
import type { FileStore } from "../files.ts";
import type { Settings } from "../settings.ts";
import type { Slots } from "../slots.ts";
import type { Serving } from "../versions.ts";
import type { Suspects } from "./suspects.ts";

/** What every use case works with. Apps build it once per process. */
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
  /** Without one nothing is audited. */
  readonly audit?: Audit;
  /** For workers. Without them what was left on pages cannot be read. */
  readonly deposits?: Deposits;
  /** What is one process' alone for a moment, or done once. Without them nothing of OAuth is done. */
  readonly claims?: Claims;
  /** For workers. Without them tools cannot act in a person's name. */
  readonly oauth?: OauthProviders;
  /** Without them tools cannot wait for events. */
  readonly eventTokens?: EventTokens;
  /** Without it tools cannot ask for files. */
  readonly files?: FileStore;
  /** For workers. Without it a version that this worker does not serve is served by nobody. */
  readonly serving?: Serving;
  /** For workers. Without them limits of tools are not kept. */
  readonly slots?: Slots;
  /** Aborted when the process is about to end: runs that are still at work stop, and are put back for others. */
  readonly stopping?: AbortSignal;
  /** Keeps suspects apart. Without it they run side by side. */
  readonly suspects?: Suspects;
}
