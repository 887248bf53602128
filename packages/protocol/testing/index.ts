/** For tests of tools: what their clients see. */
export { seenBy, type Played, type SeenOptions, type WireMessage } from "./seen-by.ts";
