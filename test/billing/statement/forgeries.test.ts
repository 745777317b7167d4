import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { MerkleTree } from '../../../src/billing/proof/merkle.ts';
import type { BilledTenant } from '../../../src/billing/statement/billed.ts';
import { type StatementDocument, statementDocument } from '../../../src/billing/statement/document.ts';
import { encodePeriod, encodeTenant } from '../../../src/billing/statement/leaf.ts';
import { verifyStatement } from '../../../src/billing/statement/verify-statement.ts';
import { parseExact, stringifyExact } from '../../../src/core/text/exact-json.ts';
import { renderJson } from '../../../src/reports/formats/json.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { createClosedMonth } from './closed-month.ts';

const DOCS = fileURLToPath(new URL('../../../docs/', import.meta.url));
const CHECKS = [
  [process.execPath, join(DOCS, 'verify-statement.mjs')],
  ['python3', join(DOCS, 'verify_statement.py')],
] as const;

/** What each check says of a text and the digest that was kept: the program's, and those that the documentation gives. */
function verdicts(text: string, digest: string): boolean[] {
  const file = join(temporaryFolder(), 'statement.json');
  writeFileSync(file, text);
  const verdict = verifyStatement(text);
  const others = CHECKS.map(([program, script]) => {
    const { status, stdout, stderr } = spawnSync(program, [script, file, digest], {
      encoding: 'utf8',
      timeout: 30_000,
    });
    expect([0, 1], stderr).toContain(status);
    expect(stdout === 'authentic\n').toBe(status === 0);
    return status === 0;
  });
  return [verdict.agrees && verdict.closeDigest === digest, ...others];
}

const ALL = [true, true, true];
const NONE = [false, false, false];

describe('each check of a statement, the program’s and the two that the documentation gives', () => {
  test('calls closed statements authentic, of any number of tenants, in euros, yen and dinars', async () => {
    for (const [tenants, currency] of [
      [1, 'EUR'],
      [2, 'JPY'],
      [3, 'KWD'],
      [6, 'EUR'],
      [7, 'JPY'],
      [12, 'CLF'],
    ] as const) {
      const { text, digest } = await createClosedMonth({ tenants, currency });
      expect(verdicts(text(), digest), `${tenants} ${currency}`).toEqual(ALL);
      expect(verdicts(text('tenant-0'), digest)).toEqual(ALL);
      expect(
        verdicts(
          text(),
          digest.replace(/^./, (digit) => (digit === '0' ? '1' : '0')),
        ),
      ).toEqual(NONE);
    }
  });

  test('calls a line authentic that says that it has no price, with the sum of the others', () => {
    const usage = {
      kind: 'usage',
      tier: 1,
      credits: 5n,
      unitCredits: 1n,
      unitPrice: '0.5',
      correctsPeriod: null,
    } as const;
    const priced = { ...usage, amountMinor: 250n, currency: 'EUR', rateCard: 'list', entryId: null };
    const unpriced = { ...NO_PRICE, kind: 'correction', credits: 7n, correctsPeriod: '2025-12', entryId: 9n } as const;
    const { text, digest } = statementOf({
      ...{ tenantId: 'acme', displayName: null, externalRef: null, creditsUsed: 5n, requestCount: 1n },
      lines: [priced, unpriced],
    });
    expect(text).toContain('"amount": null');
    expect(verdicts(text, digest)).toEqual(ALL);
    expect(verdicts(text.replace('"amount": null', '"amount": "0.00"'), digest)).toEqual(NONE);
  });

  test('calls nothing authentic that was changed after the close', async () => {
    const { text, digest } = await createClosedMonth({ tenants: 3, currency: 'EUR' });
    const sound = text('tenant-1');
    const other = parseExact(text('tenant-2')) as StatementDocument;
    const changes: [string, string][] = [
      ['"currency": "EUR"', '"currency": "USD"'],
      ['"kind": "usage"', '"kind": "minimum"'],
      ['"amount": "', '"amount": "9'],
      ['"tenant_id": "tenant-1"', '"tenant_id": "tenant-2"'],
      ['"credits_used": 2000', '"credits_used": 2001'],
      ['"credits_used": 2000', '"credits_used": 2000.0'],
      ['"credits_used": 2000', '"credits_used": 1, "credits_used": 2000'],
      ['"estimate": false', '"estimate": 0'],
      ['"estimate": false', '"estimate": false, "paid": true'],
      ['"tenant_id": "tenant-1"', '"tenant_id": "\\u0074enant-1"'],
      ['"index": 0', '"index": false'],
      ['"index": 0', '"index": "0"'],
      ['"projected_credits": null', '"projected_credits": 5'],
      ['"tenants_in_period": 3', '"tenants_in_period": 4'],
    ];
    for (const [was, becomes] of changes) {
      expect(sound).toContain(was);
      expect(verdicts(sound.replace(was, becomes), digest), becomes).toEqual(NONE);
    }
    const document = () => parseExact(sound) as StatementDocument;
    const forgeries: ((document: StatementDocument) => void)[] = [
      (forged) => Object.assign(forged, { totals: [] }),
      (forged) => Object.assign(forged, { tenants: [] }),
      (forged) => Object.assign(forged, { tenants: [...forged.tenants, ...forged.tenants] }),
      (forged) => Object.assign(forged, { tenants: other.tenants }),
      (forged) => Object.assign(forged.tenants[0] ?? {}, { proof: other.tenants[0]?.proof }),
      (forged) => Object.assign(forged.tenants[0] ?? {}, { lines: other.tenants[0]?.lines }),
      (forged) => Object.assign(forged, { proof: null }),
      (forged) => pathOf(forged).pop(),
      (forged) => pathOf(forged).reverse(),
      (forged) => pathOf(forged).push('00'.repeat(32)),
      (forged) => pathOf(forged).push(...Array.from({ length: 5_000 }, () => '00'.repeat(32))),
      (forged) => pathOf(forged).splice(0, 1, pathOf(forged)[0]?.toUpperCase() ?? ''),
    ];
    for (const forge of forgeries) {
      const forged = document();
      forge(forged);
      expect(verdicts(renderJson(forged), digest), String(forge)).toEqual(NONE);
    }
    for (const junk of [
      '',
      '{',
      'null',
      '[]',
      '[[[[',
      sound.slice(0, -20),
      `${sound}1`,
      sound.replace('"proof"', '"Proof"'),
    ]) {
      expect(verdicts(junk, digest), junk.slice(0, 40)).toEqual(NONE);
    }
  });

  test('calls nothing authentic whose amounts, tree and close were all made up: it only agrees with itself', async () => {
    const { text, digest } = await createClosedMonth({ tenants: 3, currency: 'EUR' });
    const forged = madeUp(parseExact(text('tenant-1')) as StatementDocument);
    expect(verifyStatement(forged).agrees).toBe(true);
    expect(verdicts(forged, digest)).toEqual(NONE);
  });
});

function pathOf({ tenants }: StatementDocument): string[] {
  return tenants[0]?.proof?.path as string[];
}

/** A bill of half the credits, with a tree and a close that its forger has made. */
function madeUp(document: StatementDocument): string {
  const [tenant] = document.tenants;
  const { proof } = document;
  if (tenant?.proof == null || proof === null) throw new Error('the statement has no proof');
  const leaf = tenant.proof.leaf.replace('"2000"', '"1000"');
  const tree = new MerkleTree();
  tree.add(proof.period.leaf);
  tree.add(leaf);
  const hex = (index: number) => tree.inclusionProof(index).map((hash) => hash.toString('hex'));
  const root = tree.root.toString('hex');
  const line = [...(JSON.parse(proof.close) as unknown[]).slice(0, -2), 2, root];
  const close = stringifyExact(line);
  const digest = createHash('sha256').update(`${close}\n`).digest('hex');
  return renderJson({
    ...document,
    ...{ head_digest: digest, tenants_in_period: 1, credits_used: 1000n },
    tenants: [{ ...tenant, credits_used: 1000n, proof: { index: 1, leaf, path: hex(1) } }],
    proof: {
      close,
      close_digest: digest,
      root,
      leaves: 2,
      period: { index: 0, leaf: proof.period.leaf, path: hex(0) },
    },
  });
}

const NO_PRICE = { tier: null, unitCredits: null, unitPrice: null, amountMinor: null, currency: null, rateCard: null };

/** The statement of a month of one tenant, as a close would commit to it. */
function statementOf(tenant: BilledTenant): { text: string; digest: string } {
  const header = { workspaceId: 'ws-1', period: '2026-01', certificate: null };
  const contents = [encodePeriod(header), encodeTenant(tenant)];
  const tree = new MerkleTree();
  for (const content of contents) tree.add(content);
  const [period, own] = contents.map((leaf, index) => {
    return { index, leaf, path: tree.inclusionProof(index).map((hash) => hash.toString('hex')) };
  });
  if (period === undefined || own === undefined) throw new Error('two leaves');
  const root = tree.root.toString('hex');
  const closeLine = JSON.stringify(['', 1, 'close', 'ws-1', '2026-01', '2026-02-03T00:00:00.000Z', 2, root]);
  const digest = createHash('sha256').update(`${closeLine}\n`).digest('hex');
  const document = statementDocument({
    ...{ header, state: 'closed', asOf: '2026-02-03T00:00:00.000Z', headDigest: digest, tenantsInPeriod: 1 },
    tenants: [{ tenant, proof: own, projection: null }],
    proof: { closeLine, closeDigest: digest, root, leaves: 2, period },
  });
  return { text: renderJson(document), digest };
}
