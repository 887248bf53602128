import type { DeliveryMode } from "./events.ts";
import type { PollInterval } from "./poll-interval.ts";

/** Properties of the deployment, the same in every reply. */
export interface ServerFacts {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
  readonly instructions?: string;
  /** The poll interval that clients receive for a task. */
  readonly pollInterval: PollInterval;
  /** How long clients may cache lists and `server/discover`. */
  readonly listTtlMs: number;
  /** Items per page of a list. */
  readonly pageSize: number;
  /** The address of the page on which a person answers that question; undefined if the address alone opens the page, because models read what it is part of. */
  readonly pageOf?: (taskId: string, key: string) => string | undefined;
  /** Whether the server distinguishes callers. If it does not, it must not declare tasks/list, which would show the tasks of all callers. */
  readonly knowsCallers?: boolean;
  /** How events reach clients; absent if there are none. */
  readonly events?: readonly DeliveryMode[];
  /** Whether tasks that wait for approval say so by the names of MCP's proposals (PARLEY_TOOL_APPROVAL). */
  readonly toolApproval?: boolean;
  /** False if no call is answered with a task: then tasks are not declared. Default: true. */
  readonly givesTasks?: boolean;
}
