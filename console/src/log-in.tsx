/** Asks for the admin token. It is sent once, and the page forgets it. */
import { useRef, useState } from "preact/hooks";
import { textOf } from "./api/load.ts";
import { logIn } from "./api/session.ts";
import { Button } from "./parts/button.tsx";
import { ErrorBox } from "./parts/states.tsx";

export function LogIn() {
  const field = useRef<HTMLInputElement>(null);
  const [error, setError] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  return (
    <main class="log-in">
      <form
        onSubmit={async (event) => {
          event.preventDefault();
          setBusy(true);
          try {
            await logIn(field.current?.value ?? "");
          } catch (failure) {
            setError(textOf(failure));
          }
          if (field.current !== null) field.current.value = "";
          setBusy(false);
        }}
      >
        <h1>larder</h1>
        <label for="token">Admin token</label>
        <input id="token" ref={field} type="password" autocomplete="off" required spellcheck={false} />
        {error !== undefined && <ErrorBox error={error} />}
        <Button type="submit" kind="main" isBusy={isBusy}>
          Log in
        </Button>
      </form>
    </main>
  );
}
