import { type OutletWorld, outletWorld } from './outlet-world.ts';
import { WebhookReceiver } from './webhook-receiver.ts';

export const DAY = 24 * 3_600_000;

/** A world whose receiver can be asked, and remembers ids for a day. */
export async function askedWorld(path?: string, double?: WebhookReceiver): Promise<OutletWorld> {
  const own = double ?? (await new WebhookReceiver().start());
  own.remembersMs = DAY;
  const asked = (period: string): Map<string, string> => {
    const found = Object.entries(own.sums()).filter(([key]) => key.endsWith(` ${period}`));
    return new Map(found.map(([key, sum]) => [key.slice(0, -8), `${sum}.0`]));
  };
  const world = await outletWorld({
    double: own,
    asked,
    settings: { remembers_hours: 24 },
    ...(path === undefined ? {} : { path }),
  });
  return world;
}
