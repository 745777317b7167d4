import type { AcknowledgeRequest } from '../../alerts/notify/actions.ts';
import { keyFileOf, linkKeyOf } from '../../ledger/audit/anchor/checkpoint-log.ts';
import { headOfChain } from '../../ledger/journal/runs/digest.ts';
import type { SyncQueue } from '../../queue/sync-queue.ts';
import type { Context } from '../../wiring/context.ts';
import { createMeasurements } from './measurements.ts';
import { readOverview, readWorkspaces } from './pages/overview-data.ts';
import { makePagesToken } from './pages-token.ts';
import type { HealthProbe } from './probe.ts';
import { createReportMaker } from './reports/report-maker.ts';
import { type HttpServer, startHttp } from './server.ts';

/** The pages of a running daemon. */
export function startDaemonHttp(context: Context, probe: HealthProbe, queue: SyncQueue): Promise<HttpServer> {
  const { config, clock, logger, version, traffic } = context;
  const reader = context.reader();
  const { queues } = queue;
  const reservedBytes = () => context.reservedBytes;
  const workspaces = () => readWorkspaces({ reader, config, clock, probe });
  const measured = createMeasurements({ reader, config, clock, queues, traffic, reservedBytes, workspaces });
  const overview = () => readOverview({ reader, config, clock, version, probe, measured });
  const { connection } = reader;
  const maker = createReportMaker({ ledgerPath: config.ledger.path, head: () => headOfChain(connection).digest });
  const reports = { workspaces: config.workspaces, maker, clock };
  const { host, port, metrics } = config.http;
  const guarded = { host, port, token: makePagesToken(config.http), openMetrics: metrics === 'open' };
  const acknowledging = {
    connection,
    linkKey: linkKeyOf(config.ledger.checkpointKeyFile ?? keyFileOf(config.ledger.path)),
    acknowledge: async (request: AcknowledgeRequest) => (await context.writer()).call('acknowledgeAlert', request),
    clock,
  };
  return startHttp({ ...guarded, logger, version, probe, measured, overview, queues, reports, acknowledging });
}
