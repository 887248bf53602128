/** What the playground does until the server says who is logged in. */
import { expect, onTestFinished, test, vi } from "vitest";

/** As far as the page has been loaded: `says` is what the server says of the login. */
async function opened(says: () => Response) {
  const stored = new Map<string, string>();
  const storage = { getItem: (key: string) => stored.get(key) ?? null, setItem: (key: string, text: string) => stored.set(key, text) };
  let asked = 0;
  const answer = (url: string) => {
    if (!url.endsWith("api/account")) throw new TypeError("unreachable");
    asked += 1;
    return says();
  };
  vi.useFakeTimers();
  const stubs = { document: { baseURI: "http://parley.example/play/" }, location: { hash: "" }, sessionStorage: storage };
  for (const [name, stub] of Object.entries(stubs)) vi.stubGlobal(name, stub);
  vi.stubGlobal("requestAnimationFrame", () => 0);
  vi.stubGlobal("fetch", async (url: string) => await Promise.resolve(answer(url)));
  onTestFinished(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });
  const [{ account }, page] = await Promise.all([import("./account.ts"), import("./playground.ts")]);
  await page.findFirstAccount();
  return { account, page, asked: () => asked };
}

test("a server that cannot say who is logged in is asked again, less and less often, and the tools that are shown stay", async () => {
  let reply = () => new Response("", { status: 503 });
  const { account, page, asked } = await opened(() => reply());
  const counts: number[] = [asked()];
  for (const seconds of [3, 6, 12, 24, 30, 30, 3_600 - 105]) {
    await vi.advanceTimersByTimeAsync(seconds * 1_000);
    counts.push(asked());
  }
  expect(counts).toEqual([1, 2, 3, 4, 5, 6, 7, 123]);
  page.tools.value = { state: "ready", tools: [] };
  const states: string[] = [];
  page.tools.subscribe(({ state }) => states.push(state));
  reply = () => Response.json({ hasLogin: true, name: "Ann", person: "ann" });
  await vi.advanceTimersByTimeAsync(60_000);
  expect([account.value, asked(), states]).toEqual([{ name: "Ann" }, 124, ["ready"]]);
});
