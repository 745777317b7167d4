import type { DocumentTenant } from '../../billing/statement/document.ts';
import { DOCUMENT_END, documentStart, renderInert } from '../../look/document.ts';
import { Empty } from '../../look/parts.tsx';
import { documentStyle } from '../../look/style-sheets.ts';
import { type SheetFacts, StatementSheet } from './statement-sheet.tsx';

/** Each piece is written to the file on its own, so a piece of one sheet would spend most of the time on writing. */
const SHEETS_PER_PIECE = 16;

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
  let piece = '';
  let sheets = 0;
  for (const tenant of tenants) {
    isEmpty = false;
    piece += `${renderInert(<StatementSheet statement={facts} tenant={tenant} />)}\n`;
    sheets += 1;
    if (sheets < SHEETS_PER_PIECE) continue;
    yield piece;
    piece = '';
    sheets = 0;
  }
  yield `${isEmpty ? renderInert(<Empty>No matching tenants.</Empty>) : piece}${DOCUMENT_END}`;
}
