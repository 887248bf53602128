/** The call was not made: its session could not be had in time. It may be tried again. */
export class SessionBusy extends Error {
  override readonly name = "SessionBusy";
}
