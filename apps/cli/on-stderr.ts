import type { Log } from "@parley/core";
import { jsonText, tell } from "./terminal.ts";

const nothing = () => undefined;
const line = (fields: object, message: string) => tell(`${message} ${jsonText(fields)}`);

/** For commands: what an operator has to know, as it happens. */
export const onStderr: Log = { debug: nothing, info: nothing, warn: line, error: line };
