import { BilledOracle } from '../oracle/billed.ts';
import type { LastRun } from '../oracle/freshness.ts';
import type { Closed } from '../oracle/money.ts';
import { MutedOracle } from '../oracle/muted.ts';
import { PublishedFiguresOracle } from '../oracle/published-figures.ts';
import { ToldOracle } from '../oracle/told.ts';
import { billedFrom, refOf, tenantIds } from '../world/configuration.ts';
import type { World } from '../world/world.ts';
import { LOOK_MS, type Plan } from './plan.ts';
import type { Watch } from './watch.ts';

/** What is known whichever ledger a workspace is in: when a machine is split, the oracles go on where they stood. */
export interface Known {
  /** How often each kind of thing has happened. */
  met: Map<string, number>;
  /** One of each ledger that has something. */
  watches: Watch[];
  told: ToldOracle;
  muted: MutedOracle;
  figures: PublishedFiguresOracle;
  /** Of what the first ledger sends on; a copy sends nothing. */
  billed: BilledOracle;
  /** When the run began that did a slot. */
  slots: Map<string, number>;
  closed: Closed;
  /** When each message was written down. */
  made: Map<string, number>;
  /** The applied runs of each workspace. */
  published: Map<string, LastRun[]>;
}

/** A billing system that took nothing is asked again after this at the latest. */
const LATEST_PUSH_MS = 6 * 60_000;

export function nothingKnown(plan: Plan, { services, billing, network }: World): Known {
  const { lookMs, outlet } = plan;
  const ids = tenantIds(plan);
  return {
    ...{ met: new Map(), watches: [], slots: new Map(), closed: new Map(), made: new Map(), published: new Map() },
    ...{ told: new ToldOracle(services, lookMs - LOOK_MS), muted: new MutedOracle() },
    figures: new PublishedFiguresOracle(),
    billed: new BilledOracle({
      counted: billing.counted,
      given: network.given,
      fromPeriod: billedFrom(plan),
      needsNames: outlet === 'external_ref',
      customerOf: (tenantId) => (outlet === 'external_ref' ? refOf(ids.indexOf(tenantId)) : tenantId),
      hadWrongClock: plan.happenings.some(({ kind }) => kind === 'clock'),
      lateMs: 3 * lookMs + LATEST_PUSH_MS,
    }),
  };
}
