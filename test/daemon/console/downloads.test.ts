import { Parser } from 'htmlparser2';
import { describe, expect, it } from 'vitest';
import { copiesOf, parseJson } from '../../commands/world.ts';
import { ledgerOfOperations } from '../../operations/ledger-of-operations.ts';
import { serveConsole } from './served-console.ts';

const world = copiesOf(ledgerOfOperations);
const PERIOD = '2026-01';

/** The addresses of a page's downloads by the names that people hear or read. */
function downloadsOf(body: string): Map<string, string> {
  const found = new Map<string, string>();
  const parser = new Parser({
    onopentag(name, { href = '', download, 'aria-label': label = href }) {
      if (name === 'a' && download !== undefined) found.set(label, href);
    },
  });
  parser.end(body);
  return found;
}

describe('the downloads of a month', () => {
  it('are files of each view in each format, with the rows of that month alone', async () => {
    const served = await world();
    const { signIn } = await serveConsole(served, {}, { withApi: true });
    const visitor = await signIn('read');
    const downloads = downloadsOf((await visitor.get(`/months/${PERIOD}`)).body);
    expect([...downloads.keys()].filter((label) => label.startsWith('Charges as'))).toEqual([
      'Charges as CSV',
      'Charges as Excel',
      'Charges as Parquet',
    ]);
    const starts: Record<string, string> = { Excel: 'PK', Parquet: 'PAR1' };
    for (const [label, href] of downloads) {
      // A thread makes each workbook: those of one view are enough.
      if (!label.endsWith('CSV') && !label.startsWith('Charges')) continue;
      const { status, body } = await visitor.get(href);
      expect([label, status]).toEqual([label, 200]);
      const start = starts[label.split(' as ')[1] ?? ''] ?? '';
      expect([label, body.slice(0, start.length)]).toEqual([label, start]);
    }
    const { body: csv } = await visitor.get(downloads.get('Charges as CSV') ?? '');
    const rows = served.query(
      `SELECT tenant_id, amount FROM finance_charges WHERE period = '${PERIOD}' ORDER BY tenant_id`,
    ) as { tenant_id: string; amount: string }[];
    expect(csv.trim().split('\n')).toHaveLength(rows.length + 1);
    for (const { amount } of rows) expect(csv).toContain(amount);
  });

  it('are statements of each tenant, found by part of the name, that equal those of the command', async () => {
    const served = await world();
    const { signIn } = await serveConsole(served, {}, { withApi: true });
    const visitor = await signIn('read');
    const { body } = await visitor.get(`/months/${PERIOD}/statements?search=acme+l`);
    const downloads = downloadsOf(body);
    expect(body).not.toContain('>globex<');
    const page = await visitor.get(downloads.get('Statement of acme as a page') ?? '');
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.body).toContain('Acme Ltd');
    const { out } = await served.run('statement', PERIOD, '--for-tenant', 'acme', '--workspace', 'ws-1', '--json');
    const { snapshot: _, ...statement } = parseJson(
      (await visitor.get(downloads.get('Statement of acme as JSON') ?? '')).body,
    );
    expect(statement).toEqual(parseJson(out));
    expect((await visitor.get(downloads.get('Statement of ws-1 as a page') ?? '')).body).toContain('globex');
    const tenant = downloadsOf((await visitor.get(`/tenants/ws-1/acme?period=${PERIOD}`)).body);
    for (const label of ['Statement of acme as a page', 'Statement of acme as JSON']) {
      expect([label, tenant.get(label)]).toEqual([label, downloads.get(label)]);
    }
  });
});
