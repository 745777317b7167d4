import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { type LeafProof, type StatementDocument, statementForTenant } from '../../../src/billing/statement/document.ts';
import { setCards } from '../../../src/ledger/journal/charges/charge-run.ts';
import { commitClose } from '../../../src/ledger/journal/charges/commit-close.ts';
import { importNames } from '../../../src/ledger/journal/charges/names.ts';
import { readStatement } from '../../../src/ledger/journal/charges/read-statement.ts';
import { closePeriod } from '../../../src/ledger/journal/close/close-period.ts';
import { renderJson } from '../../../src/reports/formats/json.ts';
import { pageAssets } from '../../../src/reports/statement/page-assets.ts';
import { tenantPage } from '../../../src/reports/statement/tenant-page.tsx';
import { openLedger, publish, usageRecord } from '../../support/open-ledger.ts';
import { Random } from '../../support/random.ts';
import { NOON } from '../../support/time/test-clock.ts';
import { verifyText } from './verify-text.ts';

// cspell:ignore bcdfghjkmnpqrstvwxz

const LEDGERS = Number(process.env.TENANT_LEDGERS ?? 20);
const SEED = Number(process.env.TENANT_SEED ?? Date.now() % 0x7fff_ffff);
const PERIOD = '2026-01';

/** Returns a text that occurs nowhere else. */
function word(random: Random): string {
  return Array.from({ length: 12 }, () => 'bcdfghjkmnpqrstvwxz'[random.below(19)]).join('');
}

interface Somebody {
  id: string;
  name: string;
  reference: string;
  credits: number;
  requests: number;
}

/** Creates a ledger of two workspaces, one with a closed January, and returns everything that one of its tenants must not see. */
async function drawLedger(random: Random) {
  const { connection } = openLedger();
  const somebody = (): Somebody => ({
    ...{ id: word(random), name: word(random), reference: word(random) },
    ...{ credits: random.between(10 ** 9, 10 ** 12), requests: random.between(10 ** 9, 10 ** 12) },
  });
  const tenants = Array.from({ length: random.between(2, 9) }, somebody);
  const neighbours = Array.from({ length: random.between(1, 4) }, somebody);
  const [workspaceId, other, actor, note] = [word(random), word(random), word(random), word(random)];
  const card = (name: string, price: string) => ({
    name,
    from_period: PERIOD,
    currency: 'EUR',
    price_per_credit: price,
  });
  const special = { ...card(word(random), '0.0125'), tenant: tenants[0]?.id ?? '' };
  const cards = [special, { ...card(word(random), '0.0150'), minimum: '20' }];
  setCards(connection, { cards, source: 'import', nowMs: NOON });
  for (const [id, people] of [
    [workspaceId, tenants],
    [other, neighbours],
  ] as const) {
    const records = people.map(({ id: tenant, credits, requests }) => {
      return { ...usageRecord(tenant, credits, PERIOD), requests };
    });
    await publish(connection, records, { workspaceId: id });
    const names = people.map(({ id: tenantId, name, reference }) => ({
      tenantId,
      displayName: name,
      externalRef: reference,
      labels: { of: word(random) },
    }));
    importNames(connection, { workspaceId: id, names, dryRun: false, nowMs: NOON });
  }
  const closing = { workspaceId, period: PERIOD, by: actor, note, force: true, settleHours: 48, nowMs: NOON };
  closePeriod(connection, closing, commitClose);
  const values = (sql: string): string[] => connection.prepare(sql).pluck().all().map(String);
  const hidden = [
    ...[actor, note, other],
    ...values('SELECT salt FROM close_commitments'),
    ...values('SELECT run_id FROM runs'),
    ...values('SELECT credits_used FROM period_events UNION SELECT request_count FROM period_events'),
    ...values('SELECT labels FROM tenant_names').flatMap((labels) => Object.values(JSON.parse(labels) as object)),
  ];
  return { connection, workspaceId, tenants, neighbours, cards, hidden };
}

test(`a tenant's statement contains nothing about other tenants and nothing internal, over ${LEDGERS} random ledgers`, {
  timeout: Math.max(60_000, LEDGERS * 2_000),
}, async () => {
  const random = new Random(SEED);
  for (let index = 0; index < LEDGERS; index += 1) {
    const { connection, workspaceId, tenants, neighbours, cards, hidden } = await drawLedger(random);
    const leaves: LeafProof[] = [];
    for (const [place, tenant] of tenants.entries()) {
      const statement = readStatement(connection, { workspaceId, period: PERIOD, tenantId: tenant.id, nowMs: NOON });
      const document = statementForTenant(statement as StatementDocument);
      const json = renderJson(document);
      const others = [...tenants.filter((one) => one !== tenant), ...neighbours];
      const foreign = others.flatMap(({ id, name, reference, credits, requests }) => [
        id,
        name,
        reference,
        String(credits),
        String(requests),
      ]);
      const card = cards[place === 0 ? 1 : 0]?.name ?? '';
      for (const [form, text] of [
        ['json', json],
        ['html', tenantPage(document, pageAssets())],
      ]) {
        const plain = String(text).replaceAll(',', '');
        const found = [...foreign, ...hidden, card].filter((one) => plain.includes(one));
        expect(found, `TENANT_SEED=${SEED}, ledger ${index}, ${form} of ${tenant.id}`).toEqual([]);
        for (const own of [tenant.id, tenant.name, tenant.reference, String(tenant.credits)])
          expect(plain).toContain(own);
      }
      const own = document.tenants[0]?.proof;
      expect(own?.path).toHaveLength(24);
      if (own != null) leaves.push(own);
      expect(await verifyText(json)).toMatchObject({ isConsistent: true, statement: { tenants_in_period: null } });
    }
    expect(leaves).toHaveLength(tenants.length);
    for (const own of leaves) expect(guessedBy(own, leaves), `TENANT_SEED=${SEED}, ledger ${index}`).toEqual([]);
  }
});

/** Returns other tenants' leaves that a tenant could confirm from its path by guessing everything except the salt. */
function guessedBy(own: LeafProof, all: readonly LeafProof[]): string[] {
  const [form, salt] = JSON.parse(own.leaf) as string[];
  return all
    .filter((other) => other !== own)
    .map((other) => JSON.stringify([form, salt, ...(JSON.parse(other.leaf) as unknown[]).slice(2)]))
    .filter((guess) => own.path.includes(createHash('sha256').update(`\0${guess}`).digest('hex')));
}
