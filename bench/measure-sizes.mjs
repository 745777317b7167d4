import { rmSync } from 'node:fs';
import { loadavg } from 'node:os';
import { dirname, join } from 'node:path';
import { floor, startService, sync } from './service.mjs';
import { medians } from './stats.mjs';

/** What happens to a ledger in one round, in this order; the floor is measured before and after the empty ledger. */
export const SITUATIONS = ['empty', 'unchanged', 'changed'];

/**
 * Whole syncs into an empty ledger, of an unchanged listing and of one of which 5 % changed, for every size, beside the
 * floor. Sizes and situations take turns, so that whatever else the machine does meets them all.
 */
export async function measureSizes(bench, say) {
  const { options } = bench;
  const services = [];
  const rounds = new Map(options.sizes.map((records) => [records, []]));
  for (const records of options.sizes) services.push(await startService(bench, { records }));
  for (let round = 0; round < Math.max(options.rounds, options.largeRounds); round += 1) {
    for (const service of services) {
      const { records } = service;
      if (round >= (records >= options.largeFrom ? options.largeRounds : options.rounds)) continue;
      say(`${records} records, round ${round + 1}`);
      rounds.get(records).push(await measureRound(bench, service, round));
    }
  }
  for (const service of services) await service.stop();
  return options.sizes.map((records) => summarize(records, rounds.get(records)));
}

async function measureRound(bench, service, round) {
  const config = service.configure(`sizes-${service.records}`);
  const load = loadavg()[0];
  const floors = [await floor(bench, service)];
  const empty = checked(service, await sync(bench, config), service.records);
  floors.push(await floor(bench, service));
  const unchanged = checked(service, await sync(bench, config), 0);
  const changes = await service.change(round);
  const changed = checked(service, await sync(bench, config), changes);
  rmSync(join(dirname(config), `sizes-${service.records}`), { recursive: true });
  return { load, floors, empty, unchanged, changed };
}

/** A sync that did not do its work would be fast. */
function checked({ records }, result, entries) {
  if (result.records === records && result.entries === entries) return result;
  throw new Error(`a sync of ${records} records gave ${result.records} and ${result.entries} entries, not ${entries}`);
}

function summarize(records, rounds) {
  const floor = medians(rounds.flatMap((round) => round.floors));
  const middle = Object.fromEntries(SITUATIONS.map((name) => [name, medians(rounds.map((round) => round[name]))]));
  const ratios = Object.fromEntries(SITUATIONS.map((name) => [name, middle[name].ms / floor.ms]));
  return { records, medians: { floor, ...middle }, ratios, rounds };
}
