import type { Door } from "../door.ts";
import { answers } from "./answers.ts";
import { api } from "./api.ts";
import { cli } from "./cli.ts";
import { headers } from "./headers.ts";
import { operator } from "./operator.ts";
import { pages } from "./pages.ts";
import { sessions } from "./sessions.ts";
import { socket } from "./socket.ts";
import { state } from "./state.ts";
import { stateless } from "./stateless.ts";
import { stdio } from "./stdio.ts";
import { streams } from "./streams.ts";
import { web } from "./web.ts";

/** In the order in which they are told. A door's cases are its own affair. */
export const DOORS = [
  stateless,
  sessions,
  answers,
  state,
  streams,
  headers,
  socket,
  operator,
  pages,
  web,
  api,
  cli,
  stdio,
] as unknown as readonly Door<unknown>[];
