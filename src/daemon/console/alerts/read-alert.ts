import { alertFacts, type Fact } from '../../../alerts/messages/fact-list.ts';
import type { Facts } from '../../../alerts/messages/facts/facts.ts';
import { type AlertMoments, createAlertMoments } from '../../../alerts/queries/alert-moments.ts';
import { type AlertRecord, requireAlertRecord } from '../../../alerts/queries/alert-record.ts';
import { createMutedReason } from '../../../alerts/queries/alerts.ts';
import { DAY_MS } from '../../../core/durations.ts';
import { addPeriods, periodEndMs, periodStartMs } from '../../../core/period.ts';
import type { Scope } from '../../../operations/operation.ts';
import { minuteName, monthName } from '../shell/formats.ts';
import type { MonthChartData } from '../shell/month-chart.tsx';

/** One line of an alert's history. */
export interface HistoryLine {
  at: string;
  title: string;
  detail: string;
}

export interface AlertView {
  record: AlertRecord;
  title: string;
  /** Sentences that compare the figures with the limit and explain the causes and the cost. */
  lines: readonly string[];
  facts: Fact[];
  evidence: Facts['evidence'];
  /** Why notifications about the alert are muted now; null if they are sent. */
  mutedBecause: string | null;
  /** The daily usage of the tenant; null for an alert that is not about a tenant's daily usage. */
  chart: MonthChartData | null;
  /** The history of the alert, the latest line first. */
  history: HistoryLine[];
}

/** Reads everything that the page of an alert shows. Times are in the zone `timezone`. Throws `unknown_alert`. */
export function readAlert({ connection, context }: Scope, alertId: string, timezone: string): AlertView {
  const record = requireAlertRecord(connection, alertId);
  const moments = createAlertMoments(connection, timezone)(record.alert);
  const { notification } = moments.now;
  return {
    record,
    title: notification.title,
    lines: notification.lines,
    facts: alertFacts(notification),
    evidence: notification.evidence,
    mutedBecause: createMutedReason(connection, context.clock.now())(record.alert),
    chart: chartOf(record, moments, timezone),
    history: historyLines(record),
  };
}

function chartOf(
  { alert: { period, threshold, rule }, messages }: AlertRecord,
  { now }: AlertMoments,
  timezone: string,
): MonthChartData | null {
  const { daily_usage: usage, projection } = now.notification.evidence;
  if (usage === null || period === null) return null;
  const startMs = periodStartMs(period);
  const lengthMs = periodEndMs(period) - startMs;
  const dayAt = (iso: string): number => (Date.parse(iso) - startMs) / DAY_MS;
  const readAt = now.notification.read_at;
  const elapsedMs = projection === null && readAt !== null ? Date.parse(readAt) - startMs : lengthMs;
  return {
    days: lengthMs / DAY_MS,
    currentName: monthName(period),
    previousName: monthName(addPeriods(period, -1)),
    current: usage.days.current,
    previous: usage.days.previous,
    elapsed: projection === null ? Math.min(1, elapsedMs / lengthMs) : Number(projection.elapsed_fraction),
    // The limit of a drop is not drawn: it applies only at the end of the month, and a line would look like an upper
    // limit.
    limit: rule === 'drop' || rule === 'withdrawn' ? null : threshold,
    forecast:
      projection === null
        ? null
        : { likely: projection.credits, low: projection.low_credits, high: projection.high_credits },
    marks: messages
      .filter(({ outcome }) => outcome === 'delivered')
      .map(({ made_at, channel, event }) => ({
        day: dayAt(made_at),
        label: `${minuteName(made_at, timezone)}: ${event}, sent to ${channel}`,
      }))
      .filter(({ day }) => day >= 0 && day <= lengthMs / DAY_MS),
  };
}

const CHANGE_TITLES: Readonly<Record<string, string>> = {
  pending: 'Seen for the first time',
  fired: 'Fired',
  escalated: 'Escalated',
  eased: 'Eased',
  grown: 'Grew',
  notified: 'Notified again',
  acknowledged: 'Acknowledged',
  resolved: 'Resolved',
  expired: 'Closed: the month is over and settled',
};

/** The actors in the history that are parts of the program, not persons. The page does not show them. */
const PROGRAM_ACTORS: readonly string[] = ['run', 'timer', 'reader'];

function historyLines({ transitions, messages, feedback }: AlertRecord): HistoryLine[] {
  const changedAt = new Set(transitions.map(({ at }) => at));
  const changes = transitions.map(({ at, change, actor, note, level }) => ({
    at,
    title: CHANGE_TITLES[change] ?? change,
    detail: sentencesOf([
      PROGRAM_ACTORS.includes(actor) ? null : `by ${actor}`,
      change === 'escalated' ? level : null,
      note,
      ...messages.filter(({ made_at }) => made_at === at).map(messageWords),
    ]),
  }));
  const others = messages
    .filter(({ made_at }) => !changedAt.has(made_at))
    .map((message) => ({ at: message.made_at, title: `Message: ${message.event}`, detail: messageWords(message) }));
  const labels = feedback.map(({ at, label, actor, note }) => ({
    at,
    title: `Labelled ${label}`,
    detail: sentencesOf([`by ${actor}`, note]),
  }));
  return [...changes, ...others, ...labels].sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
}

function messageWords({ channel, outcome, last_error }: AlertRecord['messages'][number]): string {
  return outcome === 'delivered' ? `sent to ${channel}` : `${outcome}, ${channel}: ${last_error ?? 'not sent yet'}`;
}

function sentencesOf(parts: readonly (string | null)[]): string {
  return parts.filter((part) => part !== null && part !== '').join('; ');
}
