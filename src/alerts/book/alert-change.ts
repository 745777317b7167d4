import type Database from 'better-sqlite3';
import type { Period } from '../../core/period.ts';
import type { CreditPricer } from '../../ledger/journal/charges/credit-pricer.ts';
import type { Observation } from '../evaluate/observation.ts';
import type { ChannelRoute } from '../notify/routes.ts';
import type { RuleName, Severity, Stage } from '../rules/rule.ts';
import type { AlertFigures } from './alert-figures.ts';
import type { StoredAlert, SubjectNames } from './alert-rows.ts';
import type { AlertChangeKind } from './lifecycle.ts';
import type { MuteSubject } from './mutes.ts';

/** One change of an alert that a run has made. */
export interface AlertChange extends AlertFigures {
  alertId: string;
  change: AlertChangeKind;
  rule: RuleName;
  stage: Stage;
  severity: Severity;
  tenantId: string | null;
  period: Period | null;
  /** Nobody is told, for the reason beside it. */
  silent: boolean;
  silentBecause: string | null;
}

export interface RunAlerts {
  changes: AlertChange[];
  /** Outbox rows that are to go at once; those that wait for a digest are not among them. */
  notificationIds: string[];
}

/** Who looks at the alerts of which workspace, and when. */
export interface BookContext {
  connection: Database.Database;
  workspaceKey: number;
  workspaceId: string;
  /** Null when no run is the cause. */
  runKey: number | null;
  runId: string | null;
  actor: 'run' | 'timer';
  /** The first sync of a workspace records what it finds and tells nobody. */
  seeding: boolean;
  /** `nowMs` as ISO-8601 UTC. */
  at: string;
  nowMs: number;
  /** The channels that there are, with what each of them is told of. */
  channels: readonly ChannelRoute[];
  /** What credits cost; absent where alerts carry no money. */
  priceOf?: CreditPricer | null;
}

/** A change that has been decided, before anybody has been told. */
export interface UnpublishedChange {
  alert: StoredAlert;
  change: AlertChangeKind;
  seen: Observation;
  names: SubjectNames;
  /** An open incident has told to expect it: it can wait for the digest. */
  expected: boolean;
  /** What was planned for it, in credits, when it has grown beyond that. */
  planned: bigint | null;
}

/** Changes that make an alert worse; the others end it or are of no concern to receivers. */
export const NEWS: readonly AlertChangeKind[] = ['fired', 'escalated', 'grown'];

/** What a draft is about, as silences and plans see it. */
export function muteSubject({ alert, names }: UnpublishedChange): MuteSubject {
  return { rule: alert.rule, tenantId: names.tenantId, period: names.period, credits: alert.current?.credits ?? null };
}
