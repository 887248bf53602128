import { expect, test } from "vitest";
import { z } from "zod";
import { telemetryEnvironment, telemetrySettings } from "./settings.ts";

const from = (environment: Record<string, string>) => telemetrySettings(z.object(telemetryEnvironment).parse(environment));

test("by default no port is opened and no traces are sent", () => {
  expect(from({})).toEqual({ metrics: undefined, traces: undefined });
});

test("traces are sent below the base address, or to the address given for traces", () => {
  const OTEL_EXPORTER_OTLP_ENDPOINT = "http://collector:4318/";
  expect(from({ OTEL_EXPORTER_OTLP_ENDPOINT }).traces?.url).toBe("http://collector:4318/v1/traces");
  const OTEL_EXPORTER_OTLP_TRACES_ENDPOINT = "https://traces.example/in";
  expect(from({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT }).traces?.url).toBe("https://traces.example/in");
});
