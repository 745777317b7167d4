import type { OutletConfig } from '../config/types.ts';
import { isoTime } from '../core/clock.ts';
import { periodEndMs, periodStartMs } from '../core/period.ts';
import { canHaveHappened } from '../core/stored-time.ts';
import type { OutletException } from '../ledger/journal/outlets/outlet-book.ts';
import type { OutletEntry } from '../ledger/journal/outlets/read-entries.ts';
import type { ReceiverLimits, UsageEvent } from './receiver.ts';

/** What an outlet takes of the ledger, as it was begun. */
export interface OutletScope {
  ledgerId: string;
  fromPeriod: string;
  /** Null: all. */
  workspaces: readonly string[] | null;
}

type Naming = Pick<OutletEntry, 'tenantId' | 'externalRef' | 'labels'>;
type Sending = Pick<OutletConfig, 'customer' | 'send'>;

/** What the receiver calls a tenant; null: it has no name there. */
export function customerOf({ tenantId, externalRef, labels }: Naming, { customer }: Sending): string | null {
  if (customer === 'tenant_id') return tenantId;
  if (customer === 'external_ref') return externalRef || null;
  const named = JSON.parse(labels ?? '{}') as Record<string, string>;
  return named[customer.slice('label:'.length)] || null;
}

export function quantityOf({ credits, requests }: { credits: bigint; requests: bigint }, { send }: Sending): bigint {
  return send === 'credits' ? credits : requests;
}

interface Judging {
  scope: OutletScope;
  outlet: Sending;
  limits: ReceiverLimits;
  flightTo?: number;
}

export type Judged = { event: UsageEvent } | { exception: OutletException } | null;

/**
 * An entry as its receiver gets it, or why it does not get it now; null: it is not for this outlet. What was perhaps sent, up to
 * `flightTo`, goes again whoever reads its workspace since: else nobody would know whether its receiver has it.
 */
export function judgeEntry(
  entry: OutletEntry,
  { scope, outlet, limits, flightTo = 0 }: Judging,
  nowMs: number,
): Judged {
  const { workspaceId, tenantId, period, credits, requests } = entry;
  if (period < scope.fromPeriod || (scope.workspaces !== null && !scope.workspaces.includes(workspaceId))) return null;
  const quantity = quantityOf(entry, outlet);
  if (quantity === 0n && !limits.carriesBoth) return null;
  const entryId = Number(entry.entryId);
  const except = (state: OutletException['state'], reason: string): Judged => ({
    exception: { entryId, state, reason },
  });
  if (entry.ended === 1n && entryId > flightTo) return except('held', 'its workspace is ended');
  const customer = customerOf(entry, outlet);
  if (customer === null) return except('held', `the tenant has no ${outlet.customer}`);
  if (quantity < 0n && !limits.takesNegative) return except('late', 'the receiver takes no negative quantity');
  const timeMs = timeOf(entry, nowMs);
  if (limits.takesBackMs !== null && timeMs < nowMs - limits.takesBackMs) {
    return except('late', `the receiver takes nothing older than ${Math.floor(limits.takesBackMs / 86_400_000)} days`);
  }
  const id = `${scope.ledgerId}_${entry.entryId}_${entry.digest.slice(0, 12)}`;
  return { event: { id, customer, quantity, timeMs, workspaceId, tenantId, period, credits, requests } };
}

/**
 * When the entry was recorded, and at most the last second of its own month: whatever the clock says, the usage counts in the
 * month that the service gave it to. One that lies ahead of the clock, which was wrong then, has the month's first second.
 */
function timeOf({ recordedAt, period }: OutletEntry, nowMs: number): number {
  const recordedMs = Date.parse(recordedAt);
  const firstMs = periodStartMs(period);
  if (!canHaveHappened(recordedMs, nowMs)) return firstMs;
  return Math.min(Math.max(recordedMs, firstMs), periodEndMs(period) - 1000);
}

/** The entry whose event has this id; null: it is not an id of this ledger. */
export function entryOf(id: string, ledgerId: string): number | null {
  const [own, entryId = ''] = id.split('_');
  return own === ledgerId && /^\d+$/.test(entryId) ? Number(entryId) : null;
}

export const USAGE_EVENT_TYPE = 'usage_ledger.usage.v1';

/** An event as CloudEvents 1.0; its source is the ledger. */
export function cloudEvent(event: UsageEvent, ledgerId: string) {
  return {
    specversion: '1.0',
    id: event.id,
    source: ledgerId,
    type: USAGE_EVENT_TYPE,
    subject: event.customer,
    time: isoTime(event.timeMs),
    datacontenttype: 'application/json',
    data: {
      workspace_id: event.workspaceId,
      tenant_id: event.tenantId,
      period: event.period,
      credits: jsonInteger(event.credits),
      requests: jsonInteger(event.requests),
    },
  };
}

/** As a number where every reader has it exactly, else as text. */
function jsonInteger(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}
