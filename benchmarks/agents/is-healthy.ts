import { setTimeout as sleep } from 'node:timers/promises';
import { withDeadline } from '../with-deadline.js';
import { type HealthAddress, readPage } from './read-page.js';

export { type HealthAddress } from './read-page.js';

const POLL_MS = 5;
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
  return (await readPage(address, '/healthz', signal)) !== undefined;
}

function describe(address: HealthAddress): string {
  return 'socketPath' in address ? address.socketPath : `port ${address.port}`;
}
