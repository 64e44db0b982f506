/** Views of one thing, one at a time: links, so that each has an address. */
export interface Tab {
  readonly title: string;
  readonly href: string;
}

export function Tabs({ label, tabs, current }: { label: string; tabs: readonly Tab[]; current: string }) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ title, href }) => (
        <a key={href} href={href} aria-current={title === current ? "page" : undefined}>
          {title}
        </a>
      ))}
    </nav>
  );
}
