import { describe, expect, test } from "vitest";
import type { AskRequest, ClientCapabilities, Task } from "@parley/core";
import * as shown from "./waiting-message.ts";

const form = (message = "How many?"): AskRequest => ({ type: "form", message, schema: { type: "object" } });
const url: AskRequest = { type: "url", message: "Please sign in", url: "https://example.com/?state=SECRET" };
const sampling: AskRequest = { type: "sampling", params: { messages: [], maxTokens: 1 } };
const withTools: AskRequest = { type: "sampling", params: { messages: [], maxTokens: 1, tools: [] } };

function waiting(requests: readonly AskRequest[], capabilities: ClientCapabilities = {}, message?: string): Task {
  return {
    id: "0-abc",
    call: { capabilities } as Task["call"],
    status: requests.length > 0 ? "input_required" : "working",
    asks: requests.map((request, index) => ({ key: `ask-${index}`, request }) as Task["asks"][number]),
    ...(message !== undefined && { message }),
  } as unknown as Task;
}

const waitingMessage = (task: Task) => shown.waitingMessage(task, { capabilities: task.call.capabilities, facts: {} });
const statusOf = (task: Task) => shown.statusOf(task, { capabilities: task.call.capabilities, facts: {} });

describe("a task that waits for what its client cannot be asked", () => {
  test.each([
    [[form()], {}, '"How many?"', "elicitation, or with: parley answer 0-abc"],
    [[form()], { elicitation: { form: false, url: true } }, '"How many?"', "elicitation, or with: parley answer 0-abc"],
    [[url], { elicitation: { form: true, url: false } }, '"Please sign in"', "elicitation.url, or with: parley answer 0-abc"],
    [[form("One?"), form("Two?")], {}, '"One?", "Two?"', "elicitation, or with: parley answer 0-abc"],
    [[form(), url], { elicitation: { form: true, url: false } }, '"Please sign in"', "elicitation.url, or with: parley answer 0-abc"],
    [[sampling], {}, "a request for the client's model", "sampling"],
    [[withTools], { sampling: { tools: false } }, "a request for the client's model", "sampling"],
    [[form(), { type: "roots" }], {}, '"How many?", a request for the client\'s folders', "elicitation and roots"],
  ] as const)("says what is asked and where it can be answered: %j %j", (requests, capabilities, asked, where) => {
    expect(waitingMessage(waiting(requests, capabilities))).toBe(
      `Waiting for an answer to ${asked}. This client cannot ask it: answer from one that declares ${where}`,
    );
  });

  test("says at which pages, in particular those of a called tool, and only for what a person can answer", () => {
    const pageOf = (taskId: string, key: string) => `https://parley.example/asks/${taskId}/${key}`;
    const said = (requests: readonly AskRequest[]) => {
      const task = waiting(requests);
      const [first, ...rest] = task.asks;
      const asks = [{ ...first!, route: { taskId: "0-child", key: "q" } }, ...rest];
      return shown.waitingMessage({ ...task, asks }, { capabilities: {}, facts: { pageOf } });
    };
    expect(said([form(), form("Two?")])).toBe(
      'Waiting for an answer to "How many?", "Two?". This client cannot ask it: answer at https://parley.example/asks/0-child/q, https://parley.example/asks/0-abc/ask-1, or from one that declares elicitation, or with: parley answer 0-abc',
    );
    expect(said([{ type: "roots" }])).not.toContain("https:");
  });

  test("says so for a gateway in front of this deployment, also where it is a server behind this one that waits", () => {
    const behind = (status: string, message?: string) => ({ ...waiting([], {}, message), status }) as Task;
    const told = (task: Task) => shown.waitsMeta(task, { capabilities: {} });
    const waits = { "parley/waits": true };
    expect(told(waiting([form()]))).toEqual(waits);
    expect(["Waiting for people at crm.", "Waiting for people at crm: asks Bob"].map((said) => told(behind("working", said)))).toEqual([
      waits,
      waits,
    ]);
    expect([undefined, "asks Bob", "crm: Waiting for people at crm: asks Bob"].map((said) => told(behind("working", said)))).toEqual([
      {},
      {},
      {},
    ]);
    expect(told(behind("completed", "Waiting for people at crm."))).toEqual({});
  });

  test("says so in the progress of a call that is held open, and to whom the question is put, until it goes on", () => {
    const reported = (task: Task, capabilities: ClientCapabilities = {}) => shown.waitingReport(task, { capabilities, facts: {} });
    const ofOthers = {
      ...waiting([form()]),
      asks: [],
      asksOfOthers: [{ ...waiting([form()]).asks[0]!, audience: { to: { people: ["bob"] } } }],
    };
    const waits = { _meta: { "parley/waits": true } };
    expect(reported(ofOthers)).toEqual({ ...waits, message: 'Waiting for an answer to "How many?" from bob.' });
    expect(reported(waiting([], {}, "Waiting for people at crm."))).toEqual({ ...waits, message: "Waiting for people at crm." });
    // Its own user is asked, on its stream.
    expect(reported(waiting([form()]), { elicitation: { form: true, url: false } })).toEqual({});
    expect(reported(waiting([], {}, "busy"))).toEqual({ message: "The call continues.", _meta: { "parley/waits": false } });
  });

  test("is shown as working to a client that can be asked none of it, and as it is to any other", () => {
    const of = (task: Task, capabilities: ClientCapabilities) => shown.statusShown(task, { capabilities });
    const forms: ClientCapabilities = { elicitation: { form: true, url: false } };
    expect([of(waiting([form()]), {}), of(waiting([url, sampling]), forms)]).toStrictEqual(["working", "working"]);
    expect([of(waiting([form()]), forms), of(waiting([url, form()]), forms)]).toStrictEqual(["input_required", "input_required"]);
    const ofOthers = { ...waiting([form()]), asks: [], asksOfOthers: waiting([form()]).asks };
    expect([of(ofOthers, forms), of(ofOthers, {})]).toStrictEqual(["working", "working"]);
    expect(of({ ...ofOthers, asks: waiting([form()]).asks }, forms)).toBe("input_required");
    expect(of({ ...waiting([]), status: "cancelled" }, {})).toBe("cancelled");
  });

  test("says it shortly: three questions, each on one line and cut, at the limit and one beyond", () => {
    const four = waiting([form("1?"), form("2?"), form("3?"), form("4?")]);
    expect(waitingMessage(four)).toContain('to "1?", "2?", "3?", 1 more. This');
    expect(waitingMessage(waiting([form("1?"), form("2?"), form("3?")]))).toContain('"3?". This');
    expect(waitingMessage(waiting([form(" Line one\n\n line two ")]))).toContain('"Line one line two"');
    expect(waitingMessage(waiting([form("x".repeat(200))]))).toContain(`"${"x".repeat(200)}"`);
    expect(waitingMessage(waiting([form("x".repeat(201))]))).toContain(`"${"x".repeat(200)}…"`);
  });

  test("keeps the page's address to itself", () => {
    expect(waitingMessage(waiting([url]))).not.toContain("SECRET");
  });

  test.each([
    ["https://parley.example/asks/0-abc/key", " at https://parley.example/asks/0-abc/key"],
    ["http://127.0.0.1:3000/asks/0-abc/key?k=SECRET", ""],
  ])("names the page that its user agreed to visit, unless the address alone opens it: %s", (address, at) => {
    const request: AskRequest = { type: "url", message: "Your key?", url: address, page: { kind: "secret" } };
    const task = { ...waiting([form()]), asks: [], asksOfOthers: [{ key: "key", request, agreed: true } as Task["asks"][number]] };
    expect(waitingMessage(task)).toBe(`Waiting for a page to be completed: "Your key?"${at}.`);
  });

  test.each([
    [{ to: "tenant" }, "anyone in the organisation"],
    [{ to: "tenant", not: "caller" }, "someone other than the caller"],
    [{ to: { people: ["cfo"], groups: ["finance"], roles: ["lead"] } }, "cfo, group finance, role lead"],
    [{ to: { groups: ["finance"] }, not: "caller" }, "group finance, but not from the caller"],
  ] as const)("names the people who are asked instead: %j", (audience, whom) => {
    const ask = { key: "key", request: form("Pay?"), audience } as unknown as Task["asks"][number];
    const task = { ...waiting([form()]), asks: [], asksOfOthers: [ask] };
    expect(waitingMessage(task)).toBe(`Waiting for an answer to "Pay?" from ${whom}.`);
  });

  test("still says what its tool does", () => {
    expect(statusOf(waiting([form()], {}, "2 members so far"))).toMatch(/^Waiting for an answer to "How many\?".*\n2 members so far$/);
  });
});

test("any other task says what its tool says", () => {
  const everything: ClientCapabilities = { elicitation: { form: true, url: true }, sampling: { tools: true }, roots: true };
  for (const task of [waiting([form(), url, sampling, withTools, { type: "roots" }], everything, "busy"), waiting([], {}, "busy")])
    expect(statusOf(task)).toBe("busy");
  expect(statusOf(waiting([form()], everything))).toBeUndefined();
  expect(statusOf(waiting([sampling], { sampling: { tools: false } }))).toBeUndefined();
});
