/** A request as its lines: what a client library would put in order first. */

export type Lines = readonly (readonly [name: string, value: string])[];

export interface RawRequest {
  /** Method, target and version, with what is between them. */
  readonly start: string;
  /** Written as octets, in this order, repetitions too. */
  readonly lines: Lines;
  readonly body: string | Buffer;
}

export function bytesOf({ start, lines, body }: RawRequest): Buffer {
  const head = [start, ...lines.map(([name, value]) => `${name}: ${value}`), "", ""].join("\r\n");
  return Buffer.concat([Buffer.from(head, "latin1"), Buffer.from(body)]);
}

export function post(headers: Readonly<Record<string, string>>, host: string, body: string): RawRequest {
  return {
    start: "POST /mcp HTTP/1.1",
    lines: [["host", host], ...Object.entries(headers), ["content-length", String(Buffer.byteLength(body))]],
    body,
  };
}
