/** The tree of prefixes beside the list of keys: a click shows the keys below a prefix. */
import { useState } from "preact/hooks";
import { Button } from "../../../parts/button.tsx";
import { countText, shortCount } from "../../../parts/format.ts";
import { type Bytes, shownBytes } from "../values/bytes.ts";
import { type PrefixNode, sortedChildren } from "./prefix-tree.ts";

export interface PrefixesProps {
  readonly node: PrefixNode;
  readonly current: Bytes;
  readonly hrefOf: (prefix: Bytes) => string;
}

/** Prefixes of a level that are shown at once. */
const SHOWN = 50;

export function Prefixes({ node, current, hrefOf }: PrefixesProps) {
  const [shown, setShown] = useState(SHOWN);
  const children = sortedChildren(node);
  return (
    <ul class="prefixes">
      {children.slice(0, shown).map((child) => (
        <Prefix key={child.prefix} node={child} parent={node.prefix} current={current} hrefOf={hrefOf} />
      ))}
      {children.length > shown && (
        <li>
          <Button kind="quiet" onClick={() => setShown(shown * 4)}>
            Show more of {countText(children.length)}
          </Button>
        </li>
      )}
    </ul>
  );
}

function Prefix({ node, parent, current, hrefOf }: PrefixesProps & { parent: Bytes }) {
  const [isOpen, setOpen] = useState(current !== node.prefix && current.startsWith(node.prefix));
  const name = shownBytes(node.prefix.slice(parent.length), 80);
  return (
    <li>
      <div>
        {node.children.size > 0 ? (
          <Button
            kind="quiet"
            aria-expanded={isOpen}
            label={`${isOpen ? "Close" : "Open"} ${name}`}
            onClick={() => setOpen(!isOpen)}
          >
            {isOpen ? "▾" : "▸"}
          </Button>
        ) : (
          <span class="leaf" />
        )}
        <a href={hrefOf(node.prefix)} aria-current={current === node.prefix ? "true" : undefined}>
          <bdi>{name}</bdi> <span class="count">{shortCount(node.count)}</span>
        </a>
      </div>
      {isOpen && <Prefixes node={node} current={current} hrefOf={hrefOf} />}
    </li>
  );
}
