import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { type HealthAddress } from './is-healthy.js';

const ANSWER_MS = 5_000;

/** What an agent answers there; undefined when nobody answers, or has no such page. */
export async function readPage(
  address: HealthAddress,
  path: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  return await new Promise((resolve) => {
    const asked = request({ ...address, host: '127.0.0.1', path, signal, timeout: ANSWER_MS }, (answer) => {
      if (answer.statusCode === 200) text(answer).then(resolve, () => resolve(undefined));
      else {
        answer.resume();
        resolve(undefined);
      }
    });
    asked.once('timeout', () => asked.destroy());
    asked.once('error', () => resolve(undefined));
    asked.end();
  });
}
