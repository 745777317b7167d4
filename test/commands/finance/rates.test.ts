import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { buildProgram } from '../../../src/commands/main.ts';
import { CliContext } from '../../../src/commands/shared/cli-context.ts';
import { copiesOf, createWorld, FIRST, NOON, parseJson, row, type World, workspaceSettings } from '../world.ts';

const CARD = { name: 'standard', from_period: '2025-12', currency: 'EUR', price_per_credit: '0.05' };
const USAGE = [row('acme', '2026-01', 5000), row('acme', '2026-02', 3000), row('globex', '2026-02', 2000)];
const DAY = 86_400_000;
const CHARGES = 'SELECT tenant_id, period, amount_minor FROM finance_charges ORDER BY period, tenant_id';
const CHARGED = [
  { tenant_id: 'acme', period: '2026-01', amount_minor: 25000 },
  { tenant_id: 'acme', period: '2026-02', amount_minor: 15000 },
  { tenant_id: 'globex', period: '2026-02', amount_minor: 10000 },
];

/** The commands below this one that have no subcommands. */
function leavesBelow(command: Command, path: string[] = []): string[] {
  if (command.commands.length === 0) return [path.join(' ')];
  return command.commands.flatMap((child) => leavesBelow(child, [...path, child.name()]));
}

function writeCards(world: World, ...cards: object[]): void {
  writeFileSync(join(world.folder, 'rates.yml'), stringify({ rates: cards }));
}

/** A ledger with charges of a closed month and an open one. */
const createCharged = copiesOf(async () => {
  const world = await createWorld({ ...FIRST, usage: USAGE });
  await world.run('migrate');
  writeCards(world, CARD);
  expect(await world.run('rates', 'apply', 'rates.yml', '--yes')).toMatchObject({ code: 0, err: '' });
  await world.run('sync');
  expect((await world.run('close', '2026-01', '--by', 'Ada', '--force')).code).toBe(0);
  return world;
});

function configureRates(world: World, ...rates: object[]): void {
  world.configure({ workspaces: [workspaceSettings(world.sandbox, FIRST)], rates });
}

/** Whatever lies in the ledger's folder; readers share memory in files of their own, which hold nothing. */
function bytesIn(folder: string): Map<string, string> {
  const names = readdirSync(folder).filter((name) => !name.endsWith('-shm'));
  const files = names.map((name) => [name, readFileSync(join(folder, name)).toString('base64')] as const);
  return new Map(files.filter(([name, bytes]) => bytes !== '' || !name.endsWith('-wal')));
}

describe('a configuration without rates', () => {
  it.each([
    ['migrate'],
    ['sync'],
    ['close', '2026-02', '--by', 'Ada', '--force'],
    ['reopen', '2026-01', '--by', 'Ada', '--note', 'wrong'],
  ])('retires no card and deletes no charge, whatever writes: %s', async (...argv) => {
    const world = await createWorld({ ...FIRST, usage: USAGE });
    configureRates(world, CARD);
    expect((await world.run('rates', 'apply', '--yes')).code).toBe(0);
    await world.run('sync');
    await world.run('close', '2026-01', '--by', 'Ada', '--force');
    world.configure({ workspaces: [workspaceSettings(world.sandbox, FIRST)] });

    await world.run(...argv);

    expect(world.query(CHARGES)).toEqual(CHARGED);
    expect((await world.run('rates', 'list')).out).toContain('standard');
  });
});

describe('whatever only reads', () => {
  const reads = [
    ['alerts'],
    ['alerts', 'list'],
    ['alerts', 'silences'],
    ['alerts', 'backtest'],
    ['export', 'charges', '--format', 'csv'],
    ['export', 'focus', '--period', '2026-02', '--format', 'csv'],
    ['lines', 'list'],
    ['month-end', '2026-01'],
    ['rates', 'apply'],
    ['rates', 'check'],
    ['rates', 'list'],
    ['reconcile', 'invoices.csv', '--period', '2026-02', '--amount-column', 'amount', '--no-service'],
    ['report', '--period', '2026-02', '--out', 'page.html'],
    ['statement', '2026-01'],
    ['statement', '2026-02', '--format', 'json'],
    ['status'],
    ['sync', '--dry-run'],
    ['tenant', 'acme'],
    ['tenant', 'acme', '--live'],
    ['tenants', 'list'],
    ['usage'],
    ['verify'],
  ];

  /** Commands that change the ledger, write other files only, or know none; `help` and all are looked at in their own tests. */
  const others = `alerts ack, alerts explain, alerts feedback, alerts mute, alerts plan, alerts replay, alerts show, alerts silence,
    alerts test, alerts unmute, alerts unsilence, backup, close, daemon, dashboard create, demo, doctor,
    embed-token, init, lines add, lines revoke, mcp, migrate, open, outlets start, outlets check, outlets pause, outlets push,
    outlets resume, outlets settle, outlets status, publish, rates clear, reload, reopen, restore, sandbox, statement verify, sync, tenants forget, tenants import,
    workspace end, workspace resume`;

  it('is known: a new command is one of these or of the others', async () => {
    const known = [...reads.map((argv) => argv.join(' ')), ...others.split(/,\s+/)];
    const cli = new CliContext({ stdout: { write: () => true }, stderr: { write: () => true }, env: {}, cwd: '.' });
    const leaves = leavesBelow(await buildProgram(cli, () => true));
    const unknown = leaves.filter((name) => !known.some((one) => one === name || one.startsWith(`${name} `)));
    expect(unknown).toEqual([]);
  });

  it('leaves the ledger as it is to the byte, with other cards in the configuration, too', async () => {
    const world = await createCharged();
    writeFileSync(join(world.folder, 'invoices.csv'), 'tenant_id,amount\nacme,1.00\n');
    configureRates(world, { ...CARD, price_per_credit: '7' });
    const before = bytesIn(join(world.folder, 'data'));
    for (const argv of reads) {
      const { err } = await world.run(...argv);
      expect(err, argv.join(' ')).not.toContain('error: ');
      expect(bytesIn(join(world.folder, 'data')), argv.join(' ')).toEqual(before);
    }
    const { err } = await world.run('statement', '2026-02');
    expect(err).toContain('The configured rate cards differ from the active ones');
    expect(world.query(CHARGES)).toEqual(CHARGED);
  });
});

describe('rates apply', () => {
  it('is asked for by a sync while the cards of the configuration are not in force', async () => {
    const world = await createWorld({ ...FIRST, usage: USAGE });
    configureRates(world, CARD);
    const words = 'The configured rate cards differ from the active ones';
    expect((await world.run('sync')).err).toContain(words);
    await world.run('rates', 'apply', '--yes');
    expect((await world.run('sync')).err).not.toContain(words);
  });

  it('shows cards, months and tenants that would change, and changes them with --yes', async () => {
    const world = await createCharged();
    writeCards(world, { ...CARD, name: 'dearer', price_per_credit: '0.1' });
    const { out, err } = await world.run('rates', 'apply', 'rates.yml');
    expect(out).toMatch(/^\+ dearer\n- standard\n/);
    expect(out).toMatch(/^2026-02 +250\.00 +500\.00 +250\.00 +EUR/m);
    expect(out).toMatch(/^acme +150\.00 +300\.00 +150\.00 +EUR/m);
    expect(out).not.toContain('2026-01');
    expect(err).toContain('Nothing changed yet: add --yes to apply.');
    expect(world.query(CHARGES)).toEqual(CHARGED);

    const { out: json } = await world.run('rates', 'apply', 'rates.yml', '--yes', '--json');
    expect(parseJson(json)).toMatchObject({ applied: true, added: ['dearer'], retired: ['standard'] });
    const cards = 'SELECT rate_card, side, from_period, retired_at IS NULL AS in_force FROM finance_rate_cards';
    expect(world.query(cards)).toEqual([
      { rate_card: 'standard', side: 'price', from_period: '2025-12', in_force: 0 },
      { rate_card: 'dearer', side: 'price', from_period: '2025-12', in_force: 1 },
    ]);
    expect(world.query(CHARGES)).toEqual([
      CHARGED[0],
      { tenant_id: 'acme', period: '2026-02', amount_minor: 30000 },
      { tenant_id: 'globex', period: '2026-02', amount_minor: 20000 },
    ]);
  });

  it('refuses a card for a workspace that nobody knows', async () => {
    const world = await createCharged();
    writeCards(world, { ...CARD, workspace: 'ws-misspelt' });
    for (const command of ['apply', 'check']) {
      const { code, err } = await world.run('rates', command, 'rates.yml');
      expect(code).toBe(2);
      expect(err).toContain('standard: workspace "ws-misspelt" is unknown\n  use one of "ws-1"');
    }
  });

  it('refuses overlapping patterns of which none is the more specific, unless one has priority', async () => {
    const world = await createCharged();
    const cards = [
      { ...CARD, name: 'in the north', tenant: 'north-*' },
      { ...CARD, name: 'resellers', tenant: '*-reseller' },
    ];
    writeCards(world, ...cards);
    const { code, err } = await world.run('rates', 'apply', 'rates.yml', '--yes');
    expect(code).toBe(2);
    expect(err).toContain('card "in the north" (north-*) and card "resellers" (*-reseller) overlap');
    expect(world.query(CHARGES)).toEqual(CHARGED);

    writeCards(world, { ...cards[0], priority: 1 }, cards[1] ?? {});
    expect((await world.run('rates', 'apply', 'rates.yml', '--yes')).code).toBe(0);
  });

  it('leaves out only whom a card cannot price, and says so', async () => {
    const world = await createCharged();
    const tooDear = { ...CARD, name: 'too dear', tenant: 'globex', price_per_credit: '999999999999999999' };
    writeCards(world, CARD, tooDear);
    const { out } = await world.run('rates', 'apply', 'rates.yml', '--yes');
    expect(out).toContain('globex has no price in 2026-02: its amount by card "too dear" exceeds 64 bits');
    expect((await world.run('statement', '2026-02')).out).toMatch(/globex +not priced +2,000[\s\S]*total 150\.00 EUR/);
    world.clock.nowMs = NOON + 30 * DAY;
    expect(await world.run('close', '2026-02', '--by', 'Ada', '--force')).toMatchObject({ code: 0 });
    expect((await world.run('verify')).code).toBe(0);
  });

  it('has nothing to apply without cards, and takes no file beside those of the configuration', async () => {
    const world = await createCharged();
    expect((await world.run('rates', 'apply')).err).toContain('the configuration has no `rates:`');
    configureRates(world, CARD);
    expect((await world.run('rates', 'apply', 'rates.yml')).code).toBe(2);
    expect((await world.run('rates', 'clear', '--yes')).code).toBe(2);
  });
});

describe('rates clear', () => {
  it('takes all cards out of force with --yes; closed months keep their charges', async () => {
    const world = await createCharged();
    expect((await world.run('rates', 'clear')).out).toMatch(/^- standard\n[\s\S]*acme +150\.00 +0\.00 +-150\.00/);
    expect(world.query(CHARGES)).toEqual(CHARGED);
    expect((await world.run('rates', 'clear', '--yes')).code).toBe(0);
    expect(world.query(CHARGES)).toEqual([CHARGED[0]]);
    expect((await world.run('rates', 'list')).err).toContain('no rate card is active');
  });
});

describe('rates check', () => {
  it('prices closed months by the cards of their close on the side of what holds', async () => {
    const world = await createCharged();
    writeCards(world, { ...CARD, price_per_credit: '1' });
    await world.run('rates', 'apply', 'rates.yml', '--yes');
    writeCards(world, { ...CARD, price_per_credit: '2' });
    const { months } = parseJson((await world.run('rates', 'check', 'rates.yml', '--json')).out);
    expect(months).toEqual([
      { period: '2026-01', currency: 'EUR', now: '250.00', other: '10000.00', difference: '9750.00' },
      { period: '2026-02', currency: 'EUR', now: '5000.00', other: '10000.00', difference: '5000.00' },
    ]);
  });
});
