/** `@modelcontextprotocol/client`: blocking calls in the revisions with sessions, `input_required` in 2026-07-28. */
import { Client, type ClientOptions } from "@modelcontextprotocol/client";
import { type Call, type Dialect, failedWith, type Question, type Told, toldBy, WITHOUT_TASKS } from "../dialect.ts";
import { transportTo } from "./transports.ts";

async function connect({ url, respond }: Pick<Call, "url" | "respond">, options: ClientOptions): Promise<Client> {
  const client = new Client({ name: "oracle", version: "2" }, { capabilities: { elicitation: { form: {}, url: {} } }, ...options });
  client.setRequestHandler("elicitation/create", async ({ params }) => await respond(params as Question));
  await client.connect(transportTo(url));
  return client;
}

/** A client under another name, which declares something else. */
export interface Variant extends Pick<ClientOptions, "capabilities"> {
  readonly name?: string;
}

export function blockingV2(version: string, { name = `sdk v2, ${version}`, ...options }: Variant = {}): Dialect {
  return {
    name,
    cannot: {},
    async run(call) {
      const client = await connect(call, { supportedProtocolVersions: [version], ...options });
      if (client.getNegotiatedProtocolVersion() !== version) throw new Error(`${version} was not agreed on`);
      const leave = new AbortController();
      try {
        const called = client.callTool({ name: call.tool, arguments: { ...call.args } }, { signal: leave.signal }).then(toldBy, failedWith);
        if (call.meanwhile === "cancel") {
          await call.asked;
          leave.abort();
          // The client does not wait until its notification has gone out.
          await call.closed();
        }
        if (call.meanwhile === "leave") {
          await call.asked;
          await call.cut();
          call.back();
        }
        return await called;
      } finally {
        await client.close();
      }
    },
  };
}

const MODERN: ClientOptions = { versionNegotiation: { mode: { pin: "2026-07-28" } } };

export const inputRequired = inputRequiredBy({ name: "sdk v2, 2026-07-28 without tasks" });

export function inputRequiredBy({ name, ...declared }: Variant & { readonly name: string }): Dialect {
  const options = { ...MODERN, ...declared };
  return {
    name,
    ...WITHOUT_TASKS,
    async run(call) {
      const client = await connect(call, options);
      const leave = new AbortController();
      try {
        if (call.meanwhile === "leave") return await comeBack(client, call, options);
        const called = client.callTool({ name: call.tool, arguments: { ...call.args } }, { signal: leave.signal }).then(toldBy, failedWith);
        if (call.meanwhile === "cancel") {
          await call.asked;
          leave.abort();
        }
        return await called;
      } finally {
        await client.close();
      }
    },
  };
}

interface InputRequired {
  readonly resultType?: string;
  readonly inputRequests?: Readonly<Record<string, { readonly params: Question }>>;
  readonly requestState?: string;
}

/** Another client retries the call with what the first one was given. */
async function comeBack(client: Client, call: Call, options: ClientOptions): Promise<Told> {
  const params = { name: call.tool, arguments: { ...call.args } };
  const first = (await client.callTool(params, { allowInputRequired: true })) as InputRequired;
  const url = await call.vanish();
  await client.close();
  const again = await connect({ ...call, url }, options);
  try {
    call.back();
    const inputResponses: Record<string, unknown> = {};
    for (const [key, request] of Object.entries(first.inputRequests ?? {})) inputResponses[key] = await call.respond(request.params);
    const { requestState } = first;
    return toldBy(await again.callTool({ ...params, inputResponses, requestState } as never));
  } finally {
    await again.close();
  }
}
