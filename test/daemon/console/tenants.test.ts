import { Parser } from 'htmlparser2';
import { describe, expect, it } from 'vitest';
import { copiesOf, createWorld, row } from '../../commands/world.ts';
import { ledgerOfOperations } from '../../operations/ledger-of-operations.ts';
import { HOSTILE_IDS } from '../../support/hostile-texts.ts';
import { textOf } from './page-text.ts';
import { serveConsole } from './served-console.ts';

const world = copiesOf(ledgerOfOperations);
/** Returns everything in a page that could act: elements and attributes that no page of the console has. */
function activeParts(page: string): string[] {
  const found = page.includes('\u202e') ? ['a change of the writing direction'] : [];
  const parser = new Parser({
    onopentag(name, attributes) {
      const isScript = name === 'script' && !/^\/console\/\w+\/console\.js$/.test(attributes.src ?? '');
      if (isScript || ['img', 'b', 'iframe', 'style', 'base', 'object'].includes(name)) found.push(`<${name}>`);
      for (const [attribute, value] of Object.entries(attributes)) {
        const isLink = attribute === 'href' || attribute === 'action' || attribute === 'src';
        const isOwn = value.startsWith('/') || value.startsWith('#') || value === 'data:,';
        if (/^on|^style$/.test(attribute) || (isLink && !isOwn)) found.push(`${attribute}=${value}`);
      }
    },
  });
  parser.end(page);
  return found;
}

describe('the search of tenants', () => {
  it('finds tenants by part of an id, a name, a reference or a label', async () => {
    const served = await world();
    const { signIn } = await serveConsole(served);
    const visitor = await signIn('read');
    for (const part of ['acm', 'Acme L', 'acme ltd', 'C-1']) {
      const { body } = await visitor.get(`/tenants?search=${encodeURIComponent(part)}`);
      expect([part, body.includes('<a href="/tenants/ws-1/acme?period=2026-02">Acme Ltd</a>')]).toEqual([part, true]);
      expect(body).not.toContain('globex');
    }
    for (const part of ['%', '_', '\\', 'nobody']) {
      expect((await visitor.get(`/tenants?search=${encodeURIComponent(part)}`)).body).toContain('No tenant matches.');
    }
  });

  it('sorts by each column and shows one page at a time', async () => {
    const usage = Array.from({ length: 120 }, (_, at) => row(`t-${String(at).padStart(3, '0')}`, '2026-02', 1000 + at));
    const before = usage.map(({ tenant_id }, at) => row(tenant_id, '2026-01', 1000 + (at === 60 ? 900 : at)));
    const served = await createWorld({
      id: 'ws-1',
      api_key_id: 'ak',
      secret_key: 'sk_not_a_secret',
      usage: [...usage, ...before],
    });
    await served.run('sync');
    const { signIn } = await serveConsole(served);
    const visitor = await signIn('read');
    const shown = async (query: string): Promise<string[]> => {
      const { body } = await visitor.get(`/tenants?${query}`);
      return [...body.matchAll(/<th scope="row"><a href="\/tenants\/ws-1\/(t-\d+)/g)].map(([, id]) => id ?? '');
    };
    const first = await shown('');
    expect([first.length, first[0], first[49]]).toEqual([50, 't-119', 't-070']);
    expect((await shown('page=3')).at(-1)).toBe('t-000');
    expect((await shown('sort=change'))[0]).toBe('t-060');
    expect((await shown('sort=name'))[0]).toBe('t-000');
    expect((await shown('sort=amount')).length).toBe(0);
    expect((await shown('search=t-00&sort=name')).length).toBe(10);
  });
});

describe('the page of a tenant', () => {
  it('shows months, charges, alerts and entries', async () => {
    const served = await world();
    const { signIn } = await serveConsole(served);
    const { status, body } = await (await signIn('read')).get('/tenants/ws-1/acme');
    expect(status).toBe(200);
    expect(body).toContain('<h1>Acme Ltd</h1>');
    const [charge] = served.query(
      "SELECT format('%,.2f', sum(amount)) AS amount FROM finance_charges WHERE tenant_id = 'acme' AND workspace_id = 'ws-1' AND period = '2026-01'",
    ) as { amount: string }[];
    expect(body).toContain(`>${charge?.amount}<`);
    const [alert] = served.query("SELECT alert_id FROM finance_alerts WHERE tenant_id = 'acme'") as {
      alert_id: string;
    }[];
    expect(body).toContain(`href="/alerts/${alert?.alert_id}"`);
    expect(body).toContain('+55,000');
  });

  it('begins with the month to date against the previous month, its charge and the open alerts', async () => {
    const served = await world();
    const { signIn } = await serveConsole(served);
    const [now, before] = served.query(
      `SELECT format('%,d', u.credits_used) AS credits, format('%,.2f', c.amount) AS amount
       FROM finance_usage u JOIN finance_charges c USING (workspace_id, tenant_id, period)
       WHERE tenant_id = 'acme' AND workspace_id = 'ws-1' AND period >= '2026-01' ORDER BY period DESC`,
    ) as { credits: string; amount: string }[];
    const text = textOf((await (await signIn('read')).get('/tenants/ws-1/acme')).body);
    expect(text).toContain(`Credits, February 2026 to date ${now?.credits} ${before?.credits} in January 2026`);
    expect(text).toContain(`Charge to date ${now?.amount} EUR ${before?.amount} in January 2026`);
    expect(text).toContain('Open alerts 1 listed below');
    const closed = textOf((await (await signIn('read')).get('/tenants/ws-1/acme?period=2026-01')).body);
    expect(closed).toContain(`Credits, January 2026 ${before?.credits} 1,000 in December 2025 (0%)`);
  });

  it('answers 404 for a tenant and a workspace that the ledger does not know', async () => {
    const { signIn } = await serveConsole(await world());
    const visitor = await signIn('read');
    for (const path of ['/tenants/ws-1/nobody', '/tenants/nowhere/acme']) {
      expect([path, (await visitor.get(path)).status]).toEqual([path, 404]);
    }
  });

  it('shows hostile ids as text on every page that has them', async () => {
    const usage = HOSTILE_IDS.flatMap((id) => [row(id, '2026-01', 1000), row(id, '2026-02', 90_000)]);
    const served = await createWorld({ id: 'ws-1', api_key_id: 'ak', secret_key: 'sk_not_a_secret', usage });
    await served.run('sync');
    const { signIn } = await serveConsole(served);
    const visitor = await signIn('finance', '<b>Ada</b>\u202e');
    const pages = ['/', '/alerts?state=all', '/tenants'];
    for (const id of HOSTILE_IDS) pages.push(`/tenants/ws-1/${encodeURIComponent(id)}`);
    const alerts = served.query('SELECT alert_id FROM finance_alerts') as { alert_id: string }[];
    pages.push(...alerts.map(({ alert_id }) => `/alerts/${alert_id}`));
    for (const path of pages) {
      const { status, body } = await visitor.get(path);
      expect([path, status]).toEqual([path, 200]);
      expect([path, activeParts(body)]).toEqual([path, []]);
    }
    expect(activeParts((await visitor.get(`/tenants?search=${encodeURIComponent('"><img src=x>')}`)).body)).toEqual([]);
  });
});
