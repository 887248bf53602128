/** Letters choose among radio buttons as they do in a menu: the first whose text begins with what was typed within a second. */

const LETTERS_MS = 1_000;

/** Letters of any case and accent. */
export function plain(text: string): string {
  return text.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLocaleLowerCase();
}

/** `choices` holds a label around each button. */
export function chooseByLetters(choices: HTMLElement | null): void {
  let typed = "";
  let last = 0;
  choices?.addEventListener("keydown", (event) => {
    if (event.key.length !== 1 || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    const isWithinWord = typed !== "" && event.timeStamp - last < LETTERS_MS;
    typed = isWithinWord ? typed + event.key : event.key;
    last = event.timeStamp;
    const wanted = plain(typed);
    const labels = [...choices.querySelectorAll("label")];
    const label = wanted.trim() === "" ? undefined : labels.find((each) => plain(each.textContent.trim()).startsWith(wanted));
    const box = label?.querySelector("input");
    // Otherwise it would be a key of the inbox.
    if (box || isWithinWord) event.preventDefault();
    else typed = "";
    if (!box) return;
    if (!box.checked) box.click();
    box.focus();
  });
}
