/** The list of `parley inbox`, at servers of this version and of the one before. */
import { expect, test, vi } from "vitest";
import { ApiError, type ApiClient } from "../client/api-client.ts";
import { listAsks } from "./list.ts";

/** As `/api/v1` refuses a parameter that it does not know. */
function refusing(...unknown: readonly string[]) {
  const queries: object[] = [];
  const get = vi.fn(async (_at: string, { query }: { readonly query: object }) => {
    queries.push(query);
    const [name] = Object.keys(query).filter((each) => unknown.includes(each));
    if (name !== undefined) throw new ApiError({ status: 400, detail: `there is no parameter ${JSON.stringify(name)}` });
    return { asks: [{ key: "size" }] };
  });
  return { api: { get } as unknown as ApiClient, queries };
}

test("has what waits for a reply as well", async () => {
  const { api, queries } = refusing();
  expect(await listAsks(api, { limit: 5, tool: "pay" })).toEqual({ asks: [{ key: "size" }], isMore: false });
  expect(queries).toEqual([{ toReply: "any", tool: "pay", limit: 5 }]);
});

test("is that of a server in which nobody asks back", async () => {
  const { api, queries } = refusing("toReply");
  expect(await listAsks(api, { limit: 5, tool: "pay" })).toMatchObject({ asks: [{ key: "size" }] });
  expect(queries.at(-1)).toEqual({ tool: "pay", limit: 5 });
});

test("is refused where the server does not know what the person asked for", async () => {
  await expect(listAsks(refusing("snoozed").api, { limit: 5, snoozed: "only" })).rejects.toThrow('there is no parameter "snoozed"');
  await expect(listAsks(refusing("toReply", "snoozed").api, { limit: 5, snoozed: "only" })).rejects.toThrow("snoozed");
});
