import { type RateCardText, rateCardsSchema } from '../../billing/rates/rate-card-schema.ts';
import { ConfigError } from '../../core/errors.ts';
import { readSettings } from '../load.ts';
import { schemaFaults, tidyFaults } from './faults.ts';

/**
 * Reads rate cards from a YAML file of their own: `rates:` with a list below it, as in the configuration.
 *
 * @throws ConfigError with every fault there is.
 */
export function loadRates(file: string, env: NodeJS.ProcessEnv): readonly RateCardText[] {
  const { value, faults } = readSettings(file, {
    namedBy: file,
    env,
    unreadable: 'Check the path and its permissions',
    empty: 'Write `rates:` with cards below it, as the sample of `usage-ledger init` shows them',
  });
  const { rates, ...others } = value as Record<string, unknown>;
  const strange = Object.keys(others).map((path) => ({
    path,
    message: 'does not belong here',
    hint: 'Write `rates:` alone into this file',
  }));
  const parsed = rateCardsSchema.safeParse(rates);
  const placed = (parsed.error?.issues ?? []).map((issue) => ({ ...issue, path: ['rates', ...issue.path] }));
  const all = tidyFaults([...faults, ...strange, ...schemaFaults(placed, value)]);
  if (parsed.success && all.length === 0) return parsed.data;
  throw new ConfigError(file, all);
}
