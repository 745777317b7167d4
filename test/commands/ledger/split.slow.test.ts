import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../../src/config/load.ts';
import { createLogger } from '../../../src/core/logger.ts';
import { Context } from '../../../src/wiring/context.ts';
import { type Receiver, startReceiver } from '../../alerts/channels/receiver.ts';
import { openInProcessWriter } from '../../support/in-process-writer.ts';
import { deliverWaiting } from '../../support/messages.ts';
import { startPostgres } from '../../support/postgres.ts';
import { clockThat } from '../../support/time/test-clock.ts';
import { createWorld, row, type World, workspaceSettings } from '../world.ts';

const HOUR_MS = 3_600_000;
const ALL = [1, 2, 3, 4].map((number) => ({
  id: `ws-${number}`,
  api_key_id: `ak_${number}`,
  secret_key: `sk_number_${number}_not_a_secret`,
  usage: ['2025-12', '2026-01', '2026-02'].flatMap((period) => [
    row('acme', period, 1000),
    row('globex', period, 1000),
  ]),
}));
const IDS = { a: ['ws-1', 'ws-2'], b: ['ws-3', 'ws-4'], before: ['ws-1', 'ws-2', 'ws-3', 'ws-4'] };

/** Machines with a ledger each, one service and one receiver. */
class Machines {
  readonly world: World;
  readonly receiver: Receiver;
  readonly answers: { status: number };
  /** Where both publish; null: nowhere. */
  publish: { url: string; schema: string } | null = null;

  private constructor(world: World, receiver: Receiver, answers: { status: number }) {
    this.world = world;
    this.receiver = receiver;
    this.answers = answers;
  }

  static async start(): Promise<Machines> {
    const answers = { status: 204 };
    const receiver = await startReceiver((response) => response.writeHead(answers.status).end());
    onTestFinished(receiver.close);
    return new Machines(await createWorld(...ALL), receiver, answers);
  }

  /** From now on commands are typed on this machine, which reads these workspaces. */
  at(machine: 'a' | 'b', ids: readonly string[] = IDS[machine]): void {
    const hook = { type: 'webhook', name: 'hook', url: this.receiver.url, allow_private: true };
    this.world.configure({
      ledger: { path: this.pathOf(machine) },
      workspaces: ALL.filter(({ id }) => ids.includes(id)).map((one) => workspaceSettings(this.world.sandbox, one)),
      alerts: { channels: [hook] },
      ...(this.publish === null ? {} : { publish: this.publish }),
    });
  }

  pathOf(machine: 'a' | 'b'): string {
    return join(this.world.folder, machine, 'ledger.db');
  }

  async run(...argv: string[]): Promise<string> {
    const { code, out, err } = await this.world.run(...argv);
    expect(code, `${argv.join(' ')}: ${err}`).toBe(0);
    return out;
  }

  /** Both machines sync, and send what is due, as their daemons would. */
  async syncBoth(): Promise<void> {
    for (const machine of ['a', 'b'] as const) {
      this.at(machine);
      await this.run('sync');
      await this.sendDue();
    }
  }

  async sendDue(): Promise<void> {
    const { folder, clock } = this.world;
    const context = new Context(await loadConfig({ env: {}, cwd: folder }), {
      clock: clockThat(() => clock.nowMs),
      openWriter: openInProcessWriter,
      logger: createLogger({ level: 'silent' }),
    });
    await deliverWaiting(context);
    await context.close();
  }

  set(workspace: string, tenantId: string, period: string, credits: bigint): void {
    this.world.sandbox.workspace(workspace).set({ tenantId, period, credits, requests: 10 });
  }

  later(hours: number): void {
    this.world.clock.nowMs += hours * HOUR_MS;
    this.world.clock.serviceMs = this.world.clock.nowMs;
  }

  /** What was received since then, alone or in a daily summary. */
  told(since = 0): Record<string, unknown>[] {
    const bodies = this.receiver.received.slice(since).map(({ body }) => JSON.parse(body.toString()));
    return bodies.flatMap((told) =>
      told.type === 'alert.digest'
        ? told.alerts.flatMap((one: { notifications: unknown }) => one.notifications)
        : [told],
    );
  }

  /** The same as `workspace tenant event`, sorted. */
  heard(since = 0): string[] {
    return this.told(since)
      .map((told) => `${told.workspace_id} ${told.tenant_id} ${told.event}`)
      .sort();
  }

  query(machine: 'a' | 'b', sql: string): unknown[] {
    const connection = new Database(this.pathOf(machine), { readonly: true });
    try {
      return connection.prepare(sql).raw().all();
    } finally {
      connection.close();
    }
  }
}

/** One machine with a closed month, an alert that was told and one that waits to be told, in each of four workspaces. */
async function oneMachine(): Promise<Machines> {
  const machines = await Machines.start();
  machines.at('a', IDS.before);
  await machines.run('sync');
  machines.later(13);
  for (const id of IDS.before) machines.set(id, 'acme', '2026-02', 9000n);
  await machines.run('sync');
  for (const id of IDS.before) await machines.run('close', '2026-01', '--workspace', id);
  expect(machines.heard()).toEqual(IDS.before.map((id) => `${id} acme opened`));
  machines.answers.status = 503;
  machines.later(1);
  for (const id of IDS.before) machines.set(id, 'globex', '2026-02', 9000n);
  await machines.world.run('sync');
  return machines;
}

/** As docs/machines.md says. */
async function split(machines: Machines): Promise<void> {
  const end = (id: string) => machines.run('workspace', 'end', id, '--elsewhere', '--note', 'split');
  machines.at('a', IDS.before);
  await machines.run('backup', 'split.db');
  for (const id of IDS.b) expect(await end(id)).toContain('1 waiting notification cancelled');
  machines.at('b');
  await machines.run('restore', 'split.db', '--as-new');
  for (const id of IDS.a) expect(await end(id)).toContain('1 waiting notification cancelled');
}

test('four workspaces on one machine become two and two on two, and nobody hears anything twice', async () => {
  const machines = await oneMachine();
  const alertIds = machines.query('a', 'SELECT alert_id FROM alerts ORDER BY 1');
  await split(machines);
  const since = machines.receiver.received.length;
  machines.answers.status = 204;
  machines.later(2);
  await machines.syncBoth();
  await machines.syncBoth();
  expect(machines.heard(since)).toEqual(IDS.before.map((id) => `${id} globex opened`));
  expect(machines.query('b', 'SELECT alert_id FROM alerts ORDER BY 1')).toEqual(alertIds);

  // What ends is told once, by the side that reads it.
  const ended = machines.receiver.received.length;
  for (const id of IDS.before) machines.set(id, 'acme', '2026-02', 1000n);
  for (const hours of [1, 1, 24, 1]) {
    machines.later(hours);
    await machines.syncBoth();
  }
  const ends = machines.heard(ended).filter((told) => told.endsWith('closed'));
  expect(ends).toEqual(IDS.before.map((id) => `${id} acme closed`));

  // A correction of the closed month is booked where the workspace is read.
  for (const id of IDS.before) machines.set(id, 'acme', '2026-01', 1100n);
  machines.later(1);
  await machines.syncBoth();
  for (const machine of ['a', 'b'] as const) {
    machines.at(machine);
    expect(await machines.run('verify')).toMatch(/^verified \d+/m);
    const booked = machines.query(
      machine,
      'SELECT workspace_id, corrects_period, credits_delta FROM finance_adjustments',
    );
    expect(booked).toEqual(IDS[machine].map((id) => [id, '2026-01', 100]));
    const current = machines.query(machine, 'SELECT workspace_id FROM finance_freshness ORDER BY 1');
    expect(current).toEqual(IDS[machine].map((id) => [id]));
  }
  const ids = ['a', 'b'].map((machine) =>
    machines.query(machine as 'a' | 'b', "SELECT value FROM ledger_meta WHERE name = 'ledger_id'"),
  );
  expect(ids[0]).not.toEqual(ids[1]);
});

test('in Postgres each workspace counts once, before a split and after it, and so does what is corrected later', async () => {
  const server = await startPostgres();
  const reader = await server.connect('split');
  onTestFinished(async () => {
    await reader.close();
    await server.remove();
  });
  const machines = await oneMachine();
  machines.publish = { url: server.target('split').url, schema: 'split' };
  machines.at('a', IDS.before);
  await machines.run('publish');
  const counted = () =>
    reader.query(
      `SELECT workspace_id, period, count(*), sum(credits_used)::bigint AS credits FROM finance_usage
       GROUP BY 1, 2 ORDER BY 1, 2`,
    );
  const before = await counted();
  expect(before).toHaveLength(12);

  await split(machines);
  const publishBoth = async () => {
    for (const machine of ['a', 'b'] as const) {
      machines.at(machine);
      await machines.run('publish');
      expect(await machines.run('publish', '--check')).toContain('the copy matches the ledger');
    }
  };
  await publishBoth();
  expect(await counted()).toEqual(before);
  const ledgers = await reader.query('SELECT DISTINCT ledger_id, workspace_id FROM finance_freshness ORDER BY 2');
  const [a, b] = [ledgers[0]?.ledger_id, ledgers[3]?.ledger_id];
  expect(ledgers.map(({ ledger_id }) => ledger_id)).toEqual([a, a, b, b]);
  expect(a).not.toBe(b);

  for (const id of IDS.before) machines.set(id, 'acme', '2026-01', 1100n);
  machines.answers.status = 204;
  machines.later(1);
  await machines.syncBoth();
  await publishBoth();
  expect(await counted()).toEqual(before);
  const booked = await reader.query(
    'SELECT ledger_id, workspace_id, corrects_period, credits_delta FROM finance_adjustments ORDER BY 2',
  );
  expect(booked.map((row) => Object.values(row))).toEqual(
    IDS.before.map((id) => [IDS.a.includes(id) ? a : b, id, '2026-01', 100n]),
  );
});

test('what is open of a workspace that is ended for good is over, and who had heard of it hears that', async () => {
  const machines = await oneMachine();
  const out = await machines.run('workspace', 'end', 'ws-2', '--note', 'contract ended');
  expect(out).toContain('open alerts closed: 1 notification goes to the channels that received them');
  const since = machines.receiver.received.length;
  machines.answers.status = 204;
  machines.later(24);
  machines.at('a', IDS.before);
  await machines.run('sync');
  await machines.sendDue();
  const ofEnded = machines.told(since).filter(({ workspace_id }) => workspace_id === 'ws-2');
  expect(ofEnded).toMatchObject([
    {
      tenant_id: 'acme',
      type: 'alert.resolved',
      closed_because: 'workspace_ended',
      summary: 'acme (ws-2): February jump closed. The workspace is no longer read.',
    },
  ]);
  expect(
    machines.query('a', "SELECT count(*) FROM finance_alerts WHERE workspace_id = 'ws-2' AND state = 'firing'"),
  ).toEqual([[0]]);
  expect(await machines.run('verify')).toMatch(/^verified \d+/m);
});
