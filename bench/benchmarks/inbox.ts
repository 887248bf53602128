/**
 * A thousand inbox pages of fifty people on one front end: the memory of each page's stream, how long it takes until all of them are told of a change,
 * and until a question that is answered at another front end is gone from a page.
 */
import { get } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { startIssuer } from "../../test/support/issuer.ts";
import { until } from "../../test/support/until.ts";
import type { Benchmark } from "../benchmark.ts";
import { createClient } from "../client.ts";
import { liveHeapBytes } from "../heap.ts";
import { ARGUMENTS } from "../lifecycle.ts";
import { median, quantile } from "../measure.ts";
import { atMost } from "../target.ts";

const PUBLIC_URL = "http://parley.example";
const PEOPLE = 50;
/** As many as one person may have on one front end. */
const PAGES_EACH = 20;
const ANSWERS = 200;
const TOGETHER = 50;
const QUIET_MS = 100;

export const inboxPages: Benchmark = {
  name: "inbox",
  group: "1,000 inbox pages of 50 people on one front end",
  rounds: 1,
  async open({ some, startFrontEnd }) {
    const issuer = await startIssuer({ audience: `${PUBLIC_URL}/mcp` });
    const settings = {
      PARLEY_AUTH: "required",
      PARLEY_AUTH_ISSUERS: issuer.url,
      PARLEY_AUTH_GROUPS_CLAIM: "groups",
      PARLEY_PUBLIC_URL: PUBLIC_URL,
      PARLEY_QUOTA_READS: "1000000",
      PARLEY_QUOTA_ANSWERS: "1000000",
      PARLEY_QUOTA_CALLS: "1000000",
    };
    const [here, there] = await Promise.all([startFrontEnd(settings), startFrontEnd(settings, { inspected: true })]);
    const exp = Math.floor(Date.now() / 1_000) + 3_600;
    const tokens = await Promise.all(
      Array.from({ length: PEOPLE }, (_, at) => issuer.token({ sub: `person-${at}`, groups: ["everyone", `group-${at}`], exp })),
    );
    const client = createClient(`${here.url}/mcp`, 1, await issuer.token({ sub: "caller", exp }));
    async function asked(group: string): Promise<string> {
      const { taskId } = await client.call("ask_group", { ...ARGUMENTS, group });
      // The caller is asked nothing: to it the task works, and its message says who is asked.
      await until(async () => (await client.get(taskId)).statusMessage?.includes(group));
      // What this tells the pages has been told.
      await sleep(QUIET_MS);
      return taskId;
    }
    const headersOf = (at: number) => ({ authorization: `Bearer ${tokens[at]}` });
    const answer = async (taskId: string, by: number) => {
      const response = await fetch(`${here.url}/api/v1/asks/${taskId}/size`, {
        method: "POST",
        headers: { ...headersOf(by), "content-type": "application/json" },
        body: JSON.stringify({ action: "accept", content: { size: 4 } }),
      });
      if (response.status !== 200) throw new Error(`the answer is refused: ${response.status} ${await response.text()}`);
    };
    const isListed = async (taskId: string, by: number) =>
      (await (await fetch(`${there.url}/inbox`, { headers: headersOf(by) })).text()).includes(taskId);

    return {
      async parley() {
        const memory = async () => ({ heap: await liveHeapBytes(there.inspectorPort), resident: there.memoryBytes() });
        for (let at = 0; at < PEOPLE; at += 1) await isListed("none", at);
        const before = await memory();
        const count = some(PEOPLE * PAGES_EACH);
        const pages: Page[] = [];
        while (pages.length < count) {
          const more = Array.from({ length: Math.min(TOGETHER, count - pages.length) }, (_, at) =>
            openPage(`${there.url}/inbox/changes`, headersOf((pages.length + at) % PEOPLE)),
          );
          await Promise.all(more.map((page) => page.told(1)));
          pages.push(...more);
        }
        const after = await memory();

        const forAll = await asked("everyone");
        await sleep(10 * QUIET_MS);
        const counts = pages.map((page) => page.count);
        const sentAt = performance.now();
        await Promise.all([answer(forAll, 1), ...pages.map((page, at) => page.told((counts[at] ?? 0) + 1))]);
        const all = performance.now() - sentAt;

        const gone: number[] = [];
        for (let turn = 0; turn < some(ANSWERS); turn += 1) {
          const by = turn % PEOPLE;
          const page = pages[by];
          if (!page) throw new Error("a person without a page");
          const taskId = await asked(`group-${by}`);
          const seen = page.count;
          const answeredAt = performance.now();
          const answered = answer(taskId, by);
          // The page asks when it is told, as its script does, and is told again if it asked too early.
          for (let told = seen + 1; ; told = page.count + 1) {
            await page.told(told);
            if (!(await isListed(taskId, by))) break;
          }
          gone.push(performance.now() - answeredAt);
          await answered;
        }
        for (const page of pages) page.close();
        return {
          heap: (after.heap - before.heap) / count,
          resident: (after.resident - before.resident) / count,
          all,
          gone50: median(gone),
          gone99: quantile(gone, 0.99),
        };
      },
      async close() {
        client.close();
        await issuer.close();
      },
    };
  },
  metrics: [
    { metric: "live heap of the front end per page, after a collection", figure: "heap", unit: "B" },
    { metric: "resident memory of the front end per page, sockets and garbage and all", figure: "resident", unit: "B" },
    { metric: "answer to a question that all are asked → all pages are told", figure: "all", unit: "ms" },
    { metric: "answer → gone from a page of another replica, p50", figure: "gone50", unit: "ms" },
    { metric: "answer → gone from a page of another replica, p99", figure: "gone99", unit: "ms", target: atMost(250, "ms") },
  ],
};

interface Page {
  /** How often it was told that something has changed. */
  readonly count: number;
  told(count: number): Promise<void>;
  close(): void;
}

/** The stream of one page. */
function openPage(url: string, headers: Readonly<Record<string, string>>): Page {
  let count = 0;
  let failure: Error | undefined;
  let waiting: (() => void)[] = [];
  const wake = () => {
    for (const resolve of waiting.splice(0)) resolve();
  };
  const request = get(url, { headers: { ...headers, accept: "text/event-stream" }, agent: false }, (response) => {
    if (response.statusCode !== 200) failure = new Error(`the stream of a page is refused: ${response.statusCode}`);
    response.setEncoding("utf8").on("data", (text: string) => {
      count += text.split("event: message\n").length - 1;
      wake();
    });
    response.on("error", () => undefined);
    wake();
  });
  request.on("error", (error) => {
    failure = error;
    wake();
  });
  return {
    get count() {
      return count;
    },
    async told(wanted) {
      while (count < wanted) {
        if (failure) throw failure;
        await new Promise<void>((resolve) => (waiting = [...waiting, resolve]));
      }
    },
    close: () => void request.destroy(),
  };
}
