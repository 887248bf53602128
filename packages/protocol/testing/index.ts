/** For tests of tools: the messages that their clients receive. */
export { seenBy, type Played, type SeenOptions, type WireMessage } from "./seen-by.ts";
