import fc from 'fast-check';
import type { StagedRecord } from '../../src/ledger/journal/staging/staged-record.ts';
import type { UsageSource } from '../../src/sync/sync-deps.ts';
import { listingOf } from '../support/run/listing.ts';

/**
 * What can happen to a listing at one instant. `swap`: one record leaves and a new one comes, so that the totals stay. `return`: one
 * that has left comes back. `restore`: the records are those of the run's start again.
 */
type Op = 'insert' | 'delete' | 'swap' | 'reorder' | 'grow' | 'return' | 'restore';

/** `pick` chooses the record, `value` its new credits and where a new one stands; both wrap around. */
interface Move {
  op: Op;
  pick: number;
  value: number;
}

/** Moves at one instant, before the answer number `before` (from 0) of a walk; it wraps around the pages. */
export interface Burst {
  before: number;
  moves: readonly Move[];
}

/** How a listing moves under a run. All that is random is in here. */
export interface Schedule {
  order: 'credits' | 'key';
  rows: number;
  perPage: number;
  concurrency: number;
  /** Which of the requests in flight is answered next; wraps around. */
  picks: readonly number[];
  /** The bursts of walk 1, 2 and 3. */
  walks: readonly (readonly Burst[])[];
  /** The ledger holds the workspace already, and one of its keys has vanished since. */
  known: boolean;
}

const OPS = {
  grow: ['grow'],
  reorder: ['reorder', 'reorder', 'grow'],
  insert: ['insert', 'reorder', 'grow'],
  delete: ['delete', 'reorder', 'grow'],
  swap: ['swap', 'swap', 'grow'],
  mixed: ['insert', 'delete', 'swap', 'reorder', 'grow'],
  returning: ['insert', 'delete', 'return', 'return', 'swap', 'reorder', 'grow'],
} as const satisfies Record<string, readonly Op[]>;

export type Kind = keyof typeof OPS;

export function schedulesOf(kind: Kind): fc.Arbitrary<Schedule> {
  const move = fc.record({ op: fc.constantFrom<Op>(...OPS[kind]), pick: fc.nat(999), value: fc.nat(9_999) });
  const burst = fc.record({ before: fc.nat(11), moves: fc.array(move, { minLength: 1, maxLength: 4 }) });
  const bursts = fc.array(burst, { maxLength: 3 });
  return fc.record({
    // Values alone move records in no other order.
    order: kind === 'grow' || kind === 'reorder' ? fc.constant('credits') : fc.constantFrom('credits', 'key'),
    rows: fc.integer({ min: 12, max: 60 }),
    perPage: fc.integer({ min: 5, max: 10 }),
    concurrency: fc.integer({ min: 1, max: 4 }),
    picks: fc.array(fc.nat(3), { minLength: 1, maxLength: 8 }),
    walks: fc.tuple(bursts, bursts, bursts),
    known: fc.boolean(),
  });
}

/** A listing that moves while it is read, and books of its own about which keys were true and which values were given. */
export class MovingListing {
  /** The sets of keys that a request could have met, as text. */
  readonly truths = new Set<string>();
  /** Credits and requests of each key as they were given last. */
  readonly given = new Map<string, string>();
  /** Keys whose latest reading came after they had left and come back since the reading before. */
  readonly returned = new Set<string>();
  readonly source: UsageSource;
  readonly #schedule: Schedule;
  #rows: StagedRecord[] = [];
  #atStart: StagedRecord[] = [];
  readonly #gone: StagedRecord[] = [];
  readonly #left = new Set<string>();
  readonly #waiting: (() => void)[] = [];
  #changes = 0;
  #newcomers = 0;
  #newcomersAtStart = 0;
  #walk = 0;
  #answered = 0;
  #turn = 0;
  #bursts: Burst[] = [];

  constructor(workspaceId: string, schedule: Schedule) {
    this.#schedule = schedule;
    for (let index = 0; index < schedule.rows; index += 1) this.#insert(index, (index * 7_919) % 10_000);
    this.source = {
      fetchUsagePage: async (asked, options) => {
        if (asked.page === 1) this.#beginWalk();
        await this.#turnToAnswer();
        this.#play(this.#bursts.filter(({ before }) => before === this.#answered));
        this.#answered += 1;
        const listed = this.#listed();
        this.#note(listed.slice((asked.page - 1) * schedule.perPage, asked.page * schedule.perPage));
        return listingOf(workspaceId, listed, schedule.perPage).fetchUsagePage(asked, options);
      },
      getTenantUsage: (...asked) => listingOf(workspaceId, this.#rows).getTenantUsage(...asked),
    };
  }

  /** One key vanishes and every value rises, so that each key of the next walk leaves an entry in the ledger. */
  vanish(): string {
    const [first] = this.#rows.splice(0, 1);
    if (first === undefined) throw new Error('there is nothing that could vanish');
    for (const row of [...this.#rows]) this.#set(row, Number(row.credits) + 1);
    return keyOf(first);
  }

  /** From here on the books are kept and the schedule plays. */
  begin(): void {
    this.#walk = 0;
    this.#atStart = [...this.#rows];
    this.#newcomersAtStart = this.#newcomers;
    this.given.clear();
    this.truths.clear();
    this.#bursts = [];
    this.#noteTruth();
  }

  #beginWalk(): void {
    // What the walk before did not live to see has happened meanwhile.
    this.#play(this.#bursts.filter(({ before }) => before >= this.#answered));
    this.#walk += 1;
    this.#answered = 0;
    const pages = Math.max(1, Math.ceil(this.#rows.length / this.#schedule.perPage));
    const bursts = this.#atStart.length === 0 ? [] : (this.#schedule.walks[this.#walk - 1] ?? []);
    this.#bursts = bursts.map(({ before, moves }) => ({ before: before % pages, moves }));
  }

  /** Of the requests in flight one is answered at a time. */
  #turnToAnswer(): Promise<void> {
    const answer = (): void => {
      const { picks } = this.#schedule;
      const pick = (picks[this.#turn % picks.length] ?? 0) % this.#waiting.length;
      this.#turn += 1;
      this.#waiting.splice(pick, 1)[0]?.();
      if (this.#waiting.length > 0) setImmediate(answer);
    };
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) === 1) setImmediate(answer);
    });
  }

  #listed(): StagedRecord[] {
    const byKey = this.#rows.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    return this.#schedule.order === 'key' ? byKey : byKey.sort((a, b) => Number(b.credits) - Number(a.credits));
  }

  #note(page: readonly StagedRecord[]): void {
    for (const row of page) {
      const key = keyOf(row);
      if (this.#left.delete(key)) this.returned.add(key);
      else this.returned.delete(key);
      this.given.set(key, `${row.credits}/${row.requests}`);
    }
  }

  #play(bursts: readonly Burst[]): void {
    for (const { moves } of bursts) {
      for (const move of moves) this.#move(move);
      this.#noteTruth();
    }
  }

  #move({ op, pick, value }: Move): void {
    const listed = this.#listed();
    const row = listed[pick % Math.max(1, listed.length)];
    if (op === 'restore') this.#restore();
    else if (op === 'insert') this.#insert(pick, value);
    else if (op === 'return') this.#return(pick, value);
    else if (row === undefined) return;
    else if (op === 'reorder') this.#set(row, value);
    else if (op === 'grow') this.#set(row, Number(row.credits) + 1 + value);
    else {
      this.#remove(row);
      if (op === 'swap') this.#insert(pick, value);
    }
  }

  #insert(pick: number, value: number): void {
    // The number in front lets a new tenant stand anywhere among the others.
    const tenantId = `t${String((value * 31) % 1_000).padStart(3, '0')}-${this.#newcomers}`;
    this.#newcomers += 1;
    this.#set({ tenantId, period: `2026-0${1 + (pick % 3)}` }, value);
  }

  #return(pick: number, value: number): void {
    const [row] = this.#gone.splice(pick % Math.max(1, this.#gone.length), 1);
    if (row === undefined) this.#insert(pick, value);
    else this.#set(row, value);
  }

  /** Newcomers get the same names again, so that a listing can flap in step with its walks. */
  #restore(): void {
    this.#newcomers = this.#newcomersAtStart;
    const start = new Set(this.#atStart.map(keyOf));
    for (const row of this.#rows.filter((each) => !start.has(keyOf(each)))) this.#remove(row);
    for (const row of this.#atStart) this.#set(row, Number(row.credits));
  }

  /** The request count rises with every change, so no two values of a key are alike. */
  #set({ tenantId, period }: Pick<StagedRecord, 'tenantId' | 'period'>, credits: number): void {
    this.#changes += 1;
    const row = { tenantId, period, credits, requests: this.#changes };
    this.#rows = [...this.#rows.filter((each) => keyOf(each) !== keyOf(row)), row];
  }

  #remove(row: StagedRecord): void {
    this.#rows = this.#rows.filter((each) => each !== row);
    this.#gone.push(row);
    if (this.given.has(keyOf(row))) this.#left.add(keyOf(row));
  }

  #noteTruth(): void {
    this.truths.add(textOfKeys(this.#rows.map(keyOf)));
  }
}

export function keyOf({ tenantId, period }: Pick<StagedRecord, 'tenantId' | 'period'>): string {
  return `${period} ${tenantId}`;
}

/** A set of keys as text, the same whatever their order. */
export function textOfKeys(keys: Iterable<string>): string {
  return [...keys].sort().join(', ');
}
