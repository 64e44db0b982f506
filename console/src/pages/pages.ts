/** All pages of the console, by their place in the navigation. Each area has its own table and is loaded when it is opened. */
import type { ComponentType } from "preact";
import { apiPages } from "./api/pages.ts";
import { homePages } from "./home/pages.ts";
import { messagingPages } from "./messaging/pages.ts";
import { operationsPages } from "./operations/pages.ts";
import { storePages } from "./store/pages.ts";
import { vectorPages } from "./vector/pages.ts";
import { workflowPages } from "./workflows/pages.ts";

/** The kinds of tenants of which a page shows one at a time. */
export type TenantKind = "databases" | "indexes" | "users";

export interface Page {
  /** After `/console`; a segment that starts with `:` is a parameter. In pages of a tenant the first parameter is `:tenant`. */
  readonly path: string;
  /** In the navigation and in the window's title. */
  readonly title: string;
  /** Reached from another page, and not in the navigation. */
  readonly isHidden?: boolean;
  readonly load: () => Promise<{ default: ComponentType<PageProps> }>;
}

/** Parameters of the path by name, decoded. */
export interface PageProps {
  readonly params: Readonly<Record<string, string>>;
}

export interface PageGroup {
  readonly title: string;
  /** Its pages show one tenant, which is chosen above the navigation; absent: none. */
  readonly tenants?: TenantKind;
  readonly pages: readonly Page[];
}

export const pageGroups: readonly PageGroup[] = [
  { title: "", pages: homePages },
  { title: "Messaging", tenants: "users", pages: messagingPages },
  { title: "Workflows", tenants: "users", pages: workflowPages },
  { title: "Store", tenants: "databases", pages: storePages },
  { title: "Vector", tenants: "indexes", pages: vectorPages },
  { title: "Operations", pages: operationsPages },
  { title: "Reference", pages: apiPages },
];
