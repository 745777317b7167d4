import type { DocumentTenant } from '../../billing/statement/document.ts';
import { DOCUMENT_END, documentStart, renderInert } from '../../look/document.ts';
import { Empty } from '../../look/parts.tsx';
import { documentStyle } from '../../look/style-sheets.ts';
import { type SheetFacts, StatementSheet } from './statement-sheet.tsx';

/**
 * The number of tenants' sheets in one chunk of the page. Each chunk is a separate write to the file; with one sheet
 * per chunk, most of the time would be spent on writing.
 */
const SHEETS_PER_PIECE = 16;

/**
 * Builds the printable page of a statement, with one sheet of paper for each tenant, and yields its HTML in chunks. The
 * page depends only on the arguments, so the page of a closed period is always the same to the byte. Tenants are read
 * one by one, while the page is written.
 */
export function* statementPage(statement: SheetFacts, tenants: Iterable<DocumentTenant>): Generator<string> {
  const { period, workspace_id } = statement;
  yield documentStart({ title: `Statement ${period}, ${workspace_id}`, style: documentStyle('statement') });
  // Leaves out the letterhead, because the page would contain its logo once for each tenant.
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
