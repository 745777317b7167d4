import type { FastifyInstance } from 'fastify';
import { counted } from '../../../core/text/words.ts';
import type { WorkspaceLine } from '../../../freshness/workspace-status.ts';
import { sortWorstFirst } from '../../../freshness/workspace-status.ts';
import { latestRuns, RUN_STATUSES } from '../../../operations/runs/latest-runs.ts';
import { requestSync } from '../../../operations/runs/request-sync.ts';
import { showRun } from '../../../operations/runs/show-run.ts';
import { formatInteger } from '../../../reports/formats/columns.ts';
import type { LatestRun } from '../../../reports/queries/latest-runs.ts';
import type { ConsolePages } from '../console-pages.ts';
import { FRESHNESS_STATES } from '../overview/overview-page.tsx';
import { readWorkspaces } from '../overview/read-overview.ts';
import { answerForm } from '../shell/change.ts';
import { ChangeForm } from '../shell/form.tsx';
import { linkTo, runLink } from '../shell/formats.ts';
import { Layout } from '../shell/layout.tsx';
import { Ago, Badge, Card, Empty, Pages, Select, Table, Time } from '../shell/parts.tsx';
import { pageNumber, textOf } from '../shell/query.ts';
import { sendPage } from '../shell/render-page.ts';
import { may, type Visit } from '../shell/visit.ts';
import { fieldsOf } from '../sign-in/form-guard.ts';
import { RunPage, statusTone, tookText } from './run-page.tsx';

const RUNS_PER_PAGE = 50;

/** Serves the list of runs, the latest first, and the page of each run. */
export function addRuns(app: FastifyInstance, pages: ConsolePages): void {
  const { visitOf, scopeOf, context, probe } = pages;
  app.post('/runs/sync', { config: { access: 'form', role: 'operate' } }, (request, reply) => {
    const workspace = fieldsOf(request).get('workspace') ?? '';
    const back = linkTo('/runs', { workspace });
    return answerForm({ request, reply, pages, form: 'sync', back }, async ({ run }) => {
      const { document } = await run(requestSync, { workspace });
      return document.state === 'queued'
        ? 'A sync is queued.'
        : 'A sync of this workspace is already waiting or running.';
    });
  });
  app.get('/runs/:run', async (request, reply) => {
    const { run } = request.params as { run: string };
    const document = await showRun.run(scopeOf(request), { run_id: run });
    return sendPage(reply, <RunPage visit={visitOf(request)} document={document} />);
  });
  app.get('/runs', async (request, reply) => {
    const workspace = textOf(request, 'workspace');
    const status = RUN_STATUSES.find((each) => each === textOf(request, 'status'));
    const page = pageNumber(request);
    const offset = (page - 1) * RUNS_PER_PAGE;
    const { runs, more } = await latestRuns.run(scopeOf(request), { workspace, status, limit: RUNS_PER_PAGE, offset });
    const states = sortWorstFirst(readWorkspaces(context, probe));
    const shown = workspace === undefined ? [] : states.filter(({ workspace_id }) => workspace_id === workspace);
    return sendPage(
      reply,
      <RunsPage
        visit={visitOf(request)}
        filters={{ workspace, status, page }}
        runs={runs}
        more={more}
        workspaces={states}
        selected={shown[0] ?? null}
      />,
    );
  });
}

interface RunsPageProps {
  visit: Visit;
  filters: { workspace: string | undefined; status: string | undefined; page: number };
  runs: readonly LatestRun[];
  more: boolean;
  workspaces: readonly WorkspaceLine[];
  selected: WorkspaceLine | null;
}

/** The page with the list of runs. It answers: what was read and when, was it complete, and what failed? */
function RunsPage({ visit, filters, runs, more, workspaces, selected }: RunsPageProps) {
  const { workspace, status, page } = filters;
  const pageLink = (to: number) => linkTo('/runs', { workspace, status, page: String(to) });
  const heads = [
    { label: 'Started' },
    { label: 'Workspace' },
    { label: 'Result' },
    { label: 'Months', wide: true },
    { label: 'Took', number: true, wide: true },
    { label: 'Records', number: true, wide: true },
    { label: 'Changes', number: true },
  ];
  return (
    <Layout visit={visit} place="runs" title="Runs">
      <div class="head">
        <h1>Runs</h1>
        <p>
          {workspaces.filter(({ state }) => state === 'fresh').length} of {workspaces.length} workspaces are fresh
        </p>
      </div>
      {selected === null ? null : <Selected workspace={selected} visit={visit} />}
      <div class="card">
        <form class="filters" method="get" action="/runs">
          <Select
            name="workspace"
            label="Workspace"
            value={workspace}
            choices={[
              { value: '', label: 'Any' },
              ...workspaces.map(({ workspace_id, name }) => ({ value: workspace_id, label: name })),
            ]}
          />
          <Select
            name="status"
            label="Result"
            value={status}
            choices={[{ value: '', label: 'Any' }, ...RUN_STATUSES.map((each) => ({ value: each, label: each }))]}
          />
          <button type="submit">Apply</button>
        </form>
        {runs.length === 0 ? (
          <Empty>No runs.</Empty>
        ) : (
          <Table label="Runs" heads={heads} stacked>
            {runs.map((run) => (
              <RunRow key={run.run_id} run={run} />
            ))}
          </Table>
        )}
        <Pages
          from={(page - 1) * RUNS_PER_PAGE}
          shown={runs.length}
          total={null}
          previous={page > 1 ? pageLink(page - 1) : null}
          next={more ? pageLink(page + 1) : null}
        />
      </div>
    </Layout>
  );
}

function Selected({ workspace, visit }: { workspace: WorkspaceLine; visit: Visit }) {
  const { nowMs } = visit;
  const { name, state, last_complete_run_at, next_attempt_at, last_run } = workspace;
  const { label, tone } = FRESHNESS_STATES[state];
  return (
    <Card title={name} note={<Badge tone={tone}>{label}</Badge>}>
      <div class="inside fields">
        <dl class="facts">
          <dt>Last complete run</dt>
          <dd>
            <Ago at={last_complete_run_at} nowMs={nowMs} />
          </dd>
          <dt>Next attempt</dt>
          <dd>{next_attempt_at === null ? 'none planned' : <Ago at={next_attempt_at} nowMs={nowMs} />}</dd>
          {last_run?.error_message == null ? null : (
            <>
              <dt>Last error</dt>
              <dd>{last_run.error_message}</dd>
            </>
          )}
        </dl>
        {may(visit, requestSync) ? (
          <ChangeForm visit={visit} form="sync" action="/runs/sync" submit="Sync now" main>
            <input type="hidden" name="workspace" value={workspace.workspace_id} />
          </ChangeForm>
        ) : null}
      </div>
    </Card>
  );
}

function RunRow({ run }: { run: LatestRun }) {
  const { run_id, workspace_id, kind, status, from_period, to_period, started_at, finished_at, error_message } = run;
  return (
    <tr>
      <td>
        <a href={runLink(run_id)}>
          <Time at={started_at} />
        </a>
      </td>
      <th scope="row">
        <a href={linkTo('/runs', { workspace: workspace_id })}>{workspace_id}</a>
        <small class="wide-only">{run_id}</small>
      </th>
      <td>
        <Badge tone={statusTone(status)}>{status}</Badge>
        <small>{error_message ?? kind}</small>
      </td>
      <td class="wide-only nowrap">{from_period === null ? '' : `${from_period} to ${to_period ?? ''}`}</td>
      <td class="number wide-only">{tookText(started_at, finished_at)}</td>
      <td class="number wide-only">
        {formatInteger(run.records)}
        <small>{counted(run.pages, 'page')}</small>
      </td>
      <td class="number" data-label="Changes">
        {formatInteger(run.entries)}
      </td>
    </tr>
  );
}
