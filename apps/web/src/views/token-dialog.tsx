import { useEffect, useRef, useState } from "preact/hooks";
import { setToken, token } from "../run/playground.ts";

export function TokenDialog({ onClose }: { readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState(token.value);

  useEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);

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
        <h2 id="token-title">Access token</h2>
        <div class="fields">
          <div class="field">
            <label for="token">Bearer token</label>
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
              The token is sent with each request of this page and kept until this tab is closed. Leave it empty to send no token.
            </p>
          </div>
        </div>
        <footer class="dialog-foot">
          <button type="button" class="plain" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary">
            Use it
          </button>
        </footer>
      </form>
    </dialog>
  );
}
