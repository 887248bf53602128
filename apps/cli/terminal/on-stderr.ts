import type { Log } from "@parley/core";
import { jsonText, printToStderr } from "./terminal.ts";

const nothing = () => undefined;
const line = (fields: object, message: string) => printToStderr(`${message} ${jsonText(fields)}`);

/** The log of commands: writes warnings and errors to standard error. */
export const onStderr: Log = { debug: nothing, info: nothing, warn: line, error: line };
