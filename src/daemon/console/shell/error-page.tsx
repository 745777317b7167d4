import { STATUS_CODES } from 'node:http';
import { sentence } from './fault-text.ts';
import { Layout } from './layout.tsx';
import type { Visit } from './visit.ts';

/** The page of an error: what failed, and what to do. */
export function ErrorPage({
  visit,
  status,
  message,
  hint,
}: {
  visit: Visit;
  status: number;
  message: string;
  hint: string | undefined;
}) {
  const name = STATUS_CODES[status] ?? 'Error';
  const title = name.charAt(0) + name.slice(1).toLowerCase();
  return (
    <Layout visit={visit} place={null} title={title}>
      <div class="head">
        <h1>{title}</h1>
      </div>
      <div class="notice bad" role="alert">
        {sentence(message)}
        {hint === undefined ? null : <p>{sentence(hint)}</p>}
      </div>
      <p>
        <a href="/">Overview</a>
      </p>
    </Layout>
  );
}
