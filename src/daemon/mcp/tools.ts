import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import type { Logger } from '../../core/logger.ts';
import { escapeRisky, stringifyExact } from '../../core/text/exact-json.ts';
import type { Redactor } from '../../core/text/redact.ts';
import { hasRole, type Role } from '../../core/text/roles.ts';
import type { DocumentOperation, Operation, Scope } from '../../operations/operation.ts';
import { decodeCursor, encodeCursor } from '../api/cursor.ts';
import { type Answer, applyChange, cursorPlace, readDocument, runPage } from '../api/documents.ts';
import { schemaOf } from '../api/openapi.ts';
import { ApiError, problemOf } from '../api/problem.ts';
import { badRequest, type Entry, type PageInput, parseInput } from '../api/read-input.ts';
import { type CutList, cutLists, listAt } from './cut-lists.ts';

/** The most rows in an answer, because a model reads every row. */
export const MAX_ROWS = 200;
const DEFAULT_ROWS = 50;

const TOOL: Entry = { noun: 'tool', hint: "see the tool's input schema" };

/** An operation with its description as an MCP tool. */
export interface OperationTool {
  operation: Operation;
  tool: Tool;
}

/**
 * Returns the tools that a caller may use: every operation that only reads and, if `writes` is true, the changes that
 * the role may make. Operations that take a file are omitted, because a tool cannot take one.
 */
export function toolsOf(operations: readonly Operation[], role: Role, writes: boolean): OperationTool[] {
  return operations
    .filter((operation) => operation.upload === undefined)
    .filter((operation) => operation.role === 'read' || (writes && hasRole(role, operation.role)))
    .map((operation) => ({ operation, tool: describeTool(operation) }));
}

/**
 * Returns the name of an operation as a tool. Clients accept only letters, digits, `_` and `-` in such a name. OpenAPI
 * uses the same names.
 */
export function toolName({ name }: Operation): string {
  return name.replace('.', '_');
}

function describeTool(operation: Operation): Tool {
  const { summary, details, role, input } = operation;
  const schema = schemaOf(input, 'input');
  const isRead = role === 'read';
  return {
    name: toolName(operation),
    title: summary,
    description: [`${summary}.`, details].filter(Boolean).join(' '),
    inputSchema: {
      ...schema,
      type: 'object',
      properties: { ...(schema.properties as Properties), ...pageProperties(operation) },
    },
    annotations: { title: summary, readOnlyHint: isRead, destructiveHint: !isRead, idempotentHint: true },
  };
}

type Properties = NonNullable<Tool['inputSchema']['properties']>;

function pageProperties({ kind }: Operation): Properties {
  if (kind === 'change') return {};
  if (kind === 'document') {
    return { cursor: { type: 'string', description: 'to continue a list that an earlier answer cut short' } };
  }
  return {
    limit: {
      type: 'integer',
      minimum: 1,
      maximum: MAX_ROWS,
      default: DEFAULT_ROWS,
      description: 'rows of the answer',
    },
    cursor: { type: 'string', description: 'next_cursor of the previous answer, with the same other fields' },
  };
}

/** What the tools need from the process that runs them. */
export interface ToolHost {
  logger: Logger;
  redact: Redactor;
  /** Passes the ledger and the caller to `use`, and keeps the ledger open until `use` has ended. */
  withScope<T>(signal: AbortSignal, use: (scope: Scope) => Promise<T>): Promise<T>;
}

/**
 * Runs a tool. A failure becomes an answer with `isError`, so that the model can read the reason and call the tool
 * again.
 */
export async function callTool(
  { operation, tool }: OperationTool,
  given: Record<string, unknown>,
  { host, signal }: { host: ToolHost; signal: AbortSignal },
): Promise<CallToolResult> {
  try {
    const { document, note } = await host.withScope(signal, (scope) => answer(operation, scope, given));
    return { content: [...toolText(jsonText(document), host), ...(note === null ? [] : toolText(note, host))] };
  } catch (error) {
    const { status, code, detail, hint, errors } = problemOf(error);
    if (status === 500) {
      const stack = error instanceof Error ? error.stack : undefined;
      host.logger.error({ tool: tool.name, stack }, 'a tool failed');
    }
    return { isError: true, content: toolText(jsonText({ code, detail, hint, errors }), host) };
  }
}

function toolText(text: string, { redact }: ToolHost): { type: 'text'; text: string }[] {
  return [{ type: 'text', text: redact(text) }];
}

function jsonText(value: object): string {
  return escapeRisky(stringifyExact(value));
}

interface ToolAnswer {
  document: object;
  /** How to request the rest; null if the document is complete. */
  note: string | null;
}

async function answer(operation: Operation, scope: Scope, given: Record<string, unknown>): Promise<ToolAnswer> {
  const { limit, cursor, ...fields } = given;
  if (operation.kind === 'list') {
    const page = pageOf({ limit, cursor });
    const { document, snapshot } = await runPage(operation, scope, parseInput(operation, fields, TOOL), page);
    const { next_cursor: next } = document as { next_cursor: string | null };
    return {
      document: { ...document, snapshot },
      note: next === null ? null : `There are more rows: ${askAgain(operation, next)}`,
    };
  }
  if (operation.kind === 'change') {
    const read = await applyChange(operation, scope, parseInput(operation, given, TOOL));
    return { document: { ...cutLists(read.document, MAX_ROWS).document, snapshot: read.snapshot }, note: null };
  }
  const own = limit === undefined ? fields : { ...fields, limit };
  const input = parseInput(operation, own, TOOL);
  const { cursor: from } = pageOf({ limit: undefined, cursor });
  const read = await readDocument(operation, scope, input);
  return from === null
    ? wholeDocument(operation, scope, input, read)
    : restOfList(operation, scope, { input, cursor: from }, read);
}

function pageOf({ limit = DEFAULT_ROWS, cursor = null }: { limit: unknown; cursor: unknown }): PageInput {
  const isLimit = typeof limit === 'number' && Number.isInteger(limit) && limit >= 1 && limit <= MAX_ROWS;
  const isCursor = cursor === null || typeof cursor === 'string';
  if (isLimit && isCursor) return { limit, cursor };
  const faults = [
    ...(isLimit ? [] : [{ field: 'limit', message: `expected a whole number from 1 to ${MAX_ROWS}` }]),
    ...(isCursor ? [] : [{ field: 'cursor', message: 'expected text' }]),
  ];
  throw badRequest(faults, TOOL);
}

function askAgain(operation: Operation, cursor: string): string {
  return `call ${toolName(operation)} again with the same fields and "cursor": ${JSON.stringify(cursor)}.`;
}

function wholeDocument(operation: Operation, scope: Scope, input: object, { document, snapshot }: Answer): ToolAnswer {
  const { document: shown, cut } = cutLists(document, MAX_ROWS);
  const notes = cut.map((list) => noteOf(operation, scope, input, list));
  return { document: { ...shown, snapshot }, note: notes.length === 0 ? null : notes.join('\n') };
}

function noteOf(operation: Operation, scope: Scope, input: object, { member, shown, total }: CutList): string {
  const cursor = encodeCursor(cursorPlace(operation, scope, input), [member, shown]);
  return `${member} has ${total} items, of which ${shown} are shown: ${askAgain(operation, cursor)}`;
}

/** Answers with the next items of one list of a document, starting where an earlier answer ended. */
function restOfList(
  operation: DocumentOperation<Operation['input'], object>,
  scope: Scope,
  { input, cursor }: { input: object; cursor: string },
  { document, snapshot }: Answer,
): ToolAnswer {
  const [member, from] = decodeCursor(cursorPlace(operation, scope, input), cursor);
  const start = Number(from);
  const list = typeof member === 'string' ? listAt(document, member) : null;
  if (list === null || !Number.isSafeInteger(start) || start < 0) {
    throw new ApiError(400, 'bad_cursor', 'cursor belongs to a list that is no longer there', {
      hint: 'start again without a cursor',
    });
  }
  const { document: shown, cut } = cutLists({ member, items: list.slice(start) }, MAX_ROWS);
  const notes = cut.map((each) => {
    const rest = each.member.slice('/items'.length);
    const [, index = '', ...deeper] = rest.split('/');
    const place =
      rest === ''
        ? { member: String(member), shown: start + each.shown, total: list.length }
        : { ...each, member: [member, Number(index) + start, ...deeper].join('/') };
    return noteOf(operation, scope, input, place);
  });
  return { document: { ...shown, snapshot }, note: notes.length === 0 ? null : notes.join('\n') };
}
