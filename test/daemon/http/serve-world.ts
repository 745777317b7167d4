import { onTestFinished } from 'vitest';
import { loadConfig } from '../../../src/config/load.ts';
import type { Clock } from '../../../src/core/clock.ts';
import { createLogger } from '../../../src/core/logger.ts';
import { type HttpServerOptions, startHttp } from '../../../src/daemon/http/server.ts';
import { Context } from '../../../src/wiring/context.ts';
import { MetricEvents } from '../../../src/wiring/metric-events.ts';
import type { World } from '../../commands/world.ts';
import type { LogLine } from '../../support/daemon-process.ts';
import { openInProcessWriter } from '../../support/in-process-writer.ts';
import { clockThat } from '../../support/time/test-clock.ts';
import { MEASURED, PAGES } from './measured.ts';
import { probeOf } from './served.ts';

export const PAGES_TOKEN = 'the-token-of-the-pages-123456';

/** Serves HTTP over the ledger of a world, by the clock of that world, until the test ends. `lines`: what it has logged so far. */
export async function serveWorld(
  world: Pick<World, 'folder' | 'clock'>,
  optionsOf: (context: Context, clock: Clock) => Partial<HttpServerOptions>,
): Promise<{ url: string; context: Context; lines: LogLine[] }> {
  const config = await loadConfig({ file: undefined, env: {}, cwd: world.folder });
  const lines: LogLine[] = [];
  const logger = createLogger({ destination: { write: (line) => void lines.push(JSON.parse(line)) } });
  const clock = clockThat(() => world.clock.nowMs);
  const context = new Context(config, { clock, logger, openWriter: openInProcessWriter });
  const server = await startHttp({
    ...PAGES,
    measured: { ...MEASURED, metricEvents: new MetricEvents() },
    host: '127.0.0.1',
    port: 0,
    token: () => PAGES_TOKEN,
    openMetrics: () => false,
    logger,
    version: '1.2.3',
    probe: probeOf(),
    queues: [],
    ...optionsOf(context, clock),
  });
  onTestFinished(async () => {
    await server.close();
    await context.close();
  });
  return { url: server.url, context, lines };
}
