/**
 * Every kind of upstream asks through every dialect of callers, with forms and pages, and each outcome. The test compares what the upstream
 * received, in the words of its own SDK. Real clients (test/dialects), foreign servers, two front ends behind a proxy without affinity, two
 * workers.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient } from "../../bench/client.ts";
import { tasks2025, tasks2026 } from "../dialects/clients/ext-tasks.ts";
import { proposal1869, sendInput } from "../dialects/clients/raw.ts";
import { blocking, experimentalTasks } from "../dialects/clients/sdk-v1.ts";
import { blockingV2, inputRequired } from "../dialects/clients/sdk-v2.ts";
import type { Dialect } from "../dialects/dialect.ts";
import type { Reply } from "../dialects/scenarios.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { until } from "../support/until.ts";
import { marksIn, type RunningUpstream, startUpstream, UPSTREAMS, writeUpstreams } from "../support/upstream.ts";

let directory: string;
let marks: string;
let upstreams: RunningUpstream[];
let deployment: Deployment;

/** What an upstream receives for a question that was not answered in time. Those that hold no call get an answer, which has no better word for it. */
const NOBODY = { action: "cancel" };
const KINDS = {
  classic: { refused: -32000 },
  pipe: { refused: -32000 },
  stateless: NOBODY,
  tasks: NOBODY,
  sessiontasks: NOBODY,
} as const;
type Kind = keyof typeof KINDS;

/** All but those before 2025-11-25, and those of two proposals, can be sent to a page. */
const ALL: readonly Dialect[] = [tasks2026, inputRequired, blocking, experimentalTasks, blockingV2("2025-11-25"), tasks2025];
const FORMS_ALONE: readonly Dialect[] = [blockingV2("2025-06-18"), blockingV2("2025-03-26"), proposal1869, sendInput];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-matrix-"));
  marks = join(directory, "marks");
  const env = { MARKS: marks };
  upstreams = await Promise.all([
    startUpstream("classic.ts", ["http"], env),
    startUpstream("stateless.ts", ["0"], env),
    startUpstream("tasks.ts", [], env),
    startUpstream("session-tasks.ts", [], env),
  ]);
  const [classic, stateless, tasks, sessiontasks] = upstreams.map(({ url }) => ({ url }));
  const pipe = { command: process.execPath, args: [join(UPSTREAMS, "classic.ts"), "stdio"], env };
  const kinds = { classic, pipe, stateless, tasks, sessiontasks } satisfies Record<Kind, object | undefined>;
  const include = ["form", "page"];
  const file = await writeUpstreams(
    directory,
    Object.entries(kinds).flatMap(([name, reached]) => [
      { name, ...reached, include },
      { name: `brief-${name}`, ...reached, include, questionTimeout: "500ms" },
    ]),
  );
  deployment = await startDeployment({
    // Clients look and come back as often as they are told to: often, so that the run is quick.
    env: { PARLEY_UPSTREAMS: file, PARLEY_POLL_INTERVAL: "50ms", PARLEY_RETRY: "50ms", PARLEY_RESUMABLE_AFTER: "0ms" },
  });
  for (const { url } of deployment.frontEnds) {
    const client = createClient(`${url}/mcp`, 1);
    for (const name of Object.keys(kinds)) {
      for (const prefix of [name, `brief-${name}`]) {
        const { taskId } = await until(() => client.call(`${prefix}_form`, { text: "there?" }), { everyMs: 100 });
        await client.cancel(taskId);
      }
    }
    client.close();
  }
});

afterAll(async () => {
  await deployment?.close();
  await Promise.all((upstreams ?? []).map((upstream) => upstream.kill()));
  await rm(directory, { recursive: true });
});

const OUTCOMES = {
  accept: (mode: "form" | "page"): Reply => (mode === "form" ? { action: "accept", content: { ok: true } } : { action: "accept" }),
  decline: (): Reply => ({ action: "decline" }),
  cancel: (): Reply => ({ action: "cancel" }),
} as const;
const OUTCOME_NAMES = ["accept", "decline", "cancel", "timeout"] as const;

/** What the upstream's tool said at the end, of the answer that it heard. */
async function heard(dialect: Dialect, kind: Kind, mode: "form" | "page", outcome: (typeof OUTCOME_NAMES)[number]): Promise<unknown> {
  const text = `${kind}-${mode}-${outcome}-${dialect.name.replaceAll(/[^a-z0-9]+/gi, "-")}`;
  const isOver = () => until(async () => (await marksIn(marks)).includes(`outcome ${text}`));
  const never = new Promise<never>(() => undefined);
  const told = await dialect.run({
    url: deployment.url,
    tool: `${outcome === "timeout" ? "brief-" : ""}${kind}_${mode}`,
    args: { text },
    meanwhile: undefined,
    async respond() {
      if (outcome !== "timeout") return OUTCOMES[outcome](mode);
      await isOver();
      return { action: "decline" };
    },
    asked: never,
    closed: () => never,
    cut: () => never,
    vanish: () => never,
    back: () => undefined,
  });
  if ("failed" in told) throw new Error(`the client was told: ${told.failed}`);
  const { said, ...answer } = JSON.parse(told.text) as { said: string };
  expect(said).toBe(text);
  expect((await marksIn(marks)).filter((mark) => mark === `outcome ${text}`)).toHaveLength(1);
  return answer;
}

const KIND_NAMES = Object.keys(KINDS) as Kind[];

describe.concurrent.each([...ALL, ...FORMS_ALONE])("$name", (dialect) => {
  const modes = ALL.includes(dialect) ? (["form", "page"] as const) : (["form"] as const);
  const cells = KIND_NAMES.flatMap((kind) => modes.flatMap((mode) => OUTCOME_NAMES.map((outcome) => [kind, mode, outcome] as const)));
  test.each(cells)("%s, %s, %s", async (kind, mode, outcome) => {
    const expected = outcome === "timeout" ? KINDS[kind] : OUTCOMES[outcome](mode);
    expect(await heard(dialect, kind, mode, outcome)).toEqual(expected);
  });
});

test.each([blockingV2("2025-06-18"), blockingV2("2025-03-26")])(
  "$name cannot be sent to a page, and is told of it in words",
  async (dialect) => {
    for (const kind of ["classic", "pipe"] as const) await expect(heard(dialect, kind, "page", "accept")).rejects.toThrow(/NOT FINISH/);
  },
);
