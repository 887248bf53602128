import { expect, test } from "vitest";
import type { Wire } from "../json-rpc.ts";
import { BadParams, readParams } from "../params.ts";
import { callTool, getPrompt, getTask, listen, readResource, updateTask } from "./params.ts";

const retried = { inputResponses: { name: { action: "accept" } }, requestState: "sealed" };

test("a call, a prompt and a resource may each be asked for again with replies and the state", () => {
  for (const intent of [
    callTool({ name: "n", ...retried }),
    getPrompt({ name: "n", ...retried }),
    readResource({ uri: "u", ...retried }),
  ]) {
    expect({ ...intent.replies }).toStrictEqual({ name: { action: "accept" } });
    expect(intent.requestState).toBe("sealed");
  }
  expect(readResource({ uri: "u" })).toStrictEqual({ type: "readResource", uri: "u" });
});

test("who listens names tasks and resources, each once, and the lists", () => {
  const notifications = {
    taskIds: ["t", "t", "s"],
    promptsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: ["a", "a"],
  };
  expect(listen({ notifications })).toStrictEqual({
    type: "listen",
    taskIds: ["t", "s"],
    toolsListChanged: false,
    promptsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: ["a"],
  });
});

const cases: readonly (readonly [string, (params: Wire) => unknown, Wire])[] = [
  ["arguments must be an object", callTool, { name: "n", arguments: "a" }],
  ["inputResponses must be an object", callTool, { name: "n", inputResponses: [] }],
  ["requestState must be a string", callTool, { name: "n", requestState: 1 }],
  ["taskId is required", getTask, {}],
  ["inputResponses is required", updateTask, { taskId: "t" }],
  ["inputResponses must be an object", updateTask, { taskId: "t", inputResponses: "a" }],
  ["notifications must be an object", listen, { notifications: ["t"] }],
  ["notifications.taskIds must be an array of strings", listen, { notifications: { taskIds: "t" } }],
  [
    "notifications.resourceSubscriptions must be an array, each of its members a string of at most 2048 characters",
    listen,
    { notifications: { resourceSubscriptions: [1] } },
  ],
  ["notifications.toolsListChanged must be a boolean", listen, { notifications: { toolsListChanged: 1 } }],
  ["notifications.promptsListChanged must be a boolean", listen, { notifications: { promptsListChanged: "yes" } }],
  ["notifications.resourcesListChanged must be a boolean", listen, { notifications: { resourcesListChanged: 1 } }],
];

test.each(cases)("a param that is wrong is named: %s", (problem, read, params) => {
  const result = readParams(read, params);
  expect(result instanceof BadParams && result.message).toBe(problem);
});
