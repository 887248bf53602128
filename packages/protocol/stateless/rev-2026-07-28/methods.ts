/** The methods of this revision. Others do not exist: tasks/list, tasks/result, initialize, ping, logging/setLevel … */
import type { Method, Methods } from "../decode.ts";
import { EVENTS_METHODS } from "../../events.ts";
import * as params from "../params.ts";

export const METHODS: Methods = new Map<string, Method>([
  ["server/discover", { read: params.discover }],
  ["tools/list", { read: params.list("listTools") }],
  ["tools/call", { read: params.callTool }],
  ["prompts/list", { read: params.list("listPrompts") }],
  ["prompts/get", { read: params.getPrompt }],
  ["resources/list", { read: params.list("listResources") }],
  ["resources/templates/list", { read: params.list("listTemplates") }],
  ["resources/read", { read: params.readResource }],
  ["completion/complete", { read: params.complete }],
  ["subscriptions/listen", { read: params.listen }],
  ["tasks/get", { read: params.getTask, needsTasks: true }],
  ["tasks/update", { read: params.updateTask, needsTasks: true }],
  ["tasks/cancel", { read: params.cancelTask, needsTasks: true }],
  ...Object.entries(EVENTS_METHODS).map(([method, read]) => [method, { read }] as const),
]);
