import { isDeepStrictEqual } from 'node:util';
import { type ChannelRoute, channelsOf, routesOf, storedRoutes, unheardRules } from '../../alerts/track/routes.ts';
import type { Config } from '../../config/types.ts';
import { askLedger } from './check-ledger.ts';
import { type Finding, warn } from './finding.ts';

/** Whether alerts are told by these channels, and what these leave out. */
export function checkRoutes(config: Config): Finding[] {
  const routes = routesOf(channelsOf(config), config.http.publicUrl);
  return [...otherRoutes(config, routes), ...leftOut(config, routes)];
}

/** A daemon goes on with the channels that it has started with, and of several the last to start decides. */
function otherRoutes({ ledger }: Config, routes: readonly ChannelRoute[]): Finding[] {
  const stored = askLedger(ledger.path, storedRoutes, null);
  if (stored === null) return [];
  const [here, there] = [routes, stored.routes].map((some) => new Map(some.map((route) => [route.channel, route])));
  const names = [...new Set([...routes, ...stored.routes].map(({ channel }) => channel))];
  const others = names.filter((name) => !isDeepStrictEqual(here?.get(name), there?.get(name)));
  if (others.length === 0) return [];
  const who = `a ${stored.by} on ${stored.host} at ${stored.since}`;
  return [
    warn(
      'routes',
      `alerts are not told by this configuration, but by what ${who} had of: ${others.join(', ')}`,
      'start the daemon with this configuration, and all other daemons of this ledger: the last to start decides',
    ),
  ];
}

function leftOut({ workspaces }: Config, routes: readonly ChannelRoute[]): Finding[] {
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
