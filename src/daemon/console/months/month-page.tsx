import type { WorkspaceConfig } from '../../../config/types.ts';
import { addPeriods } from '../../../core/period.ts';
import { counted, firstOf } from '../../../core/text/words.ts';
import { closeMonths } from '../../../operations/months/close-month.ts';
import { reopenMonth } from '../../../operations/months/reopen-month.ts';
import { formatDecimal, formatInteger } from '../../../reports/formats/columns.ts';
import type { MonthChangeReason } from '../../../reports/queries/month-changes.ts';
import type { MonthEnd, MonthEndWorkspace } from '../../../reports/queries/month-end-record.ts';
import { draftValue, FormFault, FormToken, MAX_NOTE_CHARACTERS, PersonField } from '../shell/form.tsx';
import { linkTo, moneyText, monthName, tenantLink } from '../shell/formats.ts';
import { Layout } from '../shell/layout.tsx';
import { Badge, Card, Field, Pages, Table, Tile, type Tone } from '../shell/parts.tsx';
import { may, type Visit } from '../shell/visit.ts';
import { DownloadsCard } from './downloads-card.tsx';
import { ReconcileCard, type RecordedReconciliation } from './reconcile-card.tsx';
import type { MadeBundle } from './zip-routes.ts';

export const MONTH_FORM = 'month';

interface MonthPageProps {
  visit: Visit;
  plan: MonthEnd;
  workspaces: readonly Pick<WorkspaceConfig, 'id' | 'name'>[];
  recorded: readonly RecordedReconciliation[];
  bundle: MadeBundle | null;
  /** The number of the shown page of workspaces, from 1. */
  page: number;
}

const WORKSPACES_PER_PAGE = 50;

const STATES: Readonly<Record<MonthEndWorkspace['state'], Tone>> = { closed: 'good', ready: 'odd', blocked: 'bad' };

/**
 * The page of a month. It answers: which workspaces can be closed, what blocks the others and how is that solved, and
 * how does the month compare with the previous one?
 */
export function MonthPage({ visit, plan, workspaces, recorded, bundle, page }: MonthPageProps) {
  const { period } = plan;
  const inState = (state: MonthEndWorkspace['state']) => plan.workspaces.filter((each) => each.state === state).length;
  return (
    <Layout visit={visit} place="months" title={monthName(period)}>
      <p class="crumb">
        <a href="/months">Months</a> ·{' '}
        <a href={`/months/${addPeriods(period, -1)}`}>{monthName(addPeriods(period, -1))}</a> ·{' '}
        <a href={`/months/${addPeriods(period, 1)}`}>{monthName(addPeriods(period, 1))}</a>
      </p>
      <div class="head">
        <h1>{monthName(period)}</h1>
        <p>
          {inState('closed')} closed, {inState('ready')} ready, {inState('blocked')} blocked
        </p>
      </div>
      <div class="tiles">
        {plan.money.map((sum) => (
          <MoneyTile key={sum.currency} sum={sum} period={period} />
        ))}
        <OpenQuestions workspaces={plan.workspaces} />
      </div>
      <Workspaces visit={visit} plan={plan} names={new Map(workspaces.map(({ id, name }) => [id, name]))} page={page} />
      <ReconcileCard visit={visit} period={period} workspaces={workspaces} recorded={recorded} />
      <DownloadsCard period={period} hasClosed={inState('closed') > 0} bundle={bundle} />
      {plan.money.map((sum) => (
        <Changes key={sum.currency} sum={sum} />
      ))}
    </Layout>
  );
}

function MoneyTile({ sum, period }: { sum: MonthEnd['money'][number]; period: string }) {
  const { currency, amount, previous_amount, change_percent } = sum;
  const change = change_percent === null ? '' : ` (${change_percent > 0 ? '+' : ''}${change_percent}%)`;
  return (
    <Tile label="Total of the statements">
      <p class="figure">
        {formatDecimal(amount)} <span class="unit">{currency}</span>
      </p>
      <p class="quiet">
        {moneyText({ amount: previous_amount, currency })} in {monthName(addPeriods(period, -1))}
        {change}
      </p>
    </Tile>
  );
}

function OpenQuestions({ workspaces }: { workspaces: readonly MonthEndWorkspace[] }) {
  const sum = (field: 'unnamed' | 'unpriced') => workspaces.reduce((count, each) => count + each[field].count, 0);
  const corrected = workspaces.reduce((count, { corrections }) => count + corrections.tenants, 0);
  return (
    <Tile label="Tenants to look at">
      <p class={`figure ${sum('unpriced') > 0 ? 'odd' : ''}`}>
        {formatInteger(sum('unpriced'))} <span class="unit">without a price</span>
      </p>
      <p class="quiet">
        {formatInteger(sum('unnamed'))} without a name, {formatInteger(corrected)} with corrections
      </p>
    </Tile>
  );
}

interface WorkspacesProps {
  visit: Visit;
  plan: MonthEnd;
  names: ReadonlyMap<string, string>;
  page: number;
}

/** The order of the workspaces: those that need a person's action come first. */
const STATE_ORDER: readonly MonthEndWorkspace['state'][] = ['blocked', 'ready', 'closed'];

function Workspaces({ visit, plan, names, page }: WorkspacesProps) {
  const rank = ({ state }: MonthEndWorkspace) => STATE_ORDER.indexOf(state);
  const sorted = plan.workspaces.toSorted((a, b) => rank(a) - rank(b));
  const from =
    Math.min(page - 1, Math.max(0, Math.ceil(sorted.length / WORKSPACES_PER_PAGE) - 1)) * WORKSPACES_PER_PAGE;
  const shown = sorted.slice(from, from + WORKSPACES_PER_PAGE);
  const pageLink = (to: number) => linkTo(`/months/${plan.period}`, { page: String(to) });
  const at = from / WORKSPACES_PER_PAGE + 1;
  const canChange = may(visit, closeMonths);
  const heads = [
    { label: 'Workspace' },
    { label: 'State' },
    { label: 'Credits', number: true },
    { label: 'Amount', number: true },
  ];
  const table = (
    <Table label="Workspaces" heads={heads} stacked {...(canChange ? { pick: 'workspaces' } : {})}>
      {shown.map((workspace) => (
        <WorkspaceRow
          key={workspace.workspace_id}
          workspace={workspace}
          period={plan.period}
          name={names.get(workspace.workspace_id) ?? workspace.workspace_id}
          canSelect={canChange}
        />
      ))}
    </Table>
  );
  return (
    <Card title="Workspaces" note="Closing verifies the ledger first.">
      {visit.session === null || !canChange ? (
        table
      ) : (
        <form method="post" action={`/months/${plan.period}/close`} data-select>
          <FormToken session={visit.session} />
          {table}
          <div class="actions">
            <FormFault visit={visit} form={MONTH_FORM} />
            <span class="count" aria-live="polite">
              Select workspaces above
            </span>
            <PersonField session={visit.session} />
            <Field
              name="note"
              label="Note"
              value={draftValue(visit, MONTH_FORM, 'note')}
              maxLength={MAX_NOTE_CHARACTERS}
            />
            <button class="main" type="submit" name="scope" value="ready">
              Close all that are ready
            </button>
            <button type="submit" name="scope" value="selected">
              Close selected
            </button>
            <button type="submit" name="scope" value="accept">
              Accept changes and close selected
            </button>
            {may(visit, reopenMonth) ? (
              <button type="submit" formAction={`/months/${plan.period}/reopen`}>
                Reopen selected
              </button>
            ) : null}
          </div>
        </form>
      )}
      <Pages
        from={from}
        shown={shown.length}
        total={sorted.length}
        previous={from === 0 ? null : pageLink(at - 1)}
        next={from + shown.length < sorted.length ? pageLink(at + 1) : null}
      />
    </Card>
  );
}

const SHOWN_NAMES = 3;

function WorkspaceRow({
  workspace,
  period,
  name,
  canSelect,
}: {
  workspace: MonthEndWorkspace;
  period: string;
  name: string;
  canSelect: boolean;
}) {
  const { workspace_id, state, blockers, tenants, credits_used, amounts, unnamed, unpriced, reconciled } = workspace;
  const remarks = [
    unpriced.count === 0 ? null : `no price: ${firstOf(unpriced.first, SHOWN_NAMES, unpriced.count)}`,
    unnamed.count === 0 ? null : `no name: ${firstOf(unnamed.first, SHOWN_NAMES, unnamed.count)}`,
    reconciled === 'no' ? null : `invoices ${reconciled === 'yes' ? 'match' : 'differ'}`,
  ].filter((remark) => remark !== null);
  return (
    <tr>
      {canSelect ? (
        <td class="pick">
          <input type="checkbox" name="id" value={workspace_id} aria-label={`Select ${name}`} />
        </td>
      ) : null}
      <th scope="row">
        <a href={linkTo('/tenants', { workspace: workspace_id, period, sort: 'amount' })}>{name}</a>
        {name === workspace_id ? null : <small>{workspace_id}</small>}
        <small class="nowrap">
          <a href={linkTo('/report', { workspace: workspace_id, period })}>Report</a> ·{' '}
          <a href={linkTo(`/months/${period}/statements`, { workspace: workspace_id })}>Statements</a>
        </small>
      </th>
      <td class="state">
        <Badge tone={STATES[state]}>{state}</Badge>
        {blockers.map(({ kind, reason, command }) => (
          <div key={kind} class="small">
            {reason}
            {command === null ? null : (
              <>
                {' '}
                <code class="command">{command}</code>
              </>
            )}
          </div>
        ))}
        {remarks.map((remark) => (
          <div key={remark} class="small quiet">
            {remark}
          </div>
        ))}
      </td>
      <td class="number" data-label="Credits">
        {formatInteger(credits_used)}
        <small>{counted(tenants, 'tenant')}</small>
      </td>
      <td class="number">
        {amounts.map(({ currency, amount, previous_amount }) => (
          <div key={currency}>
            {moneyText({ amount, currency })}
            <div class="small quiet">{formatDecimal(previous_amount)} before</div>
          </div>
        ))}
      </td>
    </tr>
  );
}

const REASONS: Readonly<Record<MonthChangeReason, string>> = {
  new: 'new tenant',
  gone: 'no longer charged',
  usage: 'usage',
  card: 'other rate card',
  corrections: 'corrections',
  lines: 'manual lines',
  requests: 'requests',
};

function Changes({ sum: { currency, largest } }: { sum: MonthEnd['money'][number] }) {
  if (largest.length === 0) return null;
  const heads = [
    { label: 'Tenant' },
    { label: 'Amount', number: true },
    { label: 'Previous month', number: true },
    { label: 'Why', wide: true },
  ];
  return (
    <Card title={`Largest changes in ${currency}`} note={counted(largest.length, 'tenant')}>
      <Table label={`Largest changes in ${currency}`} heads={heads} stacked>
        {largest.map(({ workspace_id, tenant_id, amount, previous_amount, reasons }) => (
          <tr key={`${workspace_id} ${tenant_id}`}>
            <th scope="row">
              <a href={tenantLink(workspace_id, tenant_id)}>{tenant_id}</a>
              <small>{workspace_id}</small>
            </th>
            <td class="number" data-label="Amount">
              {formatDecimal(amount)}
            </td>
            <td class="number" data-label="Previous month">
              {formatDecimal(previous_amount)}
            </td>
            <td class="wide-only">{reasons.map((reason) => REASONS[reason]).join(', ')}</td>
          </tr>
        ))}
      </Table>
    </Card>
  );
}
