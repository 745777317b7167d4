import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { CommitTree } from '../../src/billing/proof/salted-tree.ts';
import type { BilledLine } from '../../src/billing/statement/billed.ts';
import {
  type Letterhead,
  type StatementDocument,
  statementDocument,
  statementForTenant,
} from '../../src/billing/statement/document.ts';
import type { Look } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

export const HOSTILE = `</script><b>"'&\u202e\u{e0041}${'W'.repeat(200)}`;

const USAGE: BilledLine = {
  ...{ kind: 'usage', tier: 1, credits: 9_007_199_254_740_993n, unitCredits: 1000n, unitPrice: '1234.000000125' },
  ...{
    amountMinor: 123_456_789n,
    currency: 'EUR',
    rateCard: HOSTILE,
    correctsPeriod: null,
    entryId: null,
    reason: null,
    requests: null,
  },
};

const PLAIN: BilledLine = { ...USAGE, tier: null, credits: null, unitCredits: null, unitPrice: null };

export const LINES: BilledLine[] = [
  { ...USAGE, tier: 0, credits: 100n, unitPrice: null, unitCredits: null, amountMinor: 0n },
  USAGE,
  { ...USAGE, tier: 2, unitCredits: 1n, unitPrice: '0.5', amountMinor: -5n },
  { ...PLAIN, kind: 'minimum', amountMinor: 100n },
  { ...PLAIN, kind: 'correction', correctsPeriod: '2025-12', credits: -7n, amountMinor: -1_234n, currency: 'JPY' },
  { ...PLAIN, kind: 'correction', correctsPeriod: '2025-11', credits: 7n, amountMinor: 9_999n, currency: 'KWD' },
  { ...PLAIN, kind: 'correction', correctsPeriod: '2025-10', amountMinor: null, currency: null, rateCard: null },
  { ...USAGE, tier: 0, credits: -3n, unitPrice: null, unitCredits: null, amountMinor: 0n },
];

/** Returns a tenant's statement of a closed month, and the digest of the close. */
export function closedStatement(
  lines: readonly BilledLine[],
  name: string | null,
  letterhead: Letterhead | null = null,
): { document: StatementDocument; digest: string } {
  const header = { workspaceId: HOSTILE, period: '2026-01', certificate: null };
  const named = { tenantId: HOSTILE, displayName: name, externalRef: name, creditsUsed: 1_234_567n, requestCount: 12n };
  const tenant = { ...named, lines };
  const tree = new CommitTree('07'.repeat(32));
  tree.addPeriod(header);
  for (const one of [tenant, { ...tenant, tenantId: 'neighbour' }]) tree.addTenant(one);
  const { root } = tree;
  const at = '2026-02-03T00:00:00.000Z';
  const head = letterhead === null ? [] : [createHash('sha256').update(JSON.stringify(letterhead)).digest('hex')];
  const closeLine = JSON.stringify([
    '0'.repeat(64),
    7,
    'close',
    HOSTILE,
    '2026-01',
    at,
    'ab'.repeat(32),
    root,
    ...head,
  ]);
  const digest = createHash('sha256').update(`${closeLine}\n`).digest('hex');
  const statement = statementDocument({
    ...{ header, state: 'closed', asOf: at, headDigest: digest, tenantsInPeriod: 2 },
    tenants: [{ tenant, proof: tree.proofOfTenant(tenant), projection: null }],
    letterhead,
    proof: { closeLine, closeDigest: digest, root, internal: null },
  });
  return { document: statementForTenant(statement), digest };
}

/** Returns a function that opens a page in the browser, enters a digest and gives the verdict and the steps. */
export function checker(look: Look) {
  const folder = temporaryFolder();
  let pages = 0;
  return async (html: string, digest: string) => {
    pages += 1;
    const file = join(folder, `${pages}.html`);
    writeFileSync(file, html);
    const page = await look(`file://${file}`, 1280);
    const enter = `const field = document.getElementById('digest'); field.value = ${JSON.stringify(digest)}; field.dispatchEvent(new Event('input'))`;
    await page.evaluate(`(() => { ${enter} })()`);
    await eventually(async () => {
      expect(await page.evaluate("document.getElementById('verdict').className")).not.toBe('');
    });
    const read = async (expression: string) => String(await page.evaluate(expression));
    const verdict = await read("document.getElementById('verdict').textContent");
    const steps = await read("document.getElementById('steps').textContent");
    return { verdict, steps, page, file };
  };
}
