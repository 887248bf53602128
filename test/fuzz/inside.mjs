/**
 * Loaded in front of each process of the deployment (`--import`), and writes what cannot be seen from outside into FUZZ_INSIDE, one line of
 * JSON each:
 *
 *   blocked   the event loop did not turn for a while: how long, and how much processor time its own thread took meanwhile
 *   state     on SIGUSR2: memory after a collection of garbage, and which built-in prototypes are not what they were at the first SIGUSR2
 */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const file = join(process.env.FUZZ_INSIDE, `${process.pid}.jsonl`);
const write = (line) => appendFileSync(file, `${JSON.stringify({ atMs: Date.now(), ...line })}\n`);

const TURN_MS = 10;
const BLOCKED_MS = 60;

let turnedAtMs = performance.now();
let cpu = process.threadCpuUsage();
setInterval(() => {
  const nowMs = performance.now();
  const used = process.threadCpuUsage(cpu);
  const blockedMs = Math.round(nowMs - turnedAtMs - TURN_MS);
  if (blockedMs >= BLOCKED_MS) write({ type: "blocked", blockedMs, cpuMs: Math.round((used.user + used.system) / 1_000) });
  turnedAtMs = performance.now();
  cpu = process.threadCpuUsage();
}, TURN_MS).unref();

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc");

const BUILT_IN = {
  Object,
  Array,
  Function,
  String,
  Number,
  Boolean,
  Symbol,
  Promise,
  Map,
  Set,
  WeakMap,
  RegExp,
  Date,
  Error,
  JSON,
  Reflect,
  Buffer,
};
const descriptors = () =>
  Object.entries(BUILT_IN).flatMap(([name, builtIn]) =>
    [builtIn, builtIn.prototype]
      .filter(Boolean)
      .flatMap((object, index) =>
        Reflect.ownKeys(object).map((key) => [
          `${name}${index === 0 ? "" : ".prototype"}.${String(key)}`,
          Object.getOwnPropertyDescriptor(object, key),
        ]),
      ),
  );
let before;

function changed() {
  const now = new Map(descriptors());
  before ??= now;
  const isSame = (a, b) => a !== undefined && b !== undefined && Object.is(a.value, b.value) && a.get === b.get && a.set === b.set;
  // RegExp keeps its last match in members of its own.
  const names = [...new Set([...before.keys(), ...now.keys()])].filter((name) => !/^RegExp\.(\$|last|left|right|input)/.test(name));
  return names.filter((name) => !isSame(before.get(name), now.get(name)));
}

process.on("SIGUSR2", () => {
  collect();
  collect();
  const { heapUsed, external, rss } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  write({
    type: "state",
    cpuMs: Math.round((user + system) / 1_000),
    heapBytes: heapUsed,
    externalBytes: external,
    rssBytes: rss,
    changed: changed(),
  });
});
