import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 5;

/** Until the agent behind a socket says at /healthz that it is well. */
export async function waitUntilHealthy(socketPath: string, signal: AbortSignal): Promise<void> {
  while (!(await isHealthy(socketPath, signal))) await sleep(POLL_MS, undefined, { signal });
}

async function isHealthy(socketPath: string, signal: AbortSignal): Promise<boolean> {
  return await new Promise((resolve) => {
    request({ socketPath, path: '/healthz', signal }, (answer) => {
      answer.resume();
      answer.once('close', () => resolve(answer.statusCode === 200));
    })
      // Nobody listens yet.
      .once('error', () => resolve(false))
      .end();
  });
}
