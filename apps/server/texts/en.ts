/**
 * Every text of the pages that front ends write, in English. A translation is a file beside this one with the same
 * members (`de.ts`), and a line in `texts.ts`.
 *
 * `{name}` stands for a part that the page fills in. Keep it, wherever it stands in the sentence.
 */
export const EN = {
  /** The language of the page, and the direction in which it is written. */
  language: "en",
  direction: "ltr",

  inbox: {
    title: "Inbox",
    skip: "Skip to the question",
    one: "1 question waits for you",
    many: "{count} questions wait for you",
    more: "More than {count} questions wait for you",
    none: "Nothing waits for you",
    noneMatch: "No question matches",
    choose: "Choose a question to see it here.",
    list: "Questions",
    ask: "The question",
    filters: "Filter",
    tool: "Tool",
    anyTool: "All tools",
    order: "Order",
    byDeadline: "Deadline, soonest first",
    byAge: "Oldest first",
    apply: "Apply",
    clear: "Show all",
    first: "First page",
    next: "Next page",
    back: "Back to the list",
    due: "due {when}",
    asked: "asked {when}",
    accounts: "Connected accounts",
  },

  question: {
    title: "A question for you",
    says: "The tool {tool} asks you:",
    from: "Asked by",
    fromTool: "the tool {tool}",
    fromYou: "the tool {tool}, in a call of yours",
    fromOther: "the tool {tool}, in a call of somebody else",
    for: "For",
    forYou: "you",
    forTenant: "everyone in your organisation",
    forPeople: "{names}",
    forGroups: "the group {names}",
    forRoles: "the role {names}",
    notCaller: "not the person who made the call",
    quorum: "{count} people must accept",
    quorumSoFar: "{accepted} of {count} people have accepted",
    quorumMine: "You have accepted. You can still change your answer, or decline, until all have answered.",
    since: "Asked",
    until: "Open until",
    thenCancel: "then it closes without an answer",
    thenDecline: "then it counts as declined",
    thenFail: "then the call fails",
    thenDefault: "then the tool takes this answer: {answer}",
    risk: "This cannot be undone. Nothing is chosen for you.",
    optional: "optional",
    answer: "Answer",
    decline: "Decline",
    yes: "Yes",
    no: "No",
    accept: "Accept",
    choose: "Choose…",
    noChoice: "–",
    blank: "(blank)",
    lines: "One entry per line",
    json: "In JSON",
    moment: "In the time zone {zone}",
    problems: "Nothing was sent yet: {count} answers need a change.",
    problemsOne: "Nothing was sent yet: one answer needs a change.",
    required: "is required",
    linkTo: "It sends you to",
    linkOpen: "Open the page",
    linkDone: "I have been there",
    linkGo: "I am going there",
    linkPlain: "The connection to it is not encrypted.",
    linkEncoded: "This name has characters beyond a to z. It is shown in its encoded form: make sure that you know it.",
    linkRefused: "Only pages of http and https are opened.",
    elsewhere: "This question is answered on a page of its own.",
    elsewhereOpen: "Open its page",
  },

  record: {
    title: "Your record",
    question: "Question",
    tool: "Tool",
    youAnswered: "You answered",
    youDeclined: "You declined.",
    youAccepted: "You accepted.",
    answered: "It was answered.",
    ownerAnswered: "The person who made the call answered it.",
    otherAnswered: "Somebody else answered it.",
    ownerDeclined: "The person who made the call declined it.",
    otherDeclined: "Somebody else declined it.",
    cancelled: "It was closed without an answer.",
    timedOut: "Its deadline passed.",
    withdrawn: "The tool no longer needs an answer.",
    ended: "The call ended before it was answered.",
    quorum: "{count} people accepted.",
    when: "When",
    empty: "left empty",
    yes: "yes",
    no: "no",
  },

  secret: {
    title: "A secret is required",
    label: "Secret",
    note: "It is sent to the tool encrypted. Neither your client nor its model sees it.",
    send: "Send",
    empty: "Enter the secret, or decline.",
    long: "A secret has at most {count} characters.",
  },
  files: {
    titleOne: "A file is required",
    titleMany: "Files are required",
    labelOne: "File",
    labelMany: "Files",
    one: "One file of at most {size}",
    many: "At most {count} files of {size} each",
    types: ", of these types: {types}",
    noteOne: "Only the tool gets it; your client and its model do not.",
    noteMany: "Only the tool gets them; your client and its model do not.",
    send: "Upload",
    empty: "Choose a file, or decline.",
  },
  grant: {
    title: "Access to {title}",
    wants: "It wants to use your account at {title} for:",
    note: "You log in there and decide whether to allow it. The tool can use the access until it ends. Neither your client nor its model sees it.",
    send: "Continue to {title}",
    later: "Your later calls use the same access. {accounts} lists it, and removes it.",
  },
  visit: {
    title: "A visit to {host}",
    sends: "It sends you to {host}, and continues when you come back from there.",
    note: "What you do there is between you and {host}. Check that this is the site you expect.",
    away: "On the way to {host}",
    awayLink: "Continue to {host}",
    awayNote: "Your browser takes you there by itself.",
  },

  account: {
    loggedIn: "You are logged in as {name}.",
    other: "Use another account",
    out: "Log out",
  },

  /** Pages that consist of one sentence. */
  notices: {
    accepted: { title: "Thank you", sentence: "The tool has received your answer, and continues. You can close this page." },
    counted: { title: "Thank you", sentence: "Your acceptance counts. {missing} more must accept before the tool continues." },
    agreed: { title: "Thank you", sentence: "The tool continues when it hears from that page that you are done. You can close this page." },
    granted: { title: "Thank you", sentence: "You granted the access, and the tool continues. You can close this page." },
    returned: { title: "Welcome back", sentence: "The tool has been notified that you are back, and continues. You can close this page." },
    "not-started": {
      title: "Not started here",
      sentence:
        "You did not start this in this browser, or you started it more than ten minutes ago, so nothing was sent: open the page again from your client.",
    },
    "started-by-another": {
      title: "Not yours",
      sentence: "This was started by another person, so nothing was sent: open the page again from your client.",
    },
    declined: { title: "Declined", sentence: "You declined, and the tool has been notified. You can close this page." },
    // After a double click the browser shows the reply to the second click.
    completed: {
      title: "Already done",
      sentence:
        "This question was already answered, perhaps by your own first click, and what came later changed nothing. You can close this page.",
    },
    answered: { title: "Already answered", sentence: "This question was answered before. What came later changed nothing." },
    closed: {
      title: "No longer open",
      sentence: "This question is closed: it was declined or withdrawn, its deadline has passed, or its task has ended. Nothing was sent.",
    },
    "of-others": { title: "Not for you", sentence: "This question is for another person." },
    unknown: { title: "Not found", sentence: "This question does not exist, is not for you, or is no longer open." },
    stale: {
      title: "Out of date",
      sentence: "The form is out of date for this question, so nothing was sent: open the page again from your client.",
    },
    foreign: {
      title: "Refused",
      sentence: "This form was sent from another page, so nothing was sent: open the page again from your client.",
    },
    unreadable: { title: "Not understood", sentence: "The request does not come from the form of this page, so nothing was sent." },
    large: { title: "Too large", sentence: "Your answer is larger than this page accepts, so nothing was sent." },
    late: {
      title: "Too slow",
      sentence: "Your answer took too long to arrive, so nothing was sent: go back and try again, on a faster connection if you can.",
    },
    "logged-out": {
      title: "Log in",
      sentence: "You are not logged in, or your login has expired, so nothing was sent: open the page again.",
    },
    "no-login": {
      title: "Log in",
      sentence: "This page is for people who are logged in, and this server has no login for browsers: ask its operator.",
    },
    "login-refused": {
      title: "Not logged in",
      sentence: "The login was refused, or was started elsewhere or too long ago: open the page again from your client.",
    },
    left: { title: "Logged out", sentence: "This browser is logged out here. Where you logged in, it may still be logged in." },
    refused: { title: "Not allowed", sentence: "Your account may not answer questions here." },
    busy: {
      title: "Too many requests",
      sentence: "You have sent too many requests, so nothing was sent: try again in a moment.",
    },
    away: { title: "Not available", sentence: "The server cannot do this right now, and nothing was sent: try again in a moment." },
    // Redis may have recorded an answer and not said so in time.
    unsure: {
      title: "Not available",
      sentence:
        "The server cannot do this right now. If you sent something, open the page again in a moment: it shows whether it was recorded.",
    },
    broken: {
      title: "Something went wrong",
      sentence: "The server could not do this. If you sent something, open the page again: it shows whether it was recorded.",
    },
  },
  lookUp: "The operator can look it up under {id}.",
  toInbox: "Go to your inbox",
};

/** What every language has. */
export type Texts = typeof EN;
