/** `@ai-sdk/mcp`, as a program uses it: its tools are functions, and questions come to a handler. */
import { createMCPClient, ElicitationRequestSchema } from "@ai-sdk/mcp";
import { type Call, failedWith, type Question, type Told, toldBy } from "../dialect.ts";

export async function callByAiSdk({ url, tool, args, respond }: Pick<Call, "url" | "tool" | "args" | "respond">): Promise<Told> {
  const client = await createMCPClient({ transport: { type: "http", url }, capabilities: { elicitation: { form: {} } } as never });
  try {
    client.onElicitationRequest(ElicitationRequestSchema, async ({ params }) => (await respond(params as Question)) as never);
    const tools = await client.tools();
    const called = tools[tool]?.execute(args, { toolCallId: "1", messages: [], context: {} } as never);
    return await Promise.resolve(called as Promise<object>).then(toldBy, failedWith);
  } finally {
    await client.close();
  }
}
