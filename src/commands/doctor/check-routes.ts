import { routesOf, unheardRules } from '../../alerts/track/routes.ts';
import type { Config } from '../../config/types.ts';
import { type Finding, warn } from './finding.ts';

/** What the routes of the channels leave out. Without any channel everything goes to the log. */
export function checkRoutes({ alerts, workspaces }: Config): Finding[] {
  if (alerts.channels.length === 0) return [];
  const routes = routesOf(alerts.channels);
  const found = Map.groupBy(
    workspaces.flatMap(({ id }) => unheardRules(routes, id).map((unheard) => ({ id, ...unheard }))),
    ({ severity, rules }) => `${severity} ${rules.join(', ')}`,
  );
  return [...found].map(([what, where]) => {
    const all = where.length === workspaces.length;
    return warn(
      'routes',
      `no channel is told of ${what}${all ? '' : ` of ${where.map(({ id }) => id).join(', ')}`}`,
      'add them to the `severities`, `rules` and `workspaces` of a channel, unless nobody has to know',
    );
  });
}
