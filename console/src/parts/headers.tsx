/** Headers of a message or an answer, sensitive values hidden. */
import { isSensitive, Secret } from "./secret.tsx";

export function Headers({
  headers,
  of,
}: {
  headers: Readonly<Record<string, string | readonly string[]>>;
  of: string;
}) {
  const rows = Object.entries(headers).flatMap(([name, values]) =>
    (typeof values === "string" ? [values] : values).map((value) => [name, value] as const),
  );
  if (rows.length === 0) return <p class="hint">No headers</p>;
  return (
    <dl class="facts headers">
      {rows.map(([name, value], index) => (
        <div key={`${name} ${index}`}>
          <dt>{name}</dt>
          <dd>{isSensitive(name) ? <Secret value={value} what={`header ${name} of ${of}`} /> : <bdi>{value}</bdi>}</dd>
        </div>
      ))}
    </dl>
  );
}
