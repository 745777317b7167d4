import { Publisher } from '../../../../src/publish/publisher.ts';
import type { ContextOverrides } from '../../../../src/wiring/context.ts';
import type { SimulatedProcess } from '../process.ts';
import type { SimulatedPostgres, WireClient } from './server.ts';
import type { Wire } from './wire.ts';

/** How one process reaches the replica. */
export function replicaFor(server: SimulatedPostgres, process: SimulatedProcess): ContextOverrides {
  const client: WireClient = {
    isAlive: () => process.alive,
    isAwake: () => !process.frozen,
    deliver: (call) => process.hear(call),
    onQuestion: () => process.onStep('publication'),
  };
  const { clock } = process;
  return {
    replicaWay: { clock, stream: () => server.wireFor(client) },
    // In place of a thread, which ends with all that it has open.
    openPublisher({ settings, ledgerPath, elsewhere }) {
      const wires = new Set<Wire>();
      const stream = (): Wire => {
        const wire = server.wireFor(client);
        wires.add(wire);
        return wire.once('close', () => wires.delete(wire));
      };
      const publisher = new Publisher(settings, ledgerPath, elsewhere, { clock, stream });
      return {
        publish: (nowMs) => publisher.publish({ nowMs }),
        async close() {
          for (const wire of wires) wire.destroy();
          await publisher.close();
        },
      };
    },
  };
}
