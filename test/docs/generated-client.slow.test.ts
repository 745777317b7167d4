import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import type { Role } from '../../src/core/text/roles.ts';
import { copiesOf, parseJson, type World } from '../commands/world.ts';
import { serveApi, TOKENS } from '../daemon/api/served-api.ts';
import { inputOf, ledgerOfOperations } from '../operations/ledger-of-operations.ts';
import { freePort } from '../queue/support.ts';
import { startDaemonProcess } from '../support/daemon-process.ts';

const run = promisify(execFile);
const worldOfOperations = copiesOf(ledgerOfOperations);
const FOLDER = fileURLToPath(new URL('generated-client/', import.meta.url));
const packages = createRequire(join(FOLDER, 'package.json'));

/** Runs the command of a package of the client, and returns its output. */
async function runPackage(name: string, command: string, ...args: string[]): Promise<string> {
  const manifest = packages.resolve(`${name}/package.json`);
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8')) as { bin: string | Record<string, string> };
  const script = typeof bin === 'string' ? bin : (bin[command] ?? '');
  const { stdout } = await run(process.execPath, [join(dirname(manifest), script), ...args], { cwd: FOLDER }).catch(
    (error: { stdout: string; stderr: string }) => {
      throw new Error(`${command} failed: ${error.stdout}${error.stderr}`);
    },
  );
  return stdout;
}

// Gone afterwards: it is large, and a linter that meets it is slow.
afterAll(() => rmSync(join(FOLDER, 'generated'), { recursive: true, force: true }));

let generated: Promise<unknown> | undefined;

/** Generates the types of the client from what the daemon answers, once for all tests. */
function generateClient(): Promise<unknown> {
  generated ??= (async () => {
    const { ask } = await serveApi(await worldOfOperations());
    mkdirSync(join(FOLDER, 'generated'), { recursive: true });
    writeFileSync(join(FOLDER, 'generated', 'openapi.json'), (await ask('/openapi.json')).text);
    return runPackage('openapi-typescript', 'openapi-typescript', 'generated/openapi.json', '-o', 'generated/api.ts');
  })();
  return generated;
}

/** Starts the shipped daemon over a ledger, and returns a function that plays a task with a token of this role. */
async function servedByDaemon(world: World) {
  await generateClient();
  const file = join(world.folder, 'usage-ledger.yml');
  // Due once a year: the daemon answers, and hardly reads.
  const never = { cron: '0 0 1 1 *', reconcile_cron: '0 0 1 1 *' };
  const http = { port: await freePort(), tokens: TOKENS };
  writeFileSync(file, stringify({ ...parse(readFileSync(file, 'utf8')), http, defaults: never }));
  const daemon = startDaemonProcess(world.folder);
  const { url } = await daemon.line('serving pages, API, health and metrics');
  await daemon.line('ready');
  return async (role: Role, task: string, env: Record<string, string> = {}) => {
    const token = TOKENS.find((known) => known.role === role)?.token ?? '';
    const own = { PATH: process.env.PATH, ADDRESS: String(url), TOKEN: token, TASK: task, ...env };
    const { stdout } = await run(process.execPath, [join(FOLDER, 'tasks.ts')], { env: own });
    return JSON.parse(stdout);
  };
}

describe('a client generated from the description of the API', () => {
  it('compiles, and the compiler refuses a field that the description lacks', async () => {
    await generateClient();
    expect(await runPackage('typescript', 'tsc', '-p', '.')).toBe('');
    const misspelt = join(FOLDER, 'generated', 'misspelt.ts');
    const source = readFileSync(join(FOLDER, 'tasks.ts'), 'utf8').replace('./generated/', './');
    writeFileSync(misspelt, source.replace('limit: 1000', 'limits: 1000'));
    const refusal = runPackage('typescript', 'tsc', '-p', '.').finally(() => writeFileSync(misspelt, ''));
    await expect(refusal).rejects.toThrow(/^tsc failed: generated\/misspelt\.ts\(\d+,\d+\): error TS2561:.*'limits'/);
  });

  it('plays the tasks of docs/api.md against the daemon', async () => {
    const world = await worldOfOperations();
    const own = async (...argv: string[]) => parseJson((await world.run(...argv, '--json')).out);
    const { alerts } = await own('alerts', 'list');
    const statement = await own('statement', '2026-01', '--workspace', 'ws-1');
    const { alert_id: alert = '' } = inputOf('alerts.show', world) as { alert_id?: string };
    const play = await servedByDaemon(world);

    const daily: string = await play('read', 'yesterdaysUsage', { PERIOD: '2026-02' });
    const [head, ...rows] = daily.trimEnd().split(/\r?\n/);
    expect(head).toMatch(/^workspace_id,tenant_id,period,day,/);
    expect(rows).toHaveLength(world.query("SELECT * FROM finance_daily WHERE period = '2026-02'").length);

    // There are others: the service of this test is in February, so the daemon cannot read it.
    const lines = alerts.map((one: Record<string, string>) => `${one.severity}: ${one.summary} (${one.alert_id})`);
    expect(await play('read', 'openAlerts')).toEqual(expect.arrayContaining(lines));
    await expect(play('read', 'acknowledge', { ALERT: alert })).rejects.toThrow('needs the role operate');
    expect(await play('operate', 'acknowledge', { ALERT: alert })).toEqual({ applied: true, state: 'acknowledged' });

    const { blockers } = await play('finance', 'closeMonth', { PERIOD: '2026-01' });
    expect(blockers.join('\n')).toMatch(/^ws-2: /m);

    const pages = await play('read', 'statements', { PERIOD: '2026-01', WORKSPACE: 'ws-1' });
    expect(Object.keys(pages)).toEqual(statement.tenants.map(({ tenant_id: id }: { tenant_id: string }) => id));
    expect(pages.acme).toContain('Acme Ltd');
    expect(pages.acme).not.toContain('globex');

    expect(await play('read', 'usageOfTenant', { PERIOD: '2026-02', WORKSPACE: 'ws-1', TENANT: 'acme' })).toEqual([
      { tenant_id: 'acme', period: '2026-02', credits_used: 60_000 },
    ]);
  });

  it('closes a month that nothing blocks, and finds it closed when it is asked again', async () => {
    const world = await worldOfOperations();
    // Two complete walks at least twelve hours apart, as the documentation of closes says.
    for (let day = 0; day < 2; day += 1) {
      world.clock.nowMs += 24 * 3_600_000;
      world.clock.serviceMs = world.clock.nowMs;
      expect(await world.run('sync', '--from', '2025-12')).toMatchObject({ code: 0 });
    }
    const play = await servedByDaemon(world);
    const closed = await play('finance', 'closeMonth', { PERIOD: '2026-01' });
    expect(closed).toEqual({ applied: true, results: ['closed_already', 'closed'] });
    const closes = "SELECT workspace_id, actor, note FROM finance_closes WHERE period = '2026-01' ORDER BY event_seq";
    const after = world.query(closes);
    expect(after.at(-1)).toEqual({ workspace_id: 'ws-2', actor: 'finance-bot (API token)', note: 'pipeline 42' });
    const again = await play('finance', 'closeMonth', { PERIOD: '2026-01' });
    expect(again).toEqual({ applied: true, results: ['closed_already', 'closed_already'] });
    expect(world.query(closes)).toEqual(after);
  });
});
