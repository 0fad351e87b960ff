import { once } from 'node:events';
import { createServer } from 'node:net';

const [FIRST, LAST] = [20_000, 32_000];

/**
 * A port of 127.0.0.1 that nobody listens at, below those that the kernel gives to connections: so that no connection of a
 * test that runs beside this one takes it meanwhile.
 */
export async function quietPort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    const server = createServer();
    const isFree = await Promise.race([
      once(server.listen(port, '127.0.0.1'), 'listening').then(() => true),
      once(server, 'error').then(() => false),
    ]).catch(() => false);
    if (!isFree) continue;
    await new Promise<void>((resolve) => void server.close(() => resolve()));
    return port;
  }
}
