/**
 * The tables of a small restaurant, in files.
 *
 *   <date>T<time>/table-1.json …   who holds or has booked a table; the file's creation is the claim
 *   requests/<hash of key>.json    which table a request got: the same key again gets the same table
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

/** Claims a free table, undefined when all are taken. */
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
    // The same request was made twice at once, and the other got a table first: give a second one back.
    const winner = await readJson<Table>(request);
    if (winner && winner.table !== table) await rm(fileOf(claim), { force: true });
    return winner;
  }
  return undefined;
}

/** Books the table that was held; the confirmation number, the same for the same table. */
export async function confirmTable(held: Table, partySize: number): Promise<string> {
  const booking = await readJson<Booking>(fileOf(held));
  if (!booking) throw new Error(`table ${held.table} is not held any more`);
  const confirmation = booking.confirmation ?? hash("sha256", booking.key).slice(0, 6).toUpperCase();
  await writeJson(fileOf(held), { ...booking, confirmation, partySize });
  return confirmation;
}

/** Gives a held table back. Doing it twice is doing it once. */
export async function releaseTable(held: Table): Promise<void> {
  await rm(fileOf(held), { force: true });
}

function fileOf({ slot, table }: Table): string {
  return galleryDir("bookings", slot, `table-${table}.json`);
}
