import { isoTime } from '../../../core/clock.ts';
import { counted } from '../../../core/text/words.ts';
import type { WorkspaceLine, WorkspaceState } from '../../../freshness/workspace-status.ts';
import type { MonthSummary } from '../../../operations/months/list-months.ts';
import { describeOutletProblems } from '../../../outlets/outlet-status.ts';
import { formatInteger, timeAgo } from '../../../reports/formats/columns.ts';
import { alertLink, changeText, linkTo, minuteName, moneyText, monthName, splitSummary } from '../shell/formats.ts';
import { Layout } from '../shell/layout.tsx';
import { Ago, Badge, Card, Empty, Table, Tile, type Tone } from '../shell/parts.tsx';
import type { Visit } from '../shell/visit.ts';
import type { Overview } from './read-overview.ts';

const REFRESH_SECONDS = 30;
const SHOWN_WORKSPACES = 20;

export const FRESHNESS_STATES: Readonly<Record<WorkspaceState, { label: string; tone: Tone }>> = {
  stale: { label: 'stale', tone: 'bad' },
  failed: { label: 'failed', tone: 'bad' },
  never: { label: 'never synced', tone: 'odd' },
  fresh: { label: 'fresh', tone: 'good' },
  ended: { label: 'ended', tone: 'quiet' },
  not_configured: { label: 'not configured', tone: 'quiet' },
};

/** Something that a person should do, with a link to the page where they can do it. */
interface Task {
  tone: Tone;
  kind: string;
  text: string;
  link: string;
  detail?: string;
  value?: string;
}

/** The overview page. It answers: are all figures up to date, what does this month total, and what needs attention? */
export function OverviewPage({ visit, overview }: { visit: Visit; overview: Overview }) {
  const tasks = tasksOf(overview, visit.nowMs);
  const isHealthy = !tasks.some(({ tone }) => tone === 'bad');
  return (
    <Layout
      visit={visit}
      place="overview"
      title={isHealthy ? 'Overview' : 'Needs attention'}
      refreshSeconds={REFRESH_SECONDS}
    >
      <div class="head">
        <h1>{isHealthy ? 'Everything is running' : 'Needs attention'}</h1>
        <p>
          {minuteName(isoTime(visit.nowMs), visit.timezone)} {visit.timezone}
        </p>
      </div>
      <div class="tiles">
        <FreshnessTile overview={overview} nowMs={visit.nowMs} />
        <MoneyTiles months={overview.months} />
        <AlertsTile overview={overview} />
      </div>
      <Tasks tasks={tasks} />
      <FreshWorkspaces workspaces={overview.workspaces} nowMs={visit.nowMs} />
    </Layout>
  );
}

function FreshnessTile({ overview: { workspaces }, nowMs }: { overview: Overview; nowMs: number }) {
  const read = workspaces.filter(({ configured, state }) => configured && state !== 'ended');
  const fresh = read.filter(({ state }) => state === 'fresh');
  const times = read.map(({ last_complete_run_at: at }) => at);
  const oldest = times.some((at) => at === null) ? null : (times.sort()[0] ?? null);
  return (
    <Tile label="Fresh workspaces">
      <p class={`figure ${fresh.length === read.length ? 'good' : 'bad'}`}>
        {fresh.length} <span class="unit">of {read.length}</span>
      </p>
      <p class="quiet">Oldest complete reading: {timeAgo(oldest, nowMs)}</p>
    </Tile>
  );
}

function MoneyTiles({ months: { period, current, previous, forecast } }: { months: Overview['months'] }) {
  const label = `${monthName(period)} to date`;
  if (current === null) {
    return (
      <Tile label={label}>
        <p class="figure quiet">No reading yet</p>
      </Tile>
    );
  }
  const credits = (
    <Tile label={`Credits, ${label}`}>
      <p class="figure">{formatInteger(current.credits_used)}</p>
      <Comparison
        now={forecast?.credits_used ?? null}
        text={forecast === null ? null : formatInteger(forecast.credits_used)}
        before={previous?.credits_used ?? null}
        beforeText={
          previous === null ? null : `${formatInteger(previous.credits_used)} in ${monthName(previous.period)}`
        }
      />
    </Tile>
  );
  const money = current.amounts.map((sum) => {
    const comes = forecast?.amounts.find(({ currency }) => currency === sum.currency);
    const before = previous?.amounts.find(({ currency }) => currency === sum.currency);
    return (
      <Tile key={sum.currency} label={label}>
        <p class="figure">
          {moneyText(sum).replace(` ${sum.currency}`, '')} <span class="unit">{sum.currency}</span>
        </p>
        <Comparison
          now={comes?.amount_minor ?? null}
          text={comes === undefined ? null : moneyText(comes)}
          before={before?.amount_minor ?? null}
          beforeText={
            before === undefined ? null : `${moneyText(before)} in ${monthName((previous as MonthSummary).period)}`
          }
        />
      </Tile>
    );
  });
  return (
    <>
      {money}
      {credits}
    </>
  );
}

function Comparison({
  now,
  text,
  before,
  beforeText,
}: {
  now: bigint | null;
  text: string | null;
  before: bigint | null;
  beforeText: string | null;
}) {
  const change = now === null || before === null ? null : changeText(now, before);
  return (
    <p class="quiet figures">
      {text === null ? 'No forecast on the first day' : `Forecast ${text}`}
      {change === null ? '' : ` (${change})`}
      {beforeText === null ? '' : `; ${beforeText}`}
    </p>
  );
}

function AlertsTile({ overview: { openAlerts } }: { overview: Overview }) {
  return (
    <Tile label="Open alerts">
      <p class={`figure ${openAlerts.critical > 0 ? 'bad' : ''}`}>{formatInteger(openAlerts.total)}</p>
      <p class="quiet">
        <a href={linkTo('/alerts', { severity: 'critical' })}>{openAlerts.critical} critical</a>
      </p>
    </Tile>
  );
}

function Tasks({ tasks }: { tasks: readonly Task[] }) {
  return (
    <Card title="To do">
      {tasks.length === 0 ? (
        <Empty>Nothing needs attention.</Empty>
      ) : (
        <ul class="todo">
          {tasks.map(({ tone, kind, text, link, detail, value }) => (
            <li key={`${kind} ${link} ${text}`}>
              <span>
                <Badge tone={tone}>{kind}</Badge>
              </span>
              <a href={link}>{text}</a>
              {value === undefined ? null : <span class="value">{value}</span>}
              {detail === undefined ? null : <p>{detail}</p>}
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function tasksOf(overview: Overview, nowMs: number): Task[] {
  const { faults, workspaces, alerts, openAlerts, outbox, outlets, months } = overview;
  const tasks: Task[] = faults
    .filter(({ code }) => code !== 'workspace_stale')
    .map(({ message }) => ({ tone: 'bad', kind: 'system', text: message, link: '/system' }));
  for (const workspace of workspaces.filter(({ state }) => state === 'stale' || state === 'failed')) {
    tasks.push(workspaceTask(workspace, nowMs));
  }
  for (const alert of alerts) {
    const [text, detail] = splitSummary(alert.summary);
    const tone = alert.severity === 'critical' ? 'bad' : 'odd';
    const task: Task = { tone, kind: alert.severity, text, link: alertLink(alert.alert_id) };
    if (detail !== '') task.detail = detail;
    if (alert.at_stake_money !== null) task.value = moneyText(alert.at_stake_money);
    tasks.push(task);
  }
  const more = openAlerts.total - alerts.length;
  if (more > 0) {
    tasks.push({ tone: 'quiet', kind: 'alerts', text: counted(more, 'more open alert'), link: '/alerts' });
  }
  if (outbox.dead > 0) {
    const text = `${counted(outbox.dead, 'notification')} could not be delivered`;
    tasks.push({ tone: 'bad', kind: 'system', text, link: '/system' });
  }
  for (const outlet of outlets) {
    const trouble = describeOutletProblems(outlet, false);
    if (trouble === null) continue;
    tasks.push({ tone: 'odd', kind: 'outlet', text: `${outlet.name}: ${trouble}`, link: '/system' });
  }
  const last = months.previous;
  if (last !== null && last.closed < last.workspaces) {
    const text = `${monthName(last.period)} is closed in ${last.closed} of ${counted(last.workspaces, 'workspace')}`;
    tasks.push({ tone: 'odd', kind: 'month end', text, link: `/months/${last.period}` });
  }
  return tasks;
}

function workspaceTask(
  { name, workspace_id, state, last_complete_run_at, last_run }: WorkspaceLine,
  nowMs: number,
): Task {
  const read =
    last_complete_run_at === null ? 'never read completely' : `last read ${timeAgo(last_complete_run_at, nowMs)}`;
  const task: Task = {
    tone: 'bad',
    kind: state,
    text: `${name}: ${read}`,
    link: linkTo('/runs', { workspace: workspace_id }),
  };
  const message = last_run?.error_message ?? null;
  if (message !== null) task.detail = message;
  return task;
}

function FreshWorkspaces({ workspaces, nowMs }: { workspaces: readonly WorkspaceLine[]; nowMs: number }) {
  const heads = [
    { label: 'Workspace' },
    { label: 'State' },
    { label: 'Last complete' },
    { label: 'Next', wide: true },
    { label: 'Months', wide: true },
    { label: 'Open alerts', number: true },
  ];
  return (
    <Card title="Workspaces" note={<a href="/runs">All runs</a>}>
      <Table label="Workspaces" heads={heads} stacked>
        {workspaces.slice(0, SHOWN_WORKSPACES).map((workspace) => (
          <FreshWorkspaceRow key={workspace.workspace_id} workspace={workspace} nowMs={nowMs} />
        ))}
      </Table>
      {workspaces.length > SHOWN_WORKSPACES ? (
        <Empty>
          and <a href="/runs">{counted(workspaces.length - SHOWN_WORKSPACES, 'more workspace')}</a>
        </Empty>
      ) : null}
    </Card>
  );
}

function FreshWorkspaceRow({ workspace, nowMs }: { workspace: WorkspaceLine; nowMs: number }) {
  const { name, workspace_id, state, last_complete_run_at, next_attempt_at, covers_from, covers_to, open_alerts } =
    workspace;
  const { label, tone } = FRESHNESS_STATES[state];
  return (
    <tr>
      <th scope="row">
        <a href={linkTo('/runs', { workspace: workspace_id })}>{name}</a>
        {name === workspace_id ? null : <small>{workspace_id}</small>}
      </th>
      <td>
        <Badge tone={tone}>{label}</Badge>
      </td>
      <td data-label="Last complete">
        <Ago at={last_complete_run_at} nowMs={nowMs} />
      </td>
      <td class="wide-only">{next_attempt_at === null ? '' : <Ago at={next_attempt_at} nowMs={nowMs} />}</td>
      <td class="wide-only nowrap">{covers_from === null ? '' : `${covers_from} to ${covers_to ?? ''}`}</td>
      <td class="number" data-label="Open alerts">
        {open_alerts === 0 ? (
          0
        ) : (
          <a href={linkTo('/alerts', { workspace: workspace_id })}>{formatInteger(open_alerts)}</a>
        )}
      </td>
    </tr>
  );
}
