/**
 * Tests of those who approve: a rule may have a share of its calls followed by a copy with other arguments, to which the right answer is no. It is a task
 * of its own, some minutes later, asked of the same people as the call would be.
 *
 *   a call asks ──share──▶ a copy, changed as the rule says ──a while──▶ asked ──▶ refused: caught · approved: missed
 *
 *   T1  It never runs. Its task has a name that no tool has (core's test-call.ts), and its handler calls nothing.
 *   T2  It never delays or changes the call that it copies: it is made beside it, and nothing waits for it.
 *   T3  Until it is answered, nobody who is asked can tell it from a call. Afterwards the record says what it was.
 *   T4  The rules decide about it as about a call: if another rule would, or the rule is gone, it ends without asking.
 */
import {
  canonicalJson,
  type Caller,
  DEFAULT_TENANT,
  type Effects,
  type Json,
  type JsonObject,
  type Membership,
  testName,
  TESTS_MARK,
  type Tool,
} from "@parley/core";
import type { StoppedToAsk } from "./standing.ts";

/** What a rule says of its tests. */
export interface Tests {
  /** How many of its calls are followed by one, 0 to TESTS_SHARE_MAX. */
  readonly share: number;
  /** Arguments that are changed; one of them is drawn for each test. */
  readonly change: readonly JsonObject[];
}

export const TESTS_SHARE_MAX = 0.2;
/** Of one rule, in one tenant, on one day (UTC). Processes that draw at the same moment may go beyond it. */
export const TESTS_A_DAY_MAX = 20;
export const TEST_WAIT_MIN_MS = 60_000;
export const TEST_WAIT_MAX_MS = 30 * 60_000;
/** What a test is made of. It is content of its task, as arguments are. */
export type Planted = {
  /** The task of the call that it copies. */
  readonly of: string;
  readonly rule: string;
  readonly arguments: JsonObject;
  /** Names of those that were changed. */
  readonly changed: string[];
  readonly membership?: Json;
  readonly reason?: string;
};

export interface PlantTest {
  readonly tool: Tool;
  /** Who made the call that it copies: people read that, and `not: caller` leaves them out. */
  readonly caller: Caller;
  readonly arguments: JsonObject;
  readonly idempotencyKey: string;
  /** As of the call that it copies: those who are asked see it. */
  readonly retentionMs: number;
}

/** A copy of the call, or why there is none. */
export async function plantedCopy(
  tool: Tool,
  args: JsonObject,
  { stopped: { taskId, call, decided }, change }: { readonly stopped: StoppedToAsk; readonly change: JsonObject },
): Promise<Planted | { readonly problem: string }> {
  const given = Object.fromEntries([...Object.entries(args), ...Object.entries(change)]);
  const changed = Object.keys(change).filter((name) => canonicalJson(args[name] ?? null) !== canonicalJson(change[name] ?? null));
  if (changed.length === 0) return { problem: "the call has these arguments itself" };
  const read = await tool.readArguments(given);
  if (!read.ok) return { problem: "the tool does not take them" };
  const { membership } = call as { readonly membership?: Membership };
  return {
    of: taskId,
    rule: decided.rule,
    arguments: read.args,
    changed,
    ...(membership !== undefined && { membership: membership as Json }),
    ...(call.reason !== undefined && { reason: call.reason }),
  };
}

/** Who made the call, as far as the task of it knows. */
export function plantedCaller({ call }: StoppedToAsk): Caller {
  const { principal, person, tenant = DEFAULT_TENANT, caller: { name, email, subject } = {} } = call;
  const names = [...(email === undefined ? [] : [`email:${email}`]), ...(subject === undefined ? [] : [`sub:${subject}`])];
  return {
    principal,
    ...(person !== undefined && { person }),
    tenant,
    scopes: [],
    authenticatedBy: name === undefined ? "nobody" : "rules",
    ...(name !== undefined && { displayName: name }),
    names,
    groups: [],
    roles: [],
  };
}

/** What workers run under the name of a test. `ask` puts the question and resolves once it is settled. */
export function testTool(tool: Tool, ask: (planted: Planted, effects: Effects) => Promise<string>): Tool {
  const { kind, title, description, settings } = tool;
  return {
    kind,
    name: testName(tool.name),
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    inputSchema: { type: "object" },
    settings,
    task: "optional",
    askFirst: false,
    earlyReplies: false,
    needs: {},
    readArguments: (args) => ({ ok: true, args }),
    async run(args, effects) {
      const { random } = effects;
      await effects.sleep("parley.wait", TEST_WAIT_MIN_MS + Math.floor(random() * (TEST_WAIT_MAX_MS - TEST_WAIT_MIN_MS)));
      return { content: [{ type: "text", text: await ask(args as unknown as Planted, effects) }] };
    },
  };
}

/**
 * The idempotency key under which a test is made. No door takes a line break in one: with the key, who made the call could learn whether a test follows it, or
 * keep it from being made.
 */
export function testKey(taskId: string): string {
  return `test\nof ${taskId}`;
}

/** In the figures, tests of a rule are a rule of their own, by a name that no rule has. */
export function testsOf(rule: string): string {
  return `${TESTS_MARK}${rule}`;
}
