import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { loadConfig } from '../../../src/config/load.ts';
import { createLogger } from '../../../src/core/logger.ts';
import { startBackupSchedule } from '../../../src/daemon/backup/backup-schedule.ts';
import { type Receiver, startReceiver } from '../../alerts/channels/receiver.ts';
import { type S3Server, SECRET_KEY, startS3Server } from '../../support/net/s3-server.ts';
import { clockThat } from '../../support/time/test-clock.ts';
import { createWorld, FIRST, NOON, parseJson, row, type World, workspaceSettings } from '../world.ts';

const HOUR = 3_600_000;
const anyTime = () => Number.NaN;

/** A synced world with a store of objects; `more` are further settings. */
async function createStored(more: Record<string, unknown> = {}): Promise<{ world: World; server: S3Server }> {
  const world = await createWorld(FIRST);
  const server = await startS3Server({ now: anyTime });
  world.configure({ workspaces: [workspaceSettings(world.sandbox, FIRST)], s3: server.settings, ...more });
  expect((await world.run('sync')).code).toBe(0);
  return { world, server };
}

it('a backup goes to a bucket, and the newest or the one that is named comes back from there', async () => {
  const { world, server } = await createStored();
  const { code, out } = await world.run('backup', 's3://our-bucket/ledger-1', '--json');
  expect(code).toBe(0);
  const [key] = server.objects.keys();
  const first = `s3://our-bucket/${key}`;
  expect(key).toBe('ledger-1/ledger-20260220T120000Z.db');
  expect(parseJson(out)).toMatchObject({ path: first, size_bytes: server.objects.get(key ?? '')?.sizeBytes, runs: 1 });

  world.sandbox.workspace('ws-1').set({ tenantId: 'acme', period: '2026-02', credits: 6000, requests: 10 });
  world.clock.nowMs += HOUR;
  await world.run('sync');
  expect((await world.run('backup', 's3://our-bucket/ledger-1')).out).toContain('ledger-20260220T130000Z.db');
  expect((await world.run('backup', 's3://our-bucket/mine.db')).out).toMatch(/^wrote s3:\/\/our-bucket\/mine\.db, /);

  for (const [address, from, credits] of [
    ['s3://our-bucket/ledger-1/', 's3://our-bucket/ledger-1/ledger-20260220T130000Z.db', 6000],
    [first, first, 5000],
    ['s3://our-bucket/mine.db', 's3://our-bucket/mine.db', 6000],
  ] as const) {
    rmSync(join(world.folder, 'data'), { recursive: true });
    const restored = await world.run('restore', address, '--json');
    expect(restored.code).toBe(0);
    expect(parseJson(restored.out)).toMatchObject({ backup: from, replaced: null });
    const sql = "SELECT credits_used FROM finance_usage WHERE tenant_id = 'acme' AND period = '2026-02'";
    expect(world.query(sql)).toEqual([{ credits_used: credits }]);
    expect(readdirSync(join(world.folder, 'data'))).toEqual(['ledger.db']);
  }
});

it('an object that is there stays, unless it is to be replaced', async () => {
  const { world, server } = await createStored();
  await world.run('backup', 's3://our-bucket/mine.db');
  const before = server.objects.get('mine.db');
  const second = await world.run('backup', 's3://our-bucket/mine.db');
  expect(second.code).toBe(1);
  expect(second.err).toMatch(/s3:\/\/our-bucket\/mine\.db already exists\n.*--force/);
  expect(server.objects.get('mine.db')).toBe(before);
  expect((await world.run('backup', 's3://our-bucket/mine.db', '--force')).code).toBe(0);
  expect(readdirSync(join(world.folder, 'data')).filter((name) => name.includes('uploading'))).toEqual([]);
});

it('what is missing is said: a backup, a key, an address; a damaged backup touches nothing', async () => {
  const { world, server } = await createStored();
  expect((await world.run('restore', 's3://our-bucket/none')).err).toMatch(
    /no backup found at s3:\/\/our-bucket\/none\//,
  );
  expect((await world.run('restore', 's3://our-bucket/none.db')).err).toMatch(/404 NoSuchKey\n.*name of the object/);
  expect(await world.run('backup', 's3://')).toMatchObject({
    code: 2,
    err: expect.stringContaining('is not an S3 address'),
  });
  const body = Buffer.from('no ledger at all');
  server.objects.set('bad.db', { body, sizeBytes: body.byteLength, sha256: '', checksum: '' });
  const bad = await world.run('restore', 's3://our-bucket/bad.db');
  expect(bad).toMatchObject({ code: 1, err: expect.stringContaining('s3://our-bucket/bad.db') });
  expect((await world.run('verify')).code).toBe(0);
  world.configure({ workspaces: [workspaceSettings(world.sandbox, FIRST)] });
  expect(await world.run('backup', 's3://our-bucket/p')).toMatchObject({
    code: 2,
    err: expect.stringMatching(/needs an access key\n.*`s3:`/),
  });
});

it.each<[string, (server: S3Server) => Record<string, unknown>, RegExp]>([
  ['a wrong secret', () => ({ secret_access_key: 'another-secret' }), /s3\.secret_access_key/],
  ['another region', () => ({ region: 'us-other-1' }), /the bucket is in eu-test-1/],
  ['nobody who listens', () => ({ endpoint: 'http://127.0.0.1:9' }), /s3\.endpoint/],
])('doctor names the remedy for %s, and no secret', async (_what, change) => {
  const { world, server } = await createStored();
  const backup = { to: 's3://our-bucket/ledger-1' };
  const workspaces = [workspaceSettings(world.sandbox, FIRST)];
  world.configure({ workspaces, http: { port: 0 }, backup, s3: { ...server.settings, ...change(server) } });
  const { out } = await world.run('doctor', '--json');
  const [finding] = parseJson(out).checks.filter(({ check }: { check: string }) => check === 'bucket');
  expect(finding).toMatchObject({ status: 'fail', subject: 's3://our-bucket/ledger-1/' });
  expect(finding.remedy).toMatch(_what === 'a wrong secret' ? /secret_access_key/ : /region|endpoint/);
  expect(out).not.toContain(SECRET_KEY);
});

it('doctor writes, finds, reads and deletes an object in each place, and says which right is missing', async () => {
  const { world, server } = await createStored({
    http: { port: 0 },
    backup: { to: 's3://our-bucket/ledger-1' },
    exports: [{ name: 'usage', view: 'usage', to: 's3://our-bucket/exports' }],
  });
  const checks = async () =>
    parseJson((await world.run('doctor', '--json')).out).checks.filter(
      ({ check }: { check: string }) => check === 'bucket',
    );
  expect(await checks()).toMatchObject([
    { status: 'ok', subject: 's3://our-bucket/ledger-1/' },
    { status: 'ok', subject: 's3://our-bucket/exports/' },
  ]);
  expect(server.objects.size).toBe(0);
  server.fault = ({ method }) => (method === 'DELETE' ? { status: 403, code: 'AccessDenied' } : null);
  expect(await checks()).toMatchObject([
    { status: 'fail', message: expect.stringContaining('DELETE'), remedy: expect.stringContaining('s3:DeleteObject') },
    { status: 'fail' },
  ]);
});

interface Figure {
  tenant_id: string;
  period: string;
  credits_used: number;
}

interface Message {
  tenant_id: string;
  event: string;
}

function messagesOf({ received }: Receiver): string[] {
  return received.splice(0).map(({ body }) => {
    const { tenant_id, event } = JSON.parse(body.toString()) as Message;
    return `${tenant_id} ${event}`;
  });
}

it('a machine that is gone comes back from the bucket: a sync has the figures again, and no receiver hears a reversed word', async () => {
  const receiver = await startReceiver((response) => response.writeHead(204).end());
  onTestFinished(() => receiver.close());
  const usage = ['acme', 'globex', 'initech'].flatMap((tenant) =>
    ['2025-12', '2026-01', '2026-02'].map((period) => row(tenant, period, 1000)),
  );
  /** What the service has by now. */
  const figures = new Map(usage.map(({ tenant_id, period }) => [`${tenant_id} ${period}`, 1000]));
  const world = await createWorld({ ...FIRST, usage });
  const server = await startS3Server({ now: anyTime });
  world.configure({
    workspaces: [workspaceSettings(world.sandbox, FIRST)],
    s3: server.settings,
    backup: { to: 's3://our-bucket/ledger-1' },
    alerts: { channels: [{ type: 'webhook', name: 'hook', url: receiver.url, allow_private: true }] },
  });
  const upstream = world.sandbox.workspace('ws-1');
  const change = (tenantId: string, period: string, credits: number) => {
    figures.set(`${tenantId} ${period}`, credits);
    upstream.set({ tenantId, period, credits, requests: 20 });
  };
  await world.run('sync');
  writeFileSync(join(world.folder, 'names.csv'), 'tenant_id,display_name\nacme,Acme & Sons\n');
  expect((await world.run('tenants', 'import', 'names.csv')).code).toBe(0);
  world.clock.nowMs = NOON + 13 * HOUR;
  change('acme', '2026-02', 5000);
  await world.run('sync');
  expect(messagesOf(receiver)).toEqual(['acme opened']);
  expect((await world.run('close', '2025-12', '--by', 'Ada')).code).toBe(0);

  await backUp(world);
  expect(server.objects.size).toBe(1);
  change('initech', '2026-02', 5000);
  world.clock.nowMs += HOUR;
  await world.run('sync');
  expect(messagesOf(receiver)).toEqual(['initech opened']);
  expect((await world.run('close', '2026-01', '--by', 'Ada')).code).toBe(0);
  change('globex', '2025-12', 1200);
  rmSync(join(world.folder, 'data'), { recursive: true });

  world.clock.nowMs += HOUR;
  expect((await world.run('restore', 's3://our-bucket/ledger-1')).code).toBe(0);
  expect((await world.run('sync', '--from', '2025-12')).code).toBe(0);
  // What was told after the backup is told again, and nothing else.
  expect(messagesOf(receiver).filter((message) => !message.startsWith('globex'))).toEqual(['initech opened']);
  expect((await world.run('verify')).code).toBe(0);
  const corrections = `SELECT coalesce(sum(credits_delta), 0) FROM finance_adjustments AS booked
    WHERE booked.tenant_id = stood.tenant_id AND corrects_period = period`;
  const standing = `SELECT tenant_id, period, credits_used + (${corrections}) AS credits_used FROM finance_usage AS stood`;
  const rows = world.query(standing) as Figure[];
  expect(new Map(rows.map((each) => [`${each.tenant_id} ${each.period}`, each.credits_used]))).toEqual(figures);
  // The close and the name of before the backup are there; the close after it is the stated loss.
  expect(world.query('SELECT period, actor FROM finance_closes')).toEqual([{ period: '2025-12', actor: 'Ada' }]);
  expect(world.query('SELECT display_name FROM finance_tenants WHERE display_name IS NOT NULL')).toEqual([
    { display_name: 'Acme & Sons' },
  ]);
  expect(world.query('SELECT tenant_id, credits_delta FROM finance_adjustments')).toEqual([
    { tenant_id: 'globex', credits_delta: 200 },
  ]);
  await world.run('sync');
  expect(messagesOf(receiver)).toEqual([]);
}, 60_000);

/** What the daemon does at its start, for the slot of last night. */
async function backUp(world: World): Promise<void> {
  const { backup, ledger } = await loadConfig({ env: {}, cwd: world.folder });
  if (backup === null) throw new Error('no backup is configured');
  const faults: (string | null)[] = [];
  const schedule = startBackupSchedule({
    ledgerPath: ledger.path,
    backup,
    reportHealth: async (detail) => void faults.push(detail),
    clock: clockThat(() => world.clock.nowMs),
    logger: createLogger({ level: 'silent' }),
  });
  await schedule.run();
  await schedule.stop();
  expect(faults).toEqual([null]);
}
