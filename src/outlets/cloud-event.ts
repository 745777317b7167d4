import { isoTime } from '../core/clock.ts';
import type { UsageEvent } from './receiver.ts';

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
