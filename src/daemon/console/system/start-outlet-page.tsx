import type { z } from 'zod';
import type { startOutlet } from '../../../operations/outlets/start-outlet.ts';
import { formatInteger } from '../../../reports/formats/columns.ts';
import { ChangeForm } from '../shell/form.tsx';
import { monthName, tenantLink } from '../shell/formats.ts';
import { Layout } from '../shell/layout.tsx';
import { Card, Empty, Field, Table } from '../shell/parts.tsx';
import type { Visit } from '../shell/visit.ts';

const MAX_SHOWN_TENANTS = 50;
export const START_FORM = 'start';

type StartPreview = z.output<typeof startOutlet.output>;

interface StartOutletPageProps {
  visit: Visit;
  name: string;
  /** The tenant's property by which the receiver identifies a customer, as in the setting `customer`. */
  customer: string;
  /** The current month, which the form shows as an example. */
  openMonth: string;
  /** The first month to send; empty until the person chooses one. */
  from: string;
  /** A preview of the start, or the reason why it is refused; null before a month is chosen. */
  preview: StartPreview | { refused: string } | null;
}

export function startPath(name: string): string {
  return `/system/outlets/${encodeURIComponent(name)}/start`;
}

/**
 * The page that starts an outlet. It answers: what would the outlet send to its receiver, and which tenants have no
 * name there?
 */
export function StartOutletPage({ visit, name, customer, openMonth, from, preview }: StartOutletPageProps) {
  return (
    <Layout visit={visit} place="system" title={`Start ${name}`}>
      <p class="crumb">
        <a href="/system">System</a>
      </p>
      <div class="head">
        <h1>Start {name}</h1>
        <p>Usage is sent to this billing system from a month on. Nothing is sent yet.</p>
      </div>
      <div class="card">
        <form class="filters" method="get" action={startPath(name)}>
          <Field name="from" label={`Month, such as ${openMonth}`} value={from} required />
          <button type="submit">Preview</button>
        </form>
      </div>
      {preview === null ? null : 'refused' in preview ? (
        <div class="notice bad" role="alert">
          {preview.refused}
        </div>
      ) : (
        <Preview visit={visit} name={name} customer={customer} preview={preview} />
      )}
    </Layout>
  );
}

function Preview({
  visit,
  name,
  customer,
  preview,
}: Pick<StartOutletPageProps, 'visit' | 'name' | 'customer'> & { preview: StartPreview }) {
  const { from_period: from, months } = preview;
  const sendsCredits = months.some(({ credits }) => credits !== undefined);
  const heads = [
    { label: 'Month' },
    { label: 'Events', number: true },
    { label: sendsCredits ? 'Credits' : 'Requests', number: true },
    { label: 'Held', number: true },
    { label: 'Too old', number: true },
  ];
  return (
    <>
      <Card title="To be sent" note={`from ${monthName(from)} on; later usage follows as it is read`}>
        {months.length === 0 ? (
          <Empty>The ledger has no usage since {monthName(from)}. Sending begins with the next reading.</Empty>
        ) : (
          <Table label="To be sent" heads={heads} stacked>
            {months.toReversed().map(({ period, events, credits, requests, held, late }) => (
              <tr key={period}>
                <th scope="row">{monthName(period)}</th>
                <td class="number" data-label="Events">
                  {formatInteger(events)}
                </td>
                <td class="number" data-label={sendsCredits ? 'Credits' : 'Requests'}>
                  {formatInteger(credits ?? requests ?? 0n)}
                </td>
                <td class="number" data-label="Held">
                  {formatInteger(held)}
                </td>
                <td class="number" data-label="Too old">
                  {formatInteger(late)}
                </td>
              </tr>
            ))}
          </Table>
        )}
        <div class="inside">
          <ChangeForm visit={visit} form={START_FORM} action={startPath(name)} submit={`Start sending to ${name}`} main>
            <input type="hidden" name="from" value={from} />
          </ChangeForm>
        </div>
      </Card>
      <HeldTenants customer={customer} tenants={preview.tenants_without_name} />
    </>
  );
}

/** Lists the tenants that have no name at the receiver. Their events are held, not sent. */
function HeldTenants({ customer, tenants }: { customer: string; tenants: StartPreview['tenants_without_name'] }) {
  if (tenants.length === 0) return null;
  const missing = customer === 'external_ref' ? 'reference' : `label ${customer.replace('label:', '')}`;
  const shown = tenants.slice(0, MAX_SHOWN_TENANTS);
  const count = shown.length < tenants.length ? `${shown.length} of ${formatInteger(tenants.length)}` : undefined;
  return (
    <Card title={`Tenants without a ${missing}`} note={count}>
      <p class="inside">Their events are held. Add the {missing} on the page of the tenant; then they are sent.</p>
      <ul class="links">
        {shown.map(({ workspace_id, tenant_id }) => (
          <li key={JSON.stringify([workspace_id, tenant_id])}>
            <a href={tenantLink(workspace_id, tenant_id)}>{tenant_id}</a> <small>{workspace_id}</small>
          </li>
        ))}
      </ul>
    </Card>
  );
}
