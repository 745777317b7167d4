import { dirname, resolve } from 'node:path';
import { UsageError } from '../../core/errors.ts';
import { counted } from '../../core/text/words.ts';
import { requireKind } from '../../input-files/file-content.ts';
import { readInputFile } from '../../input-files/input-file.ts';
import type { StatementForm } from '../../ledger/journal/charges/commit-close.ts';
import type { Context } from '../../wiring/context.ts';

/**
 * Returns the number format and letterhead of statements. A close stores them, so that later changes do not alter its
 * statements. The logo becomes a data URL.
 */
export function statementForm({ config }: Context): Required<StatementForm> {
  const { number, letterhead } = config.statement;
  if (letterhead === null) return { number, letterhead };
  const { name, address, logo, footer, language } = letterhead;
  const file = logo === null ? null : resolve(config.file === null ? '' : dirname(config.file), logo);
  return { number, letterhead: { name, address, logo: file && logoUrl(file), footer, language } };
}

const MAX_LOGO_BYTES = 65_536;
const LOGO_REMEDY = 'set statement.letterhead.logo to a PNG, JPEG or SVG file of at most 64 KiB';

function logoUrl(path: string): string {
  const file = readInputFile(path);
  const { kind } = requireKind(file, ['png', 'jpeg', 'svg'], LOGO_REMEDY);
  if (file.bytes.length > MAX_LOGO_BYTES) {
    throw new UsageError(`${path} is too large for a logo: ${counted(file.bytes.length, 'byte')}`, LOGO_REMEDY);
  }
  return `data:image/${kind === 'svg' ? 'svg+xml' : kind};base64,${file.bytes.toString('base64')}`;
}
