/**
 * What a tool will not take of an approver's changes, before they are recorded: the approver hears of it at the field, and the approval stays open. The
 * form says only a part of what a tool demands of its arguments, and the rest would make the yes void (gate.ts, G5).
 *
 * It only looks ahead, and not for long. The gate decides, with what it finds then.
 */
import {
  type Catalogues,
  type Clock,
  type Foresee,
  inCheckTime,
  isTestCall,
  type JsonObject,
  titled,
  type TaskStore,
  toolNameOf,
  versionFor,
  type Violation,
} from "@parley/core";
import { isObject } from "./arguments.ts";
import { changedBy, readEdited } from "./edit.ts";

export interface ForeseeOptions {
  readonly store: Pick<TaskStore, "recorded">;
  readonly catalogues: Catalogues;
  readonly clock: Pick<Clock, "after">;
}

export function foreseeEdits({ store, catalogues, clock }: ForeseeOptions): Foresee {
  return async ({ id, call }, { request }, content) => {
    // `filledIn`: an approval with fields for arguments.
    if (call.kind !== "tool" || request.type !== "form" || !request.about?.isApproval || request.hints?.["filledIn"] !== true) return [];
    const changed = changedBy(content, request.schema);
    if (!changed || Object.keys(changed).length === 0) return [];
    const newest = catalogues.runnable().tools.get(toolNameOf(call));
    const tool = newest && versionFor(newest, call);
    if (!tool) return [];
    const record = await store.recorded(id);
    if (record?.type !== "recorded") return [];
    const given = record.task.call.arguments;
    // A test must look like the call that it copies.
    const args = isTestCall(call) ? given["arguments"] : given;
    if (!isObject(args)) return [];
    const read = await inCheckTime(clock, readEdited(tool, args, changed));
    return !read || read.ok ? [] : told(read.violations, changed, request.schema);
  };
}

/** About the changed fields alone: words about others could repeat an argument that the rule keeps back. */
function told(violations: readonly Violation[], changed: JsonObject, form: JsonObject): readonly Violation[] {
  const own = violations.filter(({ path }) => Object.hasOwn(changed, path.slice(1).split("/", 1)[0] ?? ""));
  if (own.length === 0) return [{ path: "/content", message: "The tool does not take these changes" }];
  return own.map(({ path, message }) => titled(form, { path: `/content${path}`, message }));
}
