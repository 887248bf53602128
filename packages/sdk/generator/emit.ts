/** What each emit does; see docs/generator-tools.md. */
import { LOG_LEVELS, type LogLevel, ParleyError } from "@parley/core";
import type { Context } from "../context/context.ts";
import { plainJson } from "../values/plain-data.ts";
import { present } from "../values/without-undefined.ts";
import { artifactBlock } from "./artifact.ts";
import type { Output } from "./output.ts";
import type { EmitYield } from "./yields.ts";

const KIND = /^[A-Za-z0-9_.:-]{1,64}$/;

/** Handles the emits of one run. */
export interface Teller {
  emit(emitted: EmitYield): void;
  /** A bare value is a chunk. */
  stream(value: unknown): void;
}

export function createTeller(ctx: Context, output: Output): Teller {
  /** The last status message, restored when the tool stops thinking. */
  let lastMessage: string | undefined;

  function status(message: string): void {
    lastMessage = message;
    ctx.status(message);
  }

  function stream({ data, final, contentType }: Extract<EmitYield, { emit: "stream" }>): void {
    const chunk = data === undefined ? undefined : plainJson("what is streamed", data);
    if (chunk !== undefined) output.chunk(chunk);
    ctx.emit("stream", present({ data: chunk, final, contentType }));
  }

  return {
    emit(emitted) {
      switch (emitted.emit) {
        case "status": {
          const { message, type } = emitted;
          status(textOf("status", "message", message));
          return type === undefined ? undefined : ctx.emit("status", { message, type });
        }
        case "progress": {
          const { value, message, meta } = emitted;
          if (typeof value !== "number" || !Number.isFinite(value)) throw wrong("progress", "value", "a number from 0 to 1");
          const line = message === undefined ? undefined : textOf("progress", "message", message);
          ctx.progress(value, 1, line);
          if (line !== undefined) status(line);
          return meta === undefined ? undefined : ctx.emit("progress", present({ value, message, meta }));
        }
        case "stream":
          return stream(emitted);
        case "log": {
          const { message, level = "info", data } = emitted;
          const line = textOf("log", "message", message);
          return ctx.log(levelOf(level), data === undefined ? line : { message: line, data });
        }
        case "thinking": {
          ctx.status(emitted.active ? "Thinking …" : (lastMessage ?? "Working …"));
          return ctx.emit("thinking", { active: emitted.active });
        }
        case "artifact": {
          const { emit: _, ...artifact } = emitted;
          output.artifact(artifactBlock(emitted, output.artifacts()));
          return ctx.emit("artifact", artifact);
        }
        default: {
          const { emit: kind, ...data } = emitted;
          if (typeof kind !== "string" || !KIND.test(kind)) throw wrong("emit", "emit", "1 to 64 of A-Z a-z 0-9 _ - . :");
          return ctx.emit(kind, data);
        }
      }
    },
    stream: (value) => stream({ emit: "stream", data: value }),
  };
}

function levelOf(level: string): LogLevel {
  const found = LOG_LEVELS.find((known) => known === (level === "warn" ? "warning" : level));
  if (found === undefined) throw wrong("log", "level", LOG_LEVELS.join(", "));
  return found;
}

function textOf(kind: string, field: string, value: unknown): string {
  if (typeof value === "string") return value;
  throw wrong(kind, field, "a text");
}

function wrong(kind: string, field: string, expected: string): ParleyError {
  return new ParleyError("INVALID_OUTPUT", `${field} of an emitted ${kind} must be ${expected}`);
}
