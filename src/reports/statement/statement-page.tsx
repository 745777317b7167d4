import type { DocumentTenant } from '../../billing/statement/document.ts';
import { DOCUMENT_END, documentStart, renderInert } from '../../look/document.tsx';
import { Empty } from '../../look/parts.tsx';
import { documentStyle } from '../../look/style-sheets.ts';
import { type SheetFacts, StatementSheet } from './statement-sheet.tsx';

/**
 * Builds the printable page of a statement in chunks, one sheet of paper per tenant. It depends on the document only,
 * so a closed period's page is always the same to the byte. Tenants are read while they are written.
 */
export function* statementPage(statement: SheetFacts, tenants: Iterable<DocumentTenant>): Generator<string> {
  const { period, workspace_id } = statement;
  yield documentStart({ title: `Statement ${period}, ${workspace_id}`, style: documentStyle('statement') });
  // Leaves the letterhead out: its logo would be repeated for each tenant.
  const { letterhead: _, ...facts } = statement;
  let isEmpty = true;
  for (const tenant of tenants) {
    isEmpty = false;
    yield `${renderInert(<StatementSheet statement={facts} tenant={tenant} />)}\n`;
  }
  if (isEmpty) yield renderInert(<Empty>No matching tenants.</Empty>);
  yield DOCUMENT_END;
}
