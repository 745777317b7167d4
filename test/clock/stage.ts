import { onTestFinished } from 'vitest';
import { drawPlan, type Plan, SHORT } from '../simulation/play/plan.ts';
import { Seat } from '../simulation/world/seat.ts';
import { createWorld, type World } from '../simulation/world/world.ts';
import { type LedgerView, viewLedger } from '../support/ledger-view.ts';
import { NOON } from '../support/time/test-clock.ts';

const MINUTE_MS = 60_000;

/** A whole daemon on a host whose clock can be set; the service goes along with it, so that it takes the signatures. */
export interface Stage {
  world: World;
  seat: Seat;
  /** Sets the host's clock so far off. */
  setOff(ms: number): void;
  /** Lets time pass until something is so. */
  until(what: string, isSo: () => boolean, withinMinutes: number): Promise<void>;
  pass(minutes: number): Promise<void>;
  ledger(): LedgerView;
  /** Runs that were published so far. */
  published(): number;
  /** Summaries of what the receiver was told of a rule. */
  told(rule: string): string[];
}

/** A daemon that has just started on an empty ledger. */
export async function startStage(): Promise<Stage> {
  const tenants = [{ id: 'acme', sinceMs: NOON - 86_400_000, creditsPerDay: 5_000 }];
  const workspace = { id: 'ws-1', cron: '*/20 * * * *', pauseMs: 20 * MINUTE_MS, reconcileCron: '30 3 29 2 *' };
  const plan: Plan = {
    ...drawPlan(1, SHORT),
    ...{ startMs: NOON, hosts: 1, happenings: [] },
    workspaces: [{ ...workspace, perPage: 50, concurrency: 1, tenants }],
    receivers: [
      { name: 'hook', digest: false },
      { name: 'daily', digest: true },
    ],
  };
  const world = createWorld(plan);
  const [host] = world.hosts;
  if (host === undefined) throw new Error('a world has a host');
  const seat = new Seat(world, host);
  onTestFinished(() => {
    seat.process?.kill('ends with the test');
    world.close();
  });
  let view: LedgerView | null = null;
  const stage: Stage = {
    world,
    seat,
    setOff(ms) {
      host.clockOffsetMs = ms;
      for (const service of world.services) service.clockSkewMs = ms;
    },
    async until(what, isSo, withinMinutes) {
      const endMs = world.clock.monotonic() + withinMinutes * MINUTE_MS;
      while (!isSo()) if (!(await world.next(endMs))) throw new Error(`within ${withinMinutes} minutes not: ${what}`);
    },
    async pass(minutes) {
      const endMs = world.clock.monotonic() + minutes * MINUTE_MS;
      while (await world.next(endMs));
    },
    ledger() {
      view ??= viewLedger(world.ledgerPath);
      return view;
    },
    published: () =>
      Number(stage.ledger().value("SELECT count(*) FROM runs WHERE kind = 'scheduled' AND status = 'applied'")),
    told: (rule) =>
      (world.receivers[0]?.inbox ?? [])
        .map(({ payload }) => JSON.parse(payload))
        .filter((message) => message.rule === rule)
        .map((message) => message.summary),
  };
  seat.start();
  await world.clock.advance(0);
  await stage.until('the daemon starts', () => seat.running !== null, 1);
  return stage;
}
