import { counted } from '../../../core/text/words.ts';
import { reconcileInvoices } from '../../../operations/reconciliations/reconcile-invoices.ts';
import { formatDecimal, formatInteger } from '../../../reports/formats/columns.ts';
import { ChangeForm, draftValue, MAX_NOTE_CHARACTERS } from '../shell/form.tsx';
import { linkTo, monthName, signedDecimal, signedMoney, tenantLink } from '../shell/formats.ts';
import { Layout } from '../shell/layout.tsx';
import { Card, Empty, Field, Table, Tile } from '../shell/parts.tsx';
import { may, type Visit } from '../shell/visit.ts';
import type { Comparison, DifferenceKind } from './comparison.ts';

export const RECORD_FORM = 'record';

interface ComparisonPageProps {
  visit: Visit;
  period: string;
  fileName: string;
  comparison: Comparison;
  /** Hints about the file, such as misspelt tenants. */
  notes: readonly string[];
  /** The path to which the form that records the comparison is sent. */
  recordPath: string;
}

const KINDS: Readonly<Record<DifferenceKind, { label: string; remedy: string }>> = {
  missing: { label: 'Not invoiced', remedy: 'The ledger charges them. Add them to the invoices.' },
  extra: { label: 'Not in the ledger', remedy: 'The ledger has no usage of them. Check the ids in the file.' },
  late_usage: {
    label: 'Read at different times',
    remedy: 'In a closed month the difference becomes a correction. In an open one, sync and write the invoice again.',
  },
  correction: { label: 'Corrections left out', remedy: 'Add the corrections of earlier months to the invoices.' },
  manual: { label: 'Manual lines left out', remedy: 'Add the manual lines to the invoices.' },
  rounding: { label: 'Rounding', remedy: 'Accept them: compare again with an accepted difference.' },
  other_card: { label: 'Other prices', remedy: "Compare the invoices' prices with the rate cards." },
  other_currency: { label: 'Other currency', remedy: 'Correct the currency of the invoices.' },
  unexplained: { label: 'Unexplained', remedy: 'Compare each invoice with the statement of the tenant.' },
};

/**
 * The page with the result of a comparison. It answers: do the invoices match the ledger, by how much do they differ,
 * and why?
 */
export function ComparisonPage({ visit, period, fileName, comparison, notes, recordPath }: ComparisonPageProps) {
  const { tenants, differing, amounts } = comparison;
  const all = tenants.matched + differing;
  return (
    <Layout visit={visit} place="months" title={`Invoices of ${monthName(period)}`}>
      <p class="crumb">
        <a href="/months">Months</a> · <a href={`/months/${period}`}>{monthName(period)}</a>
      </p>
      <div class="head">
        <h1>Invoices of {monthName(period)}</h1>
        <p>{fileName}, not recorded</p>
      </div>
      <div class="tiles">
        <Tile label="Tenants that differ">
          <p class={`figure ${differing === 0 ? 'good' : 'odd'}`}>
            {formatInteger(differing)} <span class="unit">of {formatInteger(all)}</span>
          </p>
          <p class="quiet">
            {formatInteger(tenants.missing)} not invoiced, {formatInteger(tenants.extra)} not in the ledger,{' '}
            {formatInteger(tenants.different)} with other figures
          </p>
        </Tile>
        {amounts.map(({ currency, ledger, invoice, difference }) => (
          <Tile key={currency} label="Invoices minus ledger">
            <p class="figure">
              {signedDecimal(difference)} <span class="unit">{currency}</span>
            </p>
            <p class="quiet">
              invoices {formatDecimal(invoice)}, ledger {formatDecimal(ledger)}
            </p>
          </Tile>
        ))}
      </div>
      {notes.map((note) => (
        <div key={note} class="notice odd">
          {note}
        </div>
      ))}
      <Causes comparison={comparison} />
      <Rows comparison={comparison} period={period} />
      {may(visit, reconcileInvoices) ? (
        <RecordCard visit={visit} period={period} state={comparison.state} recordPath={recordPath} />
      ) : null}
    </Layout>
  );
}

function Causes({ comparison: { groups } }: { comparison: Comparison }) {
  const heads = [
    { label: 'Cause' },
    { label: 'Tenants', number: true },
    { label: 'Invoices minus ledger', number: true },
    { label: 'What to do' },
  ];
  return (
    <Card title="Causes">
      {groups.length === 0 ? (
        <Empty>Every tenant matches.</Empty>
      ) : (
        <Table label="Causes" heads={heads} stacked>
          {groups.map(({ kind, tenants, sums }) => (
            <tr key={kind}>
              <th scope="row">{KINDS[kind].label}</th>
              <td class="number" data-label="Tenants">
                {formatInteger(tenants)}
              </td>
              <td class="number" data-label="Invoices minus ledger">
                {sums.map(({ currency, difference }) => (
                  <div key={currency}>{signedMoney({ amount: difference, currency })}</div>
                ))}
              </td>
              <td>{KINDS[kind].remedy}</td>
            </tr>
          ))}
        </Table>
      )}
    </Card>
  );
}

function Rows({ comparison: { rows, differing }, period }: { comparison: Comparison; period: string }) {
  if (rows.length === 0) return null;
  const heads = [
    { label: 'Tenant' },
    { label: 'Credits', number: true },
    { label: 'Amount', number: true },
    { label: 'Difference', number: true },
  ];
  const note = rows.length < differing ? `the ${rows.length} largest of ${formatInteger(differing)}` : undefined;
  return (
    <Card title="Differences" note={note}>
      <Table label="Differences" heads={heads} stacked>
        {rows.map((row) => {
          const { workspace_id, tenant_id, display_name, currency, difference, kind } = row;
          return (
            <tr key={JSON.stringify([workspace_id, tenant_id, currency])}>
              <th scope="row">
                <ComparedTenant row={row} period={period} />
                <small>{[display_name === null ? null : tenant_id, workspace_id].filter(Boolean).join(' · ')}</small>
              </th>
              <td class="number" data-label="Credits">
                <Sides ledger={row.ledger_credits} invoice={row.invoice_credits} format={formatInteger} />
              </td>
              <td class="number" data-label="Amount">
                <Sides ledger={row.ledger_amount} invoice={row.invoice_amount} format={formatDecimal} />
              </td>
              <td class="number" data-label="Difference">
                {difference === null || currency === null ? '' : signedMoney({ amount: difference, currency })}
                <small>{KINDS[kind].label}</small>
              </td>
            </tr>
          );
        })}
      </Table>
    </Card>
  );
}

/** Shows the ledger's figure above the invoice's figure. */
function Sides<Value>({
  ledger,
  invoice,
  format,
}: {
  ledger: Value | null;
  invoice: Value | null;
  format: (value: Value) => string;
}) {
  return (
    <>
      {ledger === null ? null : format(ledger)}
      {invoice === null ? null : <small>{format(invoice)} invoiced</small>}
    </>
  );
}

/** The text between the ids of tenants that share a reference. */
const SHARED = ' + ';

/** Links to the page of the tenant. For tenants that share a reference, links to a search for the first of them. */
function ComparedTenant({ row, period }: { row: Comparison['rows'][number]; period: string }) {
  const { workspace_id: workspace, tenant_id: tenant, display_name, status } = row;
  const text = display_name ?? tenant;
  if (status === 'extra') return <>{text}</>;
  const [first] = tenant.split(SHARED);
  const href = tenant.includes(SHARED)
    ? linkTo('/tenants', { search: first, workspace, period })
    : linkTo(tenantLink(workspace, tenant), { period });
  return <a href={href}>{text}</a>;
}

function RecordCard({
  visit,
  period,
  state,
  recordPath,
}: {
  visit: Visit;
  period: string;
  state: Comparison['state'];
  recordPath: string;
}) {
  if (state !== null && state !== 'closed') {
    return (
      <Card title="Record">
        <p class="empty">
          <a href={`/months/${period}`}>Close the month</a> first: only a comparison with a closed month can be
          recorded.
        </p>
      </Card>
    );
  }
  return (
    <Card title="Record" note="The result, the file's digest and the invoice numbers go into the ledger.">
      <div class="inside">
        <ChangeForm visit={visit} form={RECORD_FORM} action={recordPath} submit="Record the comparison" main wide>
          <Field
            name="note"
            label="Note"
            value={draftValue(visit, RECORD_FORM, 'note')}
            maxLength={MAX_NOTE_CHARACTERS}
          />
        </ChangeForm>
      </div>
    </Card>
  );
}

/** Returns the sentence that confirms a recorded comparison and states its result. */
export function recordedText({ missing, extra, different }: Comparison['tenants']): string {
  const differing = missing + extra + different;
  return differing === 0
    ? 'Recorded: every tenant matches.'
    : `Recorded: ${counted(differing, 'tenant differs', 'tenants differ')}.`;
}
