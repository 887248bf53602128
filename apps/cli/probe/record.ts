/**
 * What a client declares and what it really does, from the messages that pass. Nothing here changes a message, and nothing of what people answer is kept.
 *
 *   R1  A client counts as able only if the server took what it did: an answer that was refused is none.
 *   R2  A client that declares something else is another client: what one does must not excuse the other.
 *   R3  Everything is bounded. A client that sends endless names, sessions or questions is counted, and not kept.
 */
import type { ClientCapabilities } from "@parley/core";
import { ASK_VIEW_URI, isObject, readCapabilities, type Rung } from "@parley/protocol";
import { CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION } from "@parley/protocol/stateless";
import { cleanAll, cleanLine } from "../terminal/terminal.ts";
import { ABILITIES, type Ability, type ClientReport, type Taken, type Verdict } from "./report.ts";

export const CLIENTS_MAX = 50;
const KNOWN_MAX = 1_000;
const NAME_CHARS_MAX = 80;
const DECLARED_CHARS_MAX = 4_000;

const PREFIX = "probe_";
const CUT_TOOL = "probe_cut";
const NOT_FINISHED = /^NOT FINISHED.*?taskId "([^"]+)"/s;

type Kind = "form" | "url" | "other";
type Message = Readonly<Record<string, unknown>>;
type Transport = ClientReport["transport"];

/** One HTTP request and its reply. */
export interface Exchange {
  /** The reply has begun. */
  replied(status: number, sessionId: string | undefined): void;
  /** A message of the reply. Returns whether the connection is to be cut once the client has it. */
  passed(message: unknown): "cut" | undefined;
  /** The connection is over. */
  closed(by: "client" | "server" | "probe"): void;
}

export interface Asking {
  readonly httpMethod: string;
  readonly sessionId: string | undefined;
  readonly lastEventId: string | undefined;
  /** The parsed body, if there is one. */
  readonly body: unknown;
}

export interface Recorder {
  request(asking: Asking): Exchange;
  clients(): readonly ClientReport[];
  readonly leftOut: number;
}

interface Question {
  readonly kind: Kind;
  readonly tool: string | undefined;
}

interface Tried {
  calls: number;
  rung: Taken;
  ended: boolean;
}

interface Counts {
  asked: number;
  answered: number;
}

interface Known {
  readonly name: string;
  readonly version: string;
  readonly revision: string;
  readonly declares: Message;
  readonly tools: Map<string, Tried>;
  /** By the id of the request, or by the key of an input request. */
  readonly open: Map<string, Question>;
  readonly taskTools: Map<string, string>;
  /** Calls in sessions. */
  readonly calls: Map<string, Given>;
  readonly form: Counts;
  readonly url: Counts;
  readonly retries: Counts;
  readonly handles: Counts;
  readonly views: Counts;
  readonly words: Counts;
  taskReads: number;
  progressTokens: number;
  cancelled: number;
  cuts: number;
  resumed: number;
}

export function createRecorder(transport: Transport): Recorder {
  const clients = new Map<string, Known>();
  const sessions = new Map<string, Known>();
  const refused = new Set<string>();

  function known(info: unknown, revision: unknown, capabilities: unknown): Known | undefined {
    const { name, version } = isObject(info) ? info : {};
    const declares = isObject(capabilities) ? capabilities : {};
    const as = { name: clipped(name), version: clipped(version), revision: clipped(revision) };
    const declared = JSON.stringify(declares);
    const id = JSON.stringify([
      as,
      declared.length > DECLARED_CHARS_MAX ? Object.keys(declares).sort().join().slice(0, DECLARED_CHARS_MAX) : declared,
    ]); // R2
    const found = clients.get(id);
    if (found !== undefined) return found;
    if (clients.size >= CLIENTS_MAX) {
      if (refused.size < KNOWN_MAX) refused.add(id); // R3
      return undefined;
    }
    const counts = (): Counts => ({ asked: 0, answered: 0 });
    const made: Known = {
      ...as,
      declares,
      tools: new Map(),
      open: new Map(),
      taskTools: new Map(),
      calls: new Map(),
      form: counts(),
      url: counts(),
      retries: counts(),
      handles: counts(),
      views: counts(),
      words: counts(),
      taskReads: 0,
      progressTokens: 0,
      cancelled: 0,
      cuts: 0,
      resumed: 0,
    };
    clients.set(id, made);
    return made;
  }

  function clientOf(sessionId: string | undefined, message: Message | undefined): Known | undefined {
    const meta = metaOf(message);
    if (typeof meta[PROTOCOL_VERSION] === "string") return known(meta[CLIENT_INFO], meta[PROTOCOL_VERSION], meta[CLIENT_CAPABILITIES]);
    return sessionId === undefined ? undefined : sessions.get(sessionId);
  }

  return {
    request({ httpMethod, sessionId, lastEventId, body }) {
      const messages = messagesIn(body);
      const initialize = messages.find(({ method }) => method === "initialize");
      const client = initialize ? undefined : clientOf(sessionId, messages[0]);
      if (client && httpMethod === "GET" && lastEventId !== undefined && client.cuts > 0) client.resumed += 1;
      const given = client ? messages.map((message) => received(client, message)) : [];
      if (client && sessionId !== undefined)
        for (const call of given) if (call.tool !== undefined) remember(client.calls, callId(sessionId, call.id), call);
      let opened: string | undefined;
      let status = 0;
      return {
        replied(httpStatus, newSession) {
          status = httpStatus;
          opened = newSession;
          for (const { taken } of given) if (status < 400) taken?.(); // R1
        },
        passed(message) {
          if (!isObject(message)) return undefined;
          if (initialize && isObject(message["result"])) {
            const { params } = initialize;
            const { clientInfo, capabilities } = isObject(params) ? params : {};
            const made = known(clientInfo, message["result"]["protocolVersion"], capabilities);
            if (made && opened !== undefined) remember(sessions, opened, made);
            return undefined;
          }
          if (!client) return undefined;
          const isReply = message["method"] === undefined && message["id"] !== undefined;
          // A session takes a stream up again by a request of its own.
          const call = isReply
            ? (given.find(({ id }) => id === message["id"]) ?? client.calls.get(callId(sessionId, message["id"])))
            : undefined;
          call?.answered(message);
          const calling = call ?? given.find(({ tool }) => tool !== undefined);
          const isCut = sent(client, message, calling?.tool);
          // A client of 2026-07-28 holds no stream while a person is asked.
          if (!isCut || client.cuts > 0 || httpMethod === "GET" || sessionId === undefined || calling?.tool !== CUT_TOOL) return undefined;
          client.cuts += 1;
          return "cut";
        },
        closed(by) {
          // 2026-07-28 cancels a call that has no task by closing it. In a session a lost connection means nothing.
          if (client && by === "client" && sessionId === undefined && given.some(({ isOpen }) => isOpen())) client.cancelled += 1;
        },
      };
    },
    clients: () => [...clients.values()].map((client) => reportOf(client, transport)),
    get leftOut() {
      return refused.size;
    },
  };
}

interface Given {
  readonly id: unknown;
  /** Of a call of one of the tools. */
  readonly tool: string | undefined;
  /** A call without its response. */
  isOpen(): boolean;
  /** The server has accepted it. */
  taken?(): void;
  answered(message: Message): void;
}

/** A message of the client. */
function received(client: Known, message: Message): Given {
  const { id, method, params } = message;
  const { name, uri, taskId, inputResponses } = isObject(params) ? params : {};
  if (method === undefined) return responded(client, message);
  if (method === "notifications/cancelled" || method === "tasks/cancel") client.cancelled += 1;
  // A client that waits for the end of a task may still wait when this ends.
  if (method === "tasks/get" || method === "tasks/result" || method === "subscriptions/listen") client.taskReads += 1;
  if (method === "resources/read" && uri === ASK_VIEW_URI) client.views.asked += 1;
  const answers = isObject(inputResponses) ? inputResponses : {};
  const taken = () => {
    for (const [key, answer] of Object.entries(answers)) answeredWith(client, key, answer);
  };
  if (method !== "tools/call" || typeof name !== "string") {
    return { id, tool: undefined, isOpen: () => false, taken, answered: (reply) => tasksRead(client, reply, taskId) };
  }
  const { arguments: args } = params as Message;
  if (name === "parley_answer")
    return { id, tool: undefined, isOpen: () => false, answered: (reply) => void (client.views.answered += isError(reply) ? 0 : 1) };
  if (name === "parley_task") {
    const tool = client.taskTools.get(String(isObject(args) ? args["taskId"] : undefined));
    return {
      id,
      tool: undefined,
      isOpen: () => false,
      answered: (reply) => callAnswered(client, tool, reply, () => (client.words.answered += 1)),
    };
  }
  const tool = name.startsWith(PREFIX) && (client.tools.has(name) || client.tools.size < 10) ? name : undefined;
  if (tool !== undefined) {
    if (Object.keys(answers).length > 0) client.retries.answered += 1;
    else triedOf(client, tool).calls += 1;
    if (metaOf(message)["progressToken"] !== undefined) client.progressTokens += 1;
  }
  let isOpen = true;
  return {
    id,
    tool,
    isOpen: () => isOpen && tool !== undefined,
    taken,
    answered(reply) {
      isOpen = false;
      callAnswered(client, tool, reply);
    },
  };
}

/** The client's response to a request of the server. */
function responded(client: Known, { id, result }: Message): Given {
  const key = JSON.stringify(id) ?? "";
  return { id: undefined, tool: undefined, isOpen: () => false, taken: () => answeredWith(client, key, result), answered: () => undefined };
}

function answeredWith(client: Known, key: string, answer: unknown): void {
  const question = client.open.get(key);
  if (question === undefined || question.kind === "other") return;
  const { action } = isObject(answer) ? answer : {};
  if (action === "accept" || action === "decline" || action === "cancel") client[question.kind].answered += 1;
}

/** The response to a call of a tool. */
function callAnswered(client: Known, tool: string | undefined, reply: Message, onEnd?: () => void): void {
  if (tool === undefined) return;
  const { result } = reply;
  const { resultType, task, taskId } = isObject(result) ? result : {};
  const handle = resultType === "task" ? taskId : isObject(task) ? task["taskId"] : undefined;
  if (typeof handle === "string") {
    client.handles.asked += 1;
    remember(client.taskTools, handle, tool);
    return took(client, tool, "task");
  }
  if (resultType === "input_required") {
    client.retries.asked += 1;
    return took(client, tool, "input_required");
  }
  const [, open] = NOT_FINISHED.exec(textOf(result)) ?? [];
  if (open !== undefined) {
    if (!client.taskTools.has(open)) client.words.asked += 1;
    remember(client.taskTools, open, tool);
    return took(client, tool, canDo(client).views ? "apps" : "text");
  }
  if (isError(reply)) return;
  triedOf(client, tool).ended = true;
  onEnd?.();
}

/** The response to `tasks/get` or `tasks/result`. */
function tasksRead(client: Known, { result }: Message, asked: unknown): void {
  if (!isObject(result) || typeof asked !== "string") return;
  const tool = client.taskTools.get(asked);
  // `tasks/result` has no status, and neither has it while it waits.
  const isEnd = result["status"] === "completed" || (result["status"] === undefined && result["content"] !== undefined);
  if (tool === undefined || !isEnd || triedOf(client, tool).ended) return;
  triedOf(client, tool).ended = true;
  client.handles.answered += 1;
}

/** A message of the server. Returns whether it asks a person. */
function sent(client: Known, message: Message, tool: string | undefined): boolean {
  const { id, method, params, result } = message;
  if (typeof method === "string" && id !== undefined) {
    asks(client, JSON.stringify(id), { method, params }, tool);
    if (method !== "elicitation/create") return false;
    if (tool !== undefined && triedOf(client, tool).rung === "none") took(client, tool, "held");
    return true;
  }
  // In a reply to a call or to `tasks/get`, or in a notification about a task.
  for (const part of [result, params]) {
    const { inputRequests } = isObject(part) ? part : {};
    for (const [key, request] of Object.entries(isObject(inputRequests) ? inputRequests : {})) asks(client, key, request, tool);
    if (isObject(part) && part === params && part["status"] === "completed") tasksRead(client, { result: part }, part["taskId"]);
  }
  return false;
}

function asks(client: Known, key: string, request: unknown, tool: string | undefined): void {
  const { method, params } = isObject(request) ? request : {};
  const { mode } = isObject(params) ? params : {};
  const kind = method !== "elicitation/create" ? "other" : mode === "url" ? "url" : "form";
  if (kind !== "other" && !client.open.has(key)) client[kind].asked += 1;
  remember(client.open, key, { kind, tool });
}

/** The first door of a call is its rung: a task asks on streams, too. */
function took(client: Known, tool: string, rung: Rung): void {
  const tried = triedOf(client, tool);
  if (tried.rung === "none") tried.rung = rung;
}

function triedOf(client: Known, tool: string): Tried {
  const tried = client.tools.get(tool) ?? { calls: 0, rung: "none", ended: false };
  client.tools.set(tool, tried);
  return tried;
}

function reportOf(client: Known, transport: Transport): ClientReport {
  const { name, version, revision, form, url, retries, handles, views, words, cuts } = client;
  const can = canDo(client);
  const verdict = ({ asked, answered }: Counts): Verdict => (asked === 0 ? "untried" : answered > 0 ? "yes" : "no");
  const shown: Verdict = views.answered > 0 ? "yes" : can.views && words.asked > 0 && views.asked === 0 ? "no" : "untried";
  const did: Record<Ability, Verdict> = {
    form: verdict(form),
    url: verdict(url),
    mrtr: verdict(retries),
    tasks: handles.answered === 0 && client.taskReads > 0 ? "untried" : verdict(handles),
    apps: shown,
    words: verdict(words),
    // Nobody can tell whether its program wanted progress, or its user to cancel.
    progress: client.progressTokens > 0 ? "yes" : "untried",
    cancellation: client.cancelled > 0 ? "yes" : "untried",
    resumption: cuts === 0 ? "untried" : client.resumed > 0 && client.tools.get(CUT_TOOL)?.ended ? "yes" : "no",
  };
  const claims: readonly (readonly [Ability, boolean, string])[] = [
    ["form", can.elicitation?.form === true, `declares forms, and answered none of ${form.asked}`],
    ["url", can.elicitation?.url === true, `declares pages, and answered none of ${url.asked}`],
    ["mrtr", true, "speaks 2026-07-28, and did not call again with the answers"],
    ["tasks", true, `takes tasks, and read none of ${handles.asked}`],
    ["apps", can.views === true, "declares views, and did not read the one that it was given"],
  ];
  return {
    name,
    version,
    transport,
    revision,
    declares: declared(client.declares),
    tools: Object.fromEntries([...client.tools].map(([tool, tried]) => [tool, { ...tried }])),
    did: Object.fromEntries(ABILITIES.map((ability) => [ability, did[ability]])) as ClientReport["did"],
    overclaims: claims.filter(([ability, claimed]) => claimed && did[ability] === "no").map(([, , says]) => says),
  };
}

function declared(capabilities: Message): unknown {
  const text = JSON.stringify(capabilities);
  return text.length <= DECLARED_CHARS_MAX ? cleanAll(capabilities) : { tooLong: Object.keys(capabilities).slice(0, 20).map(clipped) };
}

/** As the server reads them. */
function canDo({ declares }: Known): ClientCapabilities {
  const read = readCapabilities(declares);
  return typeof read === "string" ? {} : read;
}

function isError(reply: Message): boolean {
  return !isObject(reply["result"]) || reply["result"]["isError"] === true;
}

function textOf(result: unknown): string {
  const { content } = isObject(result) ? result : {};
  const [first] = Array.isArray(content) ? (content as unknown[]) : [];
  return isObject(first) && typeof first["text"] === "string" ? first["text"] : "";
}

function metaOf(message: Message | undefined): Message {
  const params = message?.["params"];
  const meta = isObject(params) ? params["_meta"] : undefined;
  return isObject(meta) ? meta : {};
}

function messagesIn(body: unknown): readonly Message[] {
  return (Array.isArray(body) ? (body as unknown[]).slice(0, KNOWN_MAX) : [body]).filter(isObject);
}

function callId(sessionId: string | undefined, id: unknown): string {
  return JSON.stringify([sessionId, id]);
}

function clipped(text: unknown): string {
  return typeof text === "string" && text !== "" ? cleanLine(text).slice(0, NAME_CHARS_MAX) : "unknown";
}

/** The oldest is forgotten: what is asked now matters. R3 */
function remember<T>(map: Map<string, T>, key: string, value: T): void {
  if (!map.has(key) && map.size >= KNOWN_MAX) map.delete(map.keys().next().value as string);
  map.set(key, value);
}
