/** A process that blocks its event loop in the way that its argument names. */
import { execFileSync } from "node:child_process";
import { createScope } from "./scope.ts";
import { watchEventLoop } from "./watch-event-loop.ts";

const [, , how, killMs = "0"] = process.argv;
const scope = createScope();
const watch = await watchEventLoop({
  reportMs: 200,
  killMs: Number(killMs),
  log: { name: "fixture", level: "info" },
  current: () => scope.get(),
  onFree: (blockedMs) => process.stdout.write(`free ${blockedMs}\n`),
});
const over = watch.atWork("task-1 spin");
watch.atWork("task-2 sleep")();
watch.atWork("task-3 wait");

function spin(ms: number): void {
  const endMs = Date.now() + ms;
  while (Date.now() < endMs);
}

const ways: Record<string, () => unknown> = {
  spin: () => spin(800),
  native: () => execFileSync("sleep", ["2"]),
  busy: () => setInterval(() => spin(20), 5).unref(),
  ever: () => spin(60_000),
};
setTimeout(() => scope.run({ taskId: "task-1", tool: "spin" }, () => setImmediate(() => ways[how ?? ""]?.())), 300);
setTimeout(() => {
  over();
  void watch.close().then(() => process.stdout.write("closed\n"));
}, 4_000);
