import { ParleyError } from "@parley/core";

/**
 * Undefined if Redis does not answer now. For the work of a held call or a stream, which stays open and tries again later: the call's task
 * does not depend on it, and an error would end the call for its client while its task continues and asks nobody.
 */
export async function unlessAway<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ParleyError && error.code === "UNAVAILABLE") return undefined;
    throw error;
  }
}
