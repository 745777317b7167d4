import { addLine } from '../../../operations/lines/add-line.ts';
import type { ManualLineRow } from '../../../operations/lines/list-lines.ts';
import { revokeLine } from '../../../operations/lines/revoke-line.ts';
import { BACK_FIELD } from '../shell/change.ts';
import { ChangeForm, draftValue } from '../shell/form.tsx';
import { linkTo, moneyText, monthName, tenantLink } from '../shell/formats.ts';
import { Badge, Card, Empty, Field, Select, Table, Time } from '../shell/parts.tsx';
import { may, type Visit } from '../shell/visit.ts';

export const LINE_FORM = 'line';
export const LINES_PER_PAGE = 50;

export interface LinesCardProps {
  visit: Visit;
  /** The manual lines that the page shows, the latest first. */
  lines: readonly ManualLineRow[];
  /** True if the ledger has lines that are earlier than these. */
  hasEarlier: boolean;
  /** True if the first of these lines is the latest line of the ledger. */
  isLatest: boolean;
  /** The values with which the form to add a line is filled in, from the page's address. */
  preset: { workspace: string | undefined; tenant: string | undefined; period: string };
  workspaces: readonly { id: string; name: string }[];
}

/** Returns the name of the form that revokes this line. */
export function revokeForm(lineId: bigint | number | string): string {
  return `revoke ${lineId}`;
}

/** The manual lines, the latest first, with forms that add a line and revoke one. */
export function LinesCard({ visit, lines, hasEarlier, isLatest, preset, workspaces }: LinesCardProps) {
  const heads = [
    { label: 'Tenant' },
    { label: 'Month', wide: true },
    { label: 'Amount', number: true },
    { label: 'Reason' },
  ];
  const earlier = hasEarlier ? linkTo('/money', { before: String(lines.at(-1)?.line_id) }) : null;
  return (
    <Card title="Manual lines" note="fees and credit notes, the latest first">
      {lines.length === 0 ? (
        <Empty>{isLatest ? 'No manual lines.' : 'No earlier manual lines.'}</Empty>
      ) : (
        <Table label="Manual lines" heads={heads} stacked>
          {lines.map((line) => (
            <LineRow key={line.line_id} visit={visit} line={line} />
          ))}
        </Table>
      )}
      {isLatest && earlier === null ? null : (
        <nav class="pages" aria-label="Pages of manual lines">
          <span>{isLatest ? null : <a href="/money">Latest lines</a>}</span>
          <span>
            {earlier === null ? null : (
              <a href={earlier} rel="next">
                Earlier lines
              </a>
            )}
          </span>
        </nav>
      )}
      {may(visit, addLine) ? (
        <details class="inside" open={visit.draft?.form === LINE_FORM || preset.tenant !== undefined}>
          <summary>Add a line</summary>
          <AddForm visit={visit} preset={preset} workspaces={workspaces} />
        </details>
      ) : null}
    </Card>
  );
}

function LineRow({ visit, line }: { visit: Visit; line: ManualLineRow }) {
  const { line_id, workspace_id, tenant_id, period, amount, currency, reason, actor, recorded_at, revoked_at } = line;
  const form = revokeForm(line_id);
  return (
    <tr>
      <th scope="row">
        <a href={linkTo(tenantLink(workspace_id, tenant_id), { period })}>{tenant_id}</a>
        <small>{workspace_id}</small>
        <small class="narrow-only">{period}</small>
      </th>
      <td class="nowrap wide-only">{period}</td>
      <td class="number">
        {revoked_at === null ? moneyText({ amount, currency }) : <s>{moneyText({ amount, currency })}</s>}
      </td>
      <td>
        {reason}
        <small>
          {actor}, <Time at={recorded_at} />
        </small>
        {revoked_at === null ? null : (
          <small>
            <Badge tone="quiet">revoked</Badge> {line.revoked_by}: {line.revoked_because}
          </small>
        )}
        {revoked_at === null && may(visit, revokeLine) ? (
          <details open={visit.draft?.form === form}>
            <summary class="small">Revoke</summary>
            <ChangeForm
              visit={visit}
              form={form}
              action={`/money/lines/${line_id}/revoke`}
              submit="Revoke the line"
              submitName={`Revoke the line ${line_id} of ${tenant_id}`}
            >
              <input type="hidden" name={BACK_FIELD} value={visit.path} />
              <Field name="reason" label="Reason" value={draftValue(visit, form, 'reason')} required maxLength={200} />
            </ChangeForm>
          </details>
        ) : null}
      </td>
    </tr>
  );
}

function AddForm({ visit, preset, workspaces }: Pick<LinesCardProps, 'visit' | 'preset' | 'workspaces'>) {
  const value = (field: string) => draftValue(visit, LINE_FORM, field);
  return (
    <ChangeForm visit={visit} form={LINE_FORM} action="/money/lines" submit="Add the line" main wide>
      {workspaces.length < 2 ? null : (
        <Select
          name="workspace"
          label="Workspace"
          value={value('workspace') ?? preset.workspace ?? workspaces[0]?.id}
          choices={workspaces.map(({ id, name }) => ({ value: id, label: name }))}
        />
      )}
      <Field name="tenant" label="Tenant id" value={value('tenant') ?? preset.tenant} required maxLength={1024} />
      <Field
        name="period"
        label={`Month, such as ${preset.period}`}
        value={value('period') ?? preset.period}
        required
      />
      <Field
        name="amount"
        label="Amount, such as -12.50 for a credit"
        value={value('amount')}
        required
        maxLength={40}
      />
      <Field name="currency" label="Currency" value={value('currency')} required maxLength={3} placeholder="EUR" />
      <Field name="reason" label="Reason, printed on the statement" value={value('reason')} required maxLength={200} />
    </ChangeForm>
  );
}

/** Returns the sentence that confirms an added line. */
export function addedText({
  tenant_id,
  period,
  amount,
  currency,
  booked_period,
}: {
  tenant_id: string;
  period: string;
  amount: string;
  currency: string;
  booked_period: string | null;
}): string {
  const money = moneyText({ amount, currency });
  const added = `${money} added for ${tenant_id} in ${monthName(period)}.`;
  return booked_period === null
    ? added
    : `${added} That month is closed: ${monthName(booked_period)} has a correction.`;
}
