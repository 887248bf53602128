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

test("an error of which nothing can be read is the error of its span, and stays the one that is thrown", async () => {
  const receiver = await startTraceReceiver();
  const settings = { url: `${receiver.url}/v1/traces`, sampler: "always_on", share: 1 } as const;
  const { tell, close } = startTracing(settings, { service: "test", version: "1" });
  const refuse = () => {
    throw new RangeError("not to be looked at");
  };
  const hostile = new Proxy(new Error("hostile"), { get: refuse, getPrototypeOf: refuse });
  let thrown: unknown;
  await tell({ name: "step", attributes: {} }, () => Promise.reject(hostile)).catch((error: unknown) => void (thrown = error));
  expect(thrown === hostile).toBe(true);
  await close();
  await receiver.close();
  expect(receiver.spans).toMatchObject([{ name: "step", attributes: { "error.type": "object" } }]);
});
