import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { DaemonNotice } from '../../../src/ledger/store/file/daemon-lock.ts';
import { type Sandbox, startSandbox } from '../../../src/sandbox/server.ts';
import { freePort } from '../../queue/support.ts';
import { configure } from '../../support/daemon-folder.ts';
import { type DaemonProcess, startDaemonProcess } from '../../support/daemon-process.ts';
import { eventually } from '../../support/eventually.ts';
import { Random } from '../../support/random.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

// cspell:ignore wrokers

const SECONDS = Number(process.env.RELOAD_SECONDS ?? 60);
const EDITS = Number(process.env.RELOAD_EDITS ?? 200);
const SEED = Number(process.env.RELOAD_SEED ?? 1);
const WORKSPACES = Array.from({ length: 20 }, (_, index) => `ws-${index + 1}`);

async function startService(latencyMs: number): Promise<Sandbox> {
  const workspaces = WORKSPACES.map((id) => ({
    id,
    api_key_id: `${id}_0`,
    secret_key: secretOf(id, 0),
    generate: { tenants: 500, months: 4 },
  }));
  const sandbox = await startSandbox({ scenario: { workspaces }, latencyMs, keepRequests: 0 });
  onTestFinished(() => sandbox.close());
  return sandbox;
}

function secretOf(id: string, generation: number): string {
  return `sk_${id}_of_generation_${generation}`;
}

/** What the daemon says of its configuration once it has read it `reads` times. */
async function noticeAfter(folder: string, reads: number): Promise<DaemonNotice['configuration']> {
  const file = join(folder, 'data', 'ledger.db.daemon.json');
  const read = (): DaemonNotice => JSON.parse(readFileSync(file, 'utf8')) as DaemonNotice;
  await eventually(() => expect(read().configuration.reads).toBe(reads));
  return read().configuration;
}

async function statusWith(port: number, token: string): Promise<number> {
  return (await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { authorization: `Bearer ${token}` } })).status;
}

async function ends(daemon: DaemonProcess): Promise<void> {
  daemon.child.kill('SIGTERM');
  expect(await daemon.exit()).toBe(0);
}

test(`no run fails while every secret is exchanged each second for ${SECONDS} s`, async () => {
  const sandbox = await startService(300);
  const port = await freePort();
  const folder = temporaryFolder();
  /** Each run takes some ten seconds, and so outlives its keys. The service takes the last two, as the configuration names them. */
  const settingsOf = (generation: number): object => {
    writeFileSync(join(folder, 'hook'), `whsec_${Buffer.from(`secret ${generation}`).toString('base64')}`, {
      mode: 0o600,
    });
    const generations = generation === 0 ? [0] : [generation, generation - 1];
    return {
      http: { port, token: `token-of-generation-${generation}` },
      defaults: {
        cron: '* * * * *',
        requests_per_second: 1000,
        concurrency: 1,
        base_url: sandbox.url,
        embed_url: sandbox.url,
      },
      workspaces: WORKSPACES.map((id) => ({
        id,
        keys: generations.map((of) => ({ api_key_id: `${id}_${of}`, secret_key: secretOf(id, of) })),
      })),
      alerts: {
        channels: [{ type: 'webhook', url: `${sandbox.url}/hook`, allow_private: true, secret_file: './hook' }],
      },
    };
  };
  configure(folder, settingsOf(0));
  const daemon = startDaemonProcess(folder);
  await daemon.line('ready');
  for (let generation = 1; generation <= SECONDS; generation += 1) {
    for (const id of WORKSPACES) {
      const workspace = sandbox.workspace(id);
      const key = `${id}_${generation}`;
      sandbox.keys.set(key, { id: key, secret: secretOf(id, generation), workspace });
    }
    configure(folder, settingsOf(generation));
    daemon.child.kill('SIGHUP');
    const [notice] = await Promise.all([noticeAfter(folder, generation), sleep(1_000)]);
    expect(notice.refused).toBeNull();
    for (const id of WORKSPACES) sandbox.keys.delete(`${id}_${generation - 1}`);
  }
  expect(await statusWith(port, `token-of-generation-${SECONDS}`)).toBe(200);
  expect(await statusWith(port, `token-of-generation-${SECONDS - 1}`)).toBe(401);
  const applied = daemon.lines.filter(({ msg }) => msg === 'run applied');
  process.stdout.write(
    `${JSON.stringify({ rotations: SECONDS, runs: applied.length, requests: sandbox.requests.count })}\n`,
  );
  expect(daemon.lines.filter(({ msg }) => String(msg).startsWith('run failed'))).toEqual([]);
  expect(new Set(applied.map(({ workspaceId }) => workspaceId)).size).toBe(WORKSPACES.length);
  await ends(daemon);
});

type Settings = Record<string, unknown> & { workspaces: Record<string, unknown>[] };
type Edit = (settings: Settings, random: Random) => void;

/** What may be changed while a daemon runs. */
const RIGHT: readonly Edit[] = [
  (settings, random) => settings.workspaces.splice(1, random.between(0, 3)),
  (settings, random) => Object.assign(settings.workspaces[0] ?? {}, { cron: `*/${random.between(1, 30)} * * * *` }),
  (settings, random) => Object.assign(settings.workspaces[0] ?? {}, { per_page: random.between(50, 100) }),
  (settings, random) => Object.assign(settings, { budgets: [{ credits: random.between(1, 1_000_000) }] }),
  (settings, random) => Object.assign(settings, { workers: random.between(1, 100) }),
  (settings, random) =>
    Object.assign(settings, {
      alerts: {
        channels: [
          { type: 'log', name: `log-${random.below(5)}` },
          { type: 'log', name: 'other' },
        ],
      },
    }),
  (settings) => Object.assign(settings, { exports: [{ name: 'daily', view: 'finance_usage', cron: '0 3 * * *' }] }),
  (settings) => Object.assign(settings, { backup: { cron: '0 2 * * *' } }),
];
const WRONG: readonly Edit[] = [
  (settings) => Object.assign(settings, { workspaces: [] }),
  (settings) => Object.assign(settings, { wrokers: 3 }),
  (settings) => Object.assign(settings, { workers: 'many' }),
  (settings) => Object.assign(settings.workspaces[0] ?? {}, { cron: 'every minute' }),
  (settings) => settings.workspaces.push({ ...settings.workspaces[0] }),
  (settings) => Object.assign(settings.workspaces[0] ?? {}, { secret_key: undefined, secret_key_file: './gone' }),
  (settings) => Object.assign(settings.workspaces[0] ?? {}, { secret_key: undefined, secret_key_command: ['false'] }),
  (settings) => Object.assign(settings, { alerts: { channels: [{ type: 'webhook' }] } }),
  (settings) => Object.assign(settings, { budgets: [{ workspace: 'nobody', credits: 1 }] }),
  (settings) => Object.assign(settings, { redis_url: '$' + '{NOT_SET}' }),
];

test(`of ${EDITS} edits each right one counts at once, and each wrong one changes nothing`, async () => {
  const random = new Random(SEED);
  const sandbox = await startService(0);
  const port = await freePort();
  const folder = temporaryFolder();
  const settingsOf = (token: string): Settings => ({
    http: { port, token },
    defaults: { cron: '* * * * *', base_url: sandbox.url, embed_url: sandbox.url },
    workspaces: WORKSPACES.map((id) => ({ id, api_key_id: `${id}_0`, secret_key: secretOf(id, 0) })),
  });
  let inForce = 'token-of-the-start';
  configure(folder, settingsOf(inForce));
  const daemon = startDaemonProcess(folder);
  await daemon.line('ready');
  let refused = 0;
  for (let edit = 1; edit <= EDITS; edit += 1) {
    const token = `token-of-edit-${edit}`;
    const settings = settingsOf(token);
    const isWrong = random.chance(0.5);
    for (let left = random.between(1, 3); left > 0; left -= 1) random.pick(RIGHT)(settings, random);
    const wrong = random.pick(WRONG);
    if (isWrong) wrong(settings, random);
    configure(folder, settings);
    daemon.child.kill('SIGHUP');
    const notice = await noticeAfter(folder, edit);
    expect(notice.refused !== null, `edit ${edit}: ${JSON.stringify(settings)}`).toBe(isWrong);
    expect(await statusWith(port, isWrong ? inForce : token)).toBe(200);
    expect(await statusWith(port, isWrong ? token : inForce)).toBe(401);
    if (isWrong) refused += 1;
    else inForce = token;
  }
  process.stdout.write(`${JSON.stringify({ seed: SEED, edits: EDITS, refused })}\n`);
  expect(daemon.lines.filter(({ msg }) => String(msg).startsWith('run failed'))).toEqual([]);
  await ends(daemon);
});
