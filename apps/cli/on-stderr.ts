import type { Log } from "@parley/core";

const nothing = () => undefined;
const line = (fields: object, message: string) => void process.stderr.write(`${message} ${JSON.stringify(fields)}\n`);

/** For commands: what an operator has to know, as it happens. */
export const onStderr: Log = { debug: nothing, info: nothing, warn: line, error: line };
