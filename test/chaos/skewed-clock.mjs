/**
 * Loaded in front of a worker (`--import`): its clock is off by what the file at CHAOS_CLOCK says, in milliseconds, read again at each
 * SIGUSR2. Timers are not touched: like a machine's clock that is set while it runs.
 */
import { readFileSync } from "node:fs";

const file = process.env.CHAOS_CLOCK;
const trueNow = Date.now.bind(Date);
const TrueDate = Date;
let offMs = 0;

function read() {
  try {
    offMs = Number(readFileSync(file, "utf8")) || 0;
  } catch {
    offMs = 0; // not set yet
  }
}

globalThis.Date = class extends TrueDate {
  constructor(...args) {
    if (args.length === 0) super(trueNow() + offMs);
    else super(...args);
  }
  static now() {
    return trueNow() + offMs;
  }
};
read();
process.on("SIGUSR2", read);
