import { Agent, buildConnector } from 'undici';
import { guardedLookup, type OutboundPolicy, refusedLiteral } from './guarded-connect.ts';

/** An HTTP agent that connects by the policy. */
export function guardedAgent(policy: OutboundPolicy, timeoutMs: number): Agent {
  const connector = buildConnector({ lookup: guardedLookup(policy), timeout: timeoutMs });
  return new Agent({
    connect: (options, callback) => {
      // The socket layer asks no resolver about an address, so this is judged here.
      const fault = refusedLiteral(options.hostname, policy);
      if (fault === null) connector(options, callback);
      else callback(fault, null);
    },
  });
}
