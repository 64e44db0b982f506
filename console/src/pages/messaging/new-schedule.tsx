/** Creates a schedule. */
import { useLocation } from "preact-iso";
import { PageHead } from "../../parts/page.tsx";
import type { PageProps } from "../pages.ts";
import { emptyForm, MessageFormView } from "./message-form.tsx";
import { page } from "./places.ts";

export default function NewSchedule({ params: { tenant = "" } }: PageProps) {
  const { route } = useLocation();
  return (
    <>
      <PageHead title="Create a schedule" lead="A message that is published at each time of a cron expression" />
      <MessageFormView
        tenant={tenant}
        start={emptyForm("schedule")}
        submit="Create"
        onSent={(answer) => {
          const { scheduleId } = answer as { scheduleId: string };
          route(page(tenant, "schedules", scheduleId));
          return `Created the schedule ${scheduleId}`;
        }}
      />
    </>
  );
}
