import { expect, test } from "vitest";
import { createHandClock } from "../hand-clock.fixture.ts";
import { createMemoryClaims } from "./claims.ts";

test("a claim belongs to one holder, who may take it again, until it is released or expires", async () => {
  const { clock, stand } = createHandClock();
  const claims = createMemoryClaims({ clock });
  const take = (holder: string, ms: number) => claims.take("refresh", holder, ms);
  expect(await take("a", 100)).toBe(true);
  expect(await take("b", 100)).toBe(false);
  expect(await claims.take("another", "b", 100)).toBe(true);
  stand(50);
  expect(await take("a", 100)).toBe(true);
  stand(99);
  expect(await take("b", 100)).toBe(false);
  stand(1);
  expect(await take("b", 100)).toBe(true);
  await claims.release("refresh", "a");
  expect(await take("a", 100)).toBe(false);
  await claims.release("refresh", "b");
  await claims.release("never", "b");
  expect(await take("a", 100)).toBe(true);
});
