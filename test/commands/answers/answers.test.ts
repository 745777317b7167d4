import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { expect, test } from 'vitest';
import { ANSWERS } from '../../../src/commands/answers/answers.ts';
import { completedCommands } from '../../../src/commands/completion/tree.ts';
import { buildProgram } from '../../../src/commands/main.ts';
import { CliContext } from '../../../src/commands/shared/cli-context.ts';
import { createWorld, FIRST, row, USAGE, type World } from '../world.ts';

const ajv = new Ajv2020({ allErrors: true });
formats.default(ajv);

const CARD = { name: 'flat', from_period: '2025-01', currency: 'EUR', price_per_credit: '0.01' };
const JUMP = row('acme', '2026-02', 90_000);

/** Runs commands with `--json`, and holds each answer against what is said of its command. */
async function answering() {
  const world = await createWorld({ ...FIRST, usage: [...USAGE, row('small', '2026-02', 5)] });
  const held = new Set<string>();
  const ask = async (name: string, ...argv: string[]) => {
    const { out, err } = await world.run(...name.split(' '), ...argv, '--json');
    const answer = JSON.parse(out);
    const isHeld = ajv.validate(ANSWERS[answer.error === undefined ? name : 'error'] ?? false, answer);
    expect([name, argv, isHeld ? null : ajv.errors, answer.error], err).toEqual([name, argv, null, undefined]);
    held.add(name);
    return answer;
  };
  const write = (name: string, text: string): void => writeFileSync(join(world.folder, name), text);
  return { world, ask, held, write };
}

async function askForMoney(world: World, ask: Awaited<ReturnType<typeof answering>>['ask']): Promise<void> {
  await ask('rates apply', 'rates.yml', '--yes');
  await ask('rates list');
  await ask('rates check', 'dearer.yml');
  await ask('rates clear');
  await ask('tenants import', 'names.csv');
  await ask('tenants list');
  await ask('statement', '2026-02');
  await ask(
    'reconcile',
    'invoices.csv',
    '--period',
    '2026-02',
    '--credits-column',
    'credits',
    '--amount-column',
    'net',
  );
  await ask('close', '2026-01', '--force');
  await ask('statement', '2026-01');
  await ask('statement', '2026-01', '--for-tenant', 'acme');
  writeFileSync(join(world.folder, 'closed.json'), (await world.run('statement', '2026-01', '--json')).out);
  await ask('statement verify', 'closed.json', '--ledger');
  await ask('reopen', '2026-01', '--note', 'again');
  await ask('statement verify', 'closed.json', '--ledger');
  await ask('tenants forget', 'acme');
}

async function askForAlerts(ask: Awaited<ReturnType<typeof answering>>['ask']): Promise<void> {
  const { alerts } = await ask('alerts list', '--all');
  const id = alerts[0].alert_id;
  for (const name of ['alerts show', 'alerts explain', 'alerts ack']) await ask(name, id);
  for (const label of ['expected', 'false', 'real']) await ask('alerts feedback', id, label, '--note', 'known');
  const { silence_id } = await ask('alerts silence', '--tenant', 'small', '--until', '2027-01-01', '--reason', 'test');
  await ask('alerts silences');
  await ask('alerts unsilence', silence_id);
  await ask('alerts plan', '--tenant', 'acme', '--until', '2027-01-01', '--reason', 'launch', '--up-to', '100000');
  await ask('alerts test', 'log');
  await ask('alerts replay');
  await ask('alerts backtest');
}

test('each command answers --json as its schema says', { timeout: 60_000 }, async () => {
  const { world, ask, held, write } = await answering();
  write('rates.yml', JSON.stringify({ rates: [CARD] }));
  write('dearer.yml', JSON.stringify({ rates: [{ ...CARD, name: 'dearer', price_per_credit: '0.02' }] }));
  write('names.csv', 'tenant_id,display_name,external_ref,region\nacme,Acme,K-1,north\nnobody,x,,\n');
  write('invoices.csv', 'tenant_id,credits,net\nacme,4000,40.00\n');
  await ask('init');
  await ask('migrate');
  await ask('sync');
  await ask('usage', '--limit', '2');
  await ask('usage', '--as-of', '2026-03-01', '--from', '2026-01');
  await ask('tenant', 'acme');
  await ask('tenant', 'acme', '--live');
  await ask('export', 'usage', '--limit', '1');
  await askForMoney(world, ask);
  world.sandbox.workspace('ws-1').set({ tenantId: 'acme', period: JUMP.period, credits: 90_000, requests: 10 });
  world.clock.nowMs += 3_600_000;
  await ask('sync');
  await askForAlerts(ask);
  await ask('status');
  await ask('doctor');
  await ask('verify');
  await ask('backup', 'backup.db');
  await ask('restore', 'backup.db');
  const { dashboard_id } = await ask('dashboard create', '--title', 'Usage');
  await ask('embed-token', '--dashboard', dashboard_id);
  await ask('workspace export', 'ws-1', '--out', 'ws-1.move');
  await ask('workspace keep', 'ws-1');
  const fault = JSON.parse((await world.run('usage', '--period', '2026-13', '--json')).out);
  expect(ajv.validate(ANSWERS.error ?? false, fault), ajv.errorsText()).toBe(true);
  const unasked = Object.keys(ANSWERS).filter((name) => !held.has(name));
  // These two need a second ledger or Postgres.
  expect(unasked).toEqual(['error', 'publish', 'workspace import']);
});

test('each command that knows --json has a schema of its answer', async () => {
  const silent = { write: () => true };
  const cli = new CliContext({ stdout: silent, stderr: silent, env: {}, cwd: '/' });
  const names = completedCommands(await buildProgram(cli, () => true))
    .filter(({ options }) => options.some(({ flags }) => flags.includes('--json')))
    .map(({ path }) => path.join(' '))
    .filter((name) => name !== '');
  expect(Object.keys(ANSWERS).sort()).toEqual([...names, 'error'].sort());
});

test('an answer with a field too many, or of another kind, is refused', () => {
  const silence = { silence_id: 'silence_1', ended_by: 'Ada' };
  const schema = ANSWERS['alerts unsilence'] ?? false;
  expect(ajv.validate(schema, silence)).toBe(true);
  expect(ajv.validate(schema, { ...silence, more: 1 })).toBe(false);
  expect(ajv.validate(schema, { ...silence, ended_by: null })).toBe(false);
  expect(ajv.validate(schema, { silence_id: 'silence_1' })).toBe(false);
});
