import { summarizeError } from '../core/errors.ts';
import { cardsInConfig, compareCardsWithForce } from '../ledger/journal/charges/card-store.ts';
import type { Context } from '../wiring/context.ts';

/**
 * Activates the configured rate cards if they differ from the active ones. If the configured cards are ambiguous, the
 * previous cards stay active, and usage is still recorded.
 */
export async function applyConfiguredRates(context: Context): Promise<void> {
  const { config, clock, logger } = context;
  const { rates, costs } = cardsInConfig(config);
  const { added, retired } = compareCardsWithForce(context.reader().connection, { rates, costs });
  if (added.length + retired.length === 0) return;
  try {
    const writer = await context.writer();
    const { periods } = await writer.setCards({
      cards: rates,
      costs,
      source: 'configuration',
      nowMs: clock.now(),
    });
    const priced = periods.map(({ workspaceId, period }) => `${workspaceId}, ${period}`);
    logger.info({ added, retired, priced }, 'activated the configured rate cards and repriced open months');
  } catch (error) {
    const { code, message: reason } = summarizeError(error);
    if (code !== 'unclear_cards') throw error;
    logger.error(
      { reason, hint: 'run `usage-ledger rates check` to price the history with them' },
      'could not activate the configured rate cards, the previous ones stay active',
    );
  }
}
