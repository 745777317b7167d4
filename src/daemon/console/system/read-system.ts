import { findDisabledChannels } from '../../../alerts/outbox/channel-states.ts';
import { findFailingChannels } from '../../../alerts/outbox/failing-channels.ts';
import { channelsOf } from '../../../alerts/pipeline/route.ts';
import { type ConfigurationStatus, findRunningDaemon } from '../../../ledger/store/file/daemon-lock.ts';
import { listAlerts } from '../../../operations/alerts/list-alerts.ts';
import { listUndelivered } from '../../../operations/alerts/replay-messages.ts';
import { ALL_ROWS, type Scope } from '../../../operations/operation.ts';
import { readHead } from '../../../operations/system/read-head.ts';
import type { Measurements } from '../../http/measurements.ts';
import type { HealthProbe } from '../../http/probe.ts';
import { readinessFaults } from '../../http/readiness.ts';
import { type Overview, readQueues } from '../overview/read-overview.ts';
import { settingsFacts } from './settings-facts.ts';

export interface SystemView {
  faults: string[];
  /** The configured channels. `fault` is the reason why a channel does not work; null if it works. */
  channels: { name: string; type: string; fault: string | null }[];
  outbox: ReturnType<HealthProbe['outbox']>;
  undelivered: { notification_id: string; channel: string; created_at: string; last_error: string | null }[];
  outlets: ReturnType<Measurements['outlets']>;
  exports: ReturnType<Measurements['exports']>;
  queues: Overview['queues'];
  publishing: ReturnType<HealthProbe['publishing']>;
  storage: ReturnType<Measurements['storage']>;
  head: { ledger_id: string; link: number; head_digest: string };
  /**
   * The schedule and the place of backups, and the alert about a failed backup (null if there is none). Null if no
   * backups are configured.
   */
  backups: {
    cron: string;
    timezone: string;
    keep: number;
    place: string;
    fault: { alertId: string } | null;
  } | null;
  /** The active configuration without secrets. */
  settings: [setting: string, value: string][];
  /** The configuration that the running daemon uses; null if no daemon is running. */
  configuration: ConfigurationStatus | null;
}

export async function readSystem(
  scope: Scope,
  { probe, measured }: { probe: HealthProbe; measured: Measurements },
): Promise<SystemView> {
  const { connection, context } = scope;
  const channels = channelsOf(context.config);
  const names = channels.map(({ name }) => name);
  const reasons = new Map([
    ...findFailingChannels(connection, names).map(({ name, reason }) => [name, reason] as const),
    ...findDisabledChannels(connection).map(({ name, reason }) => [name, `disabled: ${reason}`] as const),
  ]);
  return {
    faults: readinessFaults(probe).map(({ message }) => message),
    channels: channels.map(({ name, type }) => ({ name, type, fault: reasons.get(name) ?? null })),
    outbox: probe.outbox(),
    undelivered: [...listUndelivered.run(scope, {}, ALL_ROWS).rows] as SystemView['undelivered'],
    outlets: measured.outlets(),
    exports: measured.exports(),
    queues: await readQueues(probe),
    publishing: probe.publishing(),
    storage: measured.storage(),
    head: await readHead.run(scope, {}),
    backups: backupsOf(scope),
    settings: settingsFacts(context.config).map(([setting, value]) => [setting, context.redact(value)]),
    configuration: findRunningDaemon(context.config.ledger.path)?.configuration ?? null,
  };
}

function backupsOf(scope: Scope): SystemView['backups'] {
  const { backup } = scope.context.config;
  if (backup === null) return null;
  const { cron, timezone, keep, folder, to } = backup;
  const { matching } = listAlerts.run(scope, { rule: 'job_failed' }, ALL_ROWS);
  const alert = matching.find(({ cause }) => cause === 'backup');
  return {
    cron,
    timezone,
    keep,
    place: to === null ? folder : `s3://${to.bucket}/${to.prefix}`,
    fault: alert === undefined ? null : { alertId: alert.alert_id },
  };
}
