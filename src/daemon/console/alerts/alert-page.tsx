import { mutedBy } from '../../../alerts/messages/muted.ts';
import { findsGrowth } from '../../../alerts/rules/rules.ts';
import { FEEDBACK_LABELS } from '../../../alerts/state/feedback.ts';
import { acknowledgeAlert } from '../../../operations/alerts/acknowledge-alert.ts';
import { addPlan, addSilence } from '../../../operations/alerts/add-silence.ts';
import { endSilence } from '../../../operations/alerts/end-silence.ts';
import { labelAlert } from '../../../operations/alerts/label-alert.ts';
import { formatInteger } from '../../../reports/formats/columns.ts';
import { ChangeForm, draftValue, MAX_NOTE_CHARACTERS } from '../shell/form.tsx';
import { alertLink, linkTo, monthName, tenantLink } from '../shell/formats.ts';
import { Layout } from '../shell/layout.tsx';
import { MonthChart, MonthLegend } from '../shell/month-chart.tsx';
import { Badge, Card, Empty, Field, Select, SeverityBadge, Table, Time } from '../shell/parts.tsx';
import { may, type Visit } from '../shell/visit.ts';
import { ruleLabel } from './alert-labels.ts';
import { StateBadge } from './list-page.tsx';
import type { AlertView } from './read-alert.ts';

interface AlertPageProps {
  visit: Visit;
  view: AlertView;
  /** The end date that the forms for a silence and a plan propose. */
  proposedEnd: string;
}

/**
 * The page of an alert. It answers: is the alert real, how much is it worth, why did it happen, and who has been
 * notified?
 */
export function AlertPage({ visit, view, proposedEnd }: AlertPageProps) {
  const { record, title, lines, mutedBecause } = view;
  const { alert } = record;
  return (
    <Layout visit={visit} place="alerts" title={title}>
      <p class="crumb">
        <a href="/alerts">Alerts</a>
        {alert.workspace_id === null || alert.tenant_id === null ? null : (
          <>
            {' · '}
            <a href={tenantLink(alert.workspace_id, alert.tenant_id)}>{alert.tenant_name ?? alert.tenant_id}</a>
          </>
        )}
      </p>
      <div class="head">
        <h1>{title}</h1>
        <p>
          <SeverityBadge severity={alert.severity} /> <Badge tone="quiet">{ruleLabel(alert.rule)}</Badge>{' '}
          <StateBadge
            alert={{ ...alert, muted_because: mutedBecause, feedback: record.feedback.at(-1)?.label ?? null }}
          />
        </p>
      </div>
      {lines.map((line) => (
        <p key={line}>{line}</p>
      ))}
      <div class="columns">
        <div>
          <UsageChart view={view} />
          <LargestTenants view={view} />
          <AlertHistory view={view} />
        </div>
        <div>
          <Decide visit={visit} view={view} proposedEnd={proposedEnd} />
          <Card title="Figures">
            <div class="inside">
              <dl class="facts">
                {view.facts.map(({ label, value }) => (
                  <>
                    <dt key={label}>{label}</dt>
                    <dd key={`${label} value`}>{value}</dd>
                  </>
                ))}
              </dl>
            </div>
          </Card>
        </div>
      </div>
    </Layout>
  );
}

export function UsageChart({ view: { chart } }: { view: AlertView }) {
  if (chart === null) return null;
  const rows = Array.from(
    { length: Math.max(chart.current.length, chart.previous.length) },
    (_, index) => index,
  ).filter((index) => chart.current[index] != null || chart.previous[index] != null);
  return (
    <Card title="Credits since the month began">
      <div class="inside">
        <MonthLegend data={chart} />
        <MonthChart
          data={chart}
          label={`Credits by day in ${chart.currentName} and ${chart.previousName}; the figures are below`}
        />
        <details>
          <summary>Figures by day</summary>
          <Table
            label="Figures by day"
            heads={[
              { label: 'Day' },
              { label: chart.currentName, number: true },
              { label: chart.previousName, number: true },
            ]}
            stacked
          >
            {rows.map((index) => (
              <tr key={index}>
                <th scope="row">{index + 1}</th>
                <td class="number" data-label={chart.currentName}>
                  {creditsText(chart.current[index])}
                </td>
                <td class="number" data-label={chart.previousName}>
                  {creditsText(chart.previous[index])}
                </td>
              </tr>
            ))}
          </Table>
        </details>
      </div>
    </Card>
  );
}

function creditsText(credits: bigint | null | undefined): string {
  return credits === null || credits === undefined ? '' : formatInteger(credits);
}

function LargestTenants({ view: { evidence, record } }: { view: AlertView }) {
  const largest = evidence.tenants?.largest ?? [];
  const { workspace_id } = record.alert;
  if (largest.length === 0 || workspace_id === null) return null;
  const heads = [{ label: 'Tenant' }, { label: 'Before', number: true }, { label: 'Now', number: true }];
  return (
    <Card title="Tenants that grew most">
      <Table label="Tenants that grew most" heads={heads}>
        {largest.map(({ tenant_id, previous_credits, current_credits }) => (
          <tr key={tenant_id}>
            <th scope="row">
              <a href={tenantLink(workspace_id, tenant_id)}>{tenant_id}</a>
            </th>
            <td class="number">{formatInteger(previous_credits)}</td>
            <td class="number">{formatInteger(current_credits)}</td>
          </tr>
        ))}
      </Table>
    </Card>
  );
}

function AlertHistory({ view: { history } }: { view: AlertView }) {
  return (
    <Card title="History">
      <ul class="steps">
        {history.map(({ at, title, detail }) => (
          <li key={`${at} ${title} ${detail}`}>
            <strong>{title}</strong> <span class="quiet small">{detail}</span>
            <br />
            <span class="small quiet">
              <Time at={at} />
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Decide({ visit, view, proposedEnd }: AlertPageProps) {
  const { alert, pending } = view.record;
  const isOpen = alert.state === 'firing' || alert.state === 'acknowledged';
  const silence = mutedBy(view.mutedBecause);
  const next = pending.find(({ due_at }) => due_at !== null);
  return (
    <Card title="Decide">
      <div class="inside fields">
        {next?.due_at == null ? null : (
          <p class="small quiet">
            Next message to {next.channel}: <Time at={next.due_at} />
          </p>
        )}
        {silence?.how === 'inhibited' ? (
          <p class="small">
            Covered by <a href={alertLink(silence.id)}>another alert</a>.
          </p>
        ) : null}
        {alert.state === 'firing' ? <Acknowledge visit={visit} view={view} /> : null}
        {isOpen && silence?.how === 'muted' ? <Unmute visit={visit} silenceId={silence.id} view={view} /> : null}
        {isOpen ? <Mute visit={visit} view={view} proposedEnd={proposedEnd} /> : null}
        <Feedback visit={visit} view={view} />
        {may(visit, acknowledgeAlert) ? null : <Empty>Your role may read alerts, not change them.</Empty>}
      </div>
    </Card>
  );
}

function actionOf({ record }: AlertView, action: string): string {
  return `${alertLink(record.alert.alert_id)}/${action}`;
}

function Acknowledge({ visit, view }: Pick<AlertPageProps, 'visit' | 'view'>) {
  if (!may(visit, acknowledgeAlert)) return null;
  return (
    <ChangeForm visit={visit} form="acknowledge" action={actionOf(view, 'acknowledge')} submit="Acknowledge" main>
      <Field
        name="note"
        label="Note"
        value={draftValue(visit, 'acknowledge', 'note')}
        maxLength={MAX_NOTE_CHARACTERS}
      />
    </ChangeForm>
  );
}

function Unmute({ visit, silenceId, view }: { visit: Visit; silenceId: string; view: AlertView }) {
  if (!may(visit, endSilence)) return null;
  return (
    <ChangeForm visit={visit} form="unsilence" action={actionOf(view, 'unsilence')} submit="End the silence">
      <input type="hidden" name="silence_id" value={silenceId} />
      <p class="small">
        Muted by <a href={linkTo('/alerts/silences')}>{silenceId}</a>.
      </p>
    </ChangeForm>
  );
}

function Mute({ visit, view, proposedEnd }: AlertPageProps) {
  const { alert } = view.record;
  const { projection } = view.evidence;
  const canPlan = may(visit, addPlan) && findsGrowth(alert.rule) && alert.tenant_id !== null;
  const month = alert.period === null ? '' : ` in ${monthName(alert.period)}`;
  return (
    <>
      {canPlan ? (
        <details open={visit.draft?.form === 'plan'}>
          <summary>Expect this growth</summary>
          <ChangeForm visit={visit} form="plan" action={actionOf(view, 'plan')} submit="Plan">
            <p class="small quiet">Recorded and not sent{month}, up to a number of credits.</p>
            <Field
              name="up_to"
              label="Up to credits (empty: any number)"
              value={
                draftValue(visit, 'plan', 'up_to') ?? String(projection?.high_credits ?? projection?.credits ?? '')
              }
            />
            <UntilField visit={visit} form="plan" proposedEnd={proposedEnd} />
            <ReasonField visit={visit} form="plan" />
          </ChangeForm>
        </details>
      ) : null}
      {may(visit, addSilence) ? (
        <details open={visit.draft?.form === 'silence'}>
          <summary>Silence</summary>
          <ChangeForm visit={visit} form="silence" action={actionOf(view, 'silence')} submit="Silence">
            <p class="small quiet">No messages about this rule and subject{month} until a day.</p>
            <UntilField visit={visit} form="silence" proposedEnd={proposedEnd} />
            <ReasonField visit={visit} form="silence" />
          </ChangeForm>
        </details>
      ) : null}
    </>
  );
}

function ReasonField({ visit, form }: { visit: Visit; form: string }) {
  const value = draftValue(visit, form, 'reason');
  return <Field name="reason" label="Reason" required value={value} maxLength={MAX_NOTE_CHARACTERS} />;
}

function UntilField({ visit, form, proposedEnd }: { visit: Visit; form: string; proposedEnd: string }) {
  return (
    <Field name="until" label="Until" type="date" required value={draftValue(visit, form, 'until') ?? proposedEnd} />
  );
}

function Feedback({ visit, view }: Pick<AlertPageProps, 'visit' | 'view'>) {
  if (!may(visit, labelAlert)) return null;
  const last = view.record.feedback.at(-1);
  return (
    <details open={visit.draft?.form === 'feedback'}>
      <summary>Was it right?</summary>
      <ChangeForm visit={visit} form="feedback" action={actionOf(view, 'feedback')} submit="Label">
        <Select
          name="label"
          label="Label"
          value={last?.label ?? 'real'}
          choices={FEEDBACK_LABELS.map((label) => ({ value: label, label: LABEL_WORDS[label] }))}
        />
        <Field name="note" label="Note" value={draftValue(visit, 'feedback', 'note')} maxLength={MAX_NOTE_CHARACTERS} />
      </ChangeForm>
    </details>
  );
}

const LABEL_WORDS = { real: 'Real', expected: 'Real, and expected', false: 'False' } as const;
