import type { Period } from '../../core/period.ts';
import { stringifyExact } from '../../core/text/exact-json.ts';
import { inertJson } from '../../core/text/inert-text.ts';
import { periodOfKey } from '../../ledger/store/schema/keys.ts';
import { findGrowthDriver } from '../figures/change-reason.ts';
import { percentOf } from '../figures/percent.ts';
import { NO_USAGE, type UsageFigures } from '../figures/usage-figures.ts';
import type { Observation } from '../rules/observation.ts';
import { usageKind } from '../rules/rules.ts';
import type { Facts, FigureChange, Notification } from './facts/facts.ts';
import { inOneText, type MessageText } from './message.ts';
import { alertText } from './sentence.ts';

export interface NotificationInput
  extends Omit<Notification, 'credits' | 'requests' | 'reason' | 'link' | keyof MessageText | 'summary'> {
  previous: UsageFigures | null;
  current: UsageFigures | null;
  public_url: string | null;
}

export function buildNotification(input: NotificationInput): Notification {
  const { public_url, acknowledge_link, previous: before, current, ...rest } = input;
  // A tenant without a record in the previous period used nothing in it.
  const previous = before ?? NO_USAGE;
  const facts = {
    ...rest,
    credits:
      current === null
        ? null
        : {
            ...figureChange(previous.credits, current.credits),
            change_percent: percentOf(current.credits - previous.credits, previous.credits),
          },
    requests: current === null ? null : figureChange(previous.requests, current.requests),
    reason: current === null ? null : findGrowthDriver(previous, current),
  };
  const text = alertText(facts);
  return { ...facts, link: pageLinkTo(public_url, rest), acknowledge_link, ...text, summary: inOneText(text) };
}

function pageLinkTo(
  publicUrl: string | null,
  { workspace_id, tenant_id, period }: Pick<Facts, 'workspace_id' | 'tenant_id' | 'period'>,
): string | null {
  if (publicUrl === null || workspace_id === null) return null;
  const query = new URLSearchParams({
    workspace: workspace_id,
    ...(period === null ? {} : { period }),
    ...(tenant_id === null ? {} : { tenant: tenant_id }),
  });
  return `${publicUrl}/report${tenant_id === null ? '' : '/tenant'}?${query}`;
}

/**
 * Renders a message as the JSON text that is stored and sent byte for byte. Parsing the text gives the exact names. In
 * the text itself, control, bidirectional and invisible characters are escaped, so that it can be shown as it is.
 */
export function renderPayload(message: object): string {
  return inertJson(stringifyExact(message));
}

function figureChange(previous: bigint, current: bigint): FigureChange {
  return { previous, current, change: current - previous };
}

export function previousPeriodOf({
  rule,
  periodKey,
  built,
}: Pick<Observation, 'rule' | 'periodKey' | 'built'>): Period | null {
  const kind = usageKind(rule);
  if (periodKey === null || kind === null) return null;
  if (built !== null && kind.compares !== 'readings') return built.period;
  return periodOfKey(kind.compares === 'readings' ? periodKey : periodKey - 1);
}
