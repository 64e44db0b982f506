import type { ButtonHTMLAttributes } from "preact";

export type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & {
  /** `main`: the action of a form; `danger`: deletes something; `quiet`: without a border. */
  readonly kind?: "main" | "plain" | "danger" | "quiet";
  /** For screen readers, if the content is a sign. */
  readonly label?: string;
  /** Its action is under way: it does nothing now. Unlike a disabled one it keeps the keyboard. */
  readonly isBusy?: boolean;
};

export function Button({
  kind = "plain",
  label,
  isBusy = false,
  class: extra,
  type = "button",
  ...others
}: ButtonProps) {
  return (
    <button
      type={type}
      class={`button ${kind} ${extra ?? ""}`}
      {...(label !== undefined && { "aria-label": label, title: label })}
      {...others}
      {...(isBusy && { "aria-disabled": true, onClick: (event: Event) => event.preventDefault() })}
    />
  );
}
