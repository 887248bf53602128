/** The texts of the playground. */
import * as de from "../texts/de.ts";
import * as en from "../texts/en.ts";
import { languageNow } from "./language.ts";

export const TEXTS = { en: en.PLAY, de: de.PLAY }[languageNow()];
