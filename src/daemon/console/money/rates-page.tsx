import { counted } from '../../../core/text/words.ts';
import { applyRates } from '../../../operations/rates/apply-rates.ts';
import type { RatesComparison } from '../../../operations/rates/compare-rates.ts';
import { formatDecimal, formatInteger } from '../../../reports/formats/columns.ts';
import { ChangeForm } from '../shell/form.tsx';
import { linkTo, monthName, signedDecimal, tenantLink } from '../shell/formats.ts';
import { Layout } from '../shell/layout.tsx';
import { Card, Empty, Table, Tile } from '../shell/parts.tsx';
import { may, type Visit } from '../shell/visit.ts';
import type { ComparedRates } from './read-cards.ts';

export const APPLY_FORM = 'apply';

interface RatesPageProps {
  visit: Visit;
  compared: ComparedRates;
  applyPath: string;
}

/**
 * The page with the preview of uploaded rate cards. It answers: what would these cards have charged, and what changes
 * if they are applied?
 */
export function RatesPage({ visit, compared, applyPath }: RatesPageProps) {
  const { fileName, months, tenantCount, unpricedCount } = compared;
  const latest = months.at(-1)?.period;
  return (
    <Layout visit={visit} place="money" title={`Cards of ${fileName}`}>
      <p class="crumb">
        <a href="/money">Money</a>
      </p>
      <div class="head">
        <h1>What these cards would charge</h1>
        <p>{fileName}, not applied</p>
      </div>
      <div class="tiles">
        {months
          .filter(({ period }) => period === latest)
          .map(({ period, currency, now, other, difference }) => (
            <Tile key={currency} label={`Difference in ${monthName(period)}`}>
              <p class="figure">
                {signedDecimal(difference)} <span class="unit">{currency}</span>
              </p>
              <p class="quiet">
                {formatDecimal(other)} instead of {formatDecimal(now)}
              </p>
            </Tile>
          ))}
        <Tile label="Tenants with another amount">
          <p class="figure">{formatInteger(tenantCount)}</p>
          <p class={unpricedCount === 0 ? 'quiet' : 'odd'}>
            {unpricedCount === 0
              ? 'every tenant has a price'
              : `${counted(unpricedCount, 'month')} of tenants without a price`}
          </p>
        </Tile>
      </div>
      <Apply visit={visit} compared={compared} applyPath={applyPath} />
      <ComparedMonths title="All months" note="as if these cards had always applied" months={months} />
      <ComparedTenants compared={compared} />
      <Unpriced compared={compared} />
    </Layout>
  );
}

function Apply({ visit, compared: { preview }, applyPath }: RatesPageProps) {
  if (!may(visit, applyRates)) return null;
  if ('refused' in preview) {
    return (
      <Card title="Apply">
        <p class="empty">{preview.refused}</p>
      </Card>
    );
  }
  const { added, retired, months } = preview;
  if (added.length + retired.length === 0) {
    return (
      <Card title="Apply">
        <Empty>These cards are already active.</Empty>
      </Card>
    );
  }
  return (
    <Card title="Apply" note="Open months are repriced, closed months stay unchanged.">
      <ul class="links">
        {added.map((name) => (
          <li key={`+${name}`}>Added: {name}</li>
        ))}
        {retired.map((name) => (
          <li key={`-${name}`}>Retired: {name}</li>
        ))}
      </ul>
      {months.length === 0 ? (
        <Empty>No open month has usage.</Empty>
      ) : (
        <MonthTable label="Open months" months={months} />
      )}
      <div class="inside">
        <ChangeForm visit={visit} form={APPLY_FORM} action={applyPath} submit="Replace all rate cards with these" main>
          {null}
        </ChangeForm>
      </div>
    </Card>
  );
}

function ComparedMonths({ title, note, months }: { title: string; note: string; months: RatesComparison['months'] }) {
  return (
    <Card title={title} note={note}>
      {months.length === 0 ? <Empty>The ledger has no usage.</Empty> : <MonthTable label={title} months={months} />}
    </Card>
  );
}

function MonthTable({ label, months }: { label: string; months: RatesComparison['months'] }) {
  const heads = [{ label: 'Month' }, ...AMOUNT_HEADS];
  return (
    <Table label={label} heads={heads} stacked>
      {months.toReversed().map(({ period, ...amounts }) => (
        <tr key={`${period} ${amounts.currency}`}>
          <th scope="row">
            {monthName(period)} <span class="quiet">{amounts.currency}</span>
          </th>
          <Amounts {...amounts} />
        </tr>
      ))}
    </Table>
  );
}

const AMOUNT_HEADS = [
  { label: 'Now', number: true },
  { label: 'With these cards', number: true },
  { label: 'Difference', number: true },
];

type AmountsProps = Pick<RatesComparison['months'][number], 'now' | 'other' | 'difference'>;

function Amounts({ now, other, difference }: AmountsProps) {
  return (
    <>
      <td class="number" data-label="Now">
        {formatDecimal(now)}
      </td>
      <td class="number" data-label="With these cards">
        {formatDecimal(other)}
      </td>
      <td class="number" data-label="Difference">
        {signedDecimal(difference)}
      </td>
    </>
  );
}

function ComparedTenants({ compared: { tenants, tenantCount } }: { compared: ComparedRates }) {
  if (tenants.length === 0) return null;
  const note = tenants.length < tenantCount ? `${tenants.length} of ${formatInteger(tenantCount)}` : undefined;
  return (
    <Card title="Tenants with another amount" note={note}>
      <Table label="Tenants with another amount" heads={[{ label: 'Tenant' }, ...AMOUNT_HEADS]} stacked>
        {tenants.map(({ workspace_id, tenant_id, display_name, ...amounts }) => (
          <tr key={JSON.stringify([workspace_id, tenant_id, amounts.currency])}>
            <th scope="row">
              <a href={tenantLink(workspace_id, tenant_id)}>{display_name ?? tenant_id}</a>
              <small>
                {[display_name === null ? null : tenant_id, workspace_id, amounts.currency].filter(Boolean).join(' · ')}
              </small>
            </th>
            <Amounts {...amounts} />
          </tr>
        ))}
      </Table>
    </Card>
  );
}

function Unpriced({ compared: { unpriced, unpricedCount } }: { compared: ComparedRates }) {
  if (unpriced.length === 0) return null;
  const note = unpriced.length < unpricedCount ? `${unpriced.length} of ${formatInteger(unpricedCount)}` : undefined;
  return (
    <Card title="Without a price" note={note}>
      <Table label="Without a price" heads={[{ label: 'Tenant' }, { label: 'Month' }, { label: 'Why' }]}>
        {unpriced.map(({ workspace_id, tenant_id, period, why }) => (
          <tr key={JSON.stringify([workspace_id, tenant_id, period])}>
            <th scope="row">
              <a href={linkTo(tenantLink(workspace_id, tenant_id), { period })}>{tenant_id}</a>
              <small>{workspace_id}</small>
            </th>
            <td class="nowrap">{period}</td>
            <td>{why}</td>
          </tr>
        ))}
      </Table>
    </Card>
  );
}
