import type { SandboxCall } from '../../../src/sandbox/requests/call.ts';
import type { Sandbox } from '../../../src/sandbox/server.ts';
import type { SandboxWorkspace, UsageRow } from '../../../src/sandbox/world/store.ts';
import { answerOrder } from './answer-order.ts';
import type { Burst, Move, Schedule } from './schedule.ts';

const PERIODS = ['2026-01', '2026-02', '2026-03'] as const;

interface Reading {
  /** Credits and requests as they were given last. */
  value: string;
  /** The record has left since. */
  left: boolean;
}

/**
 * One workspace upstream whose records move while they are read, as a schedule says, and the oracle beside it: which
 * sets of keys were true, and which values were given. It keeps its own books and asks neither sandbox nor ledger.
 *
 * Requests are held until it is their turn in the schedule, so a schedule plays the same whatever the timing.
 */
export class MovingService {
  /** A line for each thing that happened, in order. */
  readonly trace: string[] = [];
  /** The sets of keys that a request could have met since `begin`. */
  readonly truths = new Set<string>();
  readonly readings = new Map<string, Reading>();
  /** Keys whose latest reading came after they had left and come back since the reading before. */
  readonly returned = new Set<string>();
  readonly #upstream: SandboxWorkspace;
  readonly #schedule: Schedule;
  readonly #rows = new Map<string, UsageRow>();
  readonly #gone: UsageRow[] = [];
  readonly #waiting = new Map<number, () => void>();
  #atStart: UsageRow[] = [];
  #changes = 0;
  #newcomers = 0;
  #newcomersAtStart = 0;
  #playing = false;
  #walk = 0;
  /** The pages of this walk in the order of their answers; null when it does not matter any more. */
  #order: number[] | null = null;
  #answered = 0;
  #total = 0;
  #bursts: Burst[] = [];

  constructor(upstream: SandboxWorkspace, schedule: Schedule) {
    this.#upstream = upstream;
    this.#schedule = schedule;
    for (let index = 0; index < schedule.rows; index += 1) this.#insert(index, (index * 7_919) % 10_000);
  }

  /** Takes over the sandbox's answers for this workspace. */
  strike({ faults }: Sandbox): void {
    const ours = (call: SandboxCall): boolean =>
      this.#playing && call.endpoint === 'workspace_usage' && call.workspaceId === this.#upstream.id;
    const { outage } = this.#schedule;
    if (outage !== null) {
      faults.push({
        when: (call) => ours(call) && call.page === 2 && this.#walk === outage.walk,
        times: outage.forEver ? Number.POSITIVE_INFINITY : 1,
        action: { type: 'status', status: 503 },
      });
    }
    const always = { when: ours, times: Number.POSITIVE_INFINITY };
    faults.push({ ...always, action: { type: 'before', run: ({ page }) => this.#ask(page) } });
    faults.push({
      ...always,
      action: {
        type: 'mutate',
        mutate: (envelope, { page }) => {
          this.#answer(page, envelope.data as unknown as UsageData);
          return envelope;
        },
      },
    });
  }

  /** One key vanishes and every value is raised, so that each key of the next walk leaves an entry in the ledger. */
  vanish(): string {
    const [first] = this.#rows.keys();
    if (first === undefined) throw new Error('there is nothing that could vanish');
    this.#remove(first);
    this.#gone.length = 0;
    for (const row of [...this.#rows.values()]) this.#set(row, Number(row.credits) + 1);
    return first;
  }

  /** The run starts: from here on the books are kept and the schedule plays. */
  begin(): void {
    this.#atStart = [...this.#rows.values()];
    this.#newcomersAtStart = this.#newcomers;
    this.#playing = true;
    this.#noteTruth();
  }

  /** The run is over: lets go of requests whose client has given up on them. */
  end(): void {
    this.#playing = false;
    this.#order = null;
    for (const release of this.#waiting.values()) release();
  }

  async #ask(page: number): Promise<void> {
    if (page === 1) this.#beginWalk();
    else if (this.#order !== null && this.#order[this.#answered] !== page)
      await new Promise<void>((release) => this.#waiting.set(page, release));
    this.#waiting.delete(page);
    if (this.#order !== null) this.#play(this.#bursts.filter((burst) => burst.before === this.#answered));
    // Only now is it known how many pages the walk will ask for.
    if (page === 1) this.#planWalk();
  }

  #beginWalk(): void {
    // What the walk before did not live to see has happened meanwhile.
    this.#play(this.#bursts.filter((burst) => burst.before >= this.#answered));
    this.#walk += 1;
    this.#answered = 0;
    const pages = this.#pages();
    const { walks } = this.#schedule;
    this.#bursts = (walks[this.#walk - 1] ?? []).map((burst) => ({ ...burst, before: burst.before % pages }));
    this.#order = [1];
  }

  #planWalk(): void {
    const { concurrency, picks } = this.#schedule;
    this.#total = this.#rows.size;
    this.#order = answerOrder(this.#pages(), concurrency, picks);
  }

  #pages(): number {
    return Math.max(1, Math.ceil(this.#rows.size / this.#schedule.perPage));
  }

  #answer(page: number, data: UsageData): void {
    for (const { tenant_id, period, credits_used, request_count } of data.usage) {
      const key = keyOf(tenant_id, period);
      if (this.readings.get(key)?.left === true) this.returned.add(key);
      else this.returned.delete(key);
      this.readings.set(key, { value: `${credits_used}/${request_count}`, left: false });
    }
    const keys = data.usage.map(({ tenant_id, period }) => keyOf(tenant_id, period)).join(', ');
    this.trace.push(`walk ${this.#walk}, page ${page} of ${data.total_pages}, ${data.total_records} in all: ${keys}`);
    this.#answered += 1;
    // Other totals end the walk; which of the requests in flight still come is up to the client.
    if (data.total_records !== this.#total) this.#order = null;
    const next = this.#order?.[this.#answered];
    if (this.#order === null) for (const release of this.#waiting.values()) release();
    else if (next !== undefined) this.#waiting.get(next)?.();
  }

  #play(bursts: readonly Burst[]): void {
    for (const { moves } of bursts) {
      for (const move of moves) this.#move(move);
      this.#noteTruth();
    }
  }

  #move({ op, pick, value }: Move): void {
    const listed = this.#upstream.rows().map((row) => keyOf(row.tenantId, row.period));
    const key = listed[pick % Math.max(1, listed.length)];
    const row = key === undefined ? undefined : this.#rows.get(key);
    if (op === 'restore') this.#restore();
    else if (op === 'insert' || (op === 'return' && this.#gone.length === 0)) this.#insert(pick, value);
    else if (op === 'return') this.#return(pick, value);
    else if (row === undefined || key === undefined) return;
    else if (op === 'reorder') this.#set(row, value);
    else if (op === 'grow') this.#set(row, Number(row.credits) + 1 + value);
    else {
      this.#remove(key);
      if (op === 'swap') this.#insert(pick, value);
    }
  }

  #insert(pick: number, value: number): void {
    // The number in front lets a new tenant stand anywhere among the others.
    const tenantId = `t${String((value * 31) % 1_000).padStart(3, '0')}-${this.#newcomers}`;
    this.#newcomers += 1;
    this.#set({ tenantId, period: PERIODS[pick % PERIODS.length] ?? PERIODS[0] }, value);
  }

  #return(pick: number, value: number): void {
    const [row] = this.#gone.splice(pick % this.#gone.length, 1);
    if (row !== undefined) this.#set(row, value);
  }

  /** Newcomers get the same names again, so that a listing can flap in step with its walks. */
  #restore(): void {
    this.#newcomers = this.#newcomersAtStart;
    const start = new Map(this.#atStart.map((row) => [keyOf(row.tenantId, row.period), row]));
    for (const key of [...this.#rows.keys()]) if (!start.has(key)) this.#remove(key);
    for (const row of start.values()) this.#set(row, Number(row.credits));
  }

  /** The request count rises with every change, so no two values of a key are alike. */
  #set({ tenantId, period }: Pick<UsageRow, 'tenantId' | 'period'>, credits: number): void {
    this.#changes += 1;
    const row = { tenantId, period, credits, requests: this.#changes };
    this.#rows.set(keyOf(tenantId, period), row);
    this.#upstream.set(row);
    this.#say(`set ${keyOf(tenantId, period)} to ${credits}/${row.requests}`);
  }

  #remove(key: string): void {
    const row = this.#rows.get(key);
    if (row === undefined) throw new Error(`${key} is not there`);
    this.#rows.delete(key);
    this.#upstream.remove(row.tenantId, row.period);
    this.#gone.push(row);
    const reading = this.readings.get(key);
    if (reading !== undefined) reading.left = true;
    this.#say(`remove ${key}`);
  }

  #say(what: string): void {
    if (this.#playing) this.trace.push(`  ${what}`);
  }

  #noteTruth(): void {
    this.truths.add(textOfKeys(this.#rows.keys()));
  }
}

interface UsageData {
  usage: { tenant_id: string; period: string; credits_used: number | bigint; request_count: number | bigint }[];
  total_records: number;
  total_pages: number;
}

export function keyOf(tenantId: string, period: string): string {
  return `${period} ${tenantId}`;
}

/** A set of keys as text, the same whatever their order. */
export function textOfKeys(keys: Iterable<string>): string {
  return [...keys].sort().join(', ');
}
