import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, it } from 'vitest';
import { stringify } from 'yaml';
import { copiesOf, createWorld, parseJson, row, type World, workspaceSettings } from '../world.ts';

const HOUR_MS = 3_600_000;
/** 3 March 2026, 06:00 UTC: February has settled. */
const SETTLED = Date.UTC(2026, 2, 3, 6);
const CARDS = [
  { name: 'standard', from_period: '2025-12', currency: 'EUR', price_per_credit: '0.01' },
  { name: 'yen', from_period: '2025-12', workspace: 'ws-yen', currency: 'JPY', price_per_credit: '1' },
];

function workspace(id: string, credits: { january: number; february: number }) {
  return {
    id,
    api_key_id: `ak_${id}`,
    secret_key: `sk_not_a_secret_${id}`,
    usage: [row('acme', '2026-01', credits.january), row('acme', '2026-02', credits.february)],
  };
}

const ALL = ['ws-calm', 'ws-grown', 'ws-late', 'ws-unread', 'ws-yen'].map((id) =>
  workspace(id, id === 'ws-grown' ? { january: 1000, february: 9000 } : { january: 1000, february: 1100 }),
);

/** Two complete runs after the end of February; of ws-late with a change in the second, of ws-unread none. */
const createFebruary = copiesOf(async () => {
  const world = await createWorld(...ALL);
  allowChange(world, '50%');
  await world.run('migrate');
  writeFileSync(join(world.folder, 'rates.yml'), stringify({ rates: CARDS }));
  await world.run('rates', 'apply', 'rates.yml', '--yes');
  writeFileSync(join(world.folder, 'names.csv'), 'tenant_id,display_name\nacme,Acme Ltd\n');
  at(world, SETTLED - 24 * HOUR_MS);
  const read = ALL.filter(({ id }) => id !== 'ws-unread');
  for (const { id } of read) await world.run('sync', '--workspace', id);
  for (const { id } of read) await world.run('tenants', 'import', 'names.csv', '--workspace', id);
  at(world, SETTLED);
  world.sandbox.workspace('ws-late').set({ tenantId: 'late', period: '2026-02', credits: 5, requests: 1 });
  for (const { id } of read) await world.run('sync', '--workspace', id);
  return world;
});

function allowChange(world: World, maxChange: string): void {
  world.configure({
    close: { max_change: maxChange },
    workspaces: ALL.map((one) => workspaceSettings(world.sandbox, one)),
  });
}

function at(world: World, ms: number): void {
  world.clock.nowMs = ms;
  world.clock.serviceMs = ms;
}

it('lists which workspaces can be closed, the blockers of the others, and the commands that clear them', async () => {
  const world = await createFebruary();
  const entries = world.query('SELECT count(*) AS n, max(change_seq) AS seq FROM row_changes');
  const { code, out, err } = await world.runOnTerminal(80, 'month-end', '2026-02');
  expect(err).toBe('');
  expect(code).toBe(4);
  expect(out).toMatch(
    /^2026-02: 2 of 5 workspaces can be closed, 3 blocked\nledger verified\nhead digest [0-9a-f]{64}\n/,
  );
  for (const line of out.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
  expect(out.match(/ws-calm .*|ws-yen .*/g)?.filter((line) => line.endsWith('ready'))).toHaveLength(2);
  const words = out.replaceAll(/\s+/g, ' ');
  expect(words).toContain('112.05 EUR, up from 30.00 in the previous month (+82.05, +273.5%)');
  expect(words).toContain('1,100 JPY, up from 1,000 in the previous month (+100, +10%)');
  expect(words).toContain('acme (ws-grown): 90.00, up from 10.00: 9,000 credits (previously 1,000)');
  expect(words).toContain('late (ws-late): 0.05, up from 0.00: new');
  expect(words).toContain('ws-grown: its total of 90.00 EUR differs by more than 50% from 10.00 in 2026-01');
  expect(words).toContain('$ usage-ledger close 2026-02 --all --accept-change ws-grown --note TEXT');
  expect(words).toContain('ws-late: two complete walks 12 h apart must agree');
  expect(words).toContain('$ usage-ledger sync --workspace ws-late --from 2026-02');
  expect(words).toContain('ws-unread: no data for the month');
  expect(words).toContain('ws-late: 1 of 2 tenants without a name or reference: late');
  expect(world.query('SELECT count(*) AS n, max(change_seq) AS seq FROM row_changes')).toEqual(entries);
});

it('gives the same as one JSON document of its schema, and as a page', async () => {
  const world = await createFebruary();
  const { code, out } = await world.run('month-end', '2026-02', '--json');
  expect(code).toBe(4);
  expect(schemaFaults(out)).toEqual([]);
  const record = parseJson(out);
  expect(record).toMatchObject({ period: '2026-02', ready: false, sound: true, faults: 0 });
  const [calm, grown] = record.workspaces;
  expect(calm).toMatchObject({
    workspace_id: 'ws-calm',
    state: 'ready',
    settled: true,
    unchanged_since: '2026-03-02T06:00:00.000Z',
    read_at: '2026-03-03T06:00:00.000Z',
    unnamed: { count: 0, first: [] },
    corrections: { tenants: 0, amounts: [] },
    amounts: [{ currency: 'EUR', amount: '11.00', previous_amount: '10.00' }],
    blockers: [],
  });
  expect(grown.blockers.map(({ kind }: { kind: string }) => kind)).toEqual(['change']);

  const page = await world.run('month-end', '2026-02', '--format', 'html', '--out', 'february.html');
  expect(page).toMatchObject({ code: 4, out: '', err: '' });
  const html = readFileSync(join(world.folder, 'february.html'), 'utf8');
  expect(html).toContain('2 of 5 workspaces can be closed, 3 blocked');
  expect(html).toContain('<code class="command">usage-ledger sync --workspace ws-late --from 2026-02</code>');
  expect(html).toContain('Sign-off');
});

/** What the published JSON Schema has against it. */
function schemaFaults(text: string): unknown[] {
  const ajv = new Ajv2020({ strict: true, allErrors: true });
  const file = new URL('../../../schemas/month-end.json', import.meta.url);
  const validate = ajv.compile(JSON.parse(readFileSync(file, 'utf8')));
  return validate(JSON.parse(text)) ? [] : (validate.errors ?? []);
}

it('looks at the workspaces that are named alone, and then ends with 0 where they can be closed', async () => {
  const world = await createFebruary();
  const { code, out } = await world.run('month-end', '2026-02', '--workspace', 'ws-calm', 'ws-yen');
  expect(code).toBe(0);
  expect(out).toContain('2 of 2 workspaces can be closed');
  expect(await world.run('month-end', '2026-02', '--workspace', 'ws-9')).toMatchObject({ code: 2 });
});

it('asks what close asks: what it calls ready is closed, and nothing else', async () => {
  const world = await createFebruary();
  const { workspaces } = parseJson((await world.run('month-end', '2026-02', '--json')).out);
  for (const { workspace_id: id, state, blockers } of workspaces) {
    const { code, err } = await world.run('close', '2026-02', '--workspace', id, '--by', 'Ada');
    expect({ id, code }).toEqual({ id, code: state === 'ready' ? 0 : 1 });
    for (const { kind, reason } of blockers) if (kind !== 'unknown') expect(err).toContain(reason);
  }
});

it('closes all that is ready, says the others with their reasons, ends with 3, and may be run again', async () => {
  const world = await createFebruary();
  const first = await world.run('close', '2026-02', '--all', '--by', 'Ada', '--note', 'run 12');
  expect(first.code).toBe(3);
  expect(first.out).toContain('ws-calm, 2026-02: closed with 1 tenant, 1,100 credits');
  expect(first.out).toContain(
    'ws-grown, 2026-02: NOT closed:\n  - its total of 90.00 EUR differs by more than 50% from 10.00',
  );
  expect(first.out).toContain('2 workspaces closed, 3 not closed');
  const closed = world.query('SELECT workspace_id, actor, note, forced, digest FROM finance_closes ORDER BY 1');
  expect(closed).toMatchObject([
    { workspace_id: 'ws-calm', actor: 'Ada', note: 'run 12', forced: 0 },
    { workspace_id: 'ws-yen', actor: 'Ada', note: 'run 12', forced: 0 },
  ]);
  for (const { digest } of closed as { digest: string }[]) expect(first.out).toContain(digest);

  const accepted = await world.run(
    'close',
    '2026-02',
    '--all',
    '--accept-change',
    'ws-grown',
    '--note',
    'a new contract',
  );
  expect(accepted.code).toBe(3);
  expect(accepted.out).toContain('1 workspace closed, 2 already closed, 2 not closed');
  expect(accepted.out).toContain('ws-grown, 2026-02: closed with');
  const [grown] = world.query(
    "SELECT forced, note, json_extract(overridden, '$[0]') AS why FROM finance_closes WHERE workspace_id = 'ws-grown'",
  );
  expect(grown).toEqual({
    forced: 1,
    note: 'a new contract',
    why: expect.stringContaining('differs by more than 50%'),
  });

  at(world, SETTLED + 13 * HOUR_MS);
  await world.run('sync');
  at(world, SETTLED + 26 * HOUR_MS);
  await world.run('sync');
  const last = await world.run('close', '2026-02', '--all', '--json');
  expect(last.code).toBe(0);
  const results = parseJson(last.out).workspaces.map(({ result }: { result: string }) => result);
  expect(results).toEqual(['closed_already', 'closed_already', 'closed', 'closed', 'closed_already']);
  expect((await world.run('month-end', '2026-02')).code).toBe(0);
  expect((await world.run('verify')).code).toBe(0);
});

it.each([
  ['100', ['ws-late', 'ws-unread']],
  ['99.99', ['ws-late', 'ws-unread', 'ws-yen']],
  ['79.99', ['ws-grown', 'ws-late', 'ws-unread', 'ws-yen']],
  ['10%', ['ws-grown', 'ws-late', 'ws-unread']],
  ['9.99%', ['ws-calm', 'ws-grown', 'ws-late', 'ws-unread', 'ws-yen']],
])('lets a month be closed up to a change of %s', async (maxChange, blocked) => {
  const world = await createFebruary();
  allowChange(world, maxChange);
  const { workspaces } = parseJson((await world.run('month-end', '2026-02', '--json')).out);
  const found = workspaces.filter(({ state }: { state: string }) => state === 'blocked');
  expect(found.map(({ workspace_id }: { workspace_id: string }) => workspace_id)).toEqual(blocked);
});

it('refuses a close.max_change that is neither', async () => {
  const world = await createFebruary();
  for (const wrong of ['a lot', '-5', '5 %', '12.345%']) {
    world.configure({ close: { max_change: wrong }, workspaces: [workspaceSettings(world.sandbox, ALL[0] as never)] });
    expect(await world.run('month-end', '2026-02')).toMatchObject({
      code: 2,
      err: expect.stringContaining('close.max_change: is not valid'),
    });
  }
});

it('closes nothing at once of a ledger with faults, and says so before', async () => {
  const world = await createFebruary();
  const { openForWriting } = await import('../../../src/ledger/store/file/open.ts');
  const connection = openForWriting(world.ledgerPath);
  connection.exec('DROP TRIGGER IF EXISTS usage_entries_no_update');
  connection.close();
  const plan = await world.run('month-end', '2026-02', '--workspace', 'ws-calm');
  expect(plan.code).toBe(4);
  expect(plan.out).toContain('NOT verified');
  expect(plan.out).toContain('the ledger has faults\n    $ usage-ledger verify');
  for (const whose of [['--all'], ['--workspace', 'ws-calm']]) {
    const { code, err } = await world.run('close', '2026-02', ...whose);
    expect([whose, code]).toEqual([whose, 1]);
    expect(err).toContain('cannot close: the ledger has');
  }
  expect(world.query('SELECT * FROM finance_closes')).toEqual([]);
});

it('refuses what contradicts itself', async () => {
  const world = await createFebruary();
  const wrong: [string[], string][] = [
    [['--all', '--force'], '--all cannot be combined with --force or --workspace'],
    [['--all', '--workspace', 'ws-calm'], '--all cannot be combined with --force or --workspace'],
    [['--all', '--accept-change', 'ws-grown'], '--accept-change needs --note'],
    [['--all', '--accept-change', 'ws-9', '--note', 'x'], '"ws-9" is not configured'],
  ];
  for (const [argv, message] of wrong) {
    expect(await world.run('close', '2026-02', ...argv)).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining(message),
    });
  }
});
