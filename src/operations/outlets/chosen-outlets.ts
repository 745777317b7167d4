import type { Config, OutletConfig } from '../../config/types.ts';
import { UsageError } from '../../core/errors.ts';

/**
 * Returns all configured outlets; with `name`, only the outlet of that name. Throws UsageError if the result would be
 * empty.
 */
export function chooseOutlets(config: Config, name?: string): readonly OutletConfig[] {
  const { outlets } = config;
  requireOutlets(config);
  const chosen = outlets.filter((outlet) => name === undefined || outlet.name === name);
  if (chosen.length > 0) return chosen;
  const known = outlets.map((outlet) => outlet.name).join(', ');
  throw new UsageError(`there is no outlet ${JSON.stringify(name)}`, `use one of ${known}`);
}

export function chooseOutlet(config: Config, name: string): OutletConfig {
  const [outlet] = chooseOutlets(config, name);
  if (outlet === undefined) throw new UsageError(`there is no outlet ${JSON.stringify(name)}`);
  return outlet;
}

export function requireOutlets({ outlets }: Config): void {
  if (outlets.length > 0) return;
  throw new UsageError('the configuration has no `outlets:`', 'add them as docs/billing-systems.md shows');
}
