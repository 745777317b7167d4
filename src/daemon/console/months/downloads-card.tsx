import { linkTo } from '../shell/formats.ts';
import { Card, Table, Time } from '../shell/parts.tsx';
import type { MadeBundle } from './zip-routes.ts';

const FORMATS = ['csv', 'xlsx', 'parquet'] as const;
const FORMAT_LABELS: Readonly<Record<(typeof FORMATS)[number], string>> = {
  csv: 'CSV',
  xlsx: 'Excel',
  parquet: 'Parquet',
};

/** The views that the card offers for download as files. */
const VIEWS: readonly { view: string; label: string; about: string }[] = [
  { view: 'usage', label: 'Usage', about: 'credits and requests of each tenant' },
  { view: 'charges', label: 'Charges', about: 'the amount due from each tenant' },
  { view: 'charge_lines', label: 'Charge lines', about: 'how each amount is made up' },
  { view: 'lines', label: 'Manual lines', about: 'amounts that people added' },
  { view: 'margin', label: 'Margin', about: 'revenue, cost and margin of each tenant' },
  { view: 'closes', label: 'Closes', about: 'who closed and reopened it, and when' },
];

interface DownloadsCardProps {
  period: string;
  /** True if at least one workspace has closed the month. Without a close, a bundle would prove nothing. */
  hasClosed: boolean;
  /** The latest bundle that was made since the daemon started; null if there is none. */
  bundle: MadeBundle | null;
}

/** The card with the documents and files of a month that can be downloaded. */
export function DownloadsCard({ period, hasClosed, bundle }: DownloadsCardProps) {
  return (
    <Card title="Downloads">
      <ul class="links">
        <li>
          <a href={`/months/${period}/statements`}>Statements</a>{' '}
          <span class="quiet">for each tenant, with a proof once the month is closed</span>
        </li>
        <li>
          <a href={`/months/${period}/statements.zip`} download={`statements-${period}.zip`}>
            All statements (ZIP)
          </a>{' '}
          <span class="quiet">a page to send for each tenant</span>
        </li>
        {hasClosed ? (
          <li>
            <a href={`/months/${period}/bundle.zip`} download={`month-end-${period}.zip`}>
              Auditor's bundle (ZIP)
            </a>{' '}
            <span class="quiet">everything that is closed, with a program that verifies it</span>
          </li>
        ) : null}
        {bundle === null ? null : (
          <li class="small">
            Digest of the bundle made <Time at={new Date(bundle.madeAtMs).toISOString()} />:{' '}
            <code>{bundle.digest}</code>. Send it to the auditor separately from the file.
          </li>
        )}
      </ul>
      <Table label="Files" heads={[{ label: 'File' }, { label: 'Content', wide: true }, { label: 'Format' }]}>
        {VIEWS.map(({ view, label, about }) => (
          <tr key={view}>
            <th scope="row">{label}</th>
            <td class="wide-only">{about}</td>
            <td>
              <FormatLinks view={view} label={label} period={period} />
            </td>
          </tr>
        ))}
      </Table>
    </Card>
  );
}

function FormatLinks({ view, label, period }: { view: string; label: string; period: string }) {
  return (
    <>
      {FORMATS.map((format, at) => (
        <span key={format}>
          {at === 0 ? null : ' · '}
          <a
            href={linkTo(`/api/v1/exports/${view}`, { period, format })}
            download={`${view.replace('_', '-')}-${period}.${format}`}
            aria-label={`${label} as ${FORMAT_LABELS[format]}`}
          >
            {FORMAT_LABELS[format]}
          </a>
        </span>
      ))}
    </>
  );
}
