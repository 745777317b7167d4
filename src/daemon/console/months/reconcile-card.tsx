import type { PRESETS } from '../../../billing/reconcile/presets.ts';
import { DECIMAL_MARKS } from '../../../billing/reconcile/read-amount.ts';
import type { WorkspaceConfig } from '../../../config/types.ts';
import { counted } from '../../../core/text/words.ts';
import { reconcileInvoices } from '../../../operations/reconciliations/reconcile-invoices.ts';
import { formatInteger } from '../../../reports/formats/columns.ts';
import { ChangeForm, draftValue, FileField } from '../shell/form.tsx';
import { Badge, Card, Empty, Field, Select, Table, Time } from '../shell/parts.tsx';
import { may, type Visit } from '../shell/visit.ts';

export const RECONCILE_FORM = 'reconcile';

/** A recorded comparison of a month, as the ledger lists it. */
export interface RecordedReconciliation {
  workspace_id: string;
  at: string;
  actor: string;
  note: string;
  file_name: string;
  matched: bigint;
  missing: bigint;
  extra: bigint;
  different: bigint;
  in_force: boolean;
}

interface ReconcileCardProps {
  visit: Visit;
  period: string;
  workspaces: readonly Pick<WorkspaceConfig, 'id' | 'name'>[];
  /** The latest first. */
  recorded: readonly RecordedReconciliation[];
}

/** The recorded comparisons of a month with invoices, and a form for another one. */
export function ReconcileCard({ visit, period, workspaces, recorded }: ReconcileCardProps) {
  return (
    <Card title="Invoices" note={recorded.length === 0 ? undefined : counted(recorded.length, 'recorded comparison')}>
      {recorded.length === 0 ? <Empty>No invoices have been compared with this month.</Empty> : null}
      {recorded.length === 0 ? null : <Recorded recorded={recorded} />}
      {may(visit, reconcileInvoices) ? (
        <details class="inside" open={visit.draft?.form === RECONCILE_FORM}>
          <summary>Compare an invoice file</summary>
          <CompareForm visit={visit} period={period} workspaces={workspaces} />
        </details>
      ) : null}
    </Card>
  );
}

function Recorded({ recorded }: Pick<ReconcileCardProps, 'recorded'>) {
  const heads = [
    { label: 'Recorded' },
    { label: 'Workspace' },
    { label: 'Result' },
    { label: 'File', wide: true },
    { label: 'By', wide: true },
  ];
  return (
    <Table label="Recorded comparisons" heads={heads}>
      {recorded.map((one) => {
        const { workspace_id, at, actor, note, file_name, matched, in_force } = one;
        const differing = one.missing + one.extra + one.different;
        return (
          <tr key={`${at} ${workspace_id}`}>
            <td>
              <Time at={at} />
            </td>
            <th scope="row">{workspace_id}</th>
            <td>
              <Badge tone={!in_force ? 'quiet' : differing === 0n ? 'good' : 'odd'}>
                {differing === 0n ? 'all match' : `${formatInteger(differing)} differ`}
              </Badge>
              <small>
                {formatInteger(matched)} match{in_force ? '' : '; reopened since'}
              </small>
            </td>
            <td class="wide-only">{file_name}</td>
            <td class="wide-only">
              {actor}
              {note === '' ? null : <small>{note}</small>}
            </td>
          </tr>
        );
      })}
    </Table>
  );
}

const PRESET_LABELS: Readonly<Record<keyof typeof PRESETS, string>> = {
  stripe: 'Stripe',
  xero: 'Xero',
  quickbooks: 'QuickBooks',
  netsuite: 'NetSuite',
  datev: 'DATEV',
};

function CompareForm({ visit, period, workspaces }: Omit<ReconcileCardProps, 'recorded'>) {
  const action = `/months/${period}/reconcile`;
  const value = (field: string) => draftValue(visit, RECONCILE_FORM, field);
  const column = (name: string, label: string) => (
    <Field name={name} label={label} value={value(name)} maxLength={200} />
  );
  return (
    <ChangeForm visit={visit} form={RECONCILE_FORM} action={action} submit="Compare" main upload wide>
      <FileField label="Invoices: CSV or Excel workbook, up to 16 MiB" accept=".csv,.txt,.tsv,.xlsx,.xlsm" />
      <Select
        name="preset"
        label="Columns"
        value={value('preset')}
        choices={[
          { value: '', label: 'Named below' },
          ...Object.entries(PRESET_LABELS).map(([preset, label]) => ({ value: preset, label })),
        ]}
      />
      {workspaces.length < 2 ? null : (
        <Select
          name="workspace"
          label="Workspace"
          value={value('workspace')}
          choices={[
            { value: '', label: 'Named in a column' },
            ...workspaces.map(({ id, name }) => ({ value: id, label: name })),
          ]}
        />
      )}
      {workspaces.length < 2 ? null : column('workspace_column', 'Column of workspaces')}
      {column('tenant_column', 'Column of tenants (tenant_id if empty)')}
      {column('amount_column', 'Column of amounts')}
      {column('credits_column', 'Column of credits')}
      {column('currency_column', 'Column of currencies')}
      {column('invoice_column', 'Column of invoice numbers')}
      {column('currency', 'Currency without such a column')}
      {column('tolerance', 'Accepted difference, such as 0.05')}
      {column('sheet', 'Sheet of the workbook (the first if empty)')}
      <Select
        name="decimal"
        label="Decimal mark"
        value={value('decimal')}
        choices={[
          { value: '', label: 'As in the file' },
          ...DECIMAL_MARKS.map((mark) => ({ value: mark, label: mark })),
        ]}
      />
      <label class="check">
        <input type="checkbox" name="minor_units" value="true" checked={value('minor_units') === 'true'} /> Amounts are
        in cents
      </label>
      <label class="check">
        <input type="checkbox" name="ledger_only" value="true" checked={value('ledger_only') === 'true'} /> Do not ask
        the service
      </label>
    </ChangeForm>
  );
}
