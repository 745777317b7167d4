import type { RateCard } from '../../../src/billing/rates/rate-card.ts';
import { exactLines } from '../../billing/rates/exact-charge.ts';
import { CARDS } from '../world/rate-cards.ts';
import { PromiseBroken } from './fault.ts';
import type { LedgerView } from './ledger-view.ts';

interface Standing {
  workspace_id: string;
  tenant_id: string;
  period: string;
  credits_used: bigint;
  withdrawn: bigint;
}

interface Charged {
  workspace_id: string;
  tenant_id: string;
  about: string;
  currency: string;
  amount: bigint;
}

interface Closing {
  workspace_id: string;
  period: string;
  action: 'close' | 'reopen';
  event_seq: bigint;
}

const IN_FORCE = 'SELECT name FROM rate_cards WHERE retired_after_seq IS NULL ORDER BY card_key';
const CLOSINGS =
  'SELECT workspace_id, period, action, event_seq FROM finance_closes WHERE event_seq > ? ORDER BY event_seq';
const STANDING = `SELECT w.workspace_id, t.tenant_id, p.period, u.credits_used, u.withdrawn
  FROM tenant_usage u JOIN periods p ON p.period_key = u.period_key JOIN tenants t ON t.tenant_key = u.tenant_key
  JOIN workspaces w ON w.workspace_key = p.workspace_key`;
const CHARGED = `SELECT workspace_id, tenant_id, coalesce(corrects_period, period) AS about, currency,
    sum(amount_minor) AS amount
  FROM finance_charge_lines WHERE amount_minor IS NOT NULL GROUP BY 1, 2, 3, 4`;
const UNEQUAL = `SELECT c.workspace_id, c.tenant_id, c.period FROM finance_charges c
  LEFT JOIN (SELECT workspace_id, tenant_id, period, currency, sum(amount_minor) AS lines
    FROM finance_charge_lines GROUP BY 1, 2, 3, 4) l USING (workspace_id, tenant_id, period, currency)
  WHERE c.amount_minor IS NOT l.lines OR c.amount_minor IS NOT c.charge_minor + c.correction_minor + c.manual_minor`;

/** The cards of each close in force; null where two things happened at once, so that nobody knows which came first. */
export type Closed = Map<string, readonly RateCard[] | null>;

export interface MoneyMoment {
  /** Of the chain. */
  head: string;
  /** Somebody puts cards into force just now. */
  isAct: boolean;
  /** Whether the workspace is in this ledger now, and in no other. */
  has(workspaceId: string): boolean;
}

/**
 * All documents about a month sum to what it owes: the price of what stands now, by the cards of its close while it is
 * closed, and else by those in force.
 */
export class MoneyOracle {
  #head = '';
  #inForce: readonly RateCard[] = [];
  readonly #closed: Closed;
  #lastClosing = 0n;
  readonly #prices = new Map<string, bigint>();

  /** `closed` is known of all ledgers. */
  constructor(closed: Closed) {
    this.#closed = closed;
  }

  /** What is there was closed in another ledger, and somebody has put the cards into force. */
  skip(ledger: LedgerView): void {
    this.#inForce = cardsInForce(ledger);
    this.#lastClosing = ledger.value<bigint | null>('SELECT max(event_seq) FROM period_events') ?? 0n;
  }

  /** After every commit. */
  check(ledger: LedgerView, { head, isAct, has }: MoneyMoment): void {
    const inForce = cardsInForce(ledger);
    const names = inForce.map(({ name }) => name);
    const isSame = names.join() === this.#inForce.map(({ name }) => name).join();
    if (head === this.#head && isSame) return;
    if (!isSame && !isAct)
      throw new PromiseBroken('rates are an act', `without any, in force are now: ${names.join()}`);
    for (const { workspace_id, period, action, event_seq } of ledger.all<Closing>(CLOSINGS, this.#lastClosing)) {
      this.#lastClosing = event_seq;
      const key = keyOf(workspace_id, period);
      if (action === 'close') this.#closed.set(key, isSame ? inForce : null);
      else this.#closed.delete(key);
    }
    this.#head = head;
    this.#inForce = inForce;
    this.#checkSums(ledger, has);
    const [unequal] = ledger.all<{ workspace_id: string; tenant_id: string; period: string }>(UNEQUAL);
    if (unequal !== undefined) throw new PromiseBroken('a charge is the sum of its lines', JSON.stringify(unequal));
  }

  #checkSums(ledger: LedgerView, has: MoneyMoment['has']): void {
    const owed = new Map<string, bigint>();
    for (const row of ledger.all<Standing>(STANDING)) {
      if (!has(row.workspace_id)) continue;
      const card = this.#cardOf(row);
      if (card !== null && row.withdrawn === 0n)
        owed.set(keyOf(row, row.period, card.currency), this.#price(card, row));
    }
    for (const { about, currency, amount, ...row } of ledger.all<Charged>(CHARGED)) {
      if (!has(row.workspace_id)) continue;
      const key = keyOf(row, about, currency);
      const due = owed.get(key) ?? 0n;
      owed.delete(key);
      if (amount !== due && this.#closed.get(keyOf(row.workspace_id, about)) !== null)
        throw new PromiseBroken('all documents about a month sum to what it owes', `${key}: ${amount}, owed ${due}`);
    }
    const [left] = [...owed].filter(([, amount]) => amount !== 0n);
    if (left !== undefined)
      throw new PromiseBroken(
        'all documents about a month sum to what it owes',
        `${left[0]}: nothing, owed ${left[1]}`,
      );
  }

  /** Null: none, or nobody knows. */
  #cardOf({ workspace_id, tenant_id, period }: Standing): RateCard | null {
    const closed = this.#closed.get(keyOf(workspace_id, period));
    const cards = closed === undefined ? this.#inForce : (closed ?? []);
    const fitting = cards.filter(({ workspace, tenant, fromPeriod, toPeriod }) => {
      const isIn = fromPeriod <= period && (toPeriod ?? period) >= period;
      return isIn && (workspace ?? workspace_id) === workspace_id && fits(tenant, tenant_id);
    });
    return fitting.sort(compareRanks)[0] ?? null;
  }

  #price(card: RateCard, { credits_used: credits }: Standing): bigint {
    const key = `${card.name} ${credits}`;
    const known = this.#prices.get(key);
    if (known !== undefined) return known;
    const price = exactLines(card, credits).reduce((sum, { amount }) => sum + amount, 0n);
    this.#prices.set(key, price);
    return price;
  }
}

function cardsInForce(ledger: LedgerView): RateCard[] {
  const names = ledger.all<{ name: string }>(IN_FORCE).map(({ name }) => name);
  return names.map((name) => CARDS.get(name)).filter((card) => card !== undefined);
}

/** The patterns of this world end with their star. */
function fits(tenant: string | null, tenantId: string): boolean {
  return tenant === null || tenant === tenantId || (tenant.endsWith('*') && tenantId.startsWith(tenant.slice(0, -1)));
}

/** As documented: an id, then the priority, the more specific pattern, the workspace's own, the latest. */
function compareRanks(a: RateCard, b: RateCard): number {
  const rank = ({ tenant, priority, workspace, fromPeriod }: RateCard): number[] => {
    const isId = tenant !== null && !tenant.endsWith('*');
    return [
      isId ? 1 : 0,
      priority,
      tenant?.length ?? 0,
      workspace === null ? 0 : 1,
      Number(fromPeriod.replace('-', '')),
    ];
  };
  const other = rank(b);
  return rank(a)
    .map((value, index) => (other[index] ?? 0) - value)
    .reduce((first, next) => first || next, 0);
}

function keyOf(whose: string | { workspace_id: string; tenant_id: string }, ...rest: string[]): string {
  return JSON.stringify([...(typeof whose === 'string' ? [whose] : [whose.workspace_id, whose.tenant_id]), ...rest]);
}
