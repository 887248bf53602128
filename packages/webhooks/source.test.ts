/** What is posted of an event type of an upstream, and as what. test/e2e/gateway-events.e2e.test.ts has a real one. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { KeyObject } from "node:crypto";
import type { Caller, PassedOnPage, PassedOnType } from "@parley/core";
import { Webhook as Verifier } from "standardwebhooks";
import { expect, onTestFinished, test, vi } from "vitest";
import { type DeliveryState, deliverTo, postTo, type Target } from "./deliver.ts";
import { keyOfSecret } from "./sign.ts";
import { passedOnSource } from "./source.ts";

const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const quiet = () => undefined;
const clock = {
  now: Date.now,
  sleep: (ms: number, signal?: AbortSignal) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      signal?.addEventListener("abort", () => (clearTimeout(timer), resolve()));
    }),
};

test("while all that happens is older than what was asked for, the place is saved all the same", async () => {
  let polls = 0;
  const type: PassedOnType = {
    name: "up_note",
    inputSchema: {},
    payloadSchema: {},
    async poll(): Promise<PassedOnPage> {
      polls += 1;
      const cursor = `c${polls}`;
      return { events: [{ id: "old", atMs: 1, data: {}, cursor }], cursor, isTruncated: false, isMore: false, nextPollMs: 5 };
    },
  };
  const saved: DeliveryState[] = [];
  const source = passedOnSource({
    name: "up_note",
    arguments: {},
    caller: { principal: "ada", authenticatedBy: "nobody" } as Caller,
    look: async () => type,
    notBeforeMs: 2,
    clock,
    troubled: quiet,
    ended: quiet,
  });
  const delivery = deliverTo({
    target: {
      name: "s",
      url: new URL("http://127.0.0.1:1/"),
      keys: [],
      isPrivate: true,
      from: "c0",
      source,
      message: quiet,
    } as unknown as Target,
    services: { clock },
    claims: { take: async () => true, release: async () => undefined },
    deliveries: { load: async () => ({}), save: async (_name: string, state: DeliveryState) => void saved.push(state) },
    log: { info: quiet, warn: quiet, error: quiet },
    pace: { claimMs: 60, saveMs: 20 },
  } as never);
  await vi.waitFor(() => expect(saved.length).toBeGreaterThan(1));
  expect(saved.at(-1)?.place).toMatch(/^c[1-9]/);
  await delivery.stop();
});

function isVerified(text: string, headers: Record<string, string>): boolean {
  try {
    return typeof new Verifier(SECRET).verify(text, headers) === "object";
  } catch {
    return false;
  }
}

test.each([["up:1"], ["up:Müller"], ["up:界"], ["up:a b "], ["up:a\r\nx-evil: 1"], ["up:\u0000"], ["up:\uD800"]])(
  "an event of the id %j is posted and verified, twice under the same id",
  async (id) => {
    const ids: string[] = [];
    const server = createServer((request, response) => {
      let text = "";
      request.on("data", (chunk) => (text += String(chunk)));
      request.on("end", () => {
        ids.push(String(request.headers["webhook-id"]));
        response.statusCode = isVerified(text, request.headers as Record<string, string>) ? 200 : 401;
        response.end();
      });
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const target = {
      url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`),
      keys: [keyOfSecret(SECRET) as KeyObject],
      isPrivate: true,
    };
    const bounds = { nowMs: Date.now(), timeoutMs: 5_000, signal: new AbortController().signal };
    for (let times = 0; times < 2; times += 1) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await postTo(target, { id, body: { eventId: id } }, bounds)).toMatchObject({ type: "answered", status: 200 });
    }
    expect(ids[0]).toBe(ids[1]);
    if (id === "up:1") expect(ids[0]).toBe(id);
  },
);
