/**
 * Every choice of a schedule, one number each, so that a schedule can be kept, played again and shrunk.
 *
 * Choice 0 is always the calm one that makes progress: a schedule whose numbers have run out continues with it, so it comes to its end.
 */
import { createRandom } from "../chaos/random.ts";

export interface Choices {
  /** An index into the weights; an index whose weight is 0 is never drawn. */
  weighted(weights: readonly number[]): number;
  /** A whole number from 0 to `most`, both included. */
  upTo(most: number): number;
  /** True with the probability; the calm choice is false. */
  chance(probability: number): boolean;
  /** What was chosen so far. */
  readonly taken: readonly number[];
}

export function drawChoices(seed: string): Choices {
  const random = createRandom(seed);
  const taken: number[] = [];
  const took = (choice: number) => {
    taken.push(choice);
    return choice;
  };
  return {
    taken,
    weighted(weights) {
      let sum = 0;
      for (const weight of weights) sum += weight;
      let rest = random.next() * sum;
      for (let index = 0; index < weights.length; index += 1) {
        rest -= weights[index] ?? 0;
        if (rest < 0) return took(index);
      }
      return took(0);
    },
    upTo: (most) => took(Math.floor(random.next() * (most + 1))),
    chance: (probability) => took(random.next() < probability ? 1 : 0) === 1,
  };
}

export function replayChoices(kept: readonly number[]): Choices {
  const taken: number[] = [];
  const next = (most: number) => {
    const choice = Math.min(kept[taken.length] ?? 0, most);
    taken.push(choice);
    return choice;
  };
  return {
    taken,
    weighted(weights) {
      const choice = next(weights.length - 1);
      if ((weights[choice] ?? 0) > 0) return choice;
      const calm = Math.max(
        0,
        weights.findIndex((weight) => weight > 0),
      );
      taken[taken.length - 1] = calm;
      return calm;
    },
    upTo: next,
    chance: () => next(1) === 1,
  };
}
