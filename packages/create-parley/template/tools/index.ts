/** Everything that this module exports is served. */
export { bookMeeting } from "./book-meeting.ts";
