import { z } from 'zod';
import { UsageError } from '../../core/errors.ts';
import type { ImportedTenantName } from '../../ledger/journal/charges/names.ts';
import { changeOperation } from '../operation.ts';
import { dryRunField, idText } from '../schemas.ts';
import { chooseWorkspace } from '../workspace-choice.ts';
import { foldId } from './similar-ids.ts';

/** The maximum number of names in one request. The size of its body is limited, too. */
const MAX_NAMES = 100_000;

export const labelsSchema = z.record(z.string().max(200), z.string().max(1000));
export const nameText = z.string().max(1000).nullable();

const nameInput = z.strictObject({
  tenant_id: idText,
  display_name: nameText.default(null),
  external_ref: nameText.default(null),
  labels: labelsSchema.default({}),
});

export type NameInput = z.output<typeof nameInput>;

const ids = z.array(z.string());

export const importNames = changeOperation({
  name: 'tenants.import',
  summary: 'Import the names, references and labels of tenants',
  role: 'finance',
  input: z.strictObject({
    workspace: idText.optional().describe('the workspace; required if there are several'),
    names: z.array(nameInput).max(MAX_NAMES).describe('each replaces what the ledger has for the tenant'),
    ...dryRunField,
  }),
  output: z.strictObject({
    workspace_id: z.string(),
    dry_run: z.boolean(),
    added: ids,
    changed: ids,
    unchanged: z.int(),
    unknown: ids.describe('tenants that are not in the ledger: skipped'),
    missing: ids.describe('tenants of the ledger that are not in the request: unchanged'),
    shared: z.array(z.strictObject({ reference: z.string(), tenants: ids })).describe('references of several tenants'),
    did_you_mean: z.array(z.strictObject({ tenant_id: z.string(), known: z.string() })),
  }),
  http: { method: 'POST', path: '/tenants/import' },
  command: 'tenants import',
  async run({ context }, { workspace, names, dry_run: dryRun }) {
    const { id: workspaceId } = chooseWorkspace(context.config, workspace);
    requireUniqueIds(names, (index) => `names[${index}].tenant_id`);
    const writer = await context.existingWriter();
    const request = { workspaceId, names: names.map(toTenantName), dryRun, nowMs: context.clock.now() };
    const { workspaceId: _, ...report } = await writer.importNames(request);
    const document = {
      workspace_id: workspaceId,
      dry_run: dryRun,
      added: report.added,
      changed: report.changed,
      unchanged: report.unchanged,
      unknown: report.unknown,
      missing: report.missing,
      shared: report.shared,
      did_you_mean: likelyTenants(report.unknown, report.missing),
    };
    return { applied: !dryRun, document, notes: [] };
  },
});

export function toTenantName({ tenant_id, display_name, external_ref, labels }: NameInput): ImportedTenantName {
  const sorted = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    tenantId: tenant_id,
    displayName: display_name,
    externalRef: external_ref,
    labels: Object.fromEntries(sorted),
  };
}

/**
 * Throws UsageError for a tenant id that is empty or listed twice. `placeOf` describes where the name with this index
 * is, such as a row of a file.
 */
export function requireUniqueIds(names: readonly NameInput[], placeOf: (index: number) => string): void {
  const seen = new Set<string>();
  for (const [index, { tenant_id: id }] of names.entries()) {
    if (id.trim() === '') {
      throw new UsageError(`${placeOf(index)}: the tenant id is empty`, 'fill in the id, or delete the row');
    }
    if (seen.has(id)) {
      throw new UsageError(`${placeOf(index)}: ${JSON.stringify(id)} appears twice`, 'list each tenant once');
    }
    seen.add(id);
  }
}

/** Returns each unknown id that differs from a known id only in case or surrounding space. */
function likelyTenants(unknown: readonly string[], missing: readonly string[]): { tenant_id: string; known: string }[] {
  const byFolded = new Map(missing.map((id) => [foldId(id), id]));
  return unknown.flatMap((id) => {
    const known = byFolded.get(foldId(id));
    return known === undefined ? [] : [{ tenant_id: id, known }];
  });
}
