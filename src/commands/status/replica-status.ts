import { UsageError } from '../../core/errors.ts';
import { counted } from '../../core/text/counted.ts';
import { inertText } from '../../core/text/inert-text.ts';
import type { ReplicaClient } from '../../publish/connect.ts';
import type { TableColumn } from '../../reports/formats/columns.ts';
import { formatInteger, timeAgo } from '../../reports/formats/format.ts';
import { renderTable, type TableOptions } from '../../reports/formats/table.ts';
import type { Context } from '../../wiring/context.ts';
import type { CliContext } from '../shared/cli-context.ts';
import { proseLines } from '../shared/prose.ts';
import { requireReplica } from '../shared/require-replica.ts';

/** One ledger as the replica knows it. Times are ISO times of UTC. */
export interface ReplicaLedger {
  ledger_id: string;
  /** The machine that published last, and the process there. */
  published_by: string;
  published_at: string;
  /** Seconds since then. A ledger publishes after each run: how long is too long, its cron says. */
  age_seconds: number;
  /** Link of the chain that the replica holds, its digest, and when the ledger made it; null before the first. */
  position: number;
  head_digest: string;
  head_at: string | null;
  workspaces: number;
  /** Workspaces without any complete run. */
  never_complete: number;
  /** Workspaces whose last run has failed. */
  failing: number;
  /** The complete run that is the longest ago, of the last one of each workspace; null when there is none. */
  oldest_complete_run_at: string | null;
}

type Row = Omit<ReplicaLedger, 'age_seconds' | Count> & Record<Count, bigint>;
type Count = 'position' | 'workspaces' | 'never_complete' | 'failing';

const LEDGERS = `
  SELECT l.ledger_id, l.published_by, l.published_at, l.position, l.head_digest, nullif(l.head_at, '') AS head_at,
    count(f.workspace_id) AS workspaces,
    count(*) FILTER (WHERE f.workspace_id IS NOT NULL AND f.last_complete_run_at IS NULL) AS never_complete,
    count(*) FILTER (WHERE f.last_status NOT IN ('applied', 'running')) AS failing,
    to_char(min(f.last_complete_run_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS oldest_complete_run_at
  FROM ledgers l LEFT JOIN finance_freshness f ON f.ledger_id = l.ledger_id
  WHERE l.published_at <> '' AND ($1::text IS NULL OR EXISTS (
    SELECT 1 FROM workspaces w WHERE w.ledger_key = l.ledger_key AND w.workspace_id = $1))
  GROUP BY l.ledger_key ORDER BY l.published_at, l.ledger_id`;

/** All ledgers of the replica, or those with a workspace; the one that was published the longest ago first. */
async function replicaLedgers(
  client: ReplicaClient,
  nowMs: number,
  workspaceId: string | undefined,
): Promise<ReplicaLedger[]> {
  return (await client.query<Row>(LEDGERS, [workspaceId ?? null])).map((row) => {
    const ageMs = Math.max(0, nowMs - Date.parse(row.published_at));
    return {
      ...row,
      position: Number(row.position),
      workspaces: Number(row.workspaces),
      never_complete: Number(row.never_complete),
      failing: Number(row.failing),
      age_seconds: Math.round(ageMs / 1000),
    };
  });
}

export interface ReplicaStatusOptions {
  /** Only ledgers with this workspace. */
  workspace?: string;
  limit?: number;
}

/** `status --replica`: every ledger that is published, asked of the replica alone. */
export async function showReplica(cli: CliContext, context: Context, options: ReplicaStatusOptions): Promise<void> {
  await withReplicaLook(context, options, async (look) => {
    const { schema, ledgers, nowMs } = await look();
    if (cli.json) cli.printJson({ schema, ledgers: ledgers.slice(0, options.limit) });
    else cli.print(replicaLines(ledgers, { ...cli.tableOptions, nowMs, limit: options.limit }).join('\n'));
  });
}

export interface ReplicaLook {
  schema: string;
  ledgers: ReplicaLedger[];
  nowMs: number;
}

/** Looks at the replica as often as the work asks for it, over one connection. */
export async function withReplicaLook(
  context: Context,
  { workspace }: ReplicaStatusOptions,
  work: (look: () => Promise<ReplicaLook>) => Promise<void>,
): Promise<void> {
  const settings = requireReplica(context.config);
  const [{ connectReplica }, { isUnpublished }] = await Promise.all([
    import('../../publish/connect.ts'),
    import('../../publish/replica-error.ts'),
  ]);
  const client = await connectReplica(settings, context.replicaWay);
  try {
    await work(async () => {
      const nowMs = context.clock.now();
      const ledgers = await replicaLedgers(client, nowMs, workspace).catch((error: unknown) => {
        if (!isUnpublished(error)) throw error;
        throw new UsageError(
          'nothing has been published to this schema yet',
          'call `usage-ledger publish` on a machine',
        );
      });
      return { schema: settings.schema, ledgers, nowMs };
    });
  } finally {
    await client.close();
  }
}

/** The ledgers in the order in which they come. */
export function replicaLines(
  ledgers: readonly ReplicaLedger[],
  options: TableOptions & { nowMs: number; limit: number | undefined },
): string[] {
  if (ledgers.length === 0) return ['no such ledger has been published yet'];
  const workspaces = ledgers.reduce((sum, ledger) => sum + ledger.workspaces, 0);
  const sum = `${counted(ledgers.length, 'ledger')} with ${counted(workspaces, 'workspace')} in the replica, the longest unpublished first`;
  const shown = ledgers.slice(0, options.limit);
  const more = ledgers.length - shown.length;
  return [
    ...proseLines(sum, options.width),
    '',
    ...renderTable(shown, columns(options.nowMs), options).split('\n'),
    ...(more > 0 ? [`${formatInteger(more)} more`] : []),
  ];
}

function columns(nowMs: number): TableColumn<ReplicaLedger>[] {
  const ago = (at: string | null): string => timeAgo(at, nowMs);
  return [
    { name: 'ledger_id', header: 'Ledger' },
    { name: 'published_by', header: 'Machine', words: (by) => inertText(by.replace(/ \d+$/, '')) },
    { name: 'published_at', header: 'Published', words: ago },
    {
      name: 'workspaces',
      header: 'Workspaces',
      align: 'right',
      words: (count, { failing }) =>
        failing === 0 ? formatInteger(count) : `${formatInteger(count)}, ${failing} failing`,
    },
    { name: 'oldest_complete_run_at', header: 'Oldest', words: (at, row) => ago(row.never_complete > 0 ? null : at) },
  ];
}
