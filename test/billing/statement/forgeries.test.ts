import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { CommitTree } from '../../../src/billing/proof/salted-tree.ts';
import type { BilledTenant } from '../../../src/billing/statement/billed.ts';
import {
  type StatementDocument,
  statementDocument,
  statementForTenant,
} from '../../../src/billing/statement/document.ts';
import { decodePeriod, decodeTenant, type PeriodLeaf } from '../../../src/billing/statement/leaf.ts';
import { parseExact } from '../../../src/core/text/exact-json.ts';
import { renderJson } from '../../../src/reports/formats/json.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { createClosedMonth } from './closed-month.ts';
import { oracleSays } from './statement-oracle.ts';
import { verifyText } from './verify-text.ts';

// cspell:ignore enant

const FILE = fileURLToPath(new URL('../../../dist/verify-statement.mjs', import.meta.url));

/** Returns whether the program and the oracle accept a statement. They must agree. */
async function verdicts(text: string, digest: string): Promise<boolean[]> {
  const verdict = await verifyText(text);
  return [verdict.isConsistent && verdict.closeDigest === digest, oracleSays(text, digest)];
}

const BOTH = [true, true];
const NEITHER = [false, false];

describe('the statement check and an independent one written from the documentation', () => {
  test('accept closed statements with any number of tenants, in euros, yen and dinars', async () => {
    for (const [tenants, currency] of [
      [1, 'EUR'],
      [2, 'JPY'],
      [3, 'KWD'],
      [6, 'EUR'],
      [7, 'JPY'],
      [12, 'CLF'],
    ] as const) {
      const { text, digest } = await createClosedMonth({ tenants, currency });
      expect(await verdicts(text(), digest)).toEqual(BOTH);
      expect(await verdicts(text('tenant-0'), digest)).toEqual(BOTH);
      expect(await verdicts(text(), otherThan(digest))).toEqual(NEITHER);
    }
  });

  test('accept a line without a price, with the sum of the other lines', async () => {
    const priced = {
      ...USAGE,
      amountMinor: 250n,
      currency: 'EUR',
      rateCard: 'list',
      entryId: null,
      reason: null,
      requests: null,
    };
    const unpriced = {
      ...NO_PRICE,
      kind: 'correction',
      credits: 7n,
      correctsPeriod: '2025-12',
      entryId: 9n,
      reason: null,
      requests: null,
    } as const;
    const named = { tenantId: 'acme', displayName: null, externalRef: null, creditsUsed: 5n, requestCount: 1n };
    const { text, digest } = statementOf({ ...named, lines: [priced, unpriced] });
    expect(await verdicts(text, digest)).toEqual(BOTH);
    expect(await verdicts(changed(text, '"amount": null', '"amount": "0.00"'), digest)).toEqual(NEITHER);
  });

  test('reject everything that was changed after the close', async () => {
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
      [indexOf(sound), '"index": false'],
      [indexOf(sound), indexOf(sound).replace(/(\d+)/, '"$1"')],
      [indexOf(sound), '"index": 16777216'],
      ['"nonce": "', '"nonce": "00'],
      ['"line": "[', '"line": "[ '],
      ['statement.v1"', 'statement.v2"'],
      ['"projected_credits": null', '"projected_credits": 5'],
      ['"tenants_in_period": 3', '"tenants_in_period": 4'],
    ];
    const forged = changes.map(([was, becomes]) => changed(sound, was, becomes));
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
      (forged) => Object.assign(forged.proof ?? {}, { internal: null }),
      (forged) => Object.assign(forged, { certificate: null }),
      (forged) => pathOf(forged).reverse(),
      (forged) => pathOf(forged).push('00'.repeat(32)),
      (forged) => pathOf(forged).push(...Array.from({ length: 5_000 }, () => '00'.repeat(32))),
      (forged) => pathOf(forged).splice(0, 1, pathOf(forged)[0]?.toUpperCase() ?? ''),
    ];
    for (const forge of forgeries) {
      const own = document();
      forge(own);
      forged.push(renderJson(own));
    }
    forged.push('', '{', 'null', '[]', '[[[[', sound.slice(0, -20), `${sound}1`, sound.replace('"proof"', '"Proof"'));
    await expectNone(forged, digest);
  });

  test("agree about a tenant's statement and any change to it", async () => {
    const { text, digest } = await createClosedMonth({ tenants: 3, currency: 'KWD' });
    const own = (tenant: string) => renderJson(statementForTenant(parseExact(text(tenant)) as StatementDocument));
    const sound = own('tenant-0');
    for (const text of [sound, own('tenant-1')]) expect(await verdicts(text, digest)).toEqual(BOTH);
    const changes: [string, string][] = [
      ['"currency": "KWD"', '"currency": "EUR"'],
      ['"credits_used": 1000', '"credits_used": 1001'],
      ['"estimate": false', '"estimate": false, "paid": true'],
      ['"tenant_id": "tenant-0"', '"tenant_id": "tenant-1"'],
      ['"workspace_id": "ws-1"', '"workspace_id": "ws-2"'],
      ['"tenants_in_period": null', '"tenants_in_period": 1'],
      ['"root": "', '"root": "0'],
      [indexOf(sound), '"index": 16777216'],
      [indexOf(sound), '"index": 1.5'],
      ['tenant.v1', 'tenant.v2'],
    ];
    const forged = changes.map(([was, becomes]) => changed(sound, was, becomes));
    const forgeries: ((document: StatementDocument) => void)[] = [
      (forged) => Object.assign(forged, { proof: null }),
      (forged) => Object.assign(forged.tenants[0] ?? {}, { lines: [], totals: [] }),
      (forged) => pathOf(forged).pop(),
      (forged) => pathOf(forged).reverse(),
      (forged) => pathOf(forged).push('00'.repeat(32)),
      (forged) => Object.assign(forged, { tenants: (parseExact(own('tenant-2')) as StatementDocument).tenants }),
    ];
    for (const forge of forgeries) {
      const document = parseExact(sound) as StatementDocument;
      forge(document);
      forged.push(renderJson(document));
    }
    await expectNone(forged, digest);
  });

  test('reject a complete forgery, which only agrees with itself', async () => {
    const { text, digest } = await createClosedMonth({ tenants: 3, currency: 'EUR' });
    const forged = madeUp(parseExact(text('tenant-1')) as StatementDocument);
    expect(await verifyText(forged)).toMatchObject({ isConsistent: true });
    expect(await verdicts(forged, digest)).toEqual(NEITHER);
  });
});

describe('verify-statement.mjs, a single file without dependencies,', () => {
  function ends(text: string, ...args: string[]): { code: number | null; said: string } {
    const file = join(temporaryFolder(), 'statement.json');
    writeFileSync(file, text);
    const { status, stdout, stderr } = spawnSync(process.execPath, [FILE, file, ...args], { encoding: 'utf8' });
    return { code: status, said: stdout + stderr };
  }

  test('exits with 0 for an authentic statement, 4 for any other, and 2 if nothing could be checked', async () => {
    const { text, digest } = await createClosedMonth({ tenants: 2, currency: 'EUR' });
    const forged = changed(text(), '"credits_used": 2000', '"credits_used": 2001');
    expect(ends(text(), '--digest', digest.toUpperCase())).toEqual({ code: 0, said: 'authentic\n' });
    expect(ends(forged, '--digest', digest)).toMatchObject({
      code: 4,
      said: expect.stringMatching(/^NOT authentic: /),
    });
    expect(ends(text(), '--digest', otherThan(digest)).code).toBe(4);
    expect(ends('{', '--digest', digest).code).toBe(4);
    for (const args of [[], ['--digest'], ['--digest', 'abc'], ['another', '--digest', digest], ['--what']]) {
      expect(ends(text(), ...args)).toMatchObject({ code: 2, said: expect.stringContaining('usage: ') });
    }
  });

  test('imports nothing but Node', () => {
    const imported = [...readFileSync(FILE, 'utf8').matchAll(/\bfrom "([^"]+)"|\bimport\(|\brequire\(/g)];
    expect(imported.map(([, name]) => name).sort()).toEqual(['node:crypto', 'node:fs', 'node:util']);
  });
});

async function expectNone(forged: readonly string[], digest: string): Promise<void> {
  const believed = [];
  for (const text of forged) if ((await verdicts(text, digest)).includes(true)) believed.push(text);
  expect(believed).toEqual([]);
}

function otherThan(digest: string): string {
  return digest.replace(/^./, (digit) => (digit === '0' ? '1' : '0'));
}

function changed(sound: string, was: string, becomes: string): string {
  expect(sound).toContain(was);
  return sound.replace(was, becomes);
}

/** Returns the index as written in the text. */
function indexOf(text: string): string {
  return String(/"index": \d+/.exec(text)?.[0]);
}

function pathOf({ tenants }: StatementDocument): string[] {
  return tenants[0]?.proof?.path as string[];
}

const USAGE = { kind: 'usage', tier: 1, credits: 5n, unitCredits: 1n, unitPrice: '0.5', correctsPeriod: null } as const;
const NO_PRICE = { tier: null, unitCredits: null, unitPrice: null, amountMinor: null, currency: null, rateCard: null };

/** Forges a bill of half the credits, with its own tree and close. */
function madeUp({ tenants, proof }: StatementDocument): string {
  const [tenant] = tenants;
  if (tenant?.proof == null || proof?.internal == null) throw new Error('the statement has no proof');
  const header = decodePeriod(proof.internal.period.leaf) as PeriodLeaf;
  const billed = decodeTenant(tenant.proof.leaf.replace('"2000"', '"1000"')) as BilledTenant;
  return statementOf(billed, header).text;
}

/** Builds the statement of a month with one tenant, as a close would commit to it. */
function statementOf(
  tenant: BilledTenant,
  header: PeriodLeaf = { workspaceId: 'ws-1', period: '2026-01', certificate: null },
): { text: string; digest: string } {
  const tree = new CommitTree('07'.repeat(32));
  tree.addPeriod(header);
  tree.addTenant(tenant);
  const { root } = tree;
  const internal = { line: '["Ada","",0,"[]",1,5,1,1,"root",2]', nonce: '5a' };
  const hash = createHash('sha256').update(Buffer.of(0x5a)).update(internal.line).digest('hex');
  const at = '2026-02-03T00:00:00.000Z';
  const closeLine = JSON.stringify(['', 1, 'close', header.workspaceId, header.period, at, hash, root]);
  const digest = createHash('sha256').update(`${closeLine}\n`).digest('hex');
  const document = statementDocument({
    header,
    state: 'closed',
    asOf: at,
    headDigest: digest,
    tenantsInPeriod: 1,
    tenants: [{ tenant, proof: tree.proofOfTenant(tenant), projection: null }],
    proof: {
      closeLine,
      closeDigest: digest,
      root,
      internal: { ...internal, leaves: 2, period: tree.proofOfPeriod(header) },
    },
  });
  return { text: renderJson(document), digest };
}
