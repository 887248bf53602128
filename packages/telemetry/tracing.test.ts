import { expect, test } from "vitest";
import { startTraceReceiver } from "../../test/support/trace-receiver.ts";
import { startTracing } from "./tracing.ts";

test("no error's message reaches a span of BullMQ, whose job failed: it can quote a person's answer", async () => {
  const receiver = await startTraceReceiver();
  const settings = { url: `${receiver.url}/v1/traces`, sampler: "always_on", share: 1 } as const;
  const { bullmq, close } = startTracing(settings, { service: "test", version: "1" });
  const span = bullmq.tracer.startSpan("process runs");
  span.setAttributes({ "bullmq.job.id": "0-abc.1" });
  // As BullMQ's worker reports it.
  span.addEvent("job failed", { "bullmq.job.failed.reason": `Unexpected token in "Alice"` });
  span.recordException(new Error("cannot seat Alice"));
  span.end();
  await close();
  await receiver.close();
  expect(receiver.spans).toMatchObject([{ name: "process runs", attributes: { "bullmq.job.id": "0-abc.1" } }]);
  expect(receiver.raw()).not.toContain("Alice");
});
