/** An OTLP/HTTP receiver for traces: takes what exporters send, in protobuf, and keeps the spans. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface SeenSpan {
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** "" for a root. */
  readonly parentId: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly links: readonly string[];
}

export interface TraceReceiver {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly url: string;
  readonly spans: readonly SeenSpan[];
  /** All that was received, as text: to look for what must not be in it. */
  readonly raw: () => string;
  close(): Promise<void>;
}

export async function startTraceReceiver(): Promise<TraceReceiver> {
  const spans: SeenSpan[] = [];
  const bodies: Buffer[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks);
      bodies.push(body);
      if (request.url === "/v1/traces") spans.push(...spansOf(body));
      response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    raw: () => Buffer.concat(bodies).toString("latin1"),
    async close() {
      server.closeAllConnections();
      await new Promise<void>((closed) => server.close(() => closed()));
    },
  };
}

// ── protobuf, as far as opentelemetry/proto/collector/trace/v1 needs it ──────────────────────────────────────────────

interface Field {
  readonly number: number;
  readonly value: Buffer | bigint;
}

function fieldsOf(message: Buffer): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at]!;
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.length) {
    const tag = Number(varint());
    const number = tag >> 3;
    switch (tag & 7) {
      case 0:
        fields.push({ number, value: varint() });
        break;
      case 1:
        at += 8;
        break;
      case 2: {
        const length = Number(varint());
        fields.push({ number, value: message.subarray(at, at + length) });
        at += length;
        break;
      }
      case 5:
        at += 4;
        break;
      default:
        throw new Error(`wire type ${tag & 7} is not expected`);
    }
  }
  return fields;
}

const all = (message: Buffer, number: number): Buffer[] =>
  fieldsOf(message).flatMap((field) => (field.number === number && Buffer.isBuffer(field.value) ? [field.value] : []));
const first = (message: Buffer, number: number): Buffer => all(message, number)[0] ?? Buffer.alloc(0);

function attributesOf(keyValues: readonly Buffer[]): Record<string, string> {
  return Object.fromEntries(
    keyValues.map((keyValue) => {
      const [value] = fieldsOf(first(keyValue, 2));
      return [first(keyValue, 1).toString(), value === undefined ? "" : value.value.toString()];
    }),
  );
}

function spansOf(body: Buffer): SeenSpan[] {
  return all(body, 1).flatMap((resourceSpans) => {
    const service = attributesOf(all(first(resourceSpans, 1), 1))["service.name"] ?? "";
    return all(resourceSpans, 2).flatMap((scopeSpans) =>
      all(scopeSpans, 2).map((span) => ({
        service,
        traceId: first(span, 1).toString("hex"),
        spanId: first(span, 2).toString("hex"),
        parentId: first(span, 4).toString("hex"),
        name: first(span, 5).toString(),
        attributes: attributesOf(all(span, 9)),
        links: all(span, 13).map((link) => first(link, 1).toString("hex")),
      })),
    );
  });
}
