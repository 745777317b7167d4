import type { SilenceRow } from '../../../alerts/queries/silences.ts';
import { endSilence } from '../../../operations/alerts/end-silence.ts';
import { listSilences } from '../../../operations/alerts/list-silences.ts';
import { ALL_ROWS, type Scope } from '../../../operations/operation.ts';
import { formatInteger } from '../../../reports/formats/columns.ts';
import { ChangeForm } from '../shell/form.tsx';
import { Layout } from '../shell/layout.tsx';
import { Badge, Empty, Table, Time } from '../shell/parts.tsx';
import { may, type Visit } from '../shell/visit.ts';

const SHOWN_SILENCES = 200;

export function readSilences(scope: Scope): SilenceRow[] {
  return [...listSilences.run(scope, {}, ALL_ROWS).rows].slice(0, SHOWN_SILENCES);
}

/** The page with the silences. It answers: what is muted, until when, why, and by whom? */
export function SilencesPage({ visit, rows }: { visit: Visit; rows: readonly SilenceRow[] }) {
  const canEnd = may(visit, endSilence);
  const heads = [
    { label: 'Mutes' },
    { label: 'Reason' },
    { label: 'Until' },
    { label: 'Muted', number: true, wide: true },
    ...(canEnd ? [{ label: 'End' }] : []),
  ];
  return (
    <Layout visit={visit} place="alerts" title="Silences and plans">
      <p class="crumb">
        <a href="/alerts">Alerts</a>
      </p>
      <div class="head">
        <h1>Silences and plans</h1>
      </div>
      <div class="card">
        {rows.length === 0 ? (
          <Empty>Nothing is muted. Silence an alert, or plan growth, on the page of the alert.</Empty>
        ) : (
          <Table label="Silences and plans" heads={heads} stacked>
            {rows.map((row) => (
              <Row key={row.silence_id} row={row} visit={visit} canEnd={canEnd} />
            ))}
          </Table>
        )}
      </div>
    </Layout>
  );
}

function Row({ row, visit, canEnd }: { row: SilenceRow; visit: Visit; canEnd: boolean }) {
  const { kind, rule, tenant, period, workspace_id, up_to_credits, weekdays, hours, days_of_month } = row;
  const subject = [
    workspace_id ?? 'all workspaces',
    tenant === '*' ? 'all tenants' : tenant,
    rule === '*' ? 'every rule' : rule,
    period === '*' ? null : period,
    up_to_credits === null ? null : `up to ${formatInteger(up_to_credits)} credits`,
    weekdays,
    hours,
    days_of_month === null ? null : `days ${days_of_month}`,
  ].filter((part) => part !== null);
  return (
    <tr>
      <th scope="row">
        <Badge tone="quiet">{kind}</Badge> {subject.join(', ')}
        <small>{row.silence_id}</small>
      </th>
      <td>
        {row.reason}
        <small>{row.created_by}</small>
      </td>
      <td data-label="Until">
        <Time at={row.until} />
      </td>
      <td class="number wide-only">{formatInteger(row.muted)}</td>
      {canEnd ? (
        <td>
          <ChangeForm
            visit={visit}
            form="unsilence"
            action="/alerts/silences/end"
            submit="End"
            submitName={`End ${row.silence_id}`}
          >
            <input type="hidden" name="silence_id" value={row.silence_id} />
          </ChangeForm>
        </td>
      ) : null}
    </tr>
  );
}
