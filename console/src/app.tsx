/** The frame of all pages: navigation, choice of the tenant, theme, log-in. */
import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { LocationProvider, useLocation } from "preact-iso";
import { ANSWER_MS_MAX } from "./api/client.ts";
import { loadSession, logOut, session, sessionError } from "./api/session.ts";
import { LogIn } from "./log-in.tsx";
import { type Page, type PageGroup, type PageProps, pageGroups, type TenantKind } from "./pages/pages.ts";
import { Button } from "./parts/button.tsx";
import { ErrorBox, Loading } from "./parts/states.tsx";
import { setTheme, type Theme, theme } from "./parts/theme.ts";
import { Toasts } from "./parts/toast.tsx";
import { BASE } from "./places.ts";
import { chooseTenant, chosenTenant } from "./tenant.ts";

export function App() {
  if (session.value === undefined) return <Start error={sessionError.value} />;
  if (!session.value.loggedIn) return <LogIn />;
  return (
    <LocationProvider scope={BASE}>
      <Frame />
      <Toasts />
    </LocationProvider>
  );
}

/** The frame until larder has answered who is here. */
function Start({ error }: { error: string | undefined }) {
  return (
    <div class="frame">
      <header class="top">
        <span class="brand">larder</span>
        <span class="spring" />
        <ThemeChoice />
      </header>
      <main>{error === undefined ? <Loading /> : <ErrorBox error={error} onRetry={() => void loadSession()} />}</main>
    </div>
  );
}

function Frame() {
  const { path } = useLocation();
  const isOpen = useSignal(false);
  const place = path.slice(BASE.length).replace(/\/+$/, "") || "/";
  const found = findPage(place);
  const main = useRef<HTMLElement>(null);
  const lastPlace = useRef(place);
  // A new place closes the menu of a narrow screen, and begins at its top, with the keyboard too.
  useEffect(() => {
    isOpen.value = false;
    if (lastPlace.current === place) return;
    lastPlace.current = place;
    main.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [place]);
  return (
    <div class="frame">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="top">
        <Button
          kind="quiet"
          class="menu"
          label="Menu"
          aria-expanded={isOpen.value}
          onClick={() => (isOpen.value = !isOpen.value)}
        >
          ☰
        </Button>
        <a class="brand" href={`${BASE}/`}>
          larder
        </a>
        <span class="version">{session.value?.version}</span>
        <span class="spring" />
        <ThemeChoice />
        {session.value?.mode === "serve" && (
          <Button kind="quiet" onClick={() => void logOut()}>
            Log out
          </Button>
        )}
      </header>
      <nav class={isOpen.value ? "side open" : "side"} aria-label="Pages">
        {pageGroups.map((group) => (
          <Group key={group.title} group={group} place={place} />
        ))}
      </nav>
      <main id="main" ref={main} tabIndex={-1}>
        {found === undefined ? (
          <h1>There is no such page</h1>
        ) : (
          <Shown key={place} page={found.page} params={found.params} />
        )}
      </main>
    </div>
  );
}

function Group({ group, place }: { group: PageGroup; place: string }) {
  const shown = group.pages.filter(({ isHidden }) => isHidden !== true);
  if (shown.length === 0) return null;
  const tenant = group.tenants === undefined ? undefined : chosenTenant(group.tenants);
  if (group.tenants !== undefined && tenant === undefined) return null;
  return (
    <section>
      {group.title !== "" && <h2>{group.title}</h2>}
      {group.tenants !== undefined && <TenantChoice kind={group.tenants} place={place} />}
      <ul>
        {shown.map((page) => {
          const path = page.path.replace(":tenant", encodeURIComponent(tenant ?? ""));
          const isHere = place === path || (path !== "/" && place.startsWith(`${path}/`));
          return (
            <li key={page.path}>
              <a href={BASE + path} aria-current={isHere ? "page" : undefined}>
                {page.title}
              </a>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

const nounOf = { databases: "Database", indexes: "Index", users: "User" } as const;

/** The choice of a database, an index or a user; not shown if there is only one. */
function TenantChoice({ kind, place }: { kind: TenantKind; place: string }) {
  const { route } = useLocation();
  const names = session.value?.tenants?.[kind] ?? [];
  const chosen = chosenTenant(kind);
  if (names.length < 2) return null;
  return (
    <select
      aria-label={nounOf[kind]}
      value={chosen}
      onChange={({ currentTarget }) => {
        chooseTenant(kind, currentTarget.value);
        const segment = `/${encodeURIComponent(chosen ?? "")}`;
        const at = place.indexOf(segment);
        if (at > 0)
          route(
            `${BASE}${place.slice(0, at)}/${encodeURIComponent(currentTarget.value)}${place.slice(at + segment.length)}`,
          );
      }}
    >
      {names.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}

function ThemeChoice() {
  return (
    <select
      class="theme"
      aria-label="Theme"
      value={theme.value}
      onChange={({ currentTarget }) => setTheme(currentTarget.value as Theme)}
    >
      <option value="system">System</option>
      <option value="light">Light</option>
      <option value="dark">Dark</option>
    </select>
  );
}

/** Loads the code of a page and shows it. */
function Shown({ page, params }: { page: Page; params: PageProps["params"] }) {
  const [state, setState] = useState<{ Content?: ComponentType<PageProps>; error?: string }>({});
  useEffect(() => {
    document.title = `${page.title} · larder`;
    const fail = (reason: unknown): void => setState({ error: `the page cannot be loaded: ${reason}` });
    const limit = setTimeout(fail, ANSWER_MS_MAX, `its code has not come within ${ANSWER_MS_MAX / 1_000} s`);
    page
      .load()
      .then(({ default: Content }) => setState({ Content }), fail)
      .finally(() => clearTimeout(limit));
    return () => clearTimeout(limit);
  }, [page]);
  const { Content, error } = state;
  if (error !== undefined) return <ErrorBox error={error} />;
  return Content === undefined ? <Loading /> : <Content params={params} />;
}

function findPage(place: string): { page: Page; params: PageProps["params"] } | undefined {
  for (const { tenants, pages } of pageGroups)
    for (const page of pages) {
      const params = match(page.path, place);
      if (params === undefined) continue;
      if (tenants !== undefined && params["tenant"] !== undefined) chooseTenant(tenants, params["tenant"]);
      return { page, params };
    }
  return undefined;
}

function match(template: string, place: string): Record<string, string> | undefined {
  const wanted = template.split("/");
  const given = place.split("/");
  if (wanted.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, segment] of wanted.entries()) {
    const text = given[index] ?? "";
    if (!segment.startsWith(":")) {
      if (segment !== text) return undefined;
      continue;
    }
    try {
      params[segment.slice(1)] = decodeURIComponent(text);
    } catch {
      return undefined;
    }
  }
  return params;
}
