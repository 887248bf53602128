import { describe, expect, test } from "vitest";
import { secretNames } from "./secret-names.ts";

const found = (text: string, more?: readonly string[]) => secretNames(more).find({ name: text })?.words;

describe("names and titles", () => {
  test.each(
    `password, userPassword, new_password, newpassword, dbpassword, PASSWORD, passwordConfirm, confirm-password, Password *, currentPassword2,
    passwd, pwd, db_pwd, pass, userPass, smtp_pass, passphrase, passcode, passkey, pw,
    secret, clientSecret, client-secret, clientSecretValue, webhookSecret, secretKey, secret_access_key, secretWord,
    api_key, apiKey, APIKey, apikey, api-key, openaiKey, Stripe key, privateKey, privatekey, private_key, masterKey, masterkey, sshKey,
    encryptionKey, signing key, recoveryKey,
    token, Access token, accessToken, refresh_token, authToken, bearer, bearerToken, jwt, personalAccessToken, apiToken, sessionToken, token value,
    pin, PIN, cardPin, PIN code, pinCode, pincode, newPin, pin_number, otp, totp, otpCode, mfa, mfaCode, 2fa, 2faCode, 2FA code, twoFactorCode,
    oneTimePassword, one-time code, verificationCode, security_code, authCode, authorizationCode, smsCode, backupCode, backup code, recoveryCode,
    recovery phrase, seedPhrase, seed phrase, mnemonic, walletSeed,
    cvv, CVV2, cvc, csc, creditCard, credit_card_number, creditCardNumber, cardNumber, debitCard, ccNumber, ssn, socialSecurityNumber, SSN,
    credentials, awsCredentials, authorizationHeader, sessionCookie, securityAnswer, mothersMaidenName`
      .split(/,\s*/)
      .map((text) => text.trim()),
  )("%s looks like a secret", (text) => {
    expect(found(text)).toBeDefined();
  });

  test.each([
    [
      "German",
      "Passwort, passwort, neuesPasswort, datenbankpasswort, Kennwort, Geheimzahl, Zugangsdaten, Kreditkartennummer, SMS-TAN, Sicherheitscode, API-Schlüssel",
    ],
    [
      "French",
      "mot de passe, motDePasse, nouveau_mot_de_passe, mdp, clé privée, cle_api, code PIN, carte de crédit, numéro de carte, jeton d'accès",
    ],
    [
      "Spanish",
      "contraseña, nuevaContraseña, contrasena, clave, clave de acceso, clave privada, código PIN, código de seguridad, tarjeta de crédito",
    ],
    ["Portuguese", "senha, nova_senha, palavra-passe, chave privada, cartão de crédito, código de segurança"],
    ["Italian", "chiave privata, codice segreto, carta di credito, numero della carta, codice di sicurezza, parola d'ordine"],
    ["Russian", "пароль, Новый пароль, секретный ключ, пин-код, номер карты"],
    ["Chinese", "密码, 用户密码, 新密碼, 口令, 验证码, 信用卡号"],
    ["Japanese", "パスワード, 新しいパスワード, 暗証番号, クレジットカード番号"],
    ["Korean", "비밀번호, 새 비밀번호, 인증번호"],
    [
      "others",
      "wachtwoord, lösenord, adgangskode, salasana, jelszó, hasło, şifre, mật khẩu, kata sandi, كلمة المرور, סיסמה, รหัสผ่าน, पासवर्ड, κωδικός πρόσβασης",
    ],
  ])("are recognised in %s", (_language, texts) => {
    for (const text of texts.split(/,\s*/)) expect(found(text), text).toBeDefined();
  });

  test.each(
    `name, email, passenger, passengers, passport, passportNumber, compass, pinned, pinnedMessage, spinach, shipping, opinion, pinColour, mapPin, gpioPin,
    Rolling pin, tokenizer count, tokenCount, maxTokens, tokens, tokenSymbol, tokenAddress, nextPageToken, continuationToken,
    author, authority, authorization, authorName, secretary, secretariat, Secret Santa, secretName, secretId, secret ingredient,
    keyboard, monkey, key, keyword, primaryKey, publicKey, foreign_key, sortKey, accessKeyId, apiKeyName, keyResults,
    passwordLength, password_policy, Password expiry days, Length of the password, Name of the secret, passwordless, passwordManager, Passwortlänge,
    passwordResetUrl, privateKeyPath, credentialId, cardHolder, cardType, creditCardBrand, Name on the credit card, Credit card fee, libraryCardNumber,
    loyalty card number, business card, boarding pass, bus pass, overpass, bypassReason, surpass, encompass, code, zipCode, postal code, country code,
    area code, promoCode, confirmationCode, barcode, dressCode, unicode, code review, phoneNumber, orderNumber, accountNumber, iban, socialMedia,
    pass mark, security level, bearing, tan, Skin tone, otter, cvs, pinterest, happiness, clavel, palabra clave, longitud de la contraseña, mote, passo, sandwich,
    密码长度, パスワードの長さ, 비밀번호 길이, 姓名, ключевое слово, секретарь, param, carrot, cardinal, discard, partySize, session, cookie recipe`
      .split(/,\s*/)
      .map((text) => text.trim()),
  )("%s does not look like a secret", (text) => {
    expect(found(text)).toBeUndefined();
  });

  test("report the match", () => {
    expect(secretNames().find({ name: "field1", title: "Your access token" })).toEqual({ in: "title", words: "access token" });
    expect(secretNames().find({ name: "field1", title: "New pin" })).toEqual({ in: "title", words: "pin" });
    expect(secretNames().find({ name: "dbPassword", title: "Password" })).toEqual({ in: "name", words: "password" });
    expect(secretNames().find({ name: "field1", title: "Party size", description: "How many people" })).toBeUndefined();
  });
});

describe("the match is the whole phrase", () => {
  test.each([
    ["número de seguridad social", "seguridad social"],
    ["Número de la tarjeta", "numero de la tarjeta"],
    ["token de acceso", "token de acceso"],
    ["número do cartão", "numero do cartao"],
    ["DBPassword", "password"],
    ["businessPassword", "password"],
    ["密码和长度", "密码和长度"],
  ])("for %s it is %s", (text, words) => {
    expect(found(text)).toBe(words);
  });
});

describe("something about a secret", () => {
  test.each(["Name of the password", "Length of your password", "passwordLength"])("is not a secret: %s", (text) => {
    expect(found(text)).toBeUndefined();
  });

  test.each([
    // Something about the account, and then the secret.
    "Name of the account and password",
    // "of" does not connect them, although it occurs elsewhere.
    "Type the password of the account",
    // No such word is about a secret.
    "Confirmation of the password",
    "the password",
  ])("must say so: %s", (text) => {
    expect(found(text)).toBe("password");
  });
});

describe("descriptions", () => {
  const described = (description: string) => secretNames().find({ name: "value", description });

  test.each([
    "Your password",
    "Please enter your API key.",
    "The account. Give its password, too.",
    "Stripe secret key, as shown in the dashboard",
    "Credit card number without blanks",
    "Ihr Passwort",
    "Geben Sie die Kreditkartennummer ein",
    "Votre mot de passe",
    "Introduzca su contraseña",
    "请输入密码",
    "必需密码",
    "不同的密码",
    "パスワードを入力してください",
    "Введите пароль",
  ])("that ask for a secret are recognised: %s", (description) => {
    expect(described(description)).toMatchObject({ in: "description" });
  });

  test.each([
    "Who reads the report",
    "Do not enter your password here.",
    "We never ask for your password",
    "The page, shown after the password was changed",
    "Address for the password reset",
    "How long until the password expires",
    "Name of the secret in the vault",
    "Where the credentials are kept",
    "Which credit card to charge, by its nickname",
    "How many tokens the model may use; a token is about four characters",
    "The map pin's colour",
    "Kein Passwort eingeben",
    "Pas de mot de passe ici, sans mot de passe",
    "No escriba su contraseña",
    "请勿输入密码",
    "不要输入密码",
    "无需密码",
    "Click on the map to drop a pin",
    "パスワードは入力しないでください",
    "Не вводите пароль",
  ])("that do not are ignored: %s", (description) => {
    expect(described(description)).toBeUndefined();
  });
});

describe("words with two meanings are judged by all texts of the field", () => {
  test.each([
    { name: "pincode", title: "PIN code", description: "6-digit postal PIN code of the delivery address" },
    { name: "pin", title: "PIN code (postal)" },
    { name: "delivery_pincode" },
    { name: "authorization_code", description: "Return authorization code (RMA) printed on the parcel" },
    { name: "rma_authorization_code" },
    { name: "tls_secret", description: "Name of the Kubernetes secret with the certificate" },
    { name: "image_pull_secret", title: "Pull secret in the namespace" },
    { name: "cardNumber", description: "The card's number on the Kanban board" },
    { name: "boardCardNumber" },
    { name: "passkey_enabled" },
  ])("and are harmless here: %j", (field) => {
    expect(secretNames().find(field)).toBeUndefined();
  });

  test.each([
    { name: "pincode", title: "PIN code" },
    { name: "pin", description: "PIN of your bank card, sent to your address" },
    { name: "authorization_code", description: "From the OAuth provider's return page" },
    { name: "authorization_code" },
    { name: "tls_secret", description: "Value of the Kubernetes secret" },
    { name: "clientSecret", description: "Name of the client, and its secret" },
    { name: "cardNumber", description: "Credit card to pay the board fee with" },
    { name: "password", description: "Postal address, Kubernetes, board, parcel" },
    { name: "pincode", description: "Postal PIN code", title: "Password" },
  ])("and are secrets here: %j", (field) => {
    expect(secretNames().find(field)).toBeDefined();
  });
});

describe("a deployment's own phrases", () => {
  test("are recognised besides the built-in ones, as words or within scripts without spaces", () => {
    const more = ["Kundengeheimnis", "vault code", "密语"];
    for (const text of ["kundengeheimnis", "Vault-Code", "vaultCode", "newVaultCode", "密语", "我的密语"])
      expect(found(text, more), text).toBeDefined();
    for (const text of ["vault", "codeVault", "vaultCodeLength"]) expect(found(text, more), text).toBeUndefined();
    expect(found("password", more)).toBe("password");
    expect(secretNames(["vault code"]).find({ name: "x", description: "Enter the vault code" })).toMatchObject({ in: "description" });
  });

  test("are allowed with a leading minus", () => {
    const more = ["-token", "-credit card number", "-pin code"];
    for (const text of ["token", "rewardToken", "creditCardNumber", "PIN code"]) expect(found(text, more), text).toBeUndefined();
    for (const text of ["creditCard", "pin", "tokenPassword"]) expect(found(text, more), text).toBeDefined();
  });

  test("match parts of a word only if they are one word of a script without spaces", () => {
    expect(found("vaulted", ["vault"])).toBeUndefined();
    expect(found("密语", ["密语 代码"])).toBeUndefined();
    expect(found("密语 代码", ["密语 代码"])).toBe("密语 代码");
  });

  test("with a leading minus are never matched, and without one allow nothing", () => {
    expect(found("我的密语", ["-密语"])).toBeUndefined();
    expect(found("pin", ["TPIN"])).toBe("pin");
  });

  test("may be empty", () => {
    for (const more of [[], [""], ["-"], ["!?"]]) {
      expect(found("password", more)).toBe("password");
      expect(found("name", more)).toBeUndefined();
    }
  });
});

test("a long text is judged in linear time", () => {
  const before = process.threadCpuUsage();
  expect(found(`${"a".repeat(100_000)}${"A b".repeat(50_000)}`)).toBeUndefined();
  const { user, system } = process.threadCpuUsage(before);
  expect(user + system).toBeLessThan(2_000_000);
});
