import type { ComponentChildren } from 'preact';
import type { DocumentTenant, Letterhead, StatementDocument } from '../../billing/statement/document.ts';
import { formatMinute } from '../../core/date-time.ts';
import { Badge, Empty, Tile } from '../../look/parts.tsx';
import { formatDecimal, formatInteger } from '../formats/columns.ts';
import { projectionWords } from './projection-words.ts';
import { lineWords, priceWords } from './statement-lines.ts';
import {
  formatMonth,
  localizeFigure,
  STATEMENT_WORDS,
  type StatementLanguage,
  type StatementWords,
  translateLine,
} from './statement-words.ts';

export type SheetFacts = Pick<
  StatementDocument,
  'state' | 'period' | 'workspace_id' | 'as_of' | 'certificate' | 'head_digest' | 'letterhead'
>;

type SheetTenant = Omit<DocumentTenant, 'proof'>;

interface SheetProps {
  /**
   * The facts about the statement as a whole. `certificate` and `head_digest` are null in a statement that is made for
   * a tenant.
   */
  statement: SheetFacts;
  tenant: SheetTenant;
}

/**
 * Renders one tenant's sheet of paper: first the total, the month and the usage, then the lines, and last the source of
 * the figures.
 */
export function StatementSheet({ statement, tenant }: SheetProps) {
  const { workspace_id, letterhead } = statement;
  const { tenant_id, display_name, external_ref, statement_number } = tenant;
  const language = letterhead?.language ?? 'en';
  const words = STATEMENT_WORDS[language];
  const ids = [tenant_id, external_ref, `${words.workspace} ${workspace_id}`].filter((id) => id !== null);
  return (
    <section>
      {letterhead === undefined ? null : <LetterheadRow letterhead={letterhead} />}
      <p class="quiet">{statement_number === undefined ? words.statement : `${words.statement} ${statement_number}`}</p>
      <h1>{display_name ?? tenant_id}</h1>
      <p class="quiet small">{ids.join(', ')}</p>
      <Answer statement={statement} tenant={tenant} language={language} />
      {tenant.lines.length === 0 ? (
        <Empty>{isUnused(tenant) ? words.noUsage : words.noPrice}</Empty>
      ) : (
        <Lines tenant={tenant} language={language} />
      )}
      <Origin statement={statement} words={words} />
      {letterhead?.footer == null ? null : <p class="footer quiet small">{letterhead.footer}</p>}
    </section>
  );
}

function isUnused({ credits_used, request_count, lines }: SheetTenant): boolean {
  return credits_used === 0n && request_count === 0n && lines.length === 0;
}

function LetterheadRow({ letterhead: { name, address, logo } }: { letterhead: Letterhead }) {
  // Shows the logo only if it is a `data:` URL of an image, because the document could contain any text here.
  const isImage = logo !== null && /^data:image\/(png|jpeg|svg\+xml);base64,[A-Za-z0-9+/=]*$/.test(logo);
  return (
    <div class="letterhead">
      <p>
        <strong>{name}</strong>
        {address.map((line) => (
          <>
            <br />
            {line}
          </>
        ))}
      </p>
      {isImage ? <img src={logo} alt="" /> : null}
    </div>
  );
}

function Answer({ statement, tenant, language }: SheetProps & { language: StatementLanguage }) {
  const { state, period } = statement;
  const words = STATEMENT_WORDS[language];
  const { totals, credits_used, request_count } = tenant;
  const projected = projectionWords(tenant);
  const count = (value: bigint) => localizeFigure(language, formatInteger(value));
  return (
    <div class="tiles">
      <Tile label={words.total}>
        {totals.length === 0 ? <p class="figure">{isUnused(tenant) ? words.nothingDue : words.unpriced}</p> : null}
        {totals.map(({ amount, currency }) => (
          <p key={currency} class="figure">
            {localizeFigure(language, formatDecimal(amount))} <span class="unit">{currency}</span>
          </p>
        ))}
      </Tile>
      <Tile label={words.month}>
        <p class="figure">
          <time dateTime={period}>{formatMonth(language, period)}</time>
        </p>
        <Badge tone={state === 'closed' ? 'good' : 'odd'}>{words[state]}</Badge>
        {projected === null ? null : <p class="quiet">Forecast for the month: {projected}.</p>}
      </Tile>
      <Tile label={words.usage}>
        <p class="figure">
          {count(credits_used)} <span class="unit">{words.credits}</span>
        </p>
        <p class="quiet">
          {count(request_count)} {words.requests}
        </p>
      </Tile>
    </div>
  );
}

function Lines({ tenant, language }: { tenant: SheetTenant; language: StatementLanguage }) {
  const words = STATEMENT_WORDS[language];
  const label = `${words.linesOf} ${tenant.display_name ?? tenant.tenant_id}`;
  return (
    <table aria-label={label}>
      <thead>
        <tr>
          <th scope="col">{words.line}</th>
          <FigureHead>Credits</FigureHead>
          <FigureHead>{words.price}</FigureHead>
          <FigureHead>{words.amount}</FigureHead>
        </tr>
      </thead>
      <tbody>
        {tenant.lines.map((line, at) => (
          <LineRow key={at} line={line} language={language} />
        ))}
      </tbody>
      <tfoot>
        {tenant.totals.map(({ amount, currency }) => (
          <tr key={currency}>
            <th scope="row" colSpan={3}>
              {words.total}
            </th>
            <td class="number">{`${localizeFigure(language, formatDecimal(amount))} ${currency}`}</td>
          </tr>
        ))}
      </tfoot>
    </table>
  );
}

function FigureHead({ children }: { children: ComponentChildren }) {
  return (
    <th scope="col" class="number">
      {children}
    </th>
  );
}

function LineRow({ line, language }: { line: SheetTenant['lines'][number]; language: StatementLanguage }) {
  const { credits, amount, currency, rate_card } = line;
  const figure = (text: string) => localizeFigure(language, text);
  return (
    <tr>
      <th scope="row">
        {lineLabel(line, language)}
        {rate_card === null ? null : <small>{rate_card}</small>}
      </th>
      <td class="number">{credits === null ? '' : figure(formatInteger(credits))}</td>
      <td class="number">{figure(priceWords(line))}</td>
      <td class="number">{amount === null ? '' : `${figure(formatDecimal(amount))} ${currency}`}</td>
    </tr>
  );
}

function lineLabel(line: SheetTenant['lines'][number], language: StatementLanguage): string {
  if (line.kind === 'manual') return lineWords(line);
  const label = translateLine(language, lineWords(line));
  return line.kind === 'requests' ? localizeFigure(language, label) : label;
}

function Origin({ statement, words }: { statement: SheetFacts; words: StatementWords }) {
  const { as_of, certificate, head_digest, state } = statement;
  const proof = certificate === null ? '' : `, verified by run ${certificate.run_id}`;
  return (
    <p class="quiet small">
      {words.asOf} {as_of === null ? 'never' : `${formatMinute(as_of)} UTC`}
      {proof}
      {head_digest === null ? null : (
        <>
          <br />
          {state === 'closed' ? 'Close' : 'Run'} digest {head_digest}
        </>
      )}
    </p>
  );
}
