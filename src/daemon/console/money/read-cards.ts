import { createHash } from 'node:crypto';
import { z } from 'zod';
import { parseCards } from '../../../config/load.ts';
import { AppError, ConfigError } from '../../../core/errors.ts';
import { counted } from '../../../core/text/words.ts';
import { requireKind } from '../../../input-files/file-content.ts';
import type { InputFile } from '../../../input-files/input-file.ts';
import type { Scope, SlowRead } from '../../../operations/operation.ts';
import { applyRates } from '../../../operations/rates/apply-rates.ts';
import { type CardInput, checkRates, type RatesComparison } from '../../../operations/rates/compare-rates.ts';
import { fileField } from '../../../operations/schemas.ts';
import { renderJson } from '../../../reports/formats/json.ts';
import { faultText } from '../shell/fault-text.ts';

const MAX_SHOWN_TENANTS = 200;
const MAX_SHOWN_MISTAKES = 5;

/** The changes that applying the cards would make, or the reason why they cannot be applied. */
export type ApplyPreview =
  | { added: readonly string[]; retired: readonly string[]; months: RatesComparison['months'] }
  | { refused: string };

/** A comparison of what the cards of a file would have charged with what the active cards charge. */
export interface ComparedRates {
  fileName: string;
  months: RatesComparison['months'];
  /** The first tenants of the comparison, at most MAX_SHOWN_TENANTS. `tenantCount` is the number of all. */
  tenants: RatesComparison['tenants'];
  tenantCount: number;
  unpriced: RatesComparison['unpriced'];
  unpricedCount: number;
  preview: ApplyPreview;
}

export interface ReadCards {
  cards: CardInput;
  compared: ComparedRates;
  /** A digest of the changes that applying the cards would make; empty if the caller may not apply them. */
  digest: string;
}

const input = z.strictObject({ ...fileField('the rate cards'), may_apply: z.boolean() });

/** Reads a file of rate cards and compares what they would charge with the active cards. */
export const readCards: SlowRead<typeof input, ReadCards> = {
  name: 'console.read-cards',
  role: 'read',
  input,
  isSlow: true,
  async run(scope, { file, may_apply: mayApply }) {
    const cards = cardsOf(file);
    const { months, tenants, unpriced } = await checkRates.run(scope, cards);
    const { preview, digest } = mayApply ? await previewOf(scope, cards) : { preview: { refused: '' }, digest: '' };
    const compared = {
      fileName: file.name,
      months,
      tenants: tenants.slice(0, MAX_SHOWN_TENANTS),
      tenantCount: tenants.length,
      unpriced: unpriced.slice(0, MAX_SHOWN_TENANTS),
      unpricedCount: unpriced.length,
      preview,
    };
    return { cards, compared, digest };
  },
};

async function previewOf(scope: Scope, cards: CardInput): Promise<{ preview: ApplyPreview; digest: string }> {
  try {
    const { document } = await applyRates.run(scope, { ...cards, dry_run: true });
    const { added, retired, months } = document;
    const digest = createHash('sha256').update(renderJson(document)).digest('hex');
    return { preview: { added, retired, months }, digest };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { preview: { refused: faultText(error) }, digest: '' };
  }
}

function cardsOf(file: InputFile): CardInput {
  requireKind(file, ['text', 'json'], 'write the cards as YAML, as a list below `rates:`');
  try {
    const { rates, costs } = parseCards(file.name, file.bytes.toString('utf8'));
    return { rates: rates === null ? undefined : [...rates], costs: costs === null ? undefined : [...costs] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const texts = error.faults
      .slice(0, MAX_SHOWN_MISTAKES)
      .map(({ path, message, hint }) => `${path} ${message}. ${hint}.`);
    throw new AppError('bad_cards', `${counted(error.faults.length, 'mistake')} in ${file.name}: ${texts.join(' ')}`);
  }
}
