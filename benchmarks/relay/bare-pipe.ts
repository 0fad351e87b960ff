import { connect, createServer, type Server } from 'node:net';

/**
 * The least that a process in between can do: each connection is piped to one of its own, both ways, unseen. What the
 * relay of frames is held against.
 */
export async function serveBarePipe(upstreamPath: string, listenPath: string): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ path: upstreamPath, allowHalfOpen: true });
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroySoon());
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(listenPath, resolve);
  });
  return server;
}
