/** A tool that breaks by an error whose words are for nobody but its operator. */
import { defineTool } from "@parley/sdk";

export const throws = defineTool({
  name: "throws",
  run: () => Promise.reject(new Error("connect ECONNREFUSED postgres://admin:hunter2@db")),
});
