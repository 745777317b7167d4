import type { z } from 'zod';
import type { rankTenants } from '../../../operations/tenants/rank-tenants.ts';
import { formatInteger } from '../../../reports/formats/columns.ts';
import { TENANT_SORTS, type TenantSort } from '../../../reports/queries/tenant-ranking.ts';
import { changeText, linkTo, moneyText, monthName, tenantLink } from '../shell/formats.ts';
import { Layout } from '../shell/layout.tsx';
import { Empty, Field, Pages, Select, Table } from '../shell/parts.tsx';
import type { Visit } from '../shell/visit.ts';

export const TENANTS_PER_PAGE = 50;

/** The filters of the list, as read from the page's address. */
export interface TenantFilters {
  search: string | undefined;
  workspace: string | undefined;
  period: string;
  sort: TenantSort;
  page: number;
}

type Ranking = z.output<typeof rankTenants.output>;

interface TenantListProps {
  visit: Visit;
  filters: TenantFilters;
  ranking: Ranking;
  workspaces: readonly { id: string; name: string }[];
  /** The months of the ledger, the latest first. */
  months: readonly string[];
}

const SORT_LABELS: Readonly<Record<TenantSort, string>> = {
  credits: 'Credits',
  change: 'Change',
  amount: 'Charge',
  name: 'Id',
};

/**
 * The page with the list of tenants. It answers: which tenants use most, whose usage changed most, and where is a
 * certain tenant?
 */
export function TenantListPage({ visit, filters, ranking, workspaces, months }: TenantListProps) {
  const { page, ...kept } = filters;
  const from = (page - 1) * TENANTS_PER_PAGE;
  const pageLink = (to: number) => linkTo('/tenants', { ...kept, page: String(to) });
  const sortLink = (sort: TenantSort) => linkTo('/tenants', { ...kept, sort });
  const heads = [
    { label: 'Tenant', sortLink: sortLink('name'), sorted: filters.sort === 'name' },
    { label: 'Credits', number: true, sortLink: sortLink('credits'), sorted: filters.sort === 'credits' },
    { label: 'Previous month', number: true },
    { label: 'Change', number: true, sortLink: sortLink('change'), sorted: filters.sort === 'change' },
    { label: 'Charge', number: true, sortLink: sortLink('amount'), sorted: filters.sort === 'amount' },
  ];
  return (
    <Layout visit={visit} place="tenants" title="Tenants">
      <div class="head">
        <h1>Tenants</h1>
        <p>{monthName(filters.period)}</p>
      </div>
      <div class="card">
        <form class="filters" method="get" action="/tenants">
          <Field
            name="search"
            label="Id, name, reference or label"
            type="search"
            long
            value={filters.search}
            maxLength={200}
          />
          {workspaces.length < 2 ? null : (
            <Select
              name="workspace"
              label="Workspace"
              value={filters.workspace}
              choices={[{ value: '', label: 'Any' }, ...workspaces.map(({ id, name }) => ({ value: id, label: name }))]}
            />
          )}
          <Select
            name="period"
            label="Month"
            value={filters.period}
            choices={months.map((month) => ({ value: month, label: monthName(month) }))}
          />
          <Select
            name="sort"
            label="Sort by"
            value={filters.sort}
            choices={TENANT_SORTS.map((sort) => ({ value: sort, label: SORT_LABELS[sort] }))}
          />
          <button type="submit">Search</button>
        </form>
        {ranking.tenants.length === 0 ? (
          <Empty>{filters.search === undefined ? 'No tenant has usage in this month.' : 'No tenant matches.'}</Empty>
        ) : (
          <Table label="Tenants" heads={heads} stacked>
            {ranking.tenants.map((tenant) => (
              <TenantRow
                key={JSON.stringify([tenant.workspace_id, tenant.tenant_id])}
                tenant={tenant}
                period={filters.period}
                showWorkspace={workspaces.length > 1}
              />
            ))}
          </Table>
        )}
        <Pages
          from={from}
          shown={ranking.tenants.length}
          total={null}
          previous={page > 1 ? pageLink(page - 1) : null}
          next={ranking.more ? pageLink(page + 1) : null}
        />
      </div>
    </Layout>
  );
}

function TenantRow({
  tenant,
  period,
  showWorkspace,
}: {
  tenant: Ranking['tenants'][number];
  period: string;
  showWorkspace: boolean;
}) {
  const { workspace_id, tenant_id, display_name, external_ref, labels, credits_used, previous_credits } = tenant;
  const others = [
    display_name === null ? null : tenant_id,
    external_ref,
    ...Object.entries(labels).map(([name, value]) => `${name}=${value}`),
    showWorkspace ? workspace_id : null,
  ].filter((part) => part !== null);
  return (
    <tr>
      <th scope="row">
        <a href={linkTo(tenantLink(workspace_id, tenant_id), { period })}>{display_name ?? tenant_id}</a>
        {others.length === 0 ? null : <small>{others.join(' · ')}</small>}
      </th>
      <td class="number" data-label="Credits">
        {credits_used === null ? '' : formatInteger(credits_used)}
      </td>
      <td class="number" data-label="Previous month">
        {previous_credits === null ? '' : formatInteger(previous_credits)}
      </td>
      <td class="number" data-label="Change">
        {credits_used === null || previous_credits === null ? '' : (changeText(credits_used, previous_credits) ?? '')}
      </td>
      <td class="number" data-label="Charge">
        {tenant.amount === null || tenant.currency === null
          ? ''
          : moneyText({ amount: tenant.amount, currency: tenant.currency })}
      </td>
    </tr>
  );
}
