import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { commandFile } from './build.mjs';
import { FIRST_MONTH, startService, sync } from './service.mjs';
import { medians } from './stats.mjs';

const CARD = `rates:
  - name: flat
    from_period: ${FIRST_MONTH}
    currency: EUR
    price_per_credit: "0.0125"
`;

/** First syncs in turn, without a rate card and with a flat one in force, which charges each record. */
export async function measureCard(bench, say) {
  const { cardRecords: records, cardRounds, root } = bench.options;
  const service = await startService(bench, { records });
  const plain = service.configure('plain');
  const priced = service.configure('priced', { more: CARD });
  const folder = dirname(plain);
  const rounds = [];
  for (let round = 0; round < cardRounds; round += 1) {
    say(`${records} records without and with a flat card, round ${round + 1}`);
    const { ms: plainMs } = await sync(bench, plain);
    await bench.children.run(process.execPath, [commandFile(root), 'rates', 'apply', '--yes', '--config', priced]);
    const { ms: pricedMs, rssMb } = await sync(bench, priced);
    rounds.push({ plainMs, pricedMs, rssMb });
    for (const name of ['plain', 'priced']) rmSync(join(folder, name), { recursive: true });
  }
  await service.stop();
  const { plainMs, pricedMs, rssMb } = medians(rounds);
  return { records, plainMs, pricedMs, rssMb, overPlain: pricedMs / plainMs, rounds };
}
