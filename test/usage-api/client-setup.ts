import { afterEach } from 'vitest';
import type { UsageApiClient, UsageApiClientOptions } from '../../src/usage-api/client.ts';
import { answer, clientOf, item, page, type Reply, type ServiceDouble, startService } from './service-double.ts';

/** Closed after each test, the latest first. */
export const releasers: (() => Promise<void>)[] = [];

export function releaseAfterEach(): void {
  afterEach(async () => {
    for (const release of releasers.splice(0).reverse()) await release();
  });
}

export interface Setup {
  service: ServiceDouble;
  client: UsageApiClient;
}

export async function setup(replies: Reply[], options: Partial<UsageApiClientOptions> = {}): Promise<Setup> {
  const service = await startService(...replies);
  const client = clientOf(service.url, options);
  releasers.push(
    () => service.close(),
    () => client.close(),
  );
  return { service, client };
}

export const goodPage = answer(200, page([item()]));
export const reset: Reply = (response) => response.socket?.resetAndDestroy();
export const silent: Reply = () => undefined;
/** Promises more than it sends. */
export const truncated: Reply = (response) => {
  response.writeHead(200, { 'content-length': '5000' });
  response.write('{"success":true,', () => response.socket?.destroy());
};
export const abortedChunks: Reply = (response) => {
  response.writeHead(200);
  response.write('{"success":true,', () => response.socket?.destroy());
};
