import type { ComponentChildren } from 'preact';
import { consoleAssets } from './assets.ts';
import { FormToken } from './form.tsx';
import { PageZone } from './page-zone.ts';
import type { Visit } from './visit.ts';
import { ZoneChoice } from './zone-choice.tsx';

export type Place = 'overview' | 'alerts' | 'tenants' | 'months' | 'money' | 'runs' | 'system';

const PLACES: readonly { place: Place; label: string; path: string }[] = [
  { place: 'overview', label: 'Overview', path: '/' },
  { place: 'alerts', label: 'Alerts', path: '/alerts' },
  { place: 'tenants', label: 'Tenants', path: '/tenants' },
  { place: 'months', label: 'Months', path: '/months' },
  { place: 'money', label: 'Money', path: '/money' },
  { place: 'runs', label: 'Runs', path: '/runs' },
  { place: 'system', label: 'System', path: '/system' },
];

/**
 * The HTML document around a page. If `refreshSeconds` is set, the script fetches the content again at this interval.
 */
export function Document({
  title,
  refreshSeconds,
  children,
}: {
  title: string;
  refreshSeconds?: number | undefined;
  children: ComponentChildren;
}) {
  const { style, script } = consoleAssets();
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{`${title} · usage-ledger`}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href={style.path} />
        <script type="module" src={script.path} />
      </head>
      <body {...(refreshSeconds === undefined ? {} : { 'data-refresh': refreshSeconds })}>{children}</body>
    </html>
  );
}

/** A page for a visitor: the navigation bar, a notice about the form that was sent before, and the content. */
export function Layout({
  visit,
  place,
  title,
  refreshSeconds,
  children,
}: {
  visit: Visit;
  place: Place | null;
  title: string;
  refreshSeconds?: number;
  children: ComponentChildren;
}) {
  return (
    <Document title={title} refreshSeconds={refreshSeconds}>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="bar">
        <a class="brand" href="/">
          usage-ledger
        </a>
        <nav aria-label="Pages of the console">
          <ul>
            {PLACES.map(({ place: each, label, path }) => (
              <li key={each}>
                <a href={path} {...(each === place ? { 'aria-current': 'page' as const } : {})}>
                  {each === 'alerts' && visit.openAlerts > 0 ? `${label} (${visit.openAlerts})` : label}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <SignedIn visit={visit} />
      </header>
      <main id="content">
        <PageZone.Provider value={visit.timezone}>
          {visit.notice === null ? null : (
            <div class={`notice ${visit.notice.kind}`} role="status">
              {visit.notice.text}
            </div>
          )}
          {children}
        </PageZone.Provider>
      </main>
      <footer class="foot">
        <ZoneChoice visit={visit} />
        <p>
          Version {visit.version}. <a href="/api">API</a> · <a href="/metrics">Metrics</a>
        </p>
      </footer>
    </Document>
  );
}

function SignedIn({ visit: { session, caller } }: { visit: Visit }) {
  if (session === null) return <div class="who">{caller.name}</div>;
  const who = `${session.person ?? caller.name} (${caller.role})`;
  // There is no sign-out button: the proxy would sign the person in again at once.
  if (session.method === 'proxy') return <div class="who">{who}</div>;
  return (
    <form class="who" method="post" action="/sign-out">
      <FormToken session={session} />
      <span>{who}</span>
      <button class="plain" type="submit">
        Sign out
      </button>
    </form>
  );
}
