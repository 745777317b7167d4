import { AppError } from '../../../core/errors.ts';
import { inertText } from '../../../core/text/inert-text.ts';
import type { LedgerDb } from '../../../ledger/store/ledger-db.ts';
import { editTenant } from '../../../operations/tenants/edit-tenant.ts';
import type { TenantPageData } from '../../../reports/page/tenant-data.ts';
import { namedTenant } from '../../../reports/queries/tenants.ts';
import type { SentForm } from '../shell/change.ts';
import { ChangeForm, draftValue } from '../shell/form.tsx';
import { tenantLink } from '../shell/formats.ts';
import { Card, Field } from '../shell/parts.tsx';
import { may, type Visit } from '../shell/visit.ts';

export const TENANT_FORM = 'tenant';

/** A form that changes the name, the reference and the labels of a tenant. */
export function EditCard({ visit, data }: { visit: Visit; data: TenantPageData }) {
  if (!may(visit, editTenant)) return null;
  const { workspaceId, tenantId, name, externalRef, labels } = data;
  const value = (field: string, otherwise: string) => draftValue(visit, TENANT_FORM, field) ?? otherwise;
  return (
    <Card title="Name and reference">
      <details class="inside" open={visit.draft?.form === TENANT_FORM}>
        <summary>Edit</summary>
        <ChangeForm
          visit={visit}
          form={TENANT_FORM}
          action={`${tenantLink(workspaceId, tenantId)}/edit`}
          submit="Save"
          submitName={`Save the name and reference of ${tenantId}`}
          main
        >
          <Field
            name="display_name"
            label="Name (empty: none)"
            value={value('display_name', name === tenantId ? '' : name)}
            maxLength={1000}
          />
          <Field
            name="external_ref"
            label="Reference in the billing system (empty: none)"
            value={value('external_ref', externalRef ?? '')}
            maxLength={1000}
          />
          <fieldset>
            <legend>Labels, such as segment=large</legend>
            {shownLabels(visit, labels).map((label, at) => (
              <input key={at} name="label" value={label} maxLength={1201} aria-label={`Label ${at + 1}`} />
            ))}
          </fieldset>
        </ChangeForm>
      </details>
    </Card>
  );
}

/** The number of empty fields for new labels. */
const FREE_LABELS = 2;

/** Returns the texts of the label fields: the tenant's labels, then empty fields for new ones. */
function shownLabels({ draft }: Visit, labels: Readonly<Record<string, string>>): string[] {
  if (draft?.form === TENANT_FORM) return draft.fields.getAll('label');
  return [...Object.entries(labels).map(labelsText), ...Array.from({ length: FREE_LABELS }, () => '')];
}

function labelsText([name, value]: readonly [name: string, value: string]): string {
  return `${name}=${value}`;
}

/**
 * Saves the form and returns the sentence that the next page shows. The page shows control characters as escapes. A
 * field that still has the text that the page showed was not edited, so the ledger's text stays unchanged.
 */
export async function saveTenant(
  { run, fields }: SentForm,
  connection: LedgerDb,
  { workspace, tenant }: { workspace: string; tenant: string },
): Promise<string> {
  const before = namedTenant(connection, workspace, tenant);
  const text = (field: 'display_name' | 'external_ref'): string | null | undefined => {
    const given = (fields.get(field) ?? '').trim();
    return given === inertText(before?.[field] ?? '').trim() ? undefined : given || null;
  };
  const { notes } = await run(editTenant, {
    workspace,
    tenant_id: tenant,
    display_name: text('display_name'),
    external_ref: text('external_ref'),
    labels: labelsIn(fields.getAll('label'), before?.labels ?? {}),
  });
  return ['Saved.', ...notes].join(' ');
}

/** Reads the labels from their fields. A field with the shown text of an existing label keeps that label unchanged. */
function labelsIn(texts: readonly string[], known: Readonly<Record<string, string>>): Record<string, string> {
  const shown = new Map(Object.entries(known).map((label) => [inertText(labelsText(label)), label]));
  const labels = new Map<string, string>();
  for (const text of texts.map((each) => each.trim()).filter((each) => each !== '')) {
    const at = text.indexOf('=');
    const [name, value] = shown.get(text) ?? [text.slice(0, Math.max(0, at)).trim(), text.slice(at + 1).trim()];
    if (name === '') {
      throw new AppError('bad_label', `${JSON.stringify(text)} is not a label.`, { hint: 'Write name=value.' });
    }
    if (labels.has(name)) {
      throw new AppError('bad_label', `The label ${JSON.stringify(name)} is given twice.`, { hint: 'Remove one.' });
    }
    labels.set(name, value);
  }
  return Object.fromEntries(labels);
}
