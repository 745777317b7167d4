import { copyFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { startCommand } from '../../support/daemon-process.ts';
import { createWorld, FIRST, parseJson, type World, workspaceSettings } from '../world.ts';

const SAID = 'the ledger does not match its last checkpoint';

/** A ledger of one run. */
async function createSynced(): Promise<World> {
  const world = await createWorld(FIRST);
  world.clock.nowMs = Date.now();
  world.clock.serviceMs = Date.now();
  await sync(world);
  return world;
}

async function sync(world: World, credits = 5000n): Promise<void> {
  world.sandbox.workspace('ws-1').set({ tenantId: 'acme', period: '2026-02', credits, requests: 10 });
  expect((await world.run('sync')).code).toBe(0);
}

/** Position and digest of the last link. */
function headOf(world: World): string {
  const sql = 'SELECT applied_seq AS seq, digest FROM runs ORDER BY applied_seq DESC LIMIT 1';
  const [head] = world.query(sql) as { seq: number; digest: string }[];
  return `link ${head?.seq} (${head?.digest}`;
}

/** What doctor says of the ledger. */
async function judge(world: World): Promise<string> {
  const { checks } = parseJson((await world.run('doctor', '--json')).out) as { checks: Record<string, string>[] };
  const { status, message } = checks.find(({ check }) => check === 'ledger') ?? {};
  return `${status}: ${message}`;
}

it('that is an older copy is noticed at the start, with both heads, until the next run', {
  timeout: 90_000,
}, async () => {
  const world = await createSynced();
  const copy = `${world.ledgerPath}.copy`;
  copyFileSync(world.ledgerPath, copy);
  const old = headOf(world);
  await sync(world, 6000n);
  const latest = headOf(world);
  expect(await judge(world)).toMatch(/^ok: /);
  copyFileSync(copy, world.ledgerPath);
  const reason = `it is an older copy, which ends at ${old}); its last checkpoint is ${latest},`;
  expect(await judge(world)).toContain(`warn: ${world.ledgerPath} is not the ledger that was here before: ${reason}`);
  const daemon = startCommand(world.folder, 'sync');
  expect((await daemon.line(SAID)).reason).toContain(reason);
  await daemon.exit();
  expect(await judge(world)).toMatch(/^ok: /);
});

it('that has another history, or is another ledger, is noticed with both heads', { timeout: 90_000 }, async () => {
  const [world, other] = [await createSynced(), await createSynced()];
  const workspaces = [workspaceSettings(world.sandbox, FIRST)];
  const elsewhere = join(world.folder, 'elsewhere', 'ledger.db');
  mkdirSync(join(world.folder, 'elsewhere'), { mode: 0o700 });
  copyFileSync(world.ledgerPath, elsewhere);
  await sync(world, 6000n);
  const latest = headOf(world);
  world.configure({ ledger: { path: './elsewhere/ledger.db' }, workspaces });
  await sync(world, 7000n);
  copyFileSync(elsewhere, world.ledgerPath);
  world.configure({ workspaces });
  expect(await judge(world)).toContain(
    `its history differs: link 2 is ${headOf(world).slice(8)}, but its last checkpoint is ${latest},`,
  );

  copyFileSync(other.ledgerPath, world.ledgerPath);
  const said = await judge(world);
  for (const words of ['it is ledger ', headOf(other), `the last checkpoint belongs to ledger `, latest]) {
    expect(said).toContain(words);
  }
});

it('that shares its folder with another ledger is compared with its own checkpoint alone', async () => {
  const world = await createSynced();
  const workspaces = [workspaceSettings(world.sandbox, FIRST)];
  world.configure({ ledger: { path: './data/second.db' }, workspaces });
  await sync(world);
  world.configure({ workspaces });
  expect(await judge(world)).toMatch(/^ok: /);
});

it.each([
  { what: 'is gone', lose: (log: string) => rmSync(log), words: 'is missing' },
  { what: 'was emptied', lose: (log: string) => writeFileSync(log, ''), words: 'contains no checkpoint' },
])(
  'whose log of signed heads $what beside its key is told by doctor, verify and the next sync',
  {
    timeout: 90_000,
  },
  async ({ lose, words }) => {
    const world = await createSynced();
    const log = join(dirname(world.ledgerPath), 'checkpoints.log');
    const said = `${log} ${words}, but the signing key`;
    const doctor = async () => (await world.run('doctor')).out;
    expect(await doctor()).not.toContain('but the signing key');
    expect((await world.run('verify')).out).not.toContain('but the signing key');
    lose(log);
    expect((await doctor()).replaceAll(/\s+/g, ' ')).toContain(said);
    expect(await world.run('verify')).toMatchObject({ code: 0, out: expect.stringContaining(`notice: ${said}`) });
    expect(parseJson((await world.run('verify', '--json')).out).checkpoints_lost).toContain(said);
    const sync = startCommand(world.folder, 'sync');
    expect((await sync.line('the checkpoint log of the ledger is missing')).reason).toContain(said);
    await sync.exit();
    expect(await doctor()).not.toContain('but the signing key');
    // A log that is full has given way to a new one, which is not there yet.
    renameSync(log, `${log}.1`);
    expect(await doctor()).not.toContain('but the signing key');
  },
);
