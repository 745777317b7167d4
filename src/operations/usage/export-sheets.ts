import { UsageError } from '../../core/errors.ts';
import type { Period } from '../../core/period.ts';
import type { Sheet } from '../../reports/formats/columns.ts';
import { type FocusGaps, readFocusSheet } from '../../reports/statement/focus-sheet.ts';
import type { Scope } from '../operation.ts';
import { chooseWorkspace } from '../workspace-choice.ts';
import { sheetOfView, type ViewInput } from './read-view.ts';

/** Returns each view as a sheet of one workbook. Throws UsageError for a view that is listed twice. */
export function sheetsOfViews(scope: Scope, views: readonly string[], input: ViewInput): Sheet[] {
  if (views.includes('focus')) throw new UsageError('focus cannot share a workbook', 'export it separately');
  const sheets = views.map((view) => sheetOfView(scope, view, input));
  const twice = sheets.find(({ name }, at) => sheets.findIndex((other) => other.name === name) !== at);
  if (twice !== undefined) throw new UsageError(`${twice.name} is listed twice`, 'list each view once');
  return sheets;
}

/**
 * Returns the charges of a month as a sheet for a FOCUS file, and a list of what is missing in it. The rows are read
 * while the file is written, so the caller must keep a read transaction open until the end.
 */
export function focusSheetOf(
  { context, connection }: Scope,
  { period, workspace, tenant }: { period: Period; workspace: string | undefined; tenant: string | undefined },
): { workspaceId: string; sheet: Sheet; gaps: FocusGaps } {
  const { config, clock } = context;
  const { id: workspaceId } = chooseWorkspace(config, workspace);
  const request = { workspaceIds: [workspaceId], period, tenantId: tenant, focus: config.focus, nowMs: clock.now() };
  return { workspaceId, ...readFocusSheet(connection, request) };
}
