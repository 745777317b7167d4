import type { CountedEvent } from '../world/billing.ts';
import type { Given } from '../world/network.ts';
import { PromiseBroken } from './fault.ts';
import type { LedgerView } from './ledger-view.ts';

interface Entry {
  entry_id: bigint;
  workspace_id: string;
  tenant_id: string;
  period: string;
  credits_delta: bigint;
  requests_delta: bigint;
}

/** What stands around a billing system for as long as there is one. */
export interface BilledWorld {
  /** What it counts, in that order. */
  counted: readonly CountedEvent[];
  /** What it calls a tenant. */
  customerOf(tenantId: string): string;
  /** Whether a tenant has that name in the ledger only once it was imported. */
  needsNames: boolean;
  /** The first month that goes there. */
  fromPeriod: string;
  /** What services have said. */
  given: readonly Given[];
  /** By how much what is in the ledger may be there later, while nothing is in the way. */
  lateMs: number;
  /** A clock was wrong: of what was perhaps sent then nobody but a person knows. */
  hadWrongClock: boolean;
}

const COLUMNS = 'entry_id, workspace_id, tenant_id, period, credits_delta, requests_delta';
const REPORTED = "SELECT entry_id FROM finance_outlet_events WHERE state <> 'held'";
const UNNAMED = "SELECT workspace_id, tenant_id FROM finance_tenants WHERE coalesce(external_ref, '') = ''";

/**
 * What a billing system counts, by docs/billing-systems.md: each entry of the history once, for its customer, in its own month,
 * never before its run was applied; and once nothing is in the way all of it, whoever else is held.
 */
export class BilledOracle {
  readonly #world: BilledWorld;
  #seen = 0;
  readonly #entries = new Set<string>();
  /** The last entry that there was, by time. */
  readonly #grown: { atMs: number; entryId: bigint }[] = [];

  constructor(world: BilledWorld) {
    this.#world = world;
  }

  /** After every event of the world. Returns how many entries were counted since the last time. */
  check(ledger: LedgerView | null, nowMs: number): number {
    const { counted } = this.#world;
    const fresh = counted.slice(this.#seen);
    for (const event of fresh) this.#checkEvent(ledger, event);
    this.#seen = counted.length;
    const entryId = ledger?.value<bigint | null>('SELECT max(entry_id) FROM usage_entries') ?? 0n;
    if (entryId > (this.#grown.at(-1)?.entryId ?? 0n)) this.#grown.push({ atMs: nowMs, entryId });
    return fresh.length;
  }

  #checkEvent(ledger: LedgerView | null, { id, subject, time, data }: CountedEvent): void {
    const entryId = id.split('_')[1] ?? '';
    const begun = ledger?.value<bigint>("SELECT count(*) FROM outlets WHERE name = 'billing'");
    if (ledger === null || begun !== 1n) throw new PromiseBroken('nothing is sent before it is begun', id);
    if (this.#entries.has(entryId)) throw new PromiseBroken('an entry is billed once', id);
    this.#entries.add(entryId);
    const sql = `SELECT ${COLUMNS} FROM finance_history WHERE entry_id = ?`;
    const [entry] = ledger.all<Entry>(sql, BigInt(entryId));
    if (entry === undefined) throw new PromiseBroken('nothing is billed before its run is applied', id);
    const said = `${data.workspace_id} ${data.tenant_id} ${data.period} ${data.credits} ${data.requests}`;
    const { workspace_id, tenant_id, period, credits_delta, requests_delta } = entry;
    if (said !== `${workspace_id} ${tenant_id} ${period} ${credits_delta} ${requests_delta}`)
      throw new PromiseBroken('an event says what its entry says', `${id}: ${said}`);
    if (subject !== this.#world.customerOf(tenant_id))
      throw new PromiseBroken('usage goes to its own customer', `${id}: ${subject}`);
    if (time.slice(0, 7) !== period || period < this.#world.fromPeriod)
      throw new PromiseBroken('usage is billed in its own month', `${id} of ${period}: ${time}`);
  }

  /** What is not as it has to be once nothing was in the way for a while. Null: nothing. `has`: is read by this ledger. */
  missing(ledger: LedgerView, nowMs: number, has: (workspaceId: string) => boolean): string | null {
    const { fromPeriod, lateMs, needsNames, customerOf, hadWrongClock } = this.#world;
    const paused = pauseOf(ledger);
    if (paused === undefined || this.#isForAPerson(paused)) return null;
    if (paused !== null) return `it is paused: ${paused}`;
    const reported = ledger.all<{ entry_id: bigint }>(REPORTED).map(({ entry_id }) => entry_id);
    if (reported.length > 0 && !hadWrongClock) return `entry ${reported[0]} is said to be refused or late`;
    const keyOf = (entry: { workspace_id: string; tenant_id: string }) => `${entry.workspace_id} ${entry.tenant_id}`;
    const unnamed = new Set((needsNames ? ledger.all<Entry>(UNNAMED) : []).map(keyOf));
    const due = this.#grown.findLast(({ atMs }) => atMs <= nowMs - lateMs)?.entryId ?? 0n;
    const sums = new Map<string, bigint>();
    /** As of the last entry that is due, and after each later one. */
    const allowed = new Map<string, Set<bigint>>();
    const held = new Set<string>();
    const sql = `SELECT ${COLUMNS} FROM finance_history WHERE period >= ? ORDER BY entry_id`;
    for (const entry of ledger.all<Entry>(sql, fromPeriod)) {
      const key = `${customerOf(entry.tenant_id)} ${entry.period}`;
      const sum = (sums.get(key) ?? 0n) + entry.credits_delta;
      sums.set(key, sum);
      if (!has(entry.workspace_id) || unnamed.has(keyOf(entry)) || reported.includes(entry.entry_id)) held.add(key);
      const before = entry.entry_id <= due ? [] : (allowed.get(key) ?? [0n]);
      allowed.set(key, new Set([...before, sum]));
    }
    const billed = this.#billed();
    for (const [key, may] of allowed) {
      const there = billed.get(key) ?? 0n;
      if (!held.has(key) && !may.has(there)) return `${key}: ${there} is billed, and not ${[...may].join(' or ')}`;
    }
    return null;
  }

  checkAtRest(ledger: LedgerView, nowMs: number, has: (workspaceId: string) => boolean): void {
    const missing = this.missing(ledger, nowMs, has);
    if (missing !== null) throw new PromiseBroken('all that is there is billed', missing);
    if (!this.#isForAPerson(pauseOf(ledger))) this.#checkSaid(ledger, has);
  }

  /** Half of a figure may be there until somebody has looked. */
  #isForAPerson(paused: string | null | undefined): boolean {
    return paused === 'uncertain' && this.#world.hadWrongClock;
  }

  /**
   * A customer that is one tenant is billed for a figure that its service has said, unless another ledger goes on with it, or a
   * part of it waits for a person.
   */
  #checkSaid(ledger: LedgerView, has: (workspaceId: string) => boolean): void {
    const said = new Set<string>();
    const tenants = new Map<string, Set<string>>();
    const ids = `SELECT DISTINCT tenant_id FROM finance_history WHERE entry_id IN (${REPORTED})`;
    const reported = ledger.all<{ tenant_id: string }>(ids);
    const left = new Set(reported.map(({ tenant_id }) => this.#world.customerOf(tenant_id)));
    for (const { workspaceId, rows } of this.#world.given) {
      for (const { tenantId, period, credits } of rows) {
        const customer = this.#world.customerOf(tenantId);
        said.add(`${customer} ${period} ${credits}`);
        if (!has(workspaceId)) left.add(customer);
        tenants.set(customer, (tenants.get(customer) ?? new Set()).add(`${workspaceId} ${tenantId}`));
      }
    }
    for (const [key, sum] of this.#billed()) {
      const customer = key.slice(0, -' YYYY-MM'.length);
      if (left.has(customer) || tenants.get(customer)?.size !== 1) continue;
      if (sum !== 0n && !said.has(`${key} ${sum}`))
        throw new PromiseBroken('a customer is billed for what its service said', `${key}: ${sum}`);
    }
  }

  /** By customer and month. */
  #billed(): Map<string, bigint> {
    const sums = new Map<string, bigint>();
    for (const { subject, time, data } of this.#world.counted) {
      const key = `${subject} ${time.slice(0, 7)}`;
      sums.set(key, (sums.get(key) ?? 0n) + BigInt(data.credits));
    }
    return sums;
  }
}

/** Undefined: it was not begun. */
function pauseOf(ledger: LedgerView): string | null | undefined {
  return ledger.all<{ paused: string | null }>("SELECT paused FROM outlets WHERE name = 'billing'")[0]?.paused;
}
