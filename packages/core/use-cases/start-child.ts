/**
 * A tool calls a tool: the child is a task of its own, with the same owner and partition, and without a handle for
 * clients.
 *
 *   parent ──callTool──▶ one change: child created, call opened ─▶ parent parks ─▶ child runs … one change: child ends, parent answered and due
 *      └── ends, or withdraws the call ─▶ one change: child cancelled
 *
 * At no moment does one of them exist without what it has to know about the other.
 */
import { type Actor, noteQuota, toolOf, withAudit } from "../callers/audit.ts";
import { type Caller, DEFAULT_TENANT } from "../callers/caller.ts";
import type { Catalogue } from "../catalogue.ts";
import type { ToolCall } from "../effects.ts";
import { ParleyError } from "../errors.ts";
import type { ParentDue } from "../ports.ts";
import { quotaExceeded } from "../callers/quotas.ts";
import { turnOf } from "../callers/shares.ts";
import { type AwaitedCall, CALL_DEPTH_MAX, type CallFacts, CHILDREN_MAX, type ParentLink, type TaskAtWork } from "../task.ts";
import { describeCall, keptArguments } from "./create-task.ts";
import type { RunLease } from "./run-lease.ts";
import type { Services } from "./services.ts";

export interface StartChild {
  readonly task: TaskAtWork;
  readonly lease: Pick<RunLease, "write" | "token">;
  readonly open: AwaitedCall;
  readonly request: ToolCall;
}

/** Throws INVALID_ARGUMENTS, CALL_TIMEOUT, TOO_LARGE, TOOL_NOT_FOUND, QUOTA_EXCEEDED, CHILD_REFUSED. */
export async function startChild(services: Services, catalogue: Catalogue, { task, lease, open, request }: StartChild): Promise<void> {
  const { store, queue, settings, log, observer } = services;
  const tool = catalogue.tools.get(request.tool);
  if (!tool) throw new ParleyError("TOOL_NOT_FOUND", `this worker has no tool ${JSON.stringify(request.tool)} to call`);
  const parent = linkTo(task, open.key);
  const kept = await keptArguments(services, tool, request.arguments);
  const taskId = open.digest;
  const { capabilities, session, membership, caller } = task.call;
  const inherited = { caller: ownerOf(task.call), capabilities, ...(session !== undefined && { session }) };
  const call = {
    ...describeCall(services, tool, { ...kept, ...inherited, taskId, hidden: true }),
    ...(membership && { membership }),
    ...(caller && { caller }),
    parent,
  };
  let created: Awaited<ReturnType<typeof store.create>> | undefined;
  await lease.write(async ({ token, nowMs, leaseMs }) => {
    created = await store.create({
      taskId,
      call,
      graceMs: settings.graceMs,
      quotas: settings.taskQuotas,
      parent: { token, open, nowMs, leaseMs },
      ...withAudit(services, byTool(task), () => ({
        action: "call",
        taskId,
        ...toolOf(call),
        parent: task.id,
        ...(call.binding !== undefined && { call: call.binding }),
      })),
    });
    return typeof created === "string" ? created : "over";
  });
  if (typeof created === "object" && "over" in created) {
    const error = quotaExceeded(created, settings.taskQuotas);
    noteQuota(services, byTool(task), error);
    throw error;
  }
  if (created === "crowded") {
    throw new ParleyError("CHILD_REFUSED", `one call may have at most ${CHILDREN_MAX} unfinished tasks below it`);
  }
  if (created !== "created" && created !== "exists") return;
  // Sent again, for instance after a lost reply. Adding it twice adds it once.
  await queue.add({ taskId, run: 1, cause: "created", ...turnOf(call), calls: { kind: "tool", name: tool.name } });
  if (created === "exists") return;
  observer?.created(call);
  log.info({ taskId, tool: tool.name, parentId: task.id }, "child task created");
}

function linkTo({ id, call }: TaskAtWork, openKey: string): ParentLink {
  const key = openKey.slice(openKey.indexOf(":") + 1);
  const above = call.parent;
  const depth = (above?.depth ?? 0) + 1;
  if (depth > CALL_DEPTH_MAX) {
    throw new ParleyError(
      "CHILD_REFUSED",
      `tools may call each other at most ${CALL_DEPTH_MAX} levels deep: ${above?.path.replaceAll(":", " → ")} → ${key}`,
    );
  }
  return { taskId: id, key, rootId: above?.rootId ?? id, depth, path: above ? `${above.path}:${key}` : key };
}

/** The parent's owner as the caller of the child. No credentials are available during a run. */
function ownerOf({ principal, person, tenant = DEFAULT_TENANT }: CallFacts): Caller {
  return {
    principal,
    ...(person !== undefined && { person }),
    tenant,
    scopes: [],
    authenticatedBy: "parent",
    names: [],
    groups: [],
    roles: [],
  };
}

function byTool({ call }: TaskAtWork): Actor {
  return { caller: ownerOf(call), door: `${call.kind} ${call.name}` };
}

/** Adds the parent's next run after a child's end. If this is lost, the sweep finds it. */
export async function wakeParent({ queue }: Pick<Services, "queue">, ended: "finished" | ParentDue, call: CallFacts): Promise<void> {
  if (typeof ended === "object") await queue.add({ ...ended.parentRun, cause: "answered", ...turnOf(call) });
}
