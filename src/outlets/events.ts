import type { OutletConfig } from '../config/types.ts';
import { isoTime } from '../core/clock.ts';
import { periodEndMs, periodStartMs } from '../core/period.ts';
import { canHaveHappened } from '../core/stored-time.ts';
import type { OutletException } from '../ledger/journal/outlets/outlet-book.ts';
import type { OutletEntry } from '../ledger/journal/outlets/read-entries.ts';
import type { ReceiverLimits, UsageEvent } from './receiver.ts';

/** The part of the ledger that an outlet sends. It is chosen when the outlet is started. */
export interface OutletScope {
  ledgerId: string;
  fromPeriod: string;
  /** The ids of the workspaces that the outlet sends; null: all workspaces. */
  workspaces: readonly string[] | null;
}

type TenantNames = Pick<OutletEntry, 'tenantId' | 'externalRef' | 'labels'>;
type OutletFields = Pick<OutletConfig, 'customer' | 'send'>;

/** Returns the name by which the receiver knows a tenant; null if the tenant has no such name. */
export function customerOf({ tenantId, externalRef, labels }: TenantNames, { customer }: OutletFields): string | null {
  if (customer === 'tenant_id') return tenantId;
  if (customer === 'external_ref') return externalRef || null;
  const named = JSON.parse(labels ?? '{}') as Record<string, string>;
  return named[customer.slice('label:'.length)] || null;
}

/** Returns the quantity that the outlet is configured to send: credits or requests. */
export function quantityOf(
  { credits, requests }: { credits: bigint; requests: bigint },
  { send }: OutletFields,
): bigint {
  return send === 'credits' ? credits : requests;
}

interface EntryScope {
  scope: OutletScope;
  outlet: OutletFields;
  limits: ReceiverLimits;
  flightTo?: number;
}

/**
 * The result of preparing an entry: an event to send, or an exception with the reason why the entry is not sent. Null
 * if the entry does not belong to the part of the ledger that the outlet sends.
 */
export type PreparedEntry = { event: UsageEvent } | { exception: OutletException } | null;

/**
 * Converts an entry into an event. If the event cannot be sent now, returns an exception with the reason. Returns null
 * if the entry does not belong to the part of the ledger that the outlet sends. Entries up to `flightTo` may already
 * have been sent. They are sent again even if their workspace is retired, because otherwise nobody would know whether
 * they arrived.
 */
export function prepareEntry(
  entry: OutletEntry,
  { scope, outlet, limits, flightTo = 0 }: EntryScope,
  nowMs: number,
): PreparedEntry {
  const { workspaceId, tenantId, period, credits, requests } = entry;
  if (period < scope.fromPeriod || (scope.workspaces !== null && !scope.workspaces.includes(workspaceId))) return null;
  const quantity = quantityOf(entry, outlet);
  if (quantity === 0n && !limits.sendsBothQuantities) return null;
  const entryId = Number(entry.entryId);
  const except = (state: OutletException['state'], reason: string): PreparedEntry => ({
    exception: { entryId, state, reason },
  });
  if (entry.ended === 1n && entryId > flightTo) return except('held', 'the workspace is retired');
  const customer = customerOf(entry, outlet);
  if (customer === null) return except('held', `the tenant has no ${outlet.customer}`);
  if (quantity < 0n && !limits.acceptsNegative) return except('late', 'the receiver accepts no negative quantities');
  const timeMs = eventTime(entry, nowMs);
  if (limits.maxEventAgeMs !== null && timeMs < nowMs - limits.maxEventAgeMs) {
    return except(
      'late',
      `the receiver accepts no events older than ${Math.floor(limits.maxEventAgeMs / 86_400_000)} days`,
    );
  }
  const id = `${scope.ledgerId}_${entry.entryId}_${entry.digest.slice(0, 12)}`;
  return { event: { id, customer, quantity, timeMs, workspaceId, tenantId, period, credits, requests } };
}

/**
 * Returns the time of an event: the time when the entry was recorded, moved into the entry's own month if necessary, so
 * that the usage counts in the month that the service reported. A recorded time in the future shows that the clock was
 * wrong; the result is then the first second of the month.
 */
function eventTime({ recordedAt, period }: OutletEntry, nowMs: number): number {
  const recordedMs = Date.parse(recordedAt);
  const firstMs = periodStartMs(period);
  if (!canHaveHappened(recordedMs, nowMs)) return firstMs;
  return Math.min(Math.max(recordedMs, firstMs), periodEndMs(period) - 1000);
}

/** Returns the entry id that an event id contains; null if the event is not from this ledger. */
export function entryIdIn(id: string, ledgerId: string): number | null {
  const [own, entryId = ''] = id.split('_');
  return own === ledgerId && /^\d+$/.test(entryId) ? Number(entryId) : null;
}

/** The CloudEvents type of every usage event. */
export const USAGE_EVENT_TYPE = 'usage_ledger.usage.v1';

/** Converts an event to the CloudEvents 1.0 format, with the ledger's id as its source. */
export function toCloudEvent(event: UsageEvent, ledgerId: string) {
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

/** Returns the value as a number if every JSON reader can represent it exactly; otherwise as text. */
function jsonInteger(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}
