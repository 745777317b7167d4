import type { ComponentChildren } from 'preact';
import { formatMinute } from '../../core/date-time.ts';
import { addPeriods } from '../../core/period.ts';
import { counted } from '../../core/text/words.ts';
import { renderDocument } from '../../look/document.ts';
import { Badge, Card, type Cell, Empty, FigureTable, figure, Tile, type Tone } from '../../look/parts.tsx';
import { documentStyle } from '../../look/style-sheets.ts';
import { formatDecimal } from '../formats/columns.ts';
import type { MonthEnd, MonthEndWorkspace } from '../queries/month-end-record.ts';
import {
  findNotices,
  formatChangeReasons,
  formatLedgerState,
  formatMonthDifference,
  formatReadiness,
  formatWorkspaceState,
} from '../queries/month-end-words.ts';
import { formatMonth } from '../statement/statement-words.ts';

/**
 * Renders the month-end report as an HTML document that needs no other files. The result depends only on the argument.
 */
export function monthEndDocument(plan: MonthEnd): string {
  const title = `Month end ${plan.period}`;
  return renderDocument(
    { title, style: documentStyle('report') },
    <div class="report">
      <MonthEndReport plan={plan} />
    </div>,
  );
}

function MonthEndReport({ plan }: { plan: MonthEnd }) {
  const { period, at, workspaces, money, head_digest } = plan;
  const blocked = workspaces.flatMap(({ workspace_id: id, blockers }) =>
    blockers.map(({ reason, command }) => ({ words: `${id}: ${reason}`, command })),
  );
  const faults = plan.sound === false ? [{ words: 'the ledger has faults', command: 'usage-ledger verify' }] : [];
  return (
    <>
      <div class="head">
        <h1>Month end, {formatMonth('en', period)}</h1>
        <p>
          As of {formatMinute(at)} UTC; {formatLedgerState(plan)}
        </p>
      </div>
      <div class={`notice ${plan.sound === false ? 'bad' : plan.ready ? 'good' : 'odd'}`}>
        <strong>{formatReadiness(plan)}</strong>
      </div>
      <div class="tiles">
        {money.map((sum) => (
          <MoneyTile key={sum.currency} sum={sum} />
        ))}
      </div>
      <Notices title="Blocking" notices={[...faults, ...blocked]} />
      <Notices title="Also worth checking" notices={workspaces.flatMap((each) => findNotices(each, period))} />
      <WorkspacesCard workspaces={workspaces} />
      {money.map((sum) => (
        <ChangesCard key={sum.currency} sum={sum} previous={addPeriods(period, -1)} />
      ))}
      <Card title="Sign-off">
        <div class="inside sign-off">
          <p>Name</p>
          <p>Date</p>
          <p>Signature</p>
        </div>
      </Card>
      <p class="quiet small">Head digest {head_digest ?? 'unknown'}</p>
    </>
  );
}

function MoneyTile({ sum }: { sum: MonthEnd['money'][number] }) {
  return (
    <Tile label="Total of the statements">
      <p class="figure">
        {formatDecimal(sum.amount)} <span class="unit">{sum.currency}</span>
      </p>
      <p class="quiet">{formatMonthDifference(sum)}</p>
    </Tile>
  );
}

interface Notice {
  words: string;
  command: string | null;
}

function Notices({ title, notices }: { title: string; notices: readonly Notice[] }) {
  if (notices.length === 0) return null;
  return (
    <Card title={title}>
      <div class="inside">
        <ul>
          {notices.map(({ words, command }, at) => (
            <li key={at}>
              {words}
              {command === null ? null : (
                <>
                  <br />
                  <code class="command">{command}</code>
                </>
              )}
            </li>
          ))}
        </ul>
      </div>
    </Card>
  );
}

const TONES: Readonly<Record<MonthEndWorkspace['state'], Tone>> = { closed: 'good', ready: 'odd', blocked: 'bad' };

const WORKSPACE_HEADS = [
  'Workspace',
  'State',
  'Amount',
  'Previous month',
  'Tenants',
  'Unnamed',
  'Unpriced',
  'Corrected',
  'Unchanged since',
];

function WorkspacesCard({ workspaces }: Pick<MonthEnd, 'workspaces'>) {
  return (
    <Card title="Workspaces" note={counted(workspaces.length, 'workspace')}>
      {workspaces.length === 0 ? (
        <Empty>No workspace has this month.</Empty>
      ) : (
        <FigureTable label="Workspaces" heads={WORKSPACE_HEADS} rows={workspaces.map(workspaceCells)} isStacked />
      )}
    </Card>
  );
}

function workspaceCells(workspace: MonthEndWorkspace): Cell[] {
  const { workspace_id, state, tenants, unchanged_since, unnamed, unpriced, corrections, amounts } = workspace;
  const sums = (of: 'amount' | 'previous_amount') =>
    figure(
      amounts.map((money) => (
        <div key={money.currency} class="nowrap">{`${formatDecimal(money[of])} ${money.currency}`}</div>
      )),
    );
  return [
    workspace_id,
    { content: <Badge tone={TONES[state]}>{formatWorkspaceState(workspace)}</Badge> },
    sums('amount'),
    sums('previous_amount'),
    BigInt(tenants),
    BigInt(unnamed.count),
    BigInt(unpriced.count),
    BigInt(corrections.tenants),
    { content: <span class="nowrap">{unchanged_since === null ? 'never' : formatMinute(unchanged_since)}</span> },
  ];
}

function ChangesCard({ sum: { currency, largest }, previous }: { sum: MonthEnd['money'][number]; previous: string }) {
  if (largest.length === 0) return null;
  const rows = largest.map((change): Cell[] => [
    { content: tenantName(change) },
    figure(formatDecimal(change.amount)),
    figure(formatDecimal(change.previous_amount)),
    formatChangeReasons(change),
  ]);
  const title = `Largest changes in ${currency}`;
  return (
    <Card title={title}>
      <FigureTable
        label={title}
        heads={['Tenant', 'Amount', formatMonth('en', previous), 'Why']}
        rows={rows}
        isStacked
      />
    </Card>
  );
}

function tenantName({ tenant_id, workspace_id }: { tenant_id: string; workspace_id: string }): ComponentChildren {
  return (
    <>
      {tenant_id}
      <small>{workspace_id}</small>
    </>
  );
}
