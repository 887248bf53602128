/** The thread of watch-event-loop.ts: checks that the main thread's event loop turns, reports when it does not, and finally kills the process. */
import { writeSync } from "node:fs";
import { Session } from "node:inspector";
import { setTimeout as sleep } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";

const { memory, everyMs, reportMs, killMs, log, slots } = workerData;
const beats = new Int32Array(memory, 0, 1);

/** How long a report waits for the blocking code to pause. */
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
    write("fatal", { ...blocker, blockedMs }, "event loop blocked for too long, process killed");
    process.kill(process.pid, "SIGKILL");
  }
}

async function report(blockedMs) {
  const looking = lookIntoMainThread(seen).catch(() => undefined);
  const culprit = await Promise.race([looking, sleep(STOP_WITHIN_MS)]);
  blocker = culprit ?? { blocks: "unknown: not JavaScript, or one of atWork" };
  write("warn", { ...blocker, blockedMs, atWork: atWork() }, "event loop blocked");
  if (culprit) return;
  // Native code has returned to the code that called it, or a busy machine has come to it.
  const late = await looking;
  if (!late) return;
  blocker = late;
  write("warn", late, "event loop blocked");
}

/**
 * Pauses the main thread and reads what it runs: at once if that is JavaScript, otherwise when native code returns. Resolves to undefined if
 * there has been a beat since: then this is other code.
 */
async function lookIntoMainThread(beat) {
  const session = new Session();
  session.connectToMainThread();
  try {
    const post = (method, params) =>
      new Promise((resolve, reject) => {
        session.post(method, params, (error, result) => (error ? reject(error) : resolve(result)));
      });
    const urls = new Map();
    session.on("Debugger.scriptParsed", ({ params: { scriptId, url } }) => urls.set(scriptId, url));
    const frames = await new Promise((resolve, reject) => {
      session.once("Debugger.paused", ({ params }) => resolve(params.callFrames));
      // The main thread reads both when it handles the next interrupt. Native code handles none; after it, only the first statement that
      // follows is certain to be of its caller.
      Promise.all([post("Debugger.enable"), post("Debugger.pause")]).catch(reject);
    });
    if (frames.length === 0 || Atomics.load(beats, 0) !== beat) return undefined;
    const blockedMs = looks * everyMs;
    const expression = `globalThis[Symbol.for("parley.watchEventLoop.current")]?.()`;
    const { result } = await post("Debugger.evaluateOnCallFrame", { callFrameId: frames[0].callFrameId, expression, silent: true });
    await post("Debugger.resume");
    const stack = frames.slice(0, FRAMES_MAX).map(({ functionName, location: { scriptId, lineNumber, columnNumber } }) => {
      return `at ${functionName || "<anonymous>"} (${urls.get(scriptId) ?? ""}:${lineNumber + 1}:${columnNumber + 1})`;
    });
    return { blockedMs, blocks: typeof result.value === "string" ? JSON.parse(result.value) : "code outside of any run", stack };
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
