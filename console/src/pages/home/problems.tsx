/** The last warnings and errors that the server logged. */
import { useState } from "preact/hooks";
import type { Problem } from "../../api/admin.ts";
import { Badge } from "../../parts/badge.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { countText } from "../../parts/format.ts";
import { Card, Facts } from "../../parts/page.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";

export function Problems({ problems }: { problems: readonly Problem[] }) {
  const [shown, setShown] = useState<Problem>();
  return (
    <Card title="Last warnings and errors">
      <Table label="Last warnings and errors" rows={problems} keyOf={keyOf} columns={columns} onOpen={setShown} />
      {shown !== undefined && <Details problem={shown} onClose={() => setShown(undefined)} />}
    </Card>
  );
}

function Details({ problem, onClose }: { problem: Problem; onClose: () => void }) {
  const { message, area, count, time, firstTime, fields } = problem;
  return (
    <Dialog title={<bdi>{message}</bdi>} onClose={onClose}>
      <Facts
        rows={[
          ["Area", area],
          ["Times", countText(count)],
          ["First", <Time key="first" at={Date.parse(firstTime)} isExact />],
          ["Last", <Time key="last" at={Date.parse(time)} isExact />],
          ...Object.entries(fields).map(([name, value]) => [name, <bdi key={name}>{`${value}`}</bdi>] as const),
        ]}
      />
    </Dialog>
  );
}

function keyOf({ level, area, message, fields: { fault, reason } }: Problem): string {
  return JSON.stringify([level, area, message, fault ?? reason]);
}

const columns: readonly Column<Problem>[] = [
  { title: "Time", width: "minmax(5rem, 8rem)", cell: ({ time }) => <Time at={Date.parse(time)} /> },
  {
    title: "Level",
    width: "minmax(5rem, 6rem)",
    cell: ({ level }) => (
      <Badge tone={level === "error" ? "bad" : "warn"}>{level === "error" ? "error" : "warning"}</Badge>
    ),
  },
  { title: "Area", width: "minmax(5rem, 8rem)", isWide: true, cell: ({ area }) => area },
  {
    title: "Message",
    width: "minmax(8rem, 4fr)",
    cell: (problem) => <bdi title={textOf(problem)}>{textOf(problem)}</bdi>,
  },
  { title: "Times", width: "minmax(4rem, 6rem)", align: "right", isWide: true, cell: ({ count }) => countText(count) },
];

function textOf({ message, fields }: Problem): string {
  const facts = Object.entries(fields).map(([name, value]) => `${name} ${value}`);
  return facts.length === 0 ? message : `${message}: ${facts.join(", ")}`;
}
