import type { Config, PublishConfig } from '../../config/types.ts';
import { UsageError } from '../../core/errors.ts';

/** Where the replica lies. Throws UsageError when the configuration names none. */
export function requireReplica({ publish }: Pick<Config, 'publish'>): PublishConfig {
  if (publish !== null) return publish;
  throw new UsageError('there is no replica: the configuration has no `publish:`', 'give its address in publish.url');
}
