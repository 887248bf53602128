/**
 * Attacks a deployment with identity, over real HTTP, through two front ends. Exits with 0 only if no attack succeeded.
 *
 *   npm run test:attack -- [--requests N] [--seed N] [--report FILE]
 *
 * Requests are sent in pairs: about something of Ada's, and about something that never existed. Of each pair, neither request may succeed,
 * both answers must be the same except for the names in the request, and neither may contain anything of Ada's. Over all pairs, response
 * times must not differ. At the end Ada must find everything unchanged, and she answers her questions.
 */
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { createRandom } from "../chaos/random.ts";
import { Http, type Response } from "../fuzz/wire/http.ts";
import { Caller } from "../fuzz/wire/caller.ts";
import type { InSession } from "../fuzz/wire/sessions.ts";
import { until } from "../support/until.ts";
import { type Attacker, attackersOf } from "./attackers.ts";
import { type Attack, attacksOn, TRICKS } from "./attacks.ts";
import { startVictim } from "./victims.ts";

const { values } = parseArgs({
  options: { requests: { type: "string", default: "4000" }, seed: { type: "string", default: "1" }, report: { type: "string" } },
});
const PAIRS = Math.ceil(Number(values.requests) / 2);
const LANES = 8;
/** Found and not found differ by a look-up that finds something; a network hides much more than this. */
const TIME_DIFFERENCE_MAX_MS = 0.5;
/** One after the other and in turns, so that both see the same machine. */
const TIMED_PAIRS = 500;

process.setMaxListeners(0);
const random = createRandom(values.seed);
const victim = await startVictim();
const findings: string[] = [];
const tally = new Map<string, number>();

try {
  const origin = new URL(victim.deployment.url).origin;
  const attackers = await attackersOf(victim);
  const attacks = attacksOn(victim);
  const before = await victim.look();
  const own = new Map<Attacker, InSession>();
  for (const attacker of attackers) own.set(attacker, await sessionOf(origin, attacker));

  let left = PAIRS;
  async function lane(): Promise<void> {
    const http = new Http(origin);
    for (; left > 0 && findings.length < 20;) {
      left -= 1;
      await pair(http, random.pick(attackers), random.pick(attacks), random.pick(TRICKS));
    }
    http.close();
  }

  async function pair(http: Http, attacker: Attacker, attack: Attack, trick: (typeof TRICKS)[number]): Promise<void> {
    const answers: Response[] = [];
    // In either order, so that neither is always the one behind the other.
    const order = random.chance(0.5) ? [0, 1] : [1, 0];
    for (const index of order) {
      const aimed = attack.request(attack.aims[index as 0 | 1], own.get(attacker) ?? { sessionId: "none", revision: "2025-11-25" });
      const request = trick.of({ ...aimed, headers: { ...aimed.headers, ...attacker.headers } }, victim);
      answers[index] = await http.send(request, {
        timeoutMs: 60_000,
        bytesMax: 1_000_000,
        enough: (messages) => messages.length > 0,
        lingerMs: 5_000,
      });
    }
    const [foreign, unknown] = answers;
    if (!foreign || !unknown) throw new Error("a pair is two");
    const name = `${attacker.name}, ${attack.name}, ${trick.name}`;
    const [a, b] = [seen(foreign, attack.aims[0]), seen(unknown, attack.aims[1])];
    if (a !== b) findings.push(`${name}: foreign and unknown differ\n    ${a}\n    ${b}`);
    for (const text of [foreign.text, unknown.text]) if (text.includes("SECRET")) findings.push(`${name}: learns ${text}`);
    const { refusals = [401] } = attack;
    if (!attacker.isKnown && !refusals.includes(foreign.status))
      findings.push(`${name}: HTTP ${foreign.status} in place of ${refusals.join(" or ")}`);
    const kind = foreign.messages.some(({ result }) => result !== undefined)
      ? "acknowledged, like what never was"
      : `HTTP ${foreign.status}`;
    tally.set(kind, (tally.get(kind) ?? 0) + 2);
  }

  const startedAtMs = performance.now();
  await Promise.all(Array.from({ length: LANES }, lane));
  const seconds = (performance.now() - startedAtMs) / 1_000;
  const after = await victim.look();
  if (after !== before) findings.push(`Ada finds other things than she left\n    ${before}\n    ${after}`);
  await adaAnswers();

  let [foreignMs, unknownMs] = await timed(origin, attackers, attacks);
  const isTold = () => Math.abs(foreignMs - unknownMs) > TIME_DIFFERENCE_MAX_MS;
  // What tells the two apart does so each time; what else the machine does, now and then.
  for (let again = 0; again < 2 && isTold(); again += 1) [foreignMs, unknownMs] = await timed(origin, attackers, attacks);
  if (isTold()) {
    findings.push(`tasks/get takes ${foreignMs.toFixed(2)} ms for a task of Ada's and ${unknownMs.toFixed(2)} ms for one that never was`);
  }
  console.log(`requests           ${(PAIRS - left) * 2} in ${seconds.toFixed(0)} s`);
  console.log(`attackers          ${attackers.length}, attacks ${attacks.length}, tricks ${TRICKS.length}`);
  console.log(`median             ${foreignMs.toFixed(2)} ms foreign, ${unknownMs.toFixed(2)} ms unknown`);
  for (const [kind, count] of tally) console.log(`${kind.padEnd(18)} ${count}`);
} finally {
  await victim.close();
}

for (const finding of findings) console.log(`\n✗ ${finding}`);
const failed = findings.length > 0 ? 1 : 0;
console.log(`\n${1 - failed} passed, ${failed} failed`);
if (values.report !== undefined) await writeFile(values.report, JSON.stringify({ numPassedTests: 1 - failed, numFailedTests: failed }));
process.exit(failed);

/** An attacker's own; what the server refuses is a session that never was. */
async function sessionOf(origin: string, { headers, isKnown }: Attacker): Promise<InSession> {
  if (!isKnown) return { sessionId: "none", revision: "2025-11-25" };
  const caller = new Caller(origin, headers);
  const session = await caller.open("2025-11-25");
  caller.close();
  return session;
}

/** Without what was aimed at, ids of defects, the time of a page and the digest of what it was asked for: everything else must be the same. */
function seen({ status, text, outcome }: Response, aim: string): string {
  return `${outcome} ${status} ${text
    .replaceAll(aim, "AIM")
    .replaceAll(/id: \S+/g, "id: EVENT")
    .replaceAll(/ data-now="\d+"|batch:[\w-]+/g, "")}`;
}

/** The median of one tasks/get by a colleague, for what is there and for what is not. */
async function timed(
  origin: string,
  [colleague]: readonly Attacker[],
  attacks: readonly Attack[],
): Promise<[foreign: number, unknown: number]> {
  const looks = attacks.find(({ name }) => name === "tasks/get: asks-owner");
  if (!colleague || !looks) throw new Error("nobody looks");
  const http = new Http(origin);
  const took: [number[], number[]] = [[], []];
  for (let turn = 0; turn < TIMED_PAIRS * 2; turn += 1) {
    // In twos, since the proxy takes the front ends in turns.
    const index = turn % 4 < 2 ? 0 : 1;
    const request = looks.request(looks.aims[index], { sessionId: "none", revision: "2025-11-25" });
    const { ms } = await http.send(
      { ...request, headers: { ...request.headers, ...colleague.headers } },
      { timeoutMs: 60_000, bytesMax: 100_000 },
    );
    took[index].push(ms);
  }
  http.close();
  return [median(took[0]), median(took[1])];
}

async function adaAnswers(): Promise<void> {
  const { caller, tasks, session, askId } = victim;
  const taskId = tasks["asks-owner"] ?? "";
  await caller.stateless({
    method: "tasks/update",
    params: { taskId, inputResponses: { name: { action: "accept", content: { name: "Ada" } } } },
  });
  await until(async () => (await caller.stateless({ method: "tasks/get", params: { taskId } }))["status"] === "completed");
  const { status } = await caller.reply(session, askId, { action: "accept", content: { name: "Ada" } });
  if (status !== 202) findings.push(`Ada's own answer in her session is refused: HTTP ${status}`);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
