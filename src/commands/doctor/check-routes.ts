import { routesOf, unheardRules } from '../../alerts/notify/routes.ts';
import type { Config } from '../../config/types.ts';
import { type Finding, warn } from './finding.ts';

/** What the routes of the channels leave out. Without any channel everything goes to the log. */
export function checkRoutes({ alerts }: Config): Finding[] {
  if (alerts.channels.length === 0) return [];
  return unheardRules(routesOf(alerts.channels)).map(({ severity, rules }) =>
    warn(
      'routes',
      `no channel is told of ${severity} ${rules.join(', ')}`,
      'add them to the `severities` and `rules` of a channel, unless nobody has to know',
    ),
  );
}
