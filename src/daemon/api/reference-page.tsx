import { Card } from '../../look/parts.tsx';
import type { Operation } from '../../operations/operation.ts';
import { reportDocument } from '../../reports/page/report-document.tsx';
import { schemaOf } from './openapi.ts';
import { DEFAULT_LIMIT, MAX_LIMIT } from './read-input.ts';

/** The page has no scripts and loads nothing. */
export const REFERENCE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Returns the reference of the API as one page. */
export function referencePage(operations: readonly Operation[], version: string): string {
  return reportDocument(
    'API',
    <>
      <p>
        Version {version}. Send a token as <code>Authorization: Bearer TOKEN</code>. The paths are below{' '}
        <code>/api/v1</code>; programs read <a href="/api/openapi.json">openapi.json</a>.
      </p>
      <p>
        A listing has {DEFAULT_LIMIT} rows, or <code>limit</code> up to {MAX_LIMIT}; pass its <code>next_cursor</code>{' '}
        as <code>cursor</code> to continue. <code>Accept: application/x-ndjson</code> or <code>text/csv</code> streams
        all rows. <code>If-None-Match</code> with the <code>ETag</code> of an answer gives 304 while it is current.
      </p>
      {operations.map((operation) => (
        <OperationCard key={operation.name} operation={operation} />
      ))}
    </>,
  );
}

function OperationCard({ operation }: { operation: Operation }) {
  const { http, summary, role, command } = operation;
  const { properties = {}, required = [] } = schemaOf(operation.input, 'input') as {
    properties?: Record<string, { description?: string; type?: unknown; enum?: unknown[] }>;
    required?: string[];
  };
  const fields = Object.entries(properties).map(([name, { description = '', enum: choices }]) => {
    const list = choices === undefined ? '' : `: ${choices.join(', ')}`;
    return { name, text: `${description}${required.includes(name) ? ' (required)' : ''}${list}` };
  });
  return (
    <Card title={`${http.method} ${http.path}`}>
      <p class="inside">
        {summary}. Role <code>{role}</code>.
        {command === null ? null : (
          <>
            {' '}
            Same as <code>usage-ledger {command} --json</code>.
          </>
        )}
      </p>
      {fields.length === 0 ? null : (
        <table>
          <tbody>
            {fields.map(({ name, text }) => (
              <tr key={name}>
                <th scope="row">
                  <code>{name}</code>
                </th>
                <td>{text}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  );
}
