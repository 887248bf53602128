import { createServer } from "node:net";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { exchangeRaw, parseResponses } from "./raw.ts";

const JSON_REPLY = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 8\r\n\r\n{"id":1}';

describe("what came back is read", () => {
  const read = (text: string, closed = false) => parseResponses(Buffer.from(text), closed);

  test("one after the other, with 100 Continue recognised", () => {
    const { responses, rest } = read(`HTTP/1.1 100 Continue\r\n\r\n${JSON_REPLY}HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n`);
    expect(responses.map(({ status, informational }) => [status, informational])).toEqual([
      [100, true],
      [200, false],
      [202, false],
    ]);
    expect(responses[1]!.messages).toEqual([{ id: 1 }]);
    expect(rest).toBe("");
  });

  test("in chunks, and not before the last one is there", () => {
    const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\n{"id\r\n4\r\n":1}\r\n';
    expect(read(chunked).responses).toEqual([]);
    expect(read(`${chunked}0\r\n\r\n`).responses[0]!.text).toBe('{"id":1}');
  });

  test("until the connection is closed, where nothing else says how long it is", () => {
    expect(read("HTTP/1.1 400 Bad Request\r\n\r\nno").responses).toEqual([]);
    expect(read("HTTP/1.1 400 Bad Request\r\n\r\nno", true).responses[0]!.text).toBe("no");
  });

  test("as far as a stream has come", () => {
    const event = 'id: 7\ndata: {"method":"x"}\n\n';
    const head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    const [response] = read(`${head}${event.length.toString(16)}\r\n${event}\r\n`).responses;
    expect(response).toMatchObject({ outcome: "left", messages: [{ eventId: "7", method: "x" }] });
  });

  test("and the rest, which is not a response, is left over", () => {
    expect(read(`${JSON_REPLY}surplus`).rest).toBe("surplus");
    expect(read("no HTTP at all\r\n\r\n").rest).toContain("no HTTP");
  });
});

describe("an exchange", () => {
  async function against(answer: (text: string) => string | "close" | undefined, act: (port: number) => Promise<void>): Promise<void> {
    const server = createServer((socket) => {
      let text = "";
      socket.on("error", () => undefined);
      socket.on("data", (chunk: Buffer) => {
        text += chunk.toString();
        const said = answer(text);
        if (said === "close") socket.end();
        else if (said !== undefined) socket.write(said);
      });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    try {
      await act((server.address() as AddressInfo).port);
    } finally {
      server.close();
    }
  }
  const piece = (text: string, pauseMs = 0) => ({ bytes: Buffer.from(text), pauseMs });

  test("ends when all replies have arrived", () =>
    against(
      (text) => (text.endsWith("!") ? JSON_REPLY : undefined),
      async (port) => {
        const result = await exchangeRaw({ port, pieces: [piece("a", 5), piece("!")], afterwards: "wait", replies: 1, timeoutMs: 2_000 });
        expect(result).toMatchObject({ closed: false, timedOut: false, responses: [{ status: 200 }] });
      },
    ));

  test("distinguishes a server that closes from one that is silent", async () => {
    await against(
      () => "close",
      async (port) => {
        const result = await exchangeRaw({ port, pieces: [piece("a")], afterwards: "wait", replies: 1, timeoutMs: 2_000 });
        expect(result).toMatchObject({ closed: true, timedOut: false, responses: [] });
      },
    );
    await against(
      () => undefined,
      async (port) => {
        const silent = { port, pieces: [piece("a")], afterwards: "wait" as const, replies: 1 };
        expect(await exchangeRaw({ ...silent, timeoutMs: 60 })).toMatchObject({ closed: false, timedOut: true });
        expect(await exchangeRaw({ ...silent, timeoutMs: 2_000, quietMs: 20 })).toMatchObject({ closed: false, timedOut: false });
      },
    );
  });
});
