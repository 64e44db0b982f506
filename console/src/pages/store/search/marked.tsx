/** A text in which the words of a search are marked. */

/** The marks are control characters, shown as `\x01`, and within JSON text as `\u0001`. */
const MARKED = /(?:\\x01|\\+u0001)(.*?)(?:\\x02|\\+u0002)/gs;

export function Marked({ text }: { text: string }) {
  // Every second part is the content of a pair of marks.
  const parts = text.split(MARKED);
  return (
    <bdi class="bytes">
      {parts.map((part, index) => (index % 2 === 1 ? <mark key={`${index}`}>{part}</mark> : part))}
    </bdi>
  );
}
