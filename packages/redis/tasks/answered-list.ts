/**
 * What a person has answered: one sorted set for each partition and key, by the time of the answer. scripts/answer.lua writes it in the change
 * that counts the answer, and keeps the newest. It grants nothing: core's policy decides about each as it is read.
 */
import { type AnswerGiver, type AskPlace, inAskOrder, type TaskStore } from "@parley/core";
import { type AskedListOptions, placeOf } from "./asked-list.ts";

export interface AnsweredList {
  page(request: Parameters<TaskStore["answered"]>[0]): Promise<readonly AskPlace[]>;
}

/** As a name of an audience, of a kind that no audience has. */
export function nameOfGiver({ principal }: Pick<AnswerGiver, "principal">): string {
  return `answered ${principal}`;
}

export function createAnsweredList({ redis, keys, partitions, codec, turn }: AskedListOptions): AnsweredList {
  return {
    async page({ tenant, principal, limit, after }) {
      const lookUps = await codec.lookUps(tenant);
      const name = nameOfGiver({ principal });
      const sets = Array.from({ length: partitions }, (_, partition) =>
        lookUps.map((digest) => keys.answered(partition, digest(name))),
      ).flat();
      const till = after ? String(after.atMs) : "+inf";
      const found = await Promise.all(sets.map((set) => turn(() => redis.zrevrangebyscore(set, till, "-inf", "WITHSCORES"))));
      return found
        .flatMap((flat) => Array.from({ length: flat.length / 2 }, (_, index) => placeOf(flat[2 * index] ?? "", flat[2 * index + 1] ?? "")))
        .filter((place) => !after || inAskOrder("newest", place, after) > 0)
        .toSorted((a, b) => inAskOrder("newest", a, b))
        .slice(0, limit);
    },
  };
}
