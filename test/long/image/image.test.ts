import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Sandbox } from '../../../src/sandbox/server.ts';
import { daemonFolder, startService } from '../../support/daemon-folder.ts';
import { eventually } from '../../support/eventually.ts';
import { nextVersion } from '../../support/next-version.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { type Container, type ContainerOptions, startContainer } from './container.ts';
import { type ImageSettings, Images } from './images.ts';

const KILLS = Number(process.env.IMAGE_KILLS ?? 20);
const VOLUMES = 4;
const MOST_MEGABYTES = 250;
/** What compose.yaml gives a stop. */
const STOP_SECONDS = 25;
const MIB = 1024 * 1024;

// On the disk: the images are larger than what memory is for.
const folder = mkdtempSync('/var/tmp/usage-ledger-image-');
const images = new Images(folder);
let root = '';
let settings: ImageSettings;

beforeAll(async () => {
  const beganMs = performance.now();
  await images.buildBases();
  const basesMs = performance.now();
  await images.build('usage-ledger');
  const seconds = { bases: (basesMs - beganMs) / 1000, image: (performance.now() - basesMs) / 1000 };
  root = await images.unpack('usage-ledger');
  settings = await images.settings('usage-ledger');
  print({ seconds, megabytes: await images.megabytes('usage-ledger') });
}, 20 * 60_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }), 60_000);

test('the image is small, says what it is and how it is, and runs as nobody of power', async () => {
  expect(await images.megabytes('usage-ledger')).toBeLessThan(MOST_MEGABYTES);
  expect(settings).toMatchObject({ User: '1000:1000', WorkingDir: '/data', Volumes: { '/data': {} }, Cmd: ['daemon'] });
  expect(settings.Labels).toMatchObject({ 'org.opencontainers.image.title': 'usage-ledger' });
});

test('the demonstration needs nothing but the image', async () => {
  const beganMs = performance.now();
  const demo = run({ args: ['demo'], writable: true });
  expect(await demo.exit(), demo.output()).toBe(0);
  expect(demo.output()).toContain('The webhook received this message:');
  print({ demoSeconds: (performance.now() - beganMs) / 1000 });
});

test('the daemon works in a root that can only be read, is healthy when ready, and ends cleanly in its time', async () => {
  const sandbox = await startService({ generate: { tenants: 300, months: 3, open_month: 'full' } });
  const volume = volumeOf(sandbox, { http: { port: 9464 } });
  const daemon = run({ volume });
  await daemon.line('run applied');
  // A second look of the engine, in the same root.
  const [, ...health] = settings.Healthcheck.Test;
  const isHealthy = (): Promise<number> => run({ volume, entrypoint: health, args: [] }).exit();
  await eventually(async () => expect(await isHealthy()).toBe(0), 60_000);
  expect(statSync(join(volume, 'ledger.db')).mode & 0o777).toBe(0o600);

  const askedMs = performance.now();
  await daemon.signal('SIGTERM');
  expect(await daemon.exit()).toBe(0);
  const stopSeconds = (performance.now() - askedMs) / 1000;
  expect(stopSeconds).toBeLessThan(STOP_SECONDS);
  expect(daemon.output()).toContain('"msg":"stopped"');
  expect(await isHealthy()).toBe(1);
  print({ stopSeconds });
});

test(`killed ${KILLS} times while it reads, it loses and doubles nothing`, async () => {
  // A job of a daemon that was killed is taken up after a minute: several volumes wait for that at once.
  const share = Math.ceil(KILLS / VOLUMES);
  await Promise.all(Array.from({ length: VOLUMES }, () => isKilled(share)));
});

async function isKilled(times: number): Promise<void> {
  const sandbox = await startService({ generate: { tenants: 2_000, months: 10, open_month: 'full' } });
  const settings = { defaults: { cron: '* * * * *', concurrency: 2 }, http: { port: 0 } };
  const volume = volumeOf(sandbox, settings);
  for (let kill = 0; kill < times; kill += 1) {
    const daemon = run({ volume });
    const before = sandbox.requests.count;
    // The first run reads 200 pages; those after it read less.
    const isRead = existsSync(join(volume, 'ledger.db')) && usageOf(volume).records > 0;
    const pages = 1 + Math.floor(Math.random() * (isRead ? 20 : 180));
    await eventually(() => expect(sandbox.requests.count).toBeGreaterThan(before + pages), 300_000);
    await daemon.signal('SIGKILL');
    await daemon.exit();
  }
  const daemon = run({ volume });
  await eventually(() => expect(usageOf(volume)).toEqual(served(sandbox)), 300_000);
  await daemon.signal('SIGTERM');
  expect(await daemon.exit()).toBe(0);
  await verifies(volume);
}

test('a full volume keeps it from writing, and when there is room again it goes on by itself', async () => {
  const sandbox = await startService({ generate: { tenants: 2_000, months: 10, open_month: 'full' } });
  const place = temporaryFolder();
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=48m,mode=755', 'tmpfs', place]);
  onTestFinished(() => void execFileSync('umount', ['--lazy', place]));
  const volume = volumeOf(sandbox, { defaults: { cron: '* * * * *' } }, join(place, 'volume'));
  const daemon = run({ volume });
  await daemon.line('ready');
  const { bavail, bsize } = statfsSync(place);
  const filler = join(place, 'filler');
  writeFileSync(filler, Buffer.alloc(Math.max(0, bavail * bsize - MIB / 2)));
  await daemon.line('run failed, the slot will be tried again');
  rmSync(filler);
  await daemon.line('run applied', 180_000);
  expect(usageOf(volume)).toEqual(served(sandbox));
  await daemon.signal('SIGTERM');
  expect(await daemon.exit()).toBe(0);
  await verifies(volume);
});

test('the next image brings the ledger to its version, and the image before then refuses it', async () => {
  const sandbox = await startService({ generate: { tenants: 300, months: 3, open_month: 'full' } });
  const volume = volumeOf(sandbox, { defaults: { cron: '* * * * *' } });
  const before = run({ volume });
  await before.line('run applied');
  await before.signal('SIGTERM');
  expect(await before.exit()).toBe(0);

  const next = nextVersion('CREATE TABLE `next_version` (`one` integer);');
  await images.change('usage-ledger', [join(next, 'drizzle'), '/app/drizzle'], 'usage-ledger:next');
  const after = run({ volume, root: await images.unpack('usage-ledger:next') });
  await after.line('the ledger was migrated to this version');
  await after.line('ready');
  await after.signal('SIGTERM');
  expect(await after.exit()).toBe(0);
  expect(usageOf(volume)).toEqual(served(sandbox));

  const late = run({ volume });
  expect(await late.exit(), late.output()).toBe(2);
  expect(late.output()).toMatch(/newer/);
});

function run(options: Partial<ContainerOptions>): Container {
  return startContainer({ root, settings, volume: options.volume ?? ownFolder(), ...options });
}

/** What belongs to the image's user. */
function ownFolder(folder = temporaryFolder()): string {
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o700);
  chownSync(folder, 1000, 1000);
  return folder;
}

/** A volume with a configuration that reads from the sandbox. */
function volumeOf(sandbox: Sandbox, own: object, volume = temporaryFolder()): string {
  daemonFolder(sandbox, { ledger: { path: './ledger.db' }, ...own }, ownFolder(volume));
  chownSync(join(volume, 'usage-ledger.yml'), 1000, 1000);
  return volume;
}

async function verifies(volume: string): Promise<void> {
  const verify = run({ volume, args: ['verify'] });
  expect(await verify.exit(), verify.output()).toBe(0);
}

/** How many figures there are, and what they sum to. */
interface Usage {
  records: number;
  credits: number;
}

function usageOf(volume: string): Usage {
  const ledger = new Database(join(volume, 'ledger.db'), { readonly: true });
  try {
    return ledger.prepare('SELECT count(*) AS records, sum(credits_used) AS credits FROM finance_usage').get() as Usage;
  } finally {
    ledger.close();
  }
}

function served(sandbox: Sandbox): Usage {
  const rows = sandbox.workspace().rows();
  return { records: rows.length, credits: rows.reduce((sum, { credits }) => sum + Number(credits), 0) };
}

function print(figures: object): void {
  process.stdout.write(`${JSON.stringify(figures)}\n`);
}
