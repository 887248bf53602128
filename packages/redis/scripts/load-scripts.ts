/**
 * Lua scripts as commands of a connection.
 *
 * ioredis sends the text of a script once per connection and its hash from then on. A script thus never runs after a
 * command that was issued later, and a restarted Redis receives the text again.
 */
import { readFileSync } from "node:fs";
import type { OutboxBounds } from "@parley/core";
import type { Redis } from "ioredis";
import { type Encoding, isAscii } from "./encoding.ts";

export type Argument = string | number;
export type Run = (keysAndArguments: Argument[]) => Promise<unknown>;

export interface ScriptFiles<Name extends string> {
  readonly names: readonly Name[];
  /** A folder within `scripts/`, with a trailing slash; `""` for `scripts/` itself. */
  readonly folder: string;
  /** Scripts whose functions all others use, in this order. */
  readonly shared?: readonly string[];
  /** Undefined if it varies: then the number comes before the keys. */
  readonly keyCount: (name: Name) => number | undefined;
  /**
   * For scripts that also use keys which are not among theirs: a key in their slot that never exists, given their own
   * keys. While the slot moves to another node of a cluster, Redis refuses a script one of whose several keys is not
   * there (TRYAGAIN). It knows nothing of the others: a script would take those for missing that have moved or have not
   * moved yet, or fail at one of them with half of its change made.
   */
  readonly absentKey?: (keys: readonly Argument[]) => string;
  /** Whether wake-ups of a slot stay on its node: SPUBLISH instead of PUBLISH. */
  readonly sharded?: boolean;
  /** How many characters of changed fields a wake-up may carry. Default: none. */
  readonly newsMax?: number;
  /** How much the outbox keeps. Default: there is none. */
  readonly outbox?: OutboxBounds | undefined;
  /** `latin1`: arguments and replies are bytes, as strings with one character per byte. Default: text. */
  readonly encoding?: Encoding;
}

export function loadScripts<Name extends string>(
  redis: Redis,
  { names, folder, shared = [], keyCount, absentKey, sharded = false, newsMax = 0, outbox, encoding = "utf8" }: ScriptFiles<Name>,
): Readonly<Record<Name, Run>> {
  const publish = sharded ? "SPUBLISH" : "PUBLISH";
  const given = `local PUBLISH, NEWS_MAX, OUTBOX_MAX, OUTBOX_MS = '${publish}', ${newsMax}, ${outbox?.lengthMax ?? 0}, ${outbox?.ageMs ?? 0}`;
  const run = {} as Record<Name, Run>;
  for (const name of names) {
    const command = `parley:${folder}${name}`;
    const own = keyCount(name);
    const numberOfKeys = own !== undefined && absentKey ? own + 1 : own;
    redis.defineCommand(command, {
      lua: nested([given, ...shared.map((each) => readScript(folder + each)), readScript(folder + name)]),
      ...(numberOfKeys !== undefined && { numberOfKeys }),
    });
    // ioredis adds the command as a method that its types cannot know.
    const method = Reflect.get(redis, encoding === "utf8" ? command : `${command}Buffer`) as Method;
    const send: Run =
      encoding === "utf8"
        ? (keysAndArguments) => method.apply(redis, keysAndArguments)
        : async (keysAndArguments) => asStrings(await method.apply(redis, keysAndArguments.map(asBytes)));
    run[name] =
      own !== undefined && absentKey ? (keysAndArguments) => send(keysAndArguments.toSpliced(own, 0, absentKey(keysAndArguments))) : send;
  }
  return run;
}

/**
 * Each part in a function within the part before it. A function takes what it uses of the parts around it from theirs; of its own part, Lua looks for
 * it among all locals in use, for each of a hundred functions at each run of the script: in one scope, that would be a fifth of Redis' time.
 */
function nested(parts: readonly string[]): string {
  return parts.join("\nreturn (function()\n") + "\nend)()".repeat(parts.length - 1);
}

type Method = (this: Redis, ...keysAndArguments: (Argument | Buffer)[]) => Promise<unknown>;

/** ioredis sends strings as UTF-8, which would change bytes beyond ASCII. */
function asBytes(argument: Argument): Argument | Buffer {
  return typeof argument === "number" || isAscii(argument) ? argument : Buffer.from(argument, "latin1");
}

function asStrings(reply: unknown): unknown {
  if (Buffer.isBuffer(reply)) return reply.toString("latin1");
  return Array.isArray(reply) ? reply.map(asStrings) : reply;
}

function readScript(path: string): string {
  return readFileSync(new URL(`${path}.lua`, import.meta.url), "utf8");
}
