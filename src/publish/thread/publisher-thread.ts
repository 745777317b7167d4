import { parentPort, workerData } from 'node:worker_threads';
import { packError } from '../../core/crossing-errors.ts';
import { Publisher } from '../publisher.ts';
import type { PublisherStart, PublishReply, PublishRequest } from './publisher-messages.ts';

/** Publishes whenever it is asked to, one time after the other. This file is started, never imported. */
function main({ settings, ledgerPath, elsewhere }: PublisherStart): void {
  const publisher = new Publisher(settings, ledgerPath, elsewhere);
  const publish = async ({ id, nowMs }: PublishRequest): Promise<PublishReply> => {
    try {
      return { id, report: await publisher.publish({ nowMs }) };
    } catch (error) {
      return { id, error: packError(error) };
    }
  };
  let last: Promise<unknown> = Promise.resolve();
  parentPort?.on('message', (request: PublishRequest) => {
    last = last.then(async () => parentPort?.postMessage(await publish(request)));
  });
}

main(workerData as PublisherStart);
