import { channelsOf, routesOf, unheardRules } from '../../alerts/track/routes.ts';
import type { Config } from '../../config/types.ts';
import { type Finding, warn } from './finding.ts';

/** What no channel is told of. */
export function checkRoutes(config: Config): Finding[] {
  const routes = routesOf(channelsOf(config), config.http.publicUrl);
  const { workspaces } = config;
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
