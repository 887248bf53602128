import { afterEach, describe, expect, test, vi } from "vitest";
import { heartbeat } from "./heartbeat.ts";

describe("the heartbeat", () => {
  afterEach(() => void vi.useRealTimers());

  test("beats at its interval and never more often, however long the interval is", async () => {
    vi.useFakeTimers();
    const beat = vi.fn();
    heartbeat(15_000).onBeat(beat);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(beat).toHaveBeenCalledTimes(4);

    const rare = vi.fn();
    heartbeat(60 * 24 * 3_600_000).onBeat(rare);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(rare).not.toHaveBeenCalled();
  });
});
