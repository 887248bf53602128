/**
 * Tools in the style of the seed project: methods of a class that yield their questions and reports, and read only
 * their parameters.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type AsyncToolGenerator, defineTool } from "../index.ts";
import { cancel, runTool, startTool } from "../testing/testing.ts";

class Television {
  readonly paired: string[] = [];

  async *connect(params: { readonly ip: string }): AsyncToolGenerator {
    yield { emit: "status", message: "Looking for the television" };
    await this.#find(params.ip);
    yield { emit: "progress", value: 0.3, message: "Waiting for the code" };
    const code: string = yield {
      ask: "text",
      id: "pairing_code",
      message: "Which six digits does the television show?",
      pattern: "^[0-9]{6}$",
      required: true,
    };
    yield { step: "pair", run: () => this.paired.push(`${params.ip} ${code}`) };
    yield { emit: "toast", message: "Connected!", type: "success" };
    return { success: true, paired: true };
  }

  async *askUserName(): AsyncToolGenerator {
    const name: string = yield { ask: "text", message: "What is your name?", default: "friend" };
    const color: string = yield { ask: "select", message: "Which colour?", options: [{ value: "r", label: "Red" }, "blue"] };
    const isNice: boolean = yield { ask: "confirm", message: "Is it nice?" };
    yield { checkpoint: true, state: { name } };
    return `${name} ${color} ${isNice}`;
  }

  async *report(): AsyncToolGenerator {
    for (const line of ["# Report\n", "All is well.\n"]) yield { emit: "stream", data: line };
    yield { emit: "stream", data: "", final: true };
    yield { emit: "thinking", active: false };
  }

  async #find(ip: string): Promise<string> {
    return ip;
  }
}

describe("a method of a class", () => {
  const television = new Television();

  test("is a tool, and does its work once", async () => {
    const connect = defineTool({ name: "connect", input: z.object({ ip: z.ipv4() }), run: (params) => television.connect(params) });
    const running = await startTool(connect, { ip: "10.0.0.7" }, { crashAt: "every" });
    expect(running.task).toMatchObject({ message: "Waiting for the code", asks: [{ key: "pairing_code" }] });
    await expect(running.answer({ pairing_code: "12345" })).rejects.toThrow(/is not written as expected/);
    await running.answer({ pairing_code: "123456" });
    expect(running.result?.["structuredContent"]).toEqual({ success: true, paired: true });
    expect(television.paired).toEqual(["10.0.0.7 123456"]);
  });

  test("may ask without ids", async () => {
    const tool = defineTool({ name: "ask_user_name", run: () => television.askUserName() });
    expect((await runTool(tool, {}, { answers: { ask_0: "", ask_1: "r", ask_2: false }, crashAt: "every" })).text).toBe("friend r false");
    // Closing the question is not declining it.
    expect((await runTool(tool, {}, { answers: { ask_0: "Ada", ask_1: "blue", ask_2: cancel } })).result).toMatchObject({ isError: true });
  });

  test("may stream its result", async () => {
    expect((await runTool(defineTool({ name: "report", run: () => television.report() }))).text).toBe("# Report\nAll is well.\n");
  });
});
