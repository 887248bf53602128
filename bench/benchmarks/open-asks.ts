/**
 * Whether anything of the inbox grows with the number of open questions: lists, filters and the count of a person in one group, of one in fifty, and of
 * one who is asked in a thousand tasks of their own, by the API of a front end, and Redis memory per task whose question is put to a group.
 *
 * A client parks one task. The store writes the others, as in growth.ts.
 */
import type { AskAbout } from "@parley/core";
import { connectRedis } from "@parley/redis";
import { startIssuer } from "../../test/support/issuer.ts";
import type { Benchmark, Metric } from "../benchmark.ts";
import { createClient } from "../client.ts";
import { redisStatistics, usedMemory } from "../cost.ts";
import { parked } from "../lifecycle.ts";
import { inParallel, median } from "../measure.ts";
import { atMost } from "../target.ts";
import { fill, SILENT, told } from "./growth.ts";

const PUBLIC_URL = "http://parley.example";
const GROUPS = 1_000;
/** And how many groups each is in. The third has OWN_TASKS of their own, and hears of nothing else. */
const PEOPLE = { one: 1, fifty: 50, owner: 0 } as const;
type Person = keyof typeof PEOPLE;
const OWN_TASKS = 1_000;
const READS = 100;
/** The page that `deep` reads, by its cursor. */
const DEEP = 10;
/** Questions that each person has put aside, the oldest of theirs: every list and count passes them over. */
const ASIDE = 40;
const LOOKS = {
  list: "asks?limit=50",
  byDeadline: "asks?limit=50&order=deadline",
  byDue: "asks?limit=50&order=due",
  byPriority: "asks?limit=50&order=priority",
  newest: "asks?limit=50&order=newest",
  deep: "asks?limit=50",
  urgent: "asks?limit=50&priority=urgent",
  ofNoTool: "asks?limit=50&tool=none",
  aside: "asks?limit=50&snoozed=only",
  count: "asks/count",
} as const;
type Look = keyof typeof LOOKS;

const WHAT: Readonly<Record<Look, string>> = {
  list: "a page of 50, oldest first",
  byDeadline: "a page of 50 by deadline",
  byDue: "a page of 50 by when they are wanted",
  byPriority: "a page of 50 by priority",
  newest: "a page of 50, newest first",
  deep: `page ${DEEP}, oldest first`,
  urgent: "a page of 50 that are urgent, one in eight",
  ofNoTool: "a page of a tool that asks nothing, which examines 500",
  aside: `the ${ASIDE} that are put aside`,
  count: "the count",
};
const FIGURES = {
  p50: { unit: "ms", target: atMost(20, "ms") },
  "CPU of Redis": { unit: "ms" },
  "Redis commands": { unit: "" },
} as const;
/** What the others are compared with. */
const FEW = 1_000;

/** Of each group in turn: most questions say neither when they are wanted nor how urgent they are. */
const ABOUT: readonly (AskAbout | undefined)[] = [
  undefined,
  { dueMs: 3_600_000 },
  undefined,
  { priority: "urgent" },
  undefined,
  { dueMs: 86_400_000, priority: "low" },
  undefined,
  undefined,
];

export function openAsks({ quick, million }: { quick: boolean; million: boolean }): Benchmark {
  const many = million ? 1_000_000 : quick ? 10_000 : 100_000;
  return {
    name: "asks",
    group: `${told(many)} open questions, put to one of ${told(GROUPS)} groups each (floor: ${told(FEW)})`,
    rounds: 1,
    alone: true,
    async open({ some, startFrontEnd, redis, redisUrl, frontEnd }) {
      const issuer = await startIssuer({ audience: `${PUBLIC_URL}/mcp` });
      const here = await startFrontEnd({
        PARLEY_AUTH: "required",
        PARLEY_AUTH_ISSUERS: issuer.url,
        PARLEY_AUTH_GROUPS_CLAIM: "groups",
        PARLEY_PUBLIC_URL: PUBLIC_URL,
        PARLEY_QUOTA_READS: "1000000",
        PARLEY_QUOTA_CALLS: "1000000",
      });
      const exp = Math.floor(Date.now() / 1_000) + 7_200;
      const groupsOf = (count: number) => Array.from({ length: count }, (_, at) => groupOf(7 * at));
      const tokens = Object.fromEntries(
        await Promise.all(
          Object.entries(PEOPLE).map(async ([who, count]) => [who, await issuer.token({ sub: who, groups: groupsOf(count), exp })]),
        ),
      ) as Record<Person, string>;
      const read = async (who: Person, path: string): Promise<Record<string, unknown>> => {
        const response = await fetch(`${here.url}/api/v1/${path}`, { headers: { authorization: `Bearer ${tokens[who]}` } });
        if (response.status !== 200) throw new Error(`the list is refused: ${response.status} ${await response.text()}`);
        return (await response.json()) as Record<string, unknown>;
      };
      /** Until so many are. */
      const putAside = async (who: Person): Promise<void> => {
        const { asks: before } = (await read(who, LOOKS.aside)) as { asks: unknown[] };
        const { asks } = (await read(who, LOOKS.list)) as { asks: { taskId: string; key: string }[] };
        const until = new Date(Date.now() + 3_600_000).toISOString();
        for (const { taskId, key } of asks.slice(0, ASIDE - before.length)) {
          const response = await fetch(`${here.url}/api/v1/asks/${taskId}/${encodeURIComponent(key)}/snooze`, {
            method: "POST",
            headers: { authorization: `Bearer ${tokens[who]}`, "content-type": "application/json" },
            body: JSON.stringify({ until }),
          });
          if (response.status !== 200) throw new Error(`a question is not put aside: ${response.status} ${await response.text()}`);
        }
      };
      const client = createClient(`${frontEnd.url}/mcp`, 1);
      const backend = await connectRedis({ url: redisUrl }, { log: SILENT });
      const owner = createClient(`${here.url}/mcp`, 20, tokens.owner);
      await inParallel(20, some(OWN_TASKS), async () => void (await parked(owner)));
      owner.close();
      /** The path of a page behind others. */
      const pathOf = async (who: Person, look: Look): Promise<string> => {
        let path: string = LOOKS[look];
        for (let page = 1; look === "deep" && page < DEEP; page += 1) {
          const { nextCursor } = (await read(who, path)) as { nextCursor?: string };
          if (nextCursor === undefined) break;
          path = `${LOOKS[look]}&cursor=${encodeURIComponent(nextCursor)}`;
        }
        return path;
      };
      const model = await backend.store.load((await parked(client)).taskId);
      if (!model) throw new Error("there is no task to write more of");

      let filled = 0;
      const looksAt = (size: number) => async () => {
        const figures: Record<string, number> = {};
        const before = await usedMemory(redis);
        await fill(backend, model, {
          count: size - filled,
          taskIds: [],
          audienceOf: (number) => ({ to: { groups: [groupOf(number)] } }),
          aboutOf: (number) => ABOUT[Math.floor(number / GROUPS) % ABOUT.length],
        });
        figures["bytes"] = ((await usedMemory(redis)) - before) / (size - filled);
        filled = size;
        for (const who of Object.keys(PEOPLE) as Person[]) {
          await putAside(who);
          const asked = who === "owner" ? some(OWN_TASKS) : PEOPLE[who] * Math.floor(size / GROUPS);
          const aside = Math.min(ASIDE, asked);
          for (const [look, expected] of [
            ["list", Math.min(50, asked - aside)],
            ["aside", aside],
            ["ofNoTool", 0],
          ] as const) {
            const { asks } = (await read(who, LOOKS[look])) as { asks: unknown[] };
            if (asks.length !== expected) throw new Error(`${who} of ${size} sees ${asks.length} questions (${look}), and not ${expected}`);
          }
          for (const look of Object.keys(LOOKS) as Look[]) {
            const path = await pathOf(who, look);
            const used = await redisStatistics(redis);
            const { latencies } = await inParallel(1, some(READS), async () => void (await read(who, path)));
            const { redisCpuMs, commands } = await redisStatistics(redis);
            const of = (figure: keyof typeof FIGURES) => `${look}.${who}.${figure}`;
            figures[of("p50")] = median(latencies);
            figures[of("CPU of Redis")] = (redisCpuMs - used.redisCpuMs) / latencies.length;
            figures[of("Redis commands")] = (commands - used.commands) / latencies.length;
          }
        }
        return figures;
      };

      return {
        floor: looksAt(FEW),
        parley: looksAt(many),
        async close() {
          client.close();
          await backend.close();
          await issuer.close();
        },
      };
    },
    metrics: [
      { metric: "Redis memory per task", figure: "bytes", unit: "B" },
      ...(Object.entries(PEOPLE) as [Person, number][]).flatMap(([who, groups]) =>
        (Object.keys(LOOKS) as Look[]).flatMap((look) =>
          (Object.keys(FIGURES) as (keyof typeof FIGURES)[]).map((figure): Metric => {
            const whose = who === "owner" ? `with ${told(OWN_TASKS)} tasks of their own` : `in ${groups} group${groups === 1 ? "" : "s"}`;
            return {
              metric: figure === "p50" ? `${WHAT[look]}, for a person ${whose}, p50` : `… ${figure}`,
              figure: `${look}.${who}.${figure}`,
              ...FIGURES[figure],
            };
          }),
        ),
      ),
    ],
  };
}

/** Group 7 has as many questions as any other: the numbers of a person's groups are spread over all. */
function groupOf(number: number): string {
  return `group-${number % GROUPS}`;
}
