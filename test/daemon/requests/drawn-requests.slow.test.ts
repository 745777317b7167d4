import { request } from 'node:http';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Operation } from '../../../src/operations/operation.ts';
import { OPERATIONS } from '../../../src/operations/operations.ts';
import { SECRET, type World } from '../../commands/world.ts';
import { ledgerOfOperations } from '../../operations/ledger-of-operations.ts';
import { SECRET as OUTLET_SECRET } from '../../outlets/webhook-receiver.ts';
import { serveApi, TOKENS } from '../api/served-api.ts';
import { PAGES_TOKEN } from '../http/serve-world.ts';
import { connectOverHttp } from '../mcp/mcp-client.ts';
import { type DrawnRequest, drawFields, drawRequest, type KnownValues } from './draw-request.ts';

const COUNT = Number(process.env.DRAWN_REQUESTS ?? 600);
const SEED = Number(process.env.DRAWN_SEED ?? 1);
const SECRETS = [SECRET, 'sk_second_not_a_secret', OUTLET_SECRET, PAGES_TOKEN, ...TOKENS.map(({ token }) => token)];
const READS: readonly Operation[] = OPERATIONS.filter(({ role }) => role === 'read');

/** Every row of every table. */
function stateOf(world: World): unknown[] {
  const tables = world.query("SELECT name FROM sqlite_schema WHERE type = 'table'") as { name: string }[];
  return tables.map(({ name }) => [name, world.query(`SELECT * FROM "${name}"`)]);
}

async function send(
  url: string,
  { method, path, headers, body }: DrawnRequest,
): Promise<{ status: number; text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const sent = request(url, { method, path, headers, agent: false });
  sent.once('error', reject).once('response', async (response) => {
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) text += chunk;
    resolve({ status: response.statusCode ?? 0, text });
  });
  sent.end(body ?? undefined);
  return promise;
}

async function knownOf(world: World, ask: Awaited<ReturnType<typeof serveApi>>['ask']): Promise<KnownValues> {
  const column = (sql: string) => world.query(sql).map((row) => String(Object.values(row as object)[0]));
  const paths = ['/v1/usage?limit=1', '/v1/alerts?limit=1&all=true', '/v1/exports/history?limit=1', '/v1/runs?limit=1'];
  const cursors: string[] = [];
  for (const path of paths) {
    const { next_cursor: cursor } = (await ask(path)).json;
    if (cursor === null) continue;
    const [version, ledger, listing, key] = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    const forge = (parts: unknown[]) => Buffer.from(JSON.stringify(parts)).toString('base64url');
    cursors.push(cursor, forge([version, 'AAAAAAAAAAAA', listing, key]));
    for (const other of [[], [null], [1, 2, 3, 4, 5, 6], ['x'], [[]], [1e300, -1.5]])
      cursors.push(forge([version, ledger, listing, other]));
  }
  return {
    ids: {
      workspace: ['ws-1', 'ws-2'],
      tenant: ['acme', 'globex'],
      tenant_id: ['acme', 'globex', 'nobody'],
      name: ['billing'],
      period: ['2026-01', '2026-02'],
      from: ['2025-12', '2026-01'],
      to: ['2026-01', '2026-02'],
      as_of: ['2026-02-20T12:30:00Z', '2026-02-20'],
      alert_id: column('SELECT alert_id FROM finance_alerts'),
      run_id: column('SELECT run_id FROM finance_runs'),
    },
    cursors: [...cursors, '', 'x', 'e30', 'A'.repeat(9000)],
    tokens: TOKENS.map(({ token }) => token),
    ledgerId: (await ask('/v1/head')).json.ledger_id,
  };
}

it(`answers ${COUNT} requests drawn from seed ${SEED} without a 5xx, a secret or, for a read, a change`, async () => {
  const world = await ledgerOfOperations();
  const { url, ask } = await serveApi(world, { requestsPerMinute: 1_000_000 });
  const known = await knownOf(world, ask);
  const reads = { ...known, tokens: known.tokens.slice(0, 1) };
  const statuses = new Map<number, number>();
  const check = async (drawn: DrawnRequest): Promise<void> => {
    const { status, text } = await send(url, drawn);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    const place = `${drawn.method} ${drawn.path} ${drawn.body ?? ''}`;
    expect(status, `${place}: ${text}`).toBeLessThan(500);
    expect(
      SECRETS.filter((secret) => text.includes(secret)),
      place,
    ).toEqual([]);
  };
  const parameters = { numRuns: COUNT / 2, seed: SEED, endOnFailure: true } as const;
  const before = stateOf(world);
  await fc.assert(fc.asyncProperty(drawRequest(READS, reads), check), parameters);
  expect(stateOf(world)).toEqual(before);
  // Changes with each token: they may change the ledger, and may not fail.
  await fc.assert(fc.asyncProperty(drawRequest(OPERATIONS, known), check), parameters);
  console.log(Object.fromEntries([...statuses].toSorted()));
  expect([...statuses.keys()]).toEqual(expect.arrayContaining([200, 400, 401, 403, 404]));
}, 600_000);

it(`answers ${COUNT / 2} calls of tools drawn from seed ${SEED} without a failure, a secret or a change`, async () => {
  const world = await ledgerOfOperations();
  const { url, ask } = await serveApi(world, { requestsPerMinute: 1_000_000 });
  const known = await knownOf(world, ask);
  const { call } = await connectOverHttp(url, 'finance');
  const before = stateOf(world);
  const drawn = fc
    .constantFrom(...READS)
    .chain((operation) => drawFields(operation, known).map((fields) => ({ operation, fields })));
  await fc.assert(
    fc.asyncProperty(drawn, async ({ operation, fields }) => {
      const { json, text } = await call(operation.name.replace('.', '_'), fields);
      expect(json.code, `${operation.name} ${JSON.stringify(fields)}: ${text}`).not.toBe('internal');
      expect(SECRETS.filter((secret) => text.includes(secret))).toEqual([]);
    }),
    { numRuns: COUNT / 2, seed: SEED, endOnFailure: true },
  );
  expect(stateOf(world)).toEqual(before);
}, 600_000);
