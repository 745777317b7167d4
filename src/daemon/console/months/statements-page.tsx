import type { z } from 'zod';
import type { rankTenants } from '../../../operations/tenants/rank-tenants.ts';
import { formatInteger } from '../../../reports/formats/columns.ts';
import { linkTo, monthName, tenantLink } from '../shell/formats.ts';
import { Layout } from '../shell/layout.tsx';
import { Empty, Field, Pages, Select, Table } from '../shell/parts.tsx';
import { StatementLinks } from '../shell/statement-links.tsx';
import type { Visit } from '../shell/visit.ts';

export const STATEMENTS_PER_PAGE = 50;

interface StatementsPageProps {
  visit: Visit;
  period: string;
  filters: { search: string | undefined; workspace: string | undefined; page: number };
  ranking: z.output<typeof rankTenants.output>;
  workspaces: readonly { id: string; name: string }[];
}

/** The page with the statements of a month. It answers: where is the statement of this tenant? */
export function StatementsPage({ visit, period, filters, ranking, workspaces }: StatementsPageProps) {
  const { search, workspace, page } = filters;
  const pageLink = (to: number) => linkTo(`/months/${period}/statements`, { search, workspace, page: String(to) });
  const heads = [{ label: 'Tenant' }, { label: 'Credits', number: true }, { label: 'Statement' }];
  const documents = workspace === undefined ? workspaces : workspaces.filter(({ id }) => id === workspace);
  return (
    <Layout visit={visit} place="months" title={`Statements of ${monthName(period)}`}>
      <p class="crumb">
        <a href="/months">Months</a> · <a href={`/months/${period}`}>{monthName(period)}</a>
      </p>
      <div class="head">
        <h1>Statements of {monthName(period)}</h1>
      </div>
      <div class="card">
        <form class="filters" method="get" action={`/months/${period}/statements`}>
          <Field name="search" label="Id, name, reference or label" type="search" long value={search} maxLength={200} />
          {workspaces.length < 2 ? null : (
            <Select
              name="workspace"
              label="Workspace"
              value={workspace}
              choices={[{ value: '', label: 'Any' }, ...workspaces.map(({ id, name }) => ({ value: id, label: name }))]}
            />
          )}
          <button type="submit">Search</button>
        </form>
        {ranking.tenants.length === 0 ? (
          <Empty>{search === undefined ? 'No tenant has usage in this month.' : 'No tenant matches.'}</Empty>
        ) : (
          <Table label="Statements" heads={heads} stacked>
            {ranking.tenants.map(({ workspace_id, tenant_id, display_name, credits_used }) => (
              <tr key={JSON.stringify([workspace_id, tenant_id])}>
                <th scope="row">
                  <a href={linkTo(tenantLink(workspace_id, tenant_id), { period })}>{display_name ?? tenant_id}</a>
                  <small>{[display_name === null ? null : tenant_id, workspace_id].filter(Boolean).join(' · ')}</small>
                </th>
                <td class="number" data-label="Credits">
                  {credits_used === null ? '' : formatInteger(credits_used)}
                </td>
                <td class="nowrap">
                  {credits_used === null ? (
                    <span class="quiet">no usage</span>
                  ) : (
                    <StatementLinks workspace={workspace_id} tenant={tenant_id} period={period} />
                  )}
                </td>
              </tr>
            ))}
          </Table>
        )}
        <Pages
          from={(page - 1) * STATEMENTS_PER_PAGE}
          shown={ranking.tenants.length}
          total={null}
          previous={page > 1 ? pageLink(page - 1) : null}
          next={ranking.more ? pageLink(page + 1) : null}
        />
      </div>
      <section class="card">
        <header>
          <h2>All tenants of a workspace</h2>
          <p>One document each</p>
        </header>
        <ul class="links columns-of-links">
          {documents.map(({ id, name }) => (
            <li key={id}>
              {name}: <StatementLinks workspace={id} period={period} />
            </li>
          ))}
        </ul>
      </section>
    </Layout>
  );
}
