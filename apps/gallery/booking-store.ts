/**
 * The tables of a small restaurant, stored in files:
 *
 *   <date>T<time>/table-1.json …   the holder of a table; creating the file claims the table
 *   requests/<hash of key>.json    the table that a request got: the same key gets the same table again
 */
import { hash } from "node:crypto";
import { rm } from "node:fs/promises";
import { galleryDir } from "./config.ts";
import { createJson, readJson, writeJson } from "./file-store.ts";

const TABLES = 3;

export interface Table {
  readonly slot: string;
  readonly table: number;
}

interface Booking extends Table {
  readonly key: string;
  readonly confirmation?: string;
  readonly partySize?: number;
}

interface Request {
  readonly idempotencyKey: string;
}

/** Claims a free table; undefined if all are taken. */
export async function holdTable(date: string, time: string, { idempotencyKey: key }: Request): Promise<Table | undefined> {
  const request = galleryDir("bookings", "requests", `${hash("sha256", key).slice(0, 32)}.json`);
  const known = await readJson<Table>(request);
  if (known) return known;
  const slot = `${date}T${time.replace(":", "-")}`;
  for (let table = 1; table <= TABLES; table += 1) {
    const claim = { slot, table };
    const mine = (await createJson(fileOf(claim), { ...claim, key })) || (await readJson<Booking>(fileOf(claim)))?.key === key;
    if (!mine) continue;
    if (await createJson(request, claim)) return claim;
    // The same request was made twice concurrently, and the other one got a table first: release this one.
    const winner = await readJson<Table>(request);
    if (winner && winner.table !== table) await rm(fileOf(claim), { force: true });
    return winner;
  }
  return undefined;
}

/** Books a held table. Returns the confirmation number, which is the same whenever the call is repeated. */
export async function confirmTable(held: Table, partySize: number): Promise<string> {
  const booking = await readJson<Booking>(fileOf(held));
  if (!booking) throw new Error(`table ${held.table} is no longer held`);
  const confirmation = booking.confirmation ?? hash("sha256", booking.key).slice(0, 6).toUpperCase();
  await writeJson(fileOf(held), { ...booking, confirmation, partySize });
  return confirmation;
}

/** Releases a held table. Repeating the call has no further effect. */
export async function releaseTable(held: Table): Promise<void> {
  await rm(fileOf(held), { force: true });
}

function fileOf({ slot, table }: Table): string {
  return galleryDir("bookings", slot, `table-${table}.json`);
}
