import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";

async function blocking(...args: string[]) {
  const child = spawn(process.execPath, [new URL("watch-event-loop.fixture.ts", import.meta.url).pathname, ...args]);
  const startedAtMs = Date.now();
  const [out, errors, [code, signal]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  const lines = errors
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as { msg: string; stack?: string[]; blockedMs: number });
  return { out, lines, code: code as number | null, signal: signal as string | null, tookMs: Date.now() - startedAtMs };
}

// Runs in real time: on a busy machine the process may be delayed before it does what the test waits for.
describe("a watched event loop", { retry: 2 }, () => {
  test("is reported while it is blocked, with task, code and other work in progress, and counted when it is free again", async () => {
    const { lines, out } = await blocking("spin");
    expect(lines).toEqual([
      expect.objectContaining({
        level: 40,
        name: "fixture",
        msg: "event loop blocked",
        blocks: { taskId: "task-1", tool: "spin" },
        atWork: expect.arrayContaining(["task-1 spin", "task-3 wait"]),
        stack: expect.arrayContaining([expect.stringMatching(/^at spin \(file:.*watch-event-loop.fixture.ts:\d+:\d+\)$/)]),
      }),
    ]);
    expect(lines[0]).toMatchObject({ atWork: { length: 2 } });
    expect(Number(/^free (\d+)$/m.exec(out)?.[1])).toBeGreaterThan(400);
    expect(out).toContain("closed");
  });

  test("is reported without a culprit while native code blocks it, and with the code that called it when it returns", async () => {
    const { lines, signal } = await blocking("native");
    expect(signal).toBe(null);
    expect(lines).toMatchObject([
      { blocks: "unknown: not JavaScript, or one of atWork", atWork: { length: 2 } },
      {
        blocks: { taskId: "task-1", tool: "spin" },
        stack: expect.arrayContaining([expect.stringMatching(/^at native \(file:.*fixture.ts/)]),
      },
    ]);
  });

  test("is not reported while it is busy but not blocked", async () => {
    const { lines, out } = await blocking("busy");
    expect({ lines, out }).toEqual({ lines: [], out: "closed\n" });
  });

  test("has its process killed when it is blocked for too long", async () => {
    const { lines, signal, tookMs } = await blocking("ever", "600");
    expect(signal).toBe("SIGKILL");
    expect(tookMs).toBeLessThan(10_000);
    expect(lines.map(({ msg }) => msg)).toEqual(["event loop blocked", "event loop blocked for too long, process killed"]);
    expect(lines[1]).toMatchObject({ level: 60, blocks: { taskId: "task-1", tool: "spin" } });
  });
});
