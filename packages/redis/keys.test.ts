/** Every key as Redis holds it, because processes of several versions share them. */
import { describe, expect, test } from "vitest";
import { createKeys, partitionOf, sealWordOf } from "./keys.ts";

const RANDOM = "t".repeat(22);
const TASK = `12-${RANDOM}`;
const ADA = "_e5DDUC9V97qwYbNl5ADPQ";

describe("keys", () => {
  const keys = createKeys();

  test("of a partition have its tag", () => {
    expect(keys.taskPrefix(12)).toBe("parley:{p12}:task:");
    expect(keys.due(12)).toBe("parley:{p12}:due");
    expect(keys.waitingRuns(12)).toStrictEqual(["parley:{p12}:run:wait", "parley:{p12}:run:prioritized"]);
    expect(keys.swept(12)).toBe("parley:{p12}:swept");
    expect(keys.census(12)).toBe("parley:{p12}:census");
    expect(keys.audit(12)).toBe("parley:{p12}:audit");
    expect(keys.once(12, "digest")).toBe("parley:{p12}:once:digest");
    expect(keys.owner(12, "ada")).toBe(`parley:{p12}:owner:${ADA}`);
    expect(keys.queuePrefix(12)).toBe("parley:{p12}");
    expect(keys.granted(12)).toBe("parley:{p12}:granted");
    expect(keys.lane(12, "w")).toBe("parley:{p12}:lane:w");
  });

  test("of a task have its partition's tag", () => {
    const task = `parley:{p12}:task:${TASK}`;
    expect(keys.task(TASK)).toStrictEqual([task, `${task}:journal`, `${task}:feed`, "parley:{p12}:due"]);
    expect(keys.holder(TASK)).toBe(`${task}:holder`);
    expect(keys.holder("none")).toBeUndefined();
  });

  test("with a tag of their own hide what they stand for", () => {
    expect(keys.claim("ada")).toBe(`parley:claim:{${ADA}}`);
    expect([keys.rate("ada"), keys.rate("ada", "ada")]).toEqual([`parley:rate:{${ADA}}`, `parley:rate:{${ADA}}:${ADA}`]);
    expect([keys.grants(ADA), keys.grant(ADA, "id")]).toEqual([`parley:grants:{${ADA}}`, `parley:grants:{${ADA}}:id`]);
    expect(keys.approvals("ada", "open")).toBe(`parley:approvals:{${ADA}}:open`);
    const limit = `parley:limit:{${ADA}}`;
    expect(keys.limit("ada")).toStrictEqual([`${limit}:held`, `${limit}:line`, `${limit}:facts`]);
  });

  test("of a deployment have its prefix", () => {
    const { serving, workers, announcements, secret, content, apiKeys, ready, gateway } = createKeys("acme");
    expect({ serving, workers, announcements, secret, content, apiKeys, ready }).toStrictEqual({
      serving: "acme:serving",
      workers: "acme:workers",
      announcements: "acme:announcements",
      secret: "acme:secret",
      content: "acme:content",
      apiKeys: "acme:api-keys",
      ready: "acme:ready",
    });
    expect([gateway.holders, gateway.lists, gateway.asked]).toEqual(["acme:gateway:holders", "acme:gateway:lists", "acme:gateway:asked"]);
    expect([gateway.calls("p"), ...(["run", "read", "call", "reply"] as const).map((of) => gateway.box(of, "p"))]).toEqual([
      "acme:gateway:calls:p",
      "acme:gateway:runs:p",
      "acme:gateway:replies:p",
      "acme:gateway:call:p",
      "acme:gateway:reply:p",
    ]);
    expect([gateway.lister("crm"), gateway.claim("c")]).toEqual(["acme:gateway:lister:crm", "acme:gateway:claim:c"]);
  });
});

test.each([
  [`0-${RANDOM}`, 0, undefined],
  [`9999-${RANDOM}`, 9_999, undefined],
  [`0-ab1Z-${RANDOM}`, 0, "ab1Z"],
  [`0-ab1Z-${RANDOM}~`, 0, "ab1Z"],
  [`0-${RANDOM}~`, 0, undefined],
  [`0-${"-_".repeat(11)}`, 0, undefined],
])("a task's id names its partition and the word of its key: %s", (id, partition, word) => {
  expect([partitionOf(id), sealWordOf(id)]).toEqual([partition, word]);
});

test.each([
  `10000-${RANDOM}`,
  `00-${RANDOM}`,
  `x0-${RANDOM}`,
  `0-${RANDOM}t`,
  `0-${RANDOM.slice(1)}`,
  `0-${RANDOM}~~`,
  `0-abc-${RANDOM}`,
  `0-abcde-${RANDOM}`,
  `0-ab_Z-${RANDOM}`,
  `0-${"ä".repeat(22)}`,
])("an invalid task id names neither: %s", (id) => {
  expect([partitionOf(id), sealWordOf(id)]).toEqual([undefined, undefined]);
});

test.each(["x", "x".repeat(128), "A-_9"])("a valid session id is a key: %s", (id) => {
  expect(createKeys().session(id)).toBe(`parley:session:{${id}}`);
});
