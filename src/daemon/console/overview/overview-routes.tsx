import type { FastifyInstance } from 'fastify';
import type { ConsolePages } from '../console-pages.ts';
import { sendPage } from '../shell/render-page.ts';
import { OverviewPage } from './overview-page.tsx';
import { readOverview } from './read-overview.ts';

export function addOverview(app: FastifyInstance, { visitOf, scopeOf, probe, measured }: ConsolePages): void {
  app.get('/', async (request, reply) => {
    const overview = await readOverview(scopeOf(request), { probe, measured });
    return sendPage(reply, <OverviewPage visit={visitOf(request)} overview={overview} />);
  });
}
