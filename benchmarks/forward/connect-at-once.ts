import { connect, type Socket } from 'node:net';

const WORDS = 'one line there and back\n';

/** Where something listens that sends back what it gets. */
export interface EchoPlace {
  readonly host: string;
  readonly port: number;
}

/** Opens so many connections at once, each for one line there and back; resolves to the milliseconds that all of them took. */
export async function connectAtOnce(
  place: EchoPlace,
  connections: number,
  signal: AbortSignal,
): Promise<number> {
  signal.throwIfAborted();
  const beganMs = performance.now();
  const sockets = Array.from({ length: connections }, () => connect(place));
  const onAbort = (): void => {
    for (const socket of sockets) socket.destroy(signal.reason as Error);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.all(sockets.map(askOnce));
  } finally {
    signal.removeEventListener('abort', onAbort);
    for (const socket of sockets) socket.destroy();
  }
  return performance.now() - beganMs;
}

/** Rejects when the line does not come back as it was sent. */
function askOnce(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    let received = '';
    socket.setEncoding('latin1');
    socket.on('data', (chunk) => {
      received += String(chunk);
      if (received.length < WORDS.length) return;
      socket.destroy();
      if (received === WORDS) resolve();
      else reject(new Error(`${JSON.stringify(received)} came back`));
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the connection was closed before an answer')));
    socket.write(WORDS);
  });
}
