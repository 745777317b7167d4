import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { BilledTenant } from '../../../src/billing/statement/billed.ts';
import { createCommitTree } from '../../../src/billing/statement/commit-tree.ts';
import { type StatementDocument, statementDocument } from '../../../src/billing/statement/document.ts';
import { decodePeriod, decodeTenant, type PeriodLeaf } from '../../../src/billing/statement/leaf.ts';
import { type TenantDocument, tenantDocument } from '../../../src/billing/statement/tenant-document.ts';
import { verifyStatement } from '../../../src/billing/statement/verify-statement.ts';
import { parseExact, stringifyExact } from '../../../src/core/text/exact-json.ts';
import { renderJson } from '../../../src/reports/formats/json.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { createClosedMonth } from './closed-month.ts';

const DOCS = fileURLToPath(new URL('../../../docs/', import.meta.url));
/** The checks that the documentation gives, each with what runs it on many statements at once. */
const CHECKS = [
  [process.execPath, join(DOCS, 'verify-statement.mjs'), 'check-many.mjs'],
  ['python3', join(DOCS, 'verify_statement.py'), 'check_many.py'],
] as const;

/** A text, and the digest that was kept of the close. */
type Shown = readonly [text: string, digest: string];

function fileOf(text: string): string {
  const file = join(temporaryFolder(), 'statement.json');
  writeFileSync(file, text);
  return file;
}

function ownVerdict([text, digest]: Shown): boolean {
  const verdict = verifyStatement(text);
  return verdict.agrees && verdict.closeDigest === digest;
}

function isAuthentic(code: number | null, said: string, why: string): boolean {
  expect([0, 1], why).toContain(code);
  expect(said === 'authentic\n', why).toBe(code === 0);
  return code === 0;
}

/** What each check says of a statement, called as documented: the program's, and those that the documentation gives. */
function verdicts(text: string, digest: string): boolean[] {
  const others = CHECKS.map(([program, script]) => {
    const { status, stdout, stderr } = spawnSync(program, [script, fileOf(text), digest], {
      encoding: 'utf8',
      timeout: 30_000,
    });
    return isAuthentic(status, stdout, stderr);
  });
  return [ownVerdict([text, digest]), ...others];
}

/** The same of each of many, with one process for each check. */
function verdictsOf(shown: readonly Shown[]): boolean[][] {
  const input = JSON.stringify(shown.map(([text, digest]) => [fileOf(text), digest]));
  const others = CHECKS.map(([program, script, runner]) => {
    const { stdout, stderr } = spawnSync(program, [join(import.meta.dirname, runner), script], {
      ...{ encoding: 'utf8', input, timeout: 60_000 },
    });
    const ends = JSON.parse(stdout) as [number, string][];
    expect(ends, stderr).toHaveLength(shown.length);
    return ends.map(([code, said]) => isAuthentic(code, said, stderr));
  });
  return shown.map((one, at) => [ownVerdict(one), ...others.map((check) => check[at] ?? false)]);
}

const ALL = [true, true, true];
const NONE = [false, false, false];

describe('each check of a statement, the program’s and the two that the documentation gives', () => {
  test('calls closed statements authentic, of any number of tenants, in euros, yen and dinars', async () => {
    const shown: Shown[] = [];
    for (const [tenants, currency] of [
      [1, 'EUR'],
      [2, 'JPY'],
      [3, 'KWD'],
      [6, 'EUR'],
      [7, 'JPY'],
      [12, 'CLF'],
    ] as const) {
      const { text, digest } = await createClosedMonth({ tenants, currency });
      const other = digest.replace(/^./, (digit) => (digit === '0' ? '1' : '0'));
      shown.push([text(), digest], [text('tenant-0'), digest], [text(), other]);
    }
    expect(verdictsOf(shown)).toEqual(shown.map((_, at) => (at % 3 === 2 ? NONE : ALL)));
    const [sound, , wrong] = shown as [Shown, Shown, Shown];
    expect(verdicts(...sound)).toEqual(ALL);
    expect(verdicts(...wrong)).toEqual(NONE);
  });

  test.each([
    ['07'.repeat(32), '2'],
    [null, '1'],
  ])(
    'calls a line authentic that says that it has no price, with the sum of the others, of a close with the salt %s',
    (salt, form) => {
      const usage = {
        kind: 'usage',
        tier: 1,
        credits: 5n,
        unitCredits: 1n,
        unitPrice: '0.5',
        correctsPeriod: null,
      } as const;
      const priced = { ...usage, amountMinor: 250n, currency: 'EUR', rateCard: 'list', entryId: null };
      const unpriced = {
        ...NO_PRICE,
        kind: 'correction',
        credits: 7n,
        correctsPeriod: '2025-12',
        entryId: 9n,
      } as const;
      const named = { tenantId: 'acme', displayName: null, externalRef: null, creditsUsed: 5n, requestCount: 1n };
      const { text, digest } = statementOf({ ...named, lines: [priced, unpriced] }, salt);
      expect(text).toContain(`"format": "usage-ledger/statement/${form}"`);
      const shown: Shown[] = [
        [text, digest],
        [changed(text, '"amount": null', '"amount": "0.00"'), digest],
      ];
      expect(verdictsOf(shown)).toEqual([ALL, NONE]);
      // The line of a close from before closes were salted shows what a tenant is not to see.
      expect(tenantDocument(parseExact(text) as StatementDocument) === null).toBe(salt === null);
    },
  );

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
      [indexOf(sound), '"index": false'],
      [indexOf(sound), indexOf(sound).replace(/(\d+)/, '"$1"')],
      [indexOf(sound), '"index": 16777216'],
      ['"nonce": "', '"nonce": "00'],
      ['"internal": "[', '"internal": "[ '],
      ['statement/2"', 'statement/1"'],
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
      (forged) => delete forged.proof?.internal,
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
    expectNone(forged, digest);
  });

  test('says the same of what was made for a tenant, and of any change to it', async () => {
    const { text, digest } = await createClosedMonth({ tenants: 3, currency: 'KWD' });
    const own = (tenant: string) => renderJson(tenantDocument(parseExact(text(tenant)) as StatementDocument) ?? {});
    const sound = own('tenant-0');
    const both: Shown[] = [
      [sound, digest],
      [own('tenant-1'), digest],
    ];
    expect(verdictsOf(both)).toEqual([ALL, ALL]);
    const changes: [string, string][] = [
      ['"currency": "KWD"', '"currency": "EUR"'],
      ['"credits_used": 1000', '"credits_used": 1001'],
      ['"estimate": false', '"estimate": false, "paid": true'],
      ['"tenant_id": "tenant-0"', '"tenant_id": "tenant-1"'],
      ['"workspace_id": "ws-1"', '"workspace_id": "ws-2"'],
      ['tenant-statement/1"', 'statement/2"'],
      ['"root": "', '"root": "0'],
      [indexOf(sound), '"index": 16777216'],
      [indexOf(sound), '"index": 1.5'],
      ['tenant/2', 'tenant/1'],
    ];
    const forged = changes.map(([was, becomes]) => changed(sound, was, becomes));
    const forgeries: ((document: TenantDocument) => void)[] = [
      (forged) => Object.assign(forged, { proof: null }),
      (forged) => Object.assign(forged, { lines: [], totals: [] }),
      (forged) => wayOf(forged).pop(),
      (forged) => wayOf(forged).reverse(),
      (forged) => wayOf(forged).push('00'.repeat(32)),
      (forged) =>
        Object.assign(forged.proof ?? {}, { tenant: (parseExact(own('tenant-2')) as TenantDocument).proof?.tenant }),
    ];
    for (const forge of forgeries) {
      const document = parseExact(sound) as TenantDocument;
      forge(document);
      forged.push(renderJson(document));
    }
    expectNone(forged, digest);
  });

  test('calls nothing authentic whose amounts, tree and close were all made up: it only agrees with itself', async () => {
    const { text, digest } = await createClosedMonth({ tenants: 3, currency: 'EUR' });
    const forged = madeUp(parseExact(text('tenant-1')) as StatementDocument);
    expect(verifyStatement(forged).agrees).toBe(true);
    expect(verdicts(forged, digest)).toEqual(NONE);
  });
});

/** Expects every check to refuse each of them. */
function expectNone(forged: readonly string[], digest: string): void {
  const found = verdictsOf(forged.map((text) => [text, digest]));
  const believed = forged.filter((_, at) => found[at]?.some((authentic) => authentic) !== false);
  expect(believed).toEqual([]);
}

function changed(sound: string, was: string, becomes: string): string {
  expect(sound).toContain(was);
  return sound.replace(was, becomes);
}

/** As the text has it. */
function indexOf(text: string): string {
  return String(/"index": \d+/.exec(text)?.[0]);
}

function wayOf({ proof }: TenantDocument): string[] {
  return proof?.tenant.path as string[];
}

function pathOf({ tenants }: StatementDocument): string[] {
  return tenants[0]?.proof?.path as string[];
}

/** A bill of half the credits, with a tree and a close that its forger has made. */
function madeUp(document: StatementDocument): string {
  const [tenant] = document.tenants;
  const { proof } = document;
  if (tenant?.proof == null || proof === null) throw new Error('the statement has no proof');
  const header = decodePeriod(proof.period.leaf) as PeriodLeaf;
  const billed = decodeTenant(tenant.proof.leaf.replace('"2000"', '"1000"')) as BilledTenant;
  const tree = createCommitTree('07'.repeat(32));
  tree.addPeriod(header);
  tree.addTenant(billed);
  const { root } = tree;
  const internal = stringifyExact([...(JSON.parse(String(proof.internal)) as unknown[]).slice(0, -1), 2]);
  const nonce = '00';
  const hash = createHash('sha256').update(Buffer.of(0)).update(internal).digest('hex');
  const close = stringifyExact([...(JSON.parse(proof.close) as unknown[]).slice(0, -2), hash, root]);
  const digest = createHash('sha256').update(`${close}\n`).digest('hex');
  return renderJson({
    ...document,
    ...{ head_digest: digest, tenants_in_period: 1, credits_used: 1000n },
    tenants: [{ ...tenant, credits_used: 1000n, proof: tree.proofOfTenant(billed, 0) }],
    proof: {
      close,
      ...{ internal, nonce },
      close_digest: digest,
      root,
      leaves: 2,
      period: tree.proofOfPeriod(header),
    },
  });
}

const NO_PRICE = { tier: null, unitCredits: null, unitPrice: null, amountMinor: null, currency: null, rateCard: null };

/** The statement of a month of one tenant, as a close would commit to it; without a salt as one from before did. */
function statementOf(tenant: BilledTenant, salt: string | null): { text: string; digest: string } {
  const header = { workspaceId: 'ws-1', period: '2026-01', certificate: null };
  const tree = createCommitTree(salt);
  tree.addPeriod(header);
  tree.addTenant(tenant);
  const { root } = tree;
  const place = ['', 1, 'close', 'ws-1', '2026-01', '2026-02-03T00:00:00.000Z'];
  const internal = salt === null ? null : { line: '["Ada","",0,"[]",1,5,1,1,"root",2]', nonce: '5a' };
  const hash = internal && createHash('sha256').update(Buffer.of(0x5a)).update(internal.line).digest('hex');
  const closeLine = JSON.stringify([...place, ...(hash === null ? ['Ada', '', 2] : [hash]), root]);
  const digest = createHash('sha256').update(`${closeLine}\n`).digest('hex');
  const document = statementDocument({
    ...{ header, state: 'closed', asOf: '2026-02-03T00:00:00.000Z', headDigest: digest, tenantsInPeriod: 1 },
    tenants: [{ tenant, proof: tree.proofOfTenant(tenant, 0), projection: null }],
    proof: { closeLine, internal, closeDigest: digest, root, leaves: 2, period: tree.proofOfPeriod(header) },
  });
  return { text: renderJson(document), digest };
}
