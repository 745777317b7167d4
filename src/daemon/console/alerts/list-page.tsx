import type { ComponentChildren } from 'preact';
import { mutedWords } from '../../../alerts/messages/muted.ts';
import type { ListedAlert } from '../../../alerts/queries/alerts.ts';
import { FEEDBACK_LABELS } from '../../../alerts/state/feedback.ts';
import { RULES, SEVERITIES } from '../../../core/text/alert-words.ts';
import { counted } from '../../../core/text/words.ts';
import { acknowledgeAlert } from '../../../operations/alerts/acknowledge-alert.ts';
import { formatInteger } from '../../../reports/formats/columns.ts';
import { BACK_FIELD } from '../shell/change.ts';
import { FormFault, FormToken, MAX_NOTE_CHARACTERS, PersonField } from '../shell/form.tsx';
import { alertLink, linkTo, moneyText, monthName } from '../shell/formats.ts';
import { Layout } from '../shell/layout.tsx';
import { Ago, Badge, Empty, Field, Pages, Select, SeverityBadge, Table, type Tone } from '../shell/parts.tsx';
import { may, type Visit } from '../shell/visit.ts';
import { ruleLabel } from './alert-labels.ts';
import { ALERT_STATE_CHOICES, ALERTS_PER_PAGE, type AlertFilters, type AlertList } from './read-alerts.ts';

/** The name of the form that changes all selected alerts. */
export const SELECTED_FORM = 'selected';

interface ListPageProps {
  visit: Visit;
  filters: AlertFilters;
  list: AlertList;
  workspaces: readonly { id: string; name: string }[];
  /** The last day that the form proposes for a silence. */
  silenceUntil: string;
}

/**
 * The page with the list of alerts. It answers: which alerts are open, by severity and money, and who is already
 * working on them?
 */
export function AlertListPage({ visit, filters, list, workspaces, silenceUntil }: ListPageProps) {
  const { alerts, from, total } = list;
  const isOpen = filters.state === undefined;
  const title = isOpen
    ? counted(total, 'open alert')
    : counted(total, `${filters.state === 'all' ? '' : filters.state} alert`.trim());
  return (
    <Layout visit={visit} place="alerts" title="Alerts">
      <div class="head">
        <h1>{title}</h1>
        <p>
          <a href="/alerts/silences">Silences and plans</a>
        </p>
      </div>
      <div class="card">
        <AlertFilterForm filters={filters} workspaces={workspaces} />
        {alerts.length === 0 ? (
          <Empty>{isOpen ? 'No open alerts.' : 'No alerts match these filters.'}</Empty>
        ) : (
          <Selection visit={visit} filters={filters} silenceUntil={silenceUntil}>
            <AlertTable visit={visit} alerts={alerts} filters={filters} />
          </Selection>
        )}
        <Pages
          from={from}
          shown={alerts.length}
          total={total}
          previous={from === 0 ? null : pageLink(filters, from / ALERTS_PER_PAGE)}
          next={from + alerts.length < total ? pageLink(filters, from / ALERTS_PER_PAGE + 2) : null}
        />
      </div>
    </Layout>
  );
}

function pageLink({ page: _, sort, ...filters }: AlertFilters, page: number): string {
  return linkTo('/alerts', { ...filters, sort, page: String(page) });
}

/** Returns the address of the list of alerts with these filters. */
export function listLink({ page, ...filters }: AlertFilters): string {
  return linkTo('/alerts', { ...filters, page: page === 1 ? '' : String(page) });
}

function AlertFilterForm({ filters, workspaces }: Pick<ListPageProps, 'filters' | 'workspaces'>) {
  return (
    <form class="filters" method="get" action="/alerts">
      <Select
        name="state"
        label="State"
        value={filters.state}
        choices={[{ value: '', label: 'Open' }, ...choicesOf(ALERT_STATE_CHOICES)]}
      />
      <Select
        name="severity"
        label="Severity"
        value={filters.severity}
        choices={[{ value: '', label: 'Any' }, ...choicesOf(SEVERITIES)]}
      />
      <Select
        name="rule"
        label="Rule"
        value={filters.rule}
        choices={[{ value: '', label: 'Any' }, ...RULES.map((rule) => ({ value: rule, label: ruleLabel(rule) }))]}
      />
      {workspaces.length < 2 ? null : (
        <Select
          name="workspace"
          label="Workspace"
          value={filters.workspace}
          choices={[{ value: '', label: 'Any' }, ...workspaces.map(({ id, name }) => ({ value: id, label: name }))]}
        />
      )}
      <Field name="tenant" label="Tenant (id)" value={filters.tenant} />
      <Select
        name="sort"
        label="Sort by"
        value={filters.sort}
        choices={[
          { value: 'severity', label: 'Severity' },
          { value: 'worth', label: 'Worth' },
          { value: 'newest', label: 'Newest' },
        ]}
      />
      <button type="submit">Apply</button>
    </form>
  );
}

function choicesOf(values: readonly string[]) {
  return values.map((value) => ({ value, label: `${value.charAt(0).toUpperCase()}${value.slice(1)}` }));
}

/** Wraps the table in a form for the selected alerts. Visitors who may not change alerts see the table only. */
function Selection({
  visit,
  filters,
  silenceUntil,
  children,
}: Pick<ListPageProps, 'visit' | 'filters' | 'silenceUntil'> & { children: ComponentChildren }) {
  if (visit.session === null || !may(visit, acknowledgeAlert)) return <>{children}</>;
  return (
    <form method="post" action="/alerts/acknowledge" data-select>
      <FormToken session={visit.session} />
      <input type="hidden" name={BACK_FIELD} value={listLink(filters)} />
      {children}
      <div class="actions">
        <FormFault visit={visit} form={SELECTED_FORM} />
        <span class="count" aria-live="polite">
          Select alerts above
        </span>
        <PersonField session={visit.session} />
        <Field name="note" label="Note or reason" maxLength={MAX_NOTE_CHARACTERS} />
        <button class="main" type="submit">
          Acknowledge
        </button>
        <label>
          Silence until
          <input name="until" type="date" value={silenceUntil} />
        </label>
        <button type="submit" formAction="/alerts/silence">
          Silence
        </button>
        <Select name="label" label="Label" value="real" choices={choicesOf(FEEDBACK_LABELS)} />
        <button type="submit" formAction="/alerts/feedback">
          Label
        </button>
      </div>
    </form>
  );
}

function AlertTable({
  visit,
  alerts,
  filters,
}: {
  visit: Visit;
  alerts: readonly ListedAlert[];
  filters: AlertFilters;
}) {
  const canSelect = may(visit, acknowledgeAlert);
  const sortBy = (sort: AlertFilters['sort']) => linkTo('/alerts', { ...filters, page: '', sort });
  const heads = [
    { label: 'Severity', wide: true, sortLink: sortBy('severity'), sorted: filters.sort === 'severity' },
    { label: 'Alert' },
    { label: 'Credits', number: true },
    { label: 'Worth', number: true, sortLink: sortBy('worth'), sorted: filters.sort === 'worth' },
    { label: 'Since', wide: true, sortLink: sortBy('newest'), sorted: filters.sort === 'newest' },
    { label: 'State', wide: true },
  ];
  return (
    <Table label="Alerts" heads={heads} stacked {...(canSelect ? { pick: 'alerts' } : {})}>
      {alerts.map((alert) => (
        <AlertLine key={alert.alert_id} alert={alert} nowMs={visit.nowMs} canSelect={canSelect} />
      ))}
    </Table>
  );
}

/** Returns what an alert is about: its tenant, its workspace, or the part of the program that fails. */
export function alertSubject({ tenant_id, tenant_name, workspace_id, cause }: ListedAlert): string {
  return tenant_name ?? tenant_id ?? workspace_id ?? cause ?? 'usage-ledger';
}

function AlertLine({ alert, nowMs, canSelect }: { alert: ListedAlert; nowMs: number; canSelect: boolean }) {
  const { alert_id, severity, rule, workspace_id, period, first_fired_at } = alert;
  const subject = alertSubject(alert);
  const place = [ruleLabel(rule), workspace_id, period === null ? null : monthName(period)].filter(
    (part) => part !== null && part !== subject,
  );
  return (
    <tr>
      {canSelect ? (
        <td class="pick">
          <input type="checkbox" name="id" value={alert_id} aria-label={`Select ${subject}`} />
        </td>
      ) : null}
      <td class="wide-only">
        <SeverityBadge severity={severity} />
      </td>
      <th scope="row">
        <a href={alertLink(alert_id)}>{subject}</a>{' '}
        <span class="narrow-only">
          <SeverityBadge severity={severity} />
        </span>
        <small>{place.join(' · ')}</small>
      </th>
      <td class="number" data-label="Credits">
        {alert.current_credits === null ? '' : formatInteger(alert.current_credits)}
        {alert.previous_credits === null ? null : <small>{formatInteger(alert.previous_credits)} before</small>}
      </td>
      <td class="number" data-label="Worth">
        {alert.at_stake_money === null ? '' : moneyText(alert.at_stake_money)}
        {alert.at_stake_credits === null ? null : <small>{formatInteger(alert.at_stake_credits)} credits</small>}
      </td>
      <td class="wide-only">
        <Ago at={first_fired_at} nowMs={nowMs} />
      </td>
      <td class="wide-only">
        <StateBadge alert={alert} />
      </td>
    </tr>
  );
}

const STATE_TONES: Readonly<Record<string, Tone>> = { firing: 'odd', acknowledged: 'good' };

export function StateBadge({
  alert,
}: {
  alert: Pick<ListedAlert, 'state' | 'muted_because'> & { feedback?: string | null };
}) {
  const muted = mutedWords(alert.muted_because);
  return (
    <>
      <Badge tone={STATE_TONES[alert.state] ?? 'quiet'}>{alert.state}</Badge>
      {alert.feedback == null ? null : <small class="small"> {alert.feedback}</small>}
      {muted === null ? null : <small class="small quiet"> {muted}</small>}
    </>
  );
}
