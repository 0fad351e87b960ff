import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { withDeadline } from '../with-deadline.js';

/** Whom to ask: a socket, or a port of this machine. */
export type HealthAddress = { readonly socketPath: string } | { readonly port: number };

const POLL_MS = 5;
const ANSWER_MS = 5_000;
/** An agent that is not well by then never will be. */
const HEALTHY_MS = 120_000;

/** Until the agent there says at /healthz that it is well; throws when it does not within two minutes. */
export async function waitUntilHealthy(address: HealthAddress, signal: AbortSignal): Promise<void> {
  await withDeadline(`until ${describe(address)} is healthy`, HEALTHY_MS, signal, async (within) => {
    while (!(await isHealthy(address, within))) await sleep(POLL_MS, undefined, { signal: within });
  });
}

/** Whether it says so now; false when nobody answers. */
export async function isHealthy(address: HealthAddress, signal: AbortSignal): Promise<boolean> {
  return await new Promise((resolve) => {
    // Named one by one: an address may be an object whose socket is a getter, which a spread leaves out.
    const peer =
      'socketPath' in address
        ? { socketPath: address.socketPath }
        : { host: '127.0.0.1', port: address.port };
    const options = { ...peer, path: '/healthz', signal, timeout: ANSWER_MS };
    const asked = request(options, (answer) => {
      answer.resume();
      answer.once('close', () => resolve(answer.statusCode === 200));
    });
    asked.once('timeout', () => asked.destroy());
    // Nobody listens yet, or nobody answers.
    asked.once('error', () => resolve(false));
    asked.end();
  });
}

function describe(address: HealthAddress): string {
  return 'socketPath' in address ? address.socketPath : `port ${address.port}`;
}
