import { request } from 'node:http';
import { text } from 'node:stream/consumers';

/** Whom to ask: a socket, or a port of this machine. */
export type HealthAddress = { readonly socketPath: string } | { readonly port: number };

const ANSWER_MS = 5_000;

/** What an agent answers there; undefined when nobody answers, or has no such page. */
export async function readPage(
  address: HealthAddress,
  path: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  return await new Promise((resolve) => {
    // Named one by one: an address may be an object whose socket is a getter, which a spread leaves out.
    const peer =
      'socketPath' in address
        ? { socketPath: address.socketPath }
        : { host: '127.0.0.1', port: address.port };
    const asked = request({ ...peer, path, signal, timeout: ANSWER_MS }, (answer) => {
      if (answer.statusCode === 200) text(answer).then(resolve, () => resolve(undefined));
      else {
        answer.resume();
        resolve(undefined);
      }
    });
    asked.once('timeout', () => asked.destroy());
    // Nobody listens yet, or nobody answers.
    asked.once('error', () => resolve(undefined));
    asked.end();
  });
}
