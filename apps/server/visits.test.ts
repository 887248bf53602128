/** A person is sent to another site's page and returns from there: what settles the question, and what does not. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { catalogue, defineTool } from "@parley/sdk";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../../test/support/until.ts";
import { rpc } from "./client.fixture.ts";
import { callerNamed, type Deploy, deploy, type Front } from "./deployment.fixture.ts";
import { anonymous } from "./front-end/caller.ts";
import type { Visitors } from "./front-end/visitors.ts";
import { PARAMETERS_MAX, QUERY_CHARS_MAX } from "./routes/asks/visits.ts";

/** Sends people back to the address in the query, as shops do. */
const shop = createServer(({ url = "/" }, response) => {
  const back = new URL(url, "http://localhost").searchParams.get("return_url") ?? "";
  response.writeHead(303, { location: `${back}?status=paid&order=4711` }).end();
});
let shopUrl: string;

beforeAll(async () => {
  shop.listen(0, "127.0.0.1");
  await once(shop, "listening");
  shopUrl = `http://127.0.0.1:${(shop.address() as AddressInfo).port}/pay?order=4711`;
});

afterAll(() => {
  shop.closeAllConnections();
  shop.close();
});

const tools = catalogue([
  defineTool({
    name: "pay",
    async run(_args, ctx) {
      const query = await ctx.url("pay", { message: "Please <pay>", url: shopUrl, returnTo: "return_url" });
      return JSON.stringify(query);
    },
  }),
]);

const named: Visitors = { authenticate: ({ headers }) => callerNamed(String(headers["x-principal"] ?? "ann")), ticket: undefined };

async function paying(more: Partial<Deploy> = { visitors: named }) {
  const deployment = await deploy({ catalogue: tools, fronts: 2, ...more });
  const [here, there] = deployment.fronts as [Front, Front];
  const options = { principal: "ann" };
  const created = await rpc(here, "tools/call", { name: "pay", arguments: {} }, options);
  const taskId = String(created.result!["taskId"]);
  const get = async () => (await rpc(there, "tasks/get", { taskId }, options)).result!;
  await until(async () => (await get())["status"] === "input_required");
  const page = String((await get())["inputRequests"]!["pay"]!["params"]!["url"]);
  const answer = (action: string) => rpc(here, "tasks/update", { taskId, inputResponses: { pay: { action } } }, options);
  const at = (front: Front, url: string) => url.replace(/^http:\/\/[^/]+/, new URL(front.url).origin);
  return { ...deployment, here, there, at, page, get, answer, text: async () => String((await get())["result"]!["content"]![0]!["text"]) };
}

async function look(url: string, init: RequestInit = {}) {
  const response = await fetch(url, { redirect: "manual", ...init });
  const text = await response.text();
  return {
    status: response.status,
    title: /<h1>([^<]*)/.exec(text)?.[1],
    text,
    cookie: (response.headers.getSetCookie()[0] ?? "").split(";")[0] ?? "",
    location: response.headers.get("location") ?? "",
  };
}

/** Goes to the shop, up to its redirect back. */
async function away({ page }: { page: string }) {
  const { text } = await look(page);
  const fields = Object.fromEntries(
    [...text.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  );
  const off = await look(page, { method: "POST", body: new URLSearchParams({ ...fields, action: "accept" }) });
  const there = (/http-equiv="refresh" content="0; url=([^"]+)"/.exec(off.text)?.[1] ?? "").replaceAll("&amp;", "&");
  const { location: back } = await look(there);
  const come = (url = back, headers: Record<string, string> = {}) => look(url, { headers: { cookie: off.cookie, ...headers } });
  return { there, back, come };
}

describe("a person who returns from another site", () => {
  test("settles the question, at any front end, and the tool receives the query", async () => {
    const paid = await paying();
    const shown = await look(paid.page);
    expect([shown.status, shown.title]).toEqual([200, `A visit to ${new URL(shopUrl).host}`]);
    expect(shown.text).toContain("Please &lt;pay&gt;");
    const { there, back, come } = await away(paid);
    expect(new URL(there).searchParams.get("order")).toBe("4711");
    expect(back).not.toContain(paid.page.split("/").at(-2));
    expect((await paid.get())["status"]).toBe("input_required");
    expect(await come(paid.at(paid.there, back))).toMatchObject({ status: 200, title: "Welcome back" });
    await until(async () => (await paid.get())["status"] === "completed");
    expect(JSON.parse(await paid.text())).toEqual({ status: "paid", order: "4711" });
    expect((await come()).title).toBe("Already done");
  });

  test("keeps a parameter that contains a question mark, and those after it", async () => {
    const paid = await paying();
    const { back, come } = await away(paid);
    expect((await come(back.replace(/\?.*/, "?next=/shop?page=2&order=4711"))).title).toBe("Welcome back");
    await until(async () => (await paid.get())["status"] === "completed");
    expect(JSON.parse(await paid.text())).toEqual({ next: "/shop?page=2", order: "4711" });
  });

  test("with an invented state, in another browser or as another person is refused, and the right person may still return", async () => {
    const paid = await paying();
    const { back, come } = await away(paid);
    const forged = await come(back.replace(/returns\/[\w-]+/, `returns/${"A".repeat(43)}`));
    expect([forged.status, forged.title]).toEqual([400, "Not started here"]);
    expect((await look(back)).title).toBe("Not started here");
    expect(await come(back, { "x-principal": "bob" })).toMatchObject({ status: 403, title: "Not yours" });
    const other = await away(await paying());
    expect((await other.come(back)).title).toBe("Not started here");
    expect((await paid.get())["status"]).toBe("input_required");
    expect((await come()).title).toBe("Welcome back");
  });

  test("several times at once settles it once", async () => {
    const paid = await paying();
    const { back, come } = await away(paid);
    const titles = (await Promise.all([come(), come(paid.at(paid.there, back)), come()])).map(({ title }) => title);
    expect(titles.filter((title) => title === "Welcome back")).toHaveLength(1);
    await until(async () => (await paid.get())["status"] === "completed");
  });

  test("late is refused: after ten minutes, or after the question has closed", async () => {
    const late = await paying();
    const away1 = await away(late);
    late.skip(10 * 60_000);
    expect((await away1.come()).title).toBe("Not started here");
    expect((await late.get())["status"]).toBe("input_required");
    const closed = await paying();
    const away2 = await away(closed);
    await closed.answer("decline");
    await until(async () => (await closed.get())["status"] === "completed");
    expect(await away2.come()).toMatchObject({ status: 410, title: "No longer open" });
  });

  test("with too many parameters is refused, and may return with fewer", async () => {
    const paid = await paying();
    const { back, come } = await away(paid);
    const url = back.replace(/\?.*/, "");
    const many = (count: number) => Array.from({ length: count }, (_, n) => `p${n}=1`).join("&");
    expect(await come(`${url}?${many(PARAMETERS_MAX + 1)}`)).toMatchObject({ status: 413, title: "Too large" });
    expect(await come(`${url}?p=${"x".repeat(QUERY_CHARS_MAX - 1)}`)).toMatchObject({ status: 413, title: "Too large" });
    expect((await come(`${url}?${many(PARAMETERS_MAX)}&`.padEnd(url.length + 1 + QUERY_CHARS_MAX, "x"))).title).toBe("Too large");
    expect((await come(`${url}?p=${"x".repeat(QUERY_CHARS_MAX - 2)}`)).title).toBe("Welcome back");
    const others = await paying();
    const again = await away(others);
    expect((await again.come(`${again.back.replace(/\?.*/, "")}?${many(PARAMETERS_MAX)}`)).title).toBe("Welcome back");
  });

  test("is, without identity, anyone with the page's address, but only in the browser that left", async () => {
    const paid = await paying({ authenticate: anonymous });
    const { back, come } = await away(paid);
    expect((await look(back)).title).toBe("Not started here");
    expect((await come()).title).toBe("Welcome back");
  });
});

test("a client's accept and a GET do not settle it; a client's decline does", async () => {
  const paid = await paying();
  await paid.answer("accept");
  await away(paid);
  expect(await paid.get()).toMatchObject({ status: "working", statusMessage: expect.stringContaining("Waiting for a page") });
  await paid.answer("decline");
  await until(async () => (await paid.get())["status"] === "completed");
  expect(await paid.text()).toContain("declined");
});
