/** A tool that throws an error whose message only its operator may read. */
import { defineTool } from "@parley/sdk";

export const throws = defineTool({
  name: "throws",
  run: () => Promise.reject(new Error("connect ECONNREFUSED postgres://admin:hunter2@db")),
});
