import type { Consistency } from '../../../src/config/types.ts';
import type { SandboxWorkspace } from '../../../src/sandbox/world/store.ts';
import type { SyncOutcome } from '../../../src/sync/run.ts';
import type { LedgerView } from '../../support/ledger-view.ts';
import { type Fixture, manualOrder, startFixture } from '../../support/sandbox-fixture.ts';
import type { Schedule } from './schedule.ts';

const ORDERS = ['credits', 'by_period', 'shuffled'] as const;
/** Workspaces of each order that share a sandbox and a ledger. */
const WORKSPACES_OF_ORDER = 40;

/** A workspace that no run has touched yet. */
export interface FreshWorkspace {
  id: string;
  upstream: SandboxWorkspace;
  fixture: Fixture;
  view: LedgerView;
}

/** Hands out fresh workspaces; a sandbox and a ledger serve many of them, and new ones are started when they run out. */
export class Bench {
  readonly #free = new Map<Schedule['order'], string[]>();
  #fixture: Fixture | null = null;
  #view: LedgerView | null = null;

  /** A workspace that lists its records in the schedule's order and is read as the schedule says. */
  async workspace({ order, perPage, concurrency }: Schedule, consistency: Consistency): Promise<FreshWorkspace> {
    let id = this.#free.get(order)?.pop();
    if (id === undefined) {
      await this.#restart();
      id = this.#free.get(order)?.pop();
    }
    const fixture = this.#fixture;
    const view = this.#view;
    if (id === undefined || fixture === null || view === null) throw new Error('the bench has no workspaces');
    Object.assign(fixture.context.workspace(id), { perPage, concurrency, consistency });
    return { id, upstream: fixture.sandbox.workspace(id), fixture, view };
  }

  async #restart(): Promise<void> {
    await this.#fixture?.context.close();
    await this.#fixture?.sandbox.close();
    const orders = ORDERS.flatMap((order) => Array<typeof order>(WORKSPACES_OF_ORDER).fill(order));
    const fixture = await startFixture({ thread: true, workspaces: orders.map((order) => ({ order })) });
    await fixture.context.writer();
    this.#fixture = fixture;
    this.#view = fixture.view();
    for (const order of ORDERS) this.#free.set(order, []);
    for (const { id, order } of fixture.sandbox.scenario.workspaces) this.#free.get(order)?.push(id);
  }
}

/** One run of the whole history of a workspace. */
export function syncAll({ fixture, id }: FreshWorkspace): Promise<SyncOutcome> {
  return fixture.context.sync(manualOrder({ workspaceId: id, kind: 'reconcile' }));
}
