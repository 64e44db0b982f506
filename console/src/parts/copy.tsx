import { Button } from "./button.tsx";
import { toast } from "./toast.tsx";

/** Copies a text. */
export function Copy({ text, children = "Copy" }: { text: string; children?: string }) {
  return (
    <Button
      kind="quiet"
      onClick={() =>
        navigator.clipboard.writeText(text).then(
          () => toast("Copied"),
          () => toast("The browser does not allow copying", { isError: true }),
        )
      }
    >
      {children}
    </Button>
  );
}
