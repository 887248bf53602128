/**
 * Browsers translate a page by putting elements in the place of its texts. Preact goes on with the texts that it has made, which are no longer there: the
 * page would say for ever what was so as it was translated, and put what is new in the wrong place.
 *
 * So each text comes back beside its translation, empty. Once Preact writes into it the translation goes, and the browser translates it anew; once Preact
 * removes it, so does its translation.
 */

interface Translated {
  readonly translation: Element;
  /** What the text said. */
  readonly said: string;
}

export function followTranslation(root: HTMLElement): void {
  const translated = new WeakMap<Text, Translated>();
  const texts = new WeakMap<Node, Text>();

  function forget(text: Text): Translated | undefined {
    const known = translated.get(text);
    translated.delete(text);
    if (known) texts.delete(known.translation);
    return known;
  }

  /** The person wants to see the original again. Its text, which is still there, says it. */
  function onOriginal(translation: Node, added: NodeList): void {
    const text = texts.get(translation);
    if (!text || translation.isConnected) return;
    text.data = forget(text)?.said ?? "";
    for (const node of added) if (node instanceof Text && node !== text) node.remove();
  }

  function onRemoved(text: Node, beside: readonly (Node | null)[]): void {
    if (!(text instanceof Text)) return;
    const known = translated.get(text);
    if (known && text.isConnected) text.after(known.translation);
    else if (known) forget(text)?.translation.remove();
    else if (!text.isConnected) {
      const translation = beside.find(isTranslation);
      if (!translation?.isConnected) return;
      translated.set(text, { translation, said: text.data });
      texts.set(translation, text);
      text.data = "";
      translation.before(text);
    }
  }

  new MutationObserver((records) => {
    for (const { addedNodes, removedNodes } of records) for (const node of removedNodes) onOriginal(node, addedNodes);
    for (const { type, target, addedNodes, removedNodes, previousSibling, nextSibling } of records) {
      const before = previousSibling instanceof Text ? translated.get(previousSibling) : undefined;
      // What was put behind the text.
      if (before && previousSibling?.nextSibling !== before.translation) (previousSibling as Text).after(before.translation);
      if (type === "characterData" && target instanceof Text) forget(target)?.translation.remove();
      for (const node of removedNodes) onRemoved(node, [...addedNodes, previousSibling, nextSibling]);
    }
  }).observe(root, { childList: true, characterData: true, subtree: true });
}

/** Chrome, Edge and Google's own script use this element, which no page has had for decades. */
function isTranslation(node: Node | null): node is Element {
  return node instanceof HTMLElement && node.localName === "font";
}
