/** The thread of watch-event-loop.ts: checks that the main thread's event loop turns, reports when it does not, and finally kills the process. */
import { writeSync } from "node:fs";
import { Session } from "node:inspector";
import { setTimeout as sleep } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";

const { memory, everyMs, reportMs, killMs, log, slots } = workerData;
const beats = new Int32Array(memory, 0, 1);

/** How long the thread waits for the blocking code to pause. */
const STOP_WITHIN_MS = 1_000;
const FRAMES_MAX = 10;
/** Fewer looks without a beat may be chance, however short the configured times are. */
const LOOKS_MIN = 3;
const LEVELS = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60, silent: Infinity };

let blocker = {};
let seen = Atomics.load(beats, 0);
let looks = 0;
let isReported = false;
parentPort.postMessage("watching");

for (;;) {
  await sleep(everyMs);
  const beat = Atomics.load(beats, 0);
  const blockedMs = looks * everyMs;
  if (beat !== seen) {
    if (isReported) parentPort.postMessage(blockedMs);
    seen = beat;
    looks = 0;
    isReported = false;
    continue;
  }
  looks += 1;
  if (looks < LOOKS_MIN) continue;
  if (!isReported && blockedMs >= reportMs) {
    isReported = true;
    void report(blockedMs);
  }
  if (killMs > 0 && blockedMs >= killMs) {
    write("fatal", { blockedMs, ...blocker }, "event loop blocked for too long, process killed");
    process.kill(process.pid, "SIGKILL");
  }
}

async function report(blockedMs) {
  const culprit = await lookIntoMainThread().catch(() => undefined);
  blocker = culprit ?? { blocks: "unknown: not JavaScript, or one of atWork" };
  write("warn", { blockedMs, ...blocker, atWork: atWork() }, "event loop blocked");
}

/** Pauses the main thread and reads what it runs. Resolves to undefined if it cannot be paused. */
async function lookIntoMainThread() {
  const session = new Session();
  session.connectToMainThread();
  try {
    const post = (method, params) =>
      new Promise((resolve, reject) => {
        session.post(method, params, (error, result) => (error ? reject(error) : resolve(result)));
      });
    const urls = new Map();
    session.on("Debugger.scriptParsed", ({ params: { scriptId, url } }) => urls.set(scriptId, url));
    const paused = new Promise((resolve) => session.once("Debugger.paused", ({ params }) => resolve(params.callFrames)));
    // These resolve once the main thread handles an interrupt, which native code does not do.
    const enabled = post("Debugger.enable").then(() => post("Debugger.pause"));
    enabled.catch(() => undefined);
    const frames = await Promise.race([paused, sleep(STOP_WITHIN_MS)]);
    if (frames === undefined || frames.length === 0) return undefined;
    const expression = `globalThis[Symbol.for("parley.watchEventLoop.current")]?.()`;
    const { result } = await post("Debugger.evaluateOnCallFrame", { callFrameId: frames[0].callFrameId, expression, silent: true });
    await post("Debugger.resume");
    const stack = frames.slice(0, FRAMES_MAX).map(({ functionName, location: { scriptId, lineNumber, columnNumber } }) => {
      return `at ${functionName || "<anonymous>"} (${urls.get(scriptId) ?? ""}:${lineNumber + 1}:${columnNumber + 1})`;
    });
    return { blocks: typeof result.value === "string" ? JSON.parse(result.value) : "code outside of any run", stack };
  } finally {
    // Also resumes the main thread if it is still paused.
    session.disconnect();
  }
}

function atWork() {
  const works = [];
  for (let slot = 0; slot < slots.count; slot += 1) {
    const at = slots.at + slot * slots.bytes;
    const [length] = new Int32Array(memory, at, 1);
    if (length > 0) works.push(Buffer.from(memory, at + 4, length).toString());
  }
  return works;
}

/** Writes a log line without the process' logger, which needs the blocked loop. */
function write(level, fields, msg) {
  if (LEVELS[level] < LEVELS[log.level]) return;
  writeSync(2, `${JSON.stringify({ level: LEVELS[level], time: Date.now(), name: log.name, pid: process.pid, ...fields, msg })}\n`);
}
