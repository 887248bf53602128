/**
 * Turns a client's reply (MCP's ElicitResult, CreateMessageResult or ListRootsResult) into an answer, checked against
 * the ask. Requests for sampling or roots may also be declined or cancelled, in the words of elicitation.
 *
 * A reply of the wrong shape, or with content that violates the requested schema, is refused with its violations, and
 * the ask stays open.
 */
import { fieldAt } from "./form.ts";
import type { ValidateSchema } from "../ports.ts";
import type { Answer, AskRequest, EventRequest, Json, JsonObject, Violation } from "../task.ts";

/** Maximum length of the reason of a decline. */
export const REASON_CHARS_MAX = 1_000;

/** Where a reply of MCP carries the reason of a decline: a revision has no member for it. */
const REASON = "parley/reason";

export type ReplyRead = { readonly ok: true; readonly answer: Answer } | { readonly ok: false; readonly violations: readonly Violation[] };

/**
 * Whether a client's `accept` only says that the person agreed to go to the page: the page or an event reports when
 * they are done.
 */
export function isOnPage({ request }: { readonly request: AskRequest | EventRequest }): boolean {
  return request.type === "url" && (request.page !== undefined || request.completedBy !== undefined);
}

export function readReply(request: AskRequest, reply: unknown, validate: ValidateSchema): ReplyRead {
  if (!isObject(reply)) return refused("", "must be an object");
  switch (request.type) {
    case "form":
      return readElicitation(reply, (content) => readContent(request.schema, content, validate));
    case "url":
      return readElicitation(reply, () => ({ ok: true, answer: { action: "accept" } }));
    case "sampling":
      return readRefusal(reply) ?? judged(reply, validate(SAMPLING_RESULT, reply));
    case "roots":
      return readRefusal(reply) ?? judged(reply, validate(ROOTS_RESULT, reply));
  }
}

/**
 * The answers that `readReply` could have made of a reply to an ask that is no longer open: enough to recognise a
 * repeated answer. There are several if the result depends on the kind of ask: an accepted form without content is
 * filled in as empty, one with empty texts or nulls may be read without them, and a URL takes no content. Empty if no ask could have such a reply.
 */
export function readReplyByShape(reply: unknown): readonly Answer[] {
  if (!isObject(reply)) return [];
  switch (reply["action"]) {
    case "decline": {
      const declined = readDecline(reply);
      return declined.ok ? [declined.answer] : [];
    }
    case "cancel":
      return [{ action: "cancel" }];
    case "accept": {
      const content = reply["content"] ?? {};
      return [
        ...(isObject(content) ? readings(content) : []).map((each) => ({ action: "accept" as const, content: each })),
        { action: "accept" },
      ];
    }
    default:
      return "action" in reply ? [] : [{ action: "reply", result: withoutMeta(reply) }];
  }
}

/** Reads an error that the client sent in place of the result. Undefined if the reply is not one. */
function readRefusal(reply: JsonObject): ReplyRead | undefined {
  const { action } = reply;
  if (action === "decline") return readDecline(reply);
  return action === "cancel" ? { ok: true, answer: { action } } : undefined;
}

/** A member of another type is ignored, as others that MCP does not define: a client may mean something else by it. */
function readDecline({ reason, _meta: meta }: JsonObject): ReplyRead {
  const given = typeof reason === "string" ? reason : isObject(meta) ? meta[REASON] : undefined;
  const words = typeof given === "string" ? given.trim() : "";
  if (words.length > REASON_CHARS_MAX) return refused("/reason", `must have at most ${REASON_CHARS_MAX} characters`);
  return { ok: true, answer: { action: "decline", ...(words !== "" && { reason: words }) } };
}

function readElicitation(reply: JsonObject, accept: (content: unknown) => ReplyRead): ReplyRead {
  switch (reply["action"]) {
    case "accept":
      return accept(reply["content"]);
    case "decline":
      return readDecline(reply);
    case "cancel":
      return { ok: true, answer: { action: "cancel" } };
    default:
      return refused("/action", "must be one of accept, decline, cancel");
  }
}

function readContent(schema: JsonObject, content: unknown, validate: ValidateSchema): ReplyRead {
  // A form without required fields may be accepted without content.
  const given = content ?? {};
  if (!isObject(given)) return refused("/content", "must be an object with the form's fields");
  const overlong = tooLong(schema, given);
  const violations = overlong.length > 0 ? overlong : validate(schema, given);
  if (violations.length === 0) return { ok: true, answer: { action: "accept", content: given } };
  const [, ...others] = readings(given);
  const filledIn = overlong.length > 0 ? undefined : others.find((reading) => validate(schema, reading).length === 0);
  if (filledIn) return { ok: true, answer: { action: "accept", content: filledIn } };
  return { ok: false, violations: violations.map(({ path, message }) => titled(schema, { path: `/content${path}`, message })) };
}

/** With the title by which the person knows the field, and the number of the entry in a list. Of a violation of the content. */
export function titled(schema: JsonObject, { path, message }: Violation): Violation {
  const title = fieldAt(schema, path)?.schema["title"];
  const entry = /^\/content\/[^/]+\/(\d+)$/.exec(path)?.[1];
  const label = typeof title === "string" && title !== "" ? `${title}${entry === undefined ? "" : ` ${Number(entry) + 1}`}` : undefined;
  return { path, message, ...(label !== undefined && { label }) };
}

/**
 * What the content of an accepted form may mean, the most literal meaning first. Some clients send null or an empty text for each field that was left
 * empty, also if an e-mail address or a number belongs there.
 */
function readings(content: JsonObject): readonly JsonObject[] {
  const without = (...empty: readonly Json[]) => Object.fromEntries(Object.entries(content).filter(([, value]) => !empty.includes(value)));
  const values = Object.values(content);
  return [content, ...(values.includes(null) ? [without(null)] : []), ...(values.includes("") ? [without(null, "")] : [])];
}

/**
 * Violations of strings that exceed the maximum length of a field with a pattern. A validator tries the pattern at
 * any length, and some patterns take time that grows with a power of the length. Twice the limit is allowed here,
 * because some count characters and some code points; the validator then decides.
 */
function tooLong({ properties }: JsonObject, content: JsonObject): readonly Violation[] {
  if (!isObject(properties)) return [];
  return Object.entries(properties).flatMap(([name, field]) => {
    if (!isObject(field) || !("pattern" in field)) return [];
    const [given, most] = [content[name], field["maxLength"]];
    if (typeof given !== "string" || typeof most !== "number" || given.length <= 2 * most) return [];
    return [{ path: `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`, message: `must have at most ${most} characters` }];
  });
}

function judged(reply: JsonObject, violations: readonly Violation[]): ReplyRead {
  return violations.length > 0 ? { ok: false, violations } : { ok: true, answer: { action: "reply", result: withoutMeta(reply) } };
}

/** `_meta` belongs to the message that carried the reply, not to the answer. */
function withoutMeta(reply: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(reply).filter(([key]) => key !== "_meta"));
}

function refused(path: string, message: string): ReplyRead {
  return { ok: false, violations: [{ path, message }] };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const CONTENT_BLOCK: JsonObject = { type: "object", properties: { type: { type: "string" } }, required: ["type"] };

/** CreateMessageResult, specification 2026-07-28, client/sampling: content is one block or several. */
const SAMPLING_RESULT: JsonObject = {
  type: "object",
  properties: {
    role: { enum: ["user", "assistant"] },
    content: { anyOf: [CONTENT_BLOCK, { type: "array", items: CONTENT_BLOCK }] },
    model: { type: "string" },
    stopReason: { type: "string" },
  },
  required: ["role", "content", "model"],
};

/** ListRootsResult, specification 2026-07-28, client/roots. */
const ROOTS_RESULT: JsonObject = {
  type: "object",
  properties: {
    roots: {
      type: "array",
      items: { type: "object", properties: { uri: { type: "string" }, name: { type: "string" } }, required: ["uri"] },
    },
  },
  required: ["roots"],
};
