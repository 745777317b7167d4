import type { LastRun } from '../oracle/freshness.ts';
import type { Closed } from '../oracle/money.ts';
import { MutedOracle } from '../oracle/muted.ts';
import { PublishedFiguresOracle } from '../oracle/published-figures.ts';
import { ToldOracle } from '../oracle/told.ts';
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
  /** When the run began that did a slot. */
  slots: Map<string, number>;
  closed: Closed;
  /** When each message was written down. */
  made: Map<string, number>;
  /** The applied runs of each workspace. */
  published: Map<string, LastRun[]>;
}

export function nothingKnown({ lookMs }: Plan, { services }: World): Known {
  return {
    ...{ met: new Map(), watches: [], slots: new Map(), closed: new Map(), made: new Map(), published: new Map() },
    ...{ told: new ToldOracle(services, lookMs - LOOK_MS), muted: new MutedOracle() },
    figures: new PublishedFiguresOracle(),
  };
}
