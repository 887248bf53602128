/**
 * Whether a form field seems to ask for a secret: a password, a key, a code, a card. MCP forbids servers to ask for
 * these in form mode, because the answer passes through the client and its logs. Names, titles and descriptions are
 * all that a server can judge by.
 *
 *   name, title   "newPassword" · "db_password" · "Clé privée" · "密码"
 *   description   if it asks for a secret: "Your API key", but not "Shown after the password was changed"
 *   message       of a form with one field: like a description
 *
 * Something about a secret is not a secret: "passwordLength", "token count", "Name of the secret". Words that mean a
 * secret in one place and something harmless in another are judged by all texts of the field: a PIN code is postal in
 * India, and a card number is harmless on a board. Words are compared in lower case and without accents, in the
 * languages of the lists below. A deployment can add phrases and remove some (PARLEY_SECRET_NAMES).
 */

/** Match anywhere in a word: long enough not to occur in unrelated words. */
const STEMS = phrases(`
  password passwort kennwort passwd passphrase passcode passkey
  losenord lösenord wachtwoord adgangskode salasana jelszó passord contraseña motdepasse
  apikey secretkey privatekey accesskey masterkey signingkey encryptionkey recoverykey
  accesstoken refreshtoken authtoken apitoken bearertoken sessiontoken sessioncookie clientsecret credential
  pincode securitycode verificationcode recoverycode backupcode mfacode otpcode seedphrase
  creditcard debitcard cardnumber ccnumber kreditkart kreditkort socialsecurity
  zugangsdaten geheimzahl geheimcode sicherheitscode kartennummer kartenpruf sozialversicherungsnummer apischlussel
  парол 密码 密碼 口令 验证码 驗證碼 安全码 信用卡 パスワード パスコード 暗証番号 クレジットカード 認証コード セキュリティコード
  비밀번호 인증번호 보안코드 신용카드 סיסמה รหัสผ่าน पासवर्ड
`);

/** Whole words. */
const WORDS = new Set(phrases("pwd mdp senha senhas heslo haslo hasło sifre şifre otp totp cvv cvc csc jwt bearer mnemonic ssn"));

/** Secrets at the end of a phrase or before certain other words: `accessToken`, `pinCode`, but not `tokenCount`. */
const ENDINGS = new Set(phrases("secret secrets pin token clave pw mfa"));
const AFTER_ENDINGS = new Set(phrases("code number value nummer key phrase word answer"));
/** Words before these that make them harmless. */
const OTHER_ENDINGS = new Set(
  phrases(`map gpio led push drop rolling bowling safety lapel enamel data clock input output digital analog chip reset power ground hair
    page pagination continuation cursor sync next stop start end special mask unknown padding palabra`),
);
/** The same for "card number". */
const OTHER_CARDS = new Set(phrases("library loyalty membership member business bonus customer kunden id sim graphics memory score"));
/** A password alone or after these words, but not in "boarding pass". */
const PASS = new Set(phrases("pass"));
const BEFORE_PASS = new Set(phrases("user db database admin root login smtp imap ftp ssh mail email sudo wifi my new old current"));

/** Several consecutive words. `*` is one of the particles that languages put between them. */
const PHRASES: readonly (readonly string[])[] = [
  // English
  "api key, access key, private key, secret key, signing key, encryption key, ssh key, master key, recovery key, pin code, pin number",
  "openai key, anthropic key, stripe key, aws key, azure key, twilio key, sendgrid key, mailgun key, datadog key, github key",
  "seed phrase, recovery phrase, secret phrase, wallet seed, recovery code, backup code, security code, verification code, auth code",
  "authorization code, authentication code, login code, sms code, one time code, one time password, factor code",
  "access token, refresh token, auth token, api token, bearer token, session token, client secret, shared secret, webhook secret",
  "cc number, card number, credit card, debit card, card verification, auth header, authorization header, session cookie, auth cookie",
  "pass word, pass phrase, pass code, social security, security answer, mother maiden name, mothers maiden name",
  // German
  "privater schlussel, geheimer schlussel, api schlussel, geheimes wort, sms tan, mobile tan, push tan, tan nummer, tan code",
  // French
  "mot * passe, cle privee, cle secrete, cle api, cle * acces, code secret, code pin, code * securite, carte * credit, carte bancaire",
  "numero * carte, jeton * acces",
  // Spanish
  "clave privada, clave secreta, clave api, clave * acceso, codigo pin, codigo * seguridad, codigo * verificacion, tarjeta * credito",
  "numero * tarjeta, seguridad social, token * acceso",
  // Portuguese
  "palavra passe, chave privada, chave secreta, chave api, chave * acesso, codigo * seguranca, codigo * verificacao, cartao * credito",
  "numero * cartao",
  // Italian
  "parola * ordine, chiave privata, chiave segreta, chiave api, codice segreto, codice pin, codice * sicurezza, codice * verifica",
  "carta * credito, numero * carta",
  // Russian
  "секретный ключ, закрытый ключ, приватный ключ, пин код, код подтверждения, номер карты, секретное слово",
  // Arabic, Greek, Indonesian, Malay, Vietnamese
  "كلمة المرور, كلمة السر, κωδικός πρόσβασης, kata sandi, kata laluan, mật khẩu",
]
  .flatMap((list) => list.split(","))
  .map(phrases);
const BUILT_IN = byFirst(PHRASES);

/** Words between the words of a phrase, or between a secret and what is about it. */
const PARTICLES = new Set(
  phrases("de d del della dell di da do du des der von la le l el il lo of for on the a an un une una this your my"),
);
/** Words that make one thing be about another: "length of the password", but "type the password". */
const GENITIVES = new Set(phrases("de d del della dell di da do du des der von of for on"));

/** Words that, after a secret or before "of the" and a secret, are about the secret. */
const ABOUT = new Set(
  phrases(`length size policy policies strength rule rules requirement requirements expiry expires expiration age days count counts limit rotation
    reset attempts enabled disabled supported allowed changed updated manager label name names nickname id ids type kind format url uri link path file location provider store vault version
    status algorithm brand issuer network holder fee fees statement symbol address amount price balance supply santa sharing generator
    lange richtlinie anzahl longitud politica nombre longueur politique nom lunghezza nome comprimento 길이 정책`),
);
const ABOUT_SCRIPT = /^的?の?(长度|長度|强度|強度|策略|规则|規則|位数|位數|有效期|名称|名稱|長さ|ポリシー|길이|정책|강도)/u;
/** Secrets whose words also mean something harmless. `near` says so anywhere in the field, and `unless` says that it is the secret after all. */
const AMBIGUOUS = [
  {
    // Postal codes of India.
    words: new Set(["pin", "pin code", "pin number", "pincode", "code pin"]),
    near: new Set(phrases("postal post postcode zip delivery shipping address district locality")),
    unless: new Set(phrases("card bank atm account login debit credit sim unlock device phone")),
  },
  {
    // A merchant's permission to send goods back.
    words: new Set(["authorization code"]),
    near: new Set(phrases("rma return returns merchandise parcel shipment package warranty repair")),
    unless: new Set(phrases("oauth auth login token grant sign device")),
  },
  {
    words: new Set(["card number", "cardnumber"]),
    near: new Set(phrases("board kanban trello column swimlane backlog sprint deck library loyalty membership")),
    unless: new Set(phrases("credit debit bank payment pay charge cvv cvc")),
  },
  {
    // The objects of Kubernetes, by their names.
    words: new Set(["secret", "secrets"]),
    near: new Set(phrases("kubernetes k8s namespace cluster helm ingress name")),
    unless: new Set(phrases("value content contents key")),
  },
];
const NO_STEMS = new Set(phrases("passwordless"));

/** In a description: what follows these words is not asked for. */
const NOT_ASKED = new Set(
  phrases(`not no never without don dont cannot instead except other than
    where when which who that whose until how before after if whether while because via changes resets expires
    kein keine keinen nicht nie ohne sobald nachdem bevor wenn
    sin nunca jamas cuando donde sans pas jamais quand apres avant senza non mai quando dopo prima sem nao depois antes
    не без никогда когда после`),
);
/** The same for languages without spaces between words, anywhere in the sentence. */
const NEVER_SCRIPT = /勿|不[要可会能得用需必]|[无無]需|しない|ないで|ません|마세요|않/u;

/** Maximum characters of a name, title or sentence to look at. */
const TEXT_MAX = 1_000;

export interface SecretNames {
  /** What seems secret in the field's name, title or description; undefined if nothing does. */
  find(field: FieldTexts): Finding | undefined;
}

export interface FieldTexts {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  /** What the person reads above the form. */
  readonly message?: string | undefined;
}

export interface Finding {
  readonly in: keyof FieldTexts;
  /** As compared: `access token`. */
  readonly words: string;
}

/** `more` are phrases in addition to the built-in ones; a leading minus removes a phrase. */
export function secretNames(more: readonly string[] = []): SecretNames {
  const added = more.filter((phrase) => !phrase.startsWith("-")).map(wordsOf);
  // Scripts without spaces between words.
  const stems = added.flatMap(([word, ...rest]) => (word !== undefined && rest.length === 0 && /\p{Lo}/u.test(word) ? [word] : []));
  const addedPhrases = byFirst(added);
  const allowed = byFirst(more.filter((phrase) => phrase.startsWith("-")).map(wordsOf));

  function inWords(words: readonly string[], { isProse, isHarmless }: Reading): string | undefined {
    for (let at = 0; at < words.length; at += 1) {
      const passedOver = longest(allowed, words, at);
      if (passedOver > 0) {
        at += passedOver - 1;
        continue;
      }
      const isStem = stems.some((stem) => words[at]?.includes(stem));
      const length = isStem ? 1 : longest(addedPhrases, words, at) || secretAt(words, at, isProse);
      if (length === 0 || isAbout(words, at, length)) continue;
      const found = words.slice(at, at + length).join(" ");
      if (!isHarmless(found)) return found;
      at += length - 1;
    }
    return undefined;
  }

  function inProse(text: string | undefined, isHarmless: Reading["isHarmless"]): string | undefined {
    if (text === undefined) return undefined;
    for (const sentence of text.split(/[.!?:;。！？\n]+/)) {
      if (NEVER_SCRIPT.test(sentence)) continue;
      const words = wordsOf(sentence);
      const end = words.findIndex((word) => NOT_ASKED.has(word));
      const asked = inWords(end === -1 ? words : words.slice(0, end), { isProse: true, isHarmless });
      if (asked !== undefined) return asked;
    }
    return undefined;
  }

  return {
    find({ name, title, description, message }) {
      const isHarmless = harmlessIn([name, title, description, message]);
      const named = inWords(wordsOf(name), { isProse: false, isHarmless });
      if (named !== undefined) return { in: "name", words: named };
      const titled = title === undefined ? undefined : inWords(wordsOf(title), { isProse: false, isHarmless });
      if (titled !== undefined) return { in: "title", words: titled };
      const described = inProse(description, isHarmless);
      if (described !== undefined) return { in: "description", words: described };
      const asked = inProse(message, isHarmless);
      return asked === undefined ? undefined : { in: "message", words: asked };
    },
  };
}

interface Reading {
  readonly isProse: boolean;
  /** Whether the found words mean something harmless in this field. */
  isHarmless(found: string): boolean;
}

function harmlessIn(texts: readonly (string | undefined)[]): Reading["isHarmless"] {
  let all: readonly string[] | undefined;
  return (found) => {
    const meaning = AMBIGUOUS.find(({ words }) => words.has(found));
    if (!meaning) return false;
    all ??= texts.flatMap((text) => (text === undefined ? [] : wordsOf(text)));
    return all.some((word) => meaning.near.has(word)) && !all.some((word) => meaning.unless.has(word));
  };
}

/** The number of words from `at` on that name a secret; 0 for none. In prose, ambiguous words do not count. */
function secretAt(words: readonly string[], at: number, isProse: boolean): number {
  const [before = "", word = "", next] = [words[at - 1], words[at], words[at + 1]];
  if (word === "card" && OTHER_CARDS.has(before)) return 0;
  const phrase = longest(BUILT_IN, words, at);
  if (phrase > 0) return phrase;
  if (WORDS.has(word) || hasStem(word)) return 1;
  if (isProse) return 0;
  if (ENDINGS.has(word) && !OTHER_ENDINGS.has(before)) return next === undefined ? 1 : AFTER_ENDINGS.has(next) ? 2 : 0;
  return PASS.has(word) && next === undefined && (at === 0 || BEFORE_PASS.has(before)) ? 1 : 0;
}

/** "dbpassword", but not "passwortlange" or "密码长度". */
function hasStem(word: string): boolean {
  const stem = STEMS.find((each) => word.includes(each));
  if (stem === undefined || NO_STEMS.has(word)) return false;
  const rest = word.slice(word.indexOf(stem) + stem.length);
  return !ABOUT.has(rest) && !ABOUT_SCRIPT.test(rest);
}

/** "passwordLength", "length of the password". */
function isAbout(words: readonly string[], at: number, length: number): boolean {
  if (ABOUT.has(words[at + length] ?? "")) return true;
  let before = at - 1;
  while (before > 0 && PARTICLES.has(words[before] ?? "")) before -= 1;
  return ABOUT.has(words[before] ?? "") && words.slice(before + 1, at).some((word) => GENITIVES.has(word));
}

/** The number of words of the longest phrase that starts at `at`; 0 for none. */
function longest(all: PhrasesByFirst, words: readonly string[], at: number): number {
  const beginning = all.get(words[at] ?? "") ?? [];
  return beginning.reduce((most, phrase) => Math.max(most, lengthOf(phrase, words, at)), 0);
}

function lengthOf(phrase: readonly string[], words: readonly string[], at: number): number {
  let end = at;
  for (const part of phrase) {
    if (part === "*") while (PARTICLES.has(words[end] ?? "")) end += 1;
    else if (words[end] === part) end += 1;
    else return 0;
  }
  return end - at;
}

/** Words in lower case, without accents and digits: `newPassword2` is "new password". */
function wordsOf(text: string): string[] {
  return plain(
    text
      .slice(0, TEXT_MAX)
      .replaceAll(/\b2fa/giu, " mfa ")
      .replaceAll(/([\p{Ll}\d])(\p{Lu})/gu, "$1 $2")
      .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2"),
  )
    .split(/[^\p{L}]+/u)
    .filter((word) => word !== "");
}

type PhrasesByFirst = ReadonlyMap<string, readonly (readonly string[])[]>;

/** By their first words, because each word of a form is looked up. */
function byFirst(all: readonly (readonly string[])[]): PhrasesByFirst {
  return Map.groupBy(all, ([first = ""]) => first);
}

function phrases(text: string): string[] {
  return plain(text)
    .split(/\s+/)
    .filter((word) => word !== "");
}

function plain(text: string): string {
  return text.toLowerCase().normalize("NFKD").replaceAll(/\p{M}/gu, "").normalize("NFC");
}
