import { linkTo } from './formats.ts';

interface StatementLinksProps {
  workspace: string;
  /** The tenant's id; absent for one document with the statements of all tenants. */
  tenant?: string;
  period: string;
}

/** Links that download a statement as a printable page and as JSON. */
export function StatementLinks({ workspace, tenant, period }: StatementLinksProps) {
  const path = `/api/v1/statements/${period}${tenant === undefined ? '' : `/${encodeURIComponent(tenant)}`}`;
  const name = `statement-${period}`;
  const subject = tenant ?? workspace;
  return (
    <>
      <a
        href={linkTo(path, { workspace, format: 'html' })}
        download={`${name}.html`}
        aria-label={`Statement of ${subject} as a page`}
      >
        Page
      </a>
      {' · '}
      <a
        href={linkTo(path, { workspace, format: 'json' })}
        download={`${name}.json`}
        aria-label={`Statement of ${subject} as JSON`}
      >
        JSON
      </a>
    </>
  );
}
