/** What a terminal asks of a list, and what it leaves to the pages. */
import { expect, onTestFinished, test, vi } from "vitest";
import { answer } from "../answer/run.ts";
import type { ApiClient, OpenAsk } from "../client/api-client.ts";
import type { Reached } from "../client/reach.ts";
import { inbox } from "./run.ts";

const ASK = {
  taskId: "0-a",
  state: "open",
  kind: "form",
  message: "Transfer it?",
  tool: "transfer",
  owner: { principal: "ann", isCaller: true },
  askedAt: new Date().toISOString(),
  deadline: new Date(Date.now() + 86_400_000).toISOString(),
  priority: "normal",
  onTimeout: "decline",
  digest: "d",
  history: [],
  comments: [],
  request: { type: "form", message: "Transfer it?", schema: { type: "object", properties: { ok: { type: "boolean" } } } },
} as unknown as OpenAsk;

/** A server with these questions, and what is written to a terminal. */
function opened(...asks: readonly OpenAsk[]) {
  for (const stream of [process.stdin, process.stderr]) {
    const own = Object.getOwnPropertyDescriptor(stream, "isTTY");
    Object.defineProperty(stream, "isTTY", { value: true, configurable: true });
    onTestFinished(() => void (own ? Object.defineProperty(stream, "isTTY", own) : delete (stream as { isTTY?: boolean }).isTTY));
  }
  const written: string[] = [];
  const write = vi.spyOn(process.stderr, "write").mockImplementation((text) => (written.push(String(text)), true));
  onTestFinished(() => write.mockRestore());
  const get = async (path: string, { path: at }: { readonly path?: { readonly key?: string } } = {}) =>
    path === "/asks" ? { asks } : asks.find(({ key }) => key === at?.key);
  return { server: { api: { get } as unknown as ApiClient } as Reached, text: () => written.join("") };
}

const LOGIN = { by: "login", withinSeconds: 900 } as const;

test("what needs a login in a browser is named and not asked, and the questions after it are", async () => {
  const settled = { ...ASK, key: "gone", state: "settled" } as unknown as OpenAsk;
  const { server, text } = opened({ ...ASK, key: "sure", assurance: LOGIN }, settled);
  await inbox(server, { limit: 10 });
  expect(text()).toMatch(
    /sure needs a login in a browser: answer it on its page or in the inbox[^]*gone is no longer open[^]*0 of 2 answered/,
  );
});

test("a list has no command for what needs a login in a browser, which would be refused", async () => {
  const { server } = opened({ ...ASK, key: "sure", assurance: LOGIN }, { ...ASK, key: "size" } as OpenAsk);
  const printed: string[] = [];
  const write = vi.spyOn(process.stdout, "write").mockImplementation((text) => (printed.push(String(text)), true));
  onTestFinished(() => write.mockRestore());
  await inbox(server, { limit: 10, list: true });
  expect(printed.join("")).toMatch(/\? sure: Transfer it\?\n {4}answer it in a browser: on its page, or in the inbox\n/);
  expect(printed.join("").match(/parley answer \S+ \S+/g)).toEqual(["parley answer 0-a size"]);
});

test("what needs a login in a browser is not asked by `parley answer` either", async () => {
  const { server } = opened({ ...ASK, key: "sure", assurance: LOGIN });
  await expect(answer(server, "0-a", "sure", {})).rejects.toThrow("sure needs a login in a browser: answer it on its page or in the inbox");
});

test("the result of somebody else's task is not waited for, and nothing is answered", async () => {
  const { server } = opened({ ...ASK, key: "sure", owner: { principal: "ann", isCaller: false } } as unknown as OpenAsk);
  await expect(answer(server, "0-a", "sure", { wait: true, set: ["ok=true"] })).rejects.toThrow("--wait is for your own tasks");
});
