import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** Whom to ask: a socket, or a port of this machine. */
export type HealthAddress = { readonly socketPath: string } | { readonly port: number };

const POLL_MS = 5;
const ANSWER_MS = 5_000;

/** Until the agent there says at /healthz that it is well. */
export async function waitUntilHealthy(address: HealthAddress, signal: AbortSignal): Promise<void> {
  while (!(await isHealthy(address, signal))) await sleep(POLL_MS, undefined, { signal });
}

/** Whether it says so now; false when nobody answers. */
export async function isHealthy(address: HealthAddress, signal: AbortSignal): Promise<boolean> {
  return await new Promise((resolve) => {
    const options = { ...address, host: '127.0.0.1', path: '/healthz', signal, timeout: ANSWER_MS };
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
