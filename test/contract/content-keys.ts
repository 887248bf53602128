import { randomBytes } from "node:crypto";

/** A key ring of one key, as PARLEY_CONTENT_KEYS has it. */
export const aContentKey = (): string => randomBytes(32).toString("base64");
