import type { z } from 'zod';
import { formatDuration } from '../../../core/text/words.ts';
import { requestSync } from '../../../operations/runs/request-sync.ts';
import type { showRun } from '../../../operations/runs/show-run.ts';
import { formatInteger } from '../../../reports/formats/columns.ts';
import { ChangeForm } from '../shell/form.tsx';
import { linkTo, monthName } from '../shell/formats.ts';
import { Layout } from '../shell/layout.tsx';
import { Badge, Card, Empty, Table, Tile, Time, type Tone } from '../shell/parts.tsx';
import { may, type Visit } from '../shell/visit.ts';
import { runRemedy } from './run-remedy.ts';

type RunDocument = z.output<typeof showRun.output>;
type Walk = RunDocument['walks'][number];

const STATUS_TONES: Readonly<Record<string, Tone>> = {
  applied: 'good',
  running: 'quiet',
  failed: 'bad',
  unstable: 'odd',
};

/** Returns the tone (colour) in which a run's status is shown. */
export function statusTone(status: string): Tone {
  return STATUS_TONES[status] ?? 'odd';
}

/** Formats how long a run, or one walk through the listing, took; null while it is in progress. */
export function tookText(startedAt: string, finishedAt: string | null): string | null {
  if (finishedAt === null) return null;
  const tookMs = Math.max(0, Date.parse(finishedAt) - Date.parse(startedAt));
  return tookMs < 1000 ? `${tookMs} ms` : formatDuration(tookMs);
}

const VERDICTS: Readonly<Record<Walk['verdict'], { label: string; tone: Tone }>> = {
  accepted: { label: 'complete', tone: 'good' },
  moved: { label: 'changed while read', tone: 'odd' },
  unconfirmed: { label: 'awaits a second reading', tone: 'odd' },
};

/**
 * The page of a run. It answers: what did the run read, was that complete, what did it change, and, if it failed, why
 * and what should be done?
 */
export function RunPage({ visit, document: { run, walks } }: { visit: Visit; document: RunDocument }) {
  const { run_id, workspace_id, status, kind, from_period, to_period, error_code, error_message } = run;
  const took = tookText(run.started_at, run.finished_at);
  return (
    <Layout visit={visit} place="runs" title={`Run of ${workspace_id}`}>
      <p class="crumb">
        <a href="/runs">Runs</a> · <a href={linkTo('/runs', { workspace: workspace_id })}>{workspace_id}</a>
      </p>
      <div class="head">
        <h1>
          Run of {workspace_id} <Badge tone={statusTone(status)}>{status}</Badge>
        </h1>
        <p>
          <Time at={run.started_at} />
        </p>
      </div>
      {error_code === null ? null : (
        <div class="notice bad">
          {error_message ?? error_code}
          <p>{runRemedy(error_code)}</p>
        </div>
      )}
      <div class="tiles">
        <Tile label="Records read">
          <p class="figure">{formatInteger(run.records)}</p>
          <p class="quiet">
            on {formatInteger(run.pages)} {run.pages === 1 ? 'page' : 'pages'}
          </p>
        </Tile>
        <Tile label="Changes recorded">
          <p class="figure">{formatInteger(run.entries)}</p>
          <p class="quiet">{status === 'applied' ? 'in the ledger' : 'nothing was applied'}</p>
        </Tile>
        <Tile label="Duration">
          <p class="figure">{took ?? 'running'}</p>
          <p class="quiet">{run.slot === null ? 'started by hand' : `${kind}, by the schedule`}</p>
        </Tile>
      </div>
      <Card title="What was read" note={monthsText(from_period, to_period)}>
        {walks.length === 0 ? <Empty>No complete reading of the listing.</Empty> : <RunWalks walks={walks} />}
      </Card>
      <Card title="Proof">
        <div class="inside fields">
          <dl class="facts">
            <dt>Run</dt>
            <dd>
              <code>{run_id}</code>
            </dd>
            <dt>Digest in the chain</dt>
            <dd>{run.digest === null ? 'none: nothing was applied' : <code>{run.digest}</code>}</dd>
            <dt>Schedule</dt>
            <dd>{run.slot === null ? 'started by hand' : <Time at={run.slot} />}</dd>
          </dl>
          {may(visit, requestSync) ? (
            <ChangeForm visit={visit} form="sync" action="/runs/sync" submit="Sync now">
              <input type="hidden" name="workspace" value={workspace_id} />
            </ChangeForm>
          ) : null}
        </div>
      </Card>
    </Layout>
  );
}

function monthsText(from: string | null, to: string | null): string | undefined {
  if (from === null) return undefined;
  return to === null || to === from ? monthName(from) : `${monthName(from)} to ${monthName(to)}`;
}

/** The table of the run's walks through the listing, each with its counts and its digest. */
function RunWalks({ walks }: { walks: readonly Walk[] }) {
  const heads = [
    { label: 'Reading' },
    { label: 'Result' },
    { label: 'Pages', number: true },
    { label: 'Records', number: true },
    { label: 'Announced', number: true, wide: true },
    { label: 'Digest of the figures', wide: true },
  ];
  return (
    <Table label="What was read" heads={heads} stacked>
      {walks.map((walk) => {
        const { label, tone } = VERDICTS[walk.verdict];
        const signs = walk.signs.filter((sign) => typeof sign === 'string').map((sign) => sign.replaceAll('_', ' '));
        return (
          <tr key={walk.walk_number}>
            <th scope="row">
              {walk.walk_number}
              <small>
                <Time at={walk.started_at} /> · {tookText(walk.started_at, walk.finished_at) ?? 'running'}
              </small>
            </th>
            <td>
              <Badge tone={tone}>{label}</Badge>
              {signs.length === 0 ? null : <small>{signs.join(', ')}</small>}
            </td>
            <td class="number" data-label="Pages">
              {formatInteger(walk.pages)}
              <small>of {formatInteger(Math.max(1, walk.total_pages))}</small>
            </td>
            <td class="number" data-label="Records">
              {formatInteger(walk.records)}
              <small>{formatInteger(walk.distinct_keys)} distinct</small>
            </td>
            <td class="number wide-only">{formatInteger(walk.total_records)}</td>
            <td class="wide-only">
              <code>{walk.content_digest.slice(0, 16)}</code>
            </td>
          </tr>
        );
      })}
    </Table>
  );
}
