import { AppError } from '../../../src/core/errors.ts';
import type { FetchedPage, PageQuery, UsageSource } from '../../../src/sync/sync-deps.ts';
import type { Listing } from './model-parts.ts';
import type { WalkOf } from './steps.ts';
import { pageBodies } from './upstream.ts';

/** The walks that a run makes, by what must be made of each. */
export const VERDICTS: Record<WalkOf, string[]> = {
  once: ['accepted'],
  twice: ['unconfirmed', 'accepted'],
  after_a_broken_one: ['moved', 'accepted'],
  broken: ['moved', 'moved', 'moved'],
  empty: ['accepted'],
};

export interface ServiceState {
  workspaceId: string;
  listing: Listing;
  walk: WalkOf;
  /** The months that each tenant's own history has. */
  histories: ReadonlyMap<string, readonly string[]>;
  isReadable: (tenant: string) => boolean;
  /** Called before the first request. */
  onRequest: () => void;
}

/** What the service says during one run: all that it is asked it answers from one moment. */
export class InMemoryService implements UsageSource {
  readonly #state: ServiceState;
  #walks = 0;
  #bodies: ArrayBuffer[] = [];

  constructor(state: ServiceState) {
    this.#state = state;
  }

  /** What is asked from now on is asked by the next walk. */
  beginWalk(): void {
    const { workspaceId, listing, walk, onRequest } = this.#state;
    if (this.#walks === 0) onRequest();
    this.#bodies = pageBodies(workspaceId, listing, VERDICTS[walk][this.#walks] === 'moved');
    this.#walks += 1;
  }

  async fetchUsagePage({ page }: PageQuery): Promise<FetchedPage> {
    const body = this.#bodies[page - 1];
    if (body === undefined) throw new Error(`page ${page} was never announced`);
    return { body: [new Uint8Array(body)] };
  }

  async getTenantUsage(tenant: string, { fromPeriod, toPeriod }: PageQuery) {
    const { histories, isReadable } = this.#state;
    if (!isReadable(tenant)) throw new AppError('server_error', 'no history today');
    const months = histories.get(tenant);
    if (months === undefined) throw new AppError('not_found', 'no such tenant');
    const usage = months
      .filter((period) => (fromPeriod ?? period) <= period && period <= (toPeriod ?? period))
      .map((period) => ({ period }));
    return { usage, total_pages: Math.min(1, usage.length), total_records: usage.length };
  }
}
