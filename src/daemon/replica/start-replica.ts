import type { PublishConfig } from '../../config/types.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { query } from '../../ledger/store/query.ts';
import { alerts } from '../../ledger/store/schema/alert-tables.ts';
import { eq } from '../../ledger/store/schema/drizzle.ts';
import { outbox } from '../../ledger/store/schema/outbox-tables.ts';
import { PublisherHandle } from '../../publish/thread/publisher-handle.ts';
import type { Context } from '../../wiring/context.ts';
import { ReplicaWatch } from './replica-watch.ts';

export interface ReplicaParts {
  watch: ReplicaWatch;
  /** False for what a fenced copy of the ledger must not send: all but the alert about itself. */
  mayDeliver(notificationId: string): boolean;
}

/** The publishing side of a daemon; loaded only where the configuration names a replica. */
export function startReplica(context: Context, settings: PublishConfig, notified: () => void): ReplicaParts {
  const { clock, logger, config } = context;
  const { connection } = context.reader();
  const start = { settings, ledgerPath: config.ledger.path, elsewhere: [] };
  const publisher = context.openPublisher?.(start) ?? new PublisherHandle(start);
  const watch = new ReplicaWatch({
    ...{ connection, publisher, clock, logger },
    ...{ staleMs: settings.staleMs, unreadyWhenStale: settings.unreadyWhenStale },
    tell: async (detail) => {
      if ((await context.tellOfJob({ job: 'replica', detail })) > 0) notified();
    },
  });
  const isAboutReplica = aboutReplica(connection);
  return {
    watch,
    mayDeliver: (notificationId) => !watch.health().fenced || isAboutReplica(notificationId),
  };
}

function aboutReplica(connection: LedgerConnection): (notificationId: string) => boolean {
  return (notificationId) => {
    const told = query(connection).select({ cause: alerts.cause }).from(outbox);
    const about = told.innerJoin(alerts, eq(alerts.alertKey, outbox.alertKey));
    return about.where(eq(outbox.notificationId, notificationId)).get()?.cause === 'replica';
  };
}
