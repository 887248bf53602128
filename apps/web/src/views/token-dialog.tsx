import { useRef, useState } from "preact/hooks";
import { TEXTS } from "../play-texts.ts";
import { setToken, token } from "../run/playground.ts";
import { useModal } from "./use-modal.ts";

export function TokenDialog({ onClose }: { readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState(token.value);

  useModal(dialog);

  function submit(event: Event): void {
    event.preventDefault();
    setToken(typed);
    onClose();
  }

  return (
    <dialog
      ref={dialog}
      aria-labelledby="token-title"
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <form onSubmit={submit}>
        <h2 id="token-title">{TEXTS.accessToken}</h2>
        <div class="fields">
          <div class="field">
            <label for="token">{TEXTS.bearer}</label>
            <input
              id="token"
              type="password"
              autocomplete="off"
              spellcheck={false}
              value={typed}
              aria-describedby="token-notes"
              onInput={(event) => setTyped(event.currentTarget.value)}
            />
            <p id="token-notes" class="notes">
              {TEXTS.tokenNote}
            </p>
          </div>
        </div>
        <footer class="dialog-foot">
          <button type="button" class="plain" onClick={onClose}>
            {TEXTS.cancel}
          </button>
          <button type="submit" class="primary">
            {TEXTS.use}
          </button>
        </footer>
      </form>
    </dialog>
  );
}
