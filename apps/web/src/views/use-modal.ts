import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";

/** What had the focus before the first of several dialogs that follow each other. */
let before: HTMLElement | undefined;

/**
 * Shows the dialog over everything else for as long as it is on the page. Then the focus returns to where it was, which the browser does only for a dialog
 * that is closed on its page, and Preact has taken this one off it.
 */
export function useModal(dialog: RefObject<HTMLDialogElement | null>): void {
  useEffect(() => {
    const { activeElement } = document;
    if (activeElement instanceof HTMLElement && activeElement !== document.body) before = activeElement;
    dialog.current?.showModal();
    return () =>
      void requestAnimationFrame(() => {
        // Another dialog may have it, or nothing had it.
        if (document.activeElement !== document.body || !before) return;
        // What had it may be gone, as the button is that opens a question again.
        const back = before.isConnected ? before : inCall();
        before = undefined;
        back?.focus({ preventScroll: true });
      });
  }, []);
}

/** Of a button that is gone once its dialog is there. */
export function comeBackTo(button: HTMLElement): void {
  before = button;
}

/** A question that can be opened, or else the heading. */
function inCall(): HTMLElement | null {
  return document.querySelector<HTMLElement>(".waiting button") ?? document.querySelector<HTMLElement>(".now h2");
}
