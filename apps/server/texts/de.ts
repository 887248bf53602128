/** Every text of the pages that front ends write, in German. See `en.ts`. */
import type { Texts } from "./en.ts";

export const DE: Texts = {
  language: "de",
  direction: "ltr",

  inbox: {
    title: "Eingang",
    skip: "Zur Frage springen",
    one: "1 Frage wartet auf Sie",
    many: "{count} Fragen warten auf Sie",
    more: "Mehr als {count} Fragen warten auf Sie",
    none: "Es wartet nichts auf Sie",
    noneMatch: "Keine Frage passt dazu",
    choose: "Wählen Sie eine Frage, um sie hier zu sehen.",
    list: "Fragen",
    ask: "Die Frage",
    filters: "Filter",
    tool: "Werkzeug",
    anyTool: "Alle Werkzeuge",
    order: "Reihenfolge",
    byDeadline: "Frist, die nächste zuerst",
    byAge: "Älteste zuerst",
    apply: "Anwenden",
    clear: "Alle zeigen",
    first: "Erste Seite",
    next: "Nächste Seite",
    back: "Zurück zur Liste",
    due: "fällig {when}",
    asked: "gefragt {when}",
    accounts: "Verbundene Konten",
  },

  question: {
    title: "Eine Frage an Sie",
    says: "Das Werkzeug {tool} fragt Sie:",
    from: "Gefragt von",
    fromTool: "dem Werkzeug {tool}",
    fromYou: "dem Werkzeug {tool}, in einem Aufruf von Ihnen",
    fromOther: "dem Werkzeug {tool}, in einem Aufruf von jemand anderem",
    for: "Für",
    forYou: "Sie",
    forTenant: "alle in Ihrer Organisation",
    forPeople: "{names}",
    forGroups: "die Gruppe {names}",
    forRoles: "die Rolle {names}",
    notCaller: "nicht für die Person, von der der Aufruf kommt",
    quorum: "{count} Personen müssen zustimmen",
    quorumSoFar: "{accepted} von {count} Personen haben zugestimmt",
    quorumMine: "Sie haben zugestimmt. Bis alle geantwortet haben, können Sie Ihre Antwort noch ändern oder ablehnen.",
    since: "Gefragt",
    until: "Offen bis",
    thenCancel: "danach wird sie ohne Antwort geschlossen",
    thenDecline: "danach gilt sie als abgelehnt",
    thenFail: "danach schlägt der Aufruf fehl",
    thenDefault: "danach nimmt das Werkzeug diese Antwort: {answer}",
    risk: "Das lässt sich nicht rückgängig machen. Nichts ist vorausgewählt.",
    optional: "freiwillig",
    answer: "Antworten",
    decline: "Ablehnen",
    yes: "Ja",
    no: "Nein",
    accept: "Zustimmen",
    choose: "Bitte wählen …",
    noChoice: "–",
    blank: "(leer)",
    lines: "Ein Eintrag pro Zeile",
    json: "Als JSON",
    moment: "In der Zeitzone {zone}",
    problems: "Noch wurde nichts gesendet: {count} Angaben müssen geändert werden.",
    problemsOne: "Noch wurde nichts gesendet: eine Angabe muss geändert werden.",
    required: "wird gebraucht",
    linkTo: "Sie werden dorthin geschickt:",
    linkOpen: "Seite öffnen",
    linkDone: "Ich war dort",
    linkGo: "Ich gehe dorthin",
    linkPlain: "Die Verbindung dorthin ist nicht verschlüsselt.",
    linkEncoded: "Dieser Name hat andere Zeichen als a bis z. Er steht hier in verschlüsselter Form: Prüfen Sie, ob Sie ihn kennen.",
    linkRefused: "Nur Seiten mit http und https werden geöffnet.",
    elsewhere: "Diese Frage wird auf einer eigenen Seite beantwortet.",
    elsewhereOpen: "Ihre Seite öffnen",
  },

  record: {
    title: "Ihr Beleg",
    question: "Frage",
    tool: "Werkzeug",
    youAnswered: "Ihre Antwort",
    youDeclined: "Sie haben abgelehnt.",
    youAccepted: "Sie haben zugestimmt.",
    answered: "Sie wurde beantwortet.",
    ownerAnswered: "Die Person, von der der Aufruf kommt, hat geantwortet.",
    otherAnswered: "Jemand anderes hat geantwortet.",
    ownerDeclined: "Die Person, von der der Aufruf kommt, hat abgelehnt.",
    otherDeclined: "Jemand anderes hat abgelehnt.",
    cancelled: "Sie wurde ohne Antwort geschlossen.",
    timedOut: "Ihre Frist ist abgelaufen.",
    withdrawn: "Das Werkzeug braucht keine Antwort mehr.",
    ended: "Der Aufruf endete, bevor geantwortet wurde.",
    quorum: "{count} Personen haben zugestimmt.",
    when: "Wann",
    empty: "leer gelassen",
    yes: "ja",
    no: "nein",
  },

  secret: {
    title: "Ein Geheimnis wird gebraucht",
    label: "Geheimnis",
    note: "Es wird dem Werkzeug verschlüsselt gesendet. Weder Ihr Client noch sein Modell sieht es.",
    send: "Senden",
    empty: "Geben Sie das Geheimnis ein, oder lehnen Sie ab.",
    long: "Ein Geheimnis hat höchstens {count} Zeichen.",
  },
  files: {
    titleOne: "Eine Datei wird gebraucht",
    titleMany: "Dateien werden gebraucht",
    labelOne: "Datei",
    labelMany: "Dateien",
    one: "Eine Datei mit höchstens {size}",
    many: "Höchstens {count} Dateien mit je {size}",
    types: ", von diesen Arten: {types}",
    noteOne: "Nur das Werkzeug bekommt sie; Ihr Client und sein Modell nicht.",
    noteMany: "Nur das Werkzeug bekommt sie; Ihr Client und sein Modell nicht.",
    send: "Hochladen",
    empty: "Wählen Sie eine Datei, oder lehnen Sie ab.",
  },
  grant: {
    title: "Zugriff auf {title}",
    wants: "Es möchte Ihr Konto bei {title} benutzen für:",
    note: "Dort melden Sie sich an und entscheiden, ob Sie es erlauben. Das Werkzeug kann den Zugriff benutzen, bis es endet. Weder Ihr Client noch sein Modell sieht ihn.",
    send: "Weiter zu {title}",
    later: "Ihre späteren Aufrufe benutzen denselben Zugriff. {accounts} zeigt und entfernt ihn.",
  },
  visit: {
    title: "Ein Besuch bei {host}",
    sends: "Es schickt Sie zu {host} und fährt fort, wenn Sie von dort zurückkommen.",
    note: "Was Sie dort tun, bleibt zwischen Ihnen und {host}. Prüfen Sie, ob das die Seite ist, die Sie erwarten.",
    away: "Auf dem Weg zu {host}",
    awayLink: "Weiter zu {host}",
    awayNote: "Ihr Browser bringt Sie von selbst dorthin.",
  },

  account: {
    loggedIn: "Sie sind angemeldet als {name}.",
    other: "Anderes Konto benutzen",
    out: "Abmelden",
  },

  notices: {
    accepted: { title: "Danke", sentence: "Das Werkzeug hat Ihre Antwort bekommen und fährt fort. Sie können diese Seite schließen." },
    counted: { title: "Danke", sentence: "Ihre Zustimmung zählt. Es fehlen noch {missing}, bevor das Werkzeug fortfährt." },
    agreed: {
      title: "Danke",
      sentence: "Das Werkzeug fährt fort, wenn es von jener Seite hört, dass Sie fertig sind. Sie können diese Seite schließen.",
    },
    granted: { title: "Danke", sentence: "Sie haben den Zugriff erlaubt, und das Werkzeug fährt fort. Sie können diese Seite schließen." },
    returned: {
      title: "Willkommen zurück",
      sentence: "Das Werkzeug weiß, dass Sie zurück sind, und fährt fort. Sie können diese Seite schließen.",
    },
    "not-started": {
      title: "Nicht hier begonnen",
      sentence:
        "Sie haben das nicht in diesem Browser begonnen, oder vor mehr als zehn Minuten. Es wurde nichts gesendet: Öffnen Sie die Seite noch einmal von Ihrem Client aus.",
    },
    "started-by-another": {
      title: "Nicht Ihres",
      sentence: "Das hat eine andere Person begonnen. Es wurde nichts gesendet: Öffnen Sie die Seite noch einmal von Ihrem Client aus.",
    },
    declined: { title: "Abgelehnt", sentence: "Sie haben abgelehnt, und das Werkzeug weiß es. Sie können diese Seite schließen." },
    completed: {
      title: "Schon erledigt",
      sentence:
        "Diese Frage wurde schon beantwortet, vielleicht durch Ihren eigenen ersten Klick. Was danach kam, hat nichts geändert. Sie können diese Seite schließen.",
    },
    answered: { title: "Schon beantwortet", sentence: "Diese Frage wurde vorher beantwortet. Was danach kam, hat nichts geändert." },
    closed: {
      title: "Nicht mehr offen",
      sentence:
        "Diese Frage ist geschlossen: Sie wurde abgelehnt oder zurückgezogen, ihre Frist ist abgelaufen, oder der Aufruf ist zu Ende. Es wurde nichts gesendet.",
    },
    "of-others": { title: "Nicht für Sie", sentence: "Diese Frage ist für eine andere Person." },
    unknown: { title: "Nicht gefunden", sentence: "Diese Frage gibt es nicht, sie ist nicht für Sie, oder sie ist nicht mehr offen." },
    stale: {
      title: "Veraltet",
      sentence:
        "Das Formular passt nicht mehr zu dieser Frage. Es wurde nichts gesendet: Öffnen Sie die Seite noch einmal von Ihrem Client aus.",
    },
    foreign: {
      title: "Nicht angenommen",
      sentence:
        "Dieses Formular kam von einer anderen Seite. Es wurde nichts gesendet: Öffnen Sie die Seite noch einmal von Ihrem Client aus.",
    },
    unreadable: { title: "Nicht verstanden", sentence: "Die Anfrage kommt nicht vom Formular dieser Seite. Es wurde nichts gesendet." },
    large: { title: "Zu groß", sentence: "Ihre Antwort ist größer, als diese Seite annimmt. Es wurde nichts gesendet." },
    late: {
      title: "Zu langsam",
      sentence:
        "Ihre Antwort hat zu lange gebraucht. Es wurde nichts gesendet: Gehen Sie zurück und versuchen Sie es noch einmal, am besten mit einer schnelleren Verbindung.",
    },
    "logged-out": {
      title: "Anmelden",
      sentence:
        "Sie sind nicht angemeldet, oder Ihre Anmeldung ist abgelaufen. Es wurde nichts gesendet: Öffnen Sie die Seite noch einmal.",
    },
    "no-login": {
      title: "Anmelden",
      sentence:
        "Diese Seite ist für angemeldete Personen, und dieser Server hat keine Anmeldung für Browser: Fragen Sie, wer ihn betreibt.",
    },
    "login-refused": {
      title: "Nicht angemeldet",
      sentence:
        "Die Anmeldung wurde abgelehnt, oder sie wurde woanders oder vor zu langer Zeit begonnen: Öffnen Sie die Seite noch einmal von Ihrem Client aus.",
    },
    left: {
      title: "Abgemeldet",
      sentence: "Dieser Browser ist hier abgemeldet. Wo Sie sich angemeldet haben, ist er es vielleicht noch nicht.",
    },
    refused: { title: "Nicht erlaubt", sentence: "Ihr Konto darf hier keine Fragen beantworten." },
    busy: {
      title: "Zu viele Anfragen",
      sentence: "Sie haben zu viele Anfragen gesendet. Es wurde nichts angenommen: Versuchen Sie es gleich noch einmal.",
    },
    away: {
      title: "Nicht verfügbar",
      sentence: "Der Server kann das gerade nicht, und es wurde nichts gesendet: Versuchen Sie es gleich noch einmal.",
    },
    unsure: {
      title: "Nicht verfügbar",
      sentence:
        "Der Server kann das gerade nicht. Falls Sie etwas gesendet haben, öffnen Sie die Seite gleich noch einmal: Sie zeigt, ob es angekommen ist.",
    },
    broken: {
      title: "Etwas ist schiefgegangen",
      sentence:
        "Der Server konnte das nicht. Falls Sie etwas gesendet haben, öffnen Sie die Seite noch einmal: Sie zeigt, ob es angekommen ist.",
    },
  },
  lookUp: "Wer den Server betreibt, findet es unter {id}.",
  toInbox: "Zum Eingang",
};
