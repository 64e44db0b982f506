/** Publishes a message. */
import { useLocation } from "preact-iso";
import { PageHead } from "../../parts/page.tsx";
import type { PageProps } from "../pages.ts";
import { emptyForm, MessageFormView } from "./message-form.tsx";
import { page } from "./places.ts";

interface Published {
  readonly messageId: string;
  readonly deduplicated?: boolean;
}

export default function Publish({ params: { tenant = "" } }: PageProps) {
  const { query, route } = useLocation();
  const { destination = "" } = query;
  return (
    <>
      <PageHead title="Publish" lead="A request that larder delivers to a destination, with retries" />
      <MessageFormView
        tenant={tenant}
        start={{ ...emptyForm("message"), destination }}
        submit="Publish"
        onSent={(answer) => {
          const all = (Array.isArray(answer) ? answer : [answer]) as Published[];
          const [first] = all;
          if (first === undefined) return "The URL group has no endpoints: nothing was published";
          if (first.deduplicated === true) return `A duplicate of ${first.messageId}: nothing was published`;
          if (all.length === 1) route(page(tenant, "messages", first.messageId));
          else route(page(tenant, "messages"));
          return all.length === 1 ? `Published as ${first.messageId}` : `Published: ${all.length} messages`;
        }}
      />
    </>
  );
}
