import { summarizeError } from '../core/errors.ts';
import { changeOfCards } from '../ledger/journal/charges/card-store.ts';
import type { Context } from '../wiring/context.ts';

/**
 * Puts the rate cards of the configuration into force when it has some and they are others than those in force. Cards that
 * cannot be put into force keep no usage from being recorded: those before them stay.
 */
export async function applyConfiguredRates(context: Context): Promise<void> {
  const { config, clock, logger } = context;
  const { rates } = config;
  if (rates === null || rates.length === 0) return;
  const { added, retired } = changeOfCards(context.reader().connection, rates);
  if (added.length + retired.length === 0) return;
  try {
    const writer = await context.writer();
    const { periods } = await writer.call('setCards', { cards: rates, source: 'configuration', nowMs: clock.now() });
    const priced = periods.map(({ workspaceId, period }) => `${period} of ${workspaceId}`);
    logger.info(
      { added, retired, priced },
      'the rate cards of the configuration are in force; open periods are priced anew',
    );
  } catch (error) {
    const { code, message: reason } = summarizeError(error);
    if (code !== 'unclear_cards') throw error;
    logger.error(
      { reason, hint: '`usage-ledger rates check` prices the history by them' },
      'the rate cards of the configuration are not put into force',
    );
  }
}
