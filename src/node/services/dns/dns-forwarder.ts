import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { connect, isIPv6 } from 'node:net';
import { withinTime } from '#base/async/within-time.js';
import { type Clock } from '#base/time/clock.js';
import { endOfQuestion } from './dns-answer.js';

/** A name server of the node. */
export interface NameServer {
  readonly address: string;
  /** Default: 53. */
  readonly port?: number;
}

/** What {@link forwardQuery} needs. */
export interface ForwardingOptions {
  /** In the order in which they are asked. */
  readonly servers: readonly NameServer[];
  readonly transport: 'udp' | 'tcp';
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** For one server; the next one is asked after that. */
const SERVER_MS = 2_000;
const DNS_PORT = 53;
const MAX_BYTES = 65_535;

/**
 * Asks the node's name servers, one after another, as the client has asked. Resolves with the answer under the
 * client's own number; undefined when none has answered.
 *
 * An answer counts only if it comes from where the question went, with its number and its question.
 */
export async function forwardQuery(query: Buffer, options: ForwardingOptions): Promise<Buffer | undefined> {
  const { servers, transport, clock, signal } = options;
  let last: Buffer | undefined;
  for (const server of servers) {
    const asked = Buffer.from(query);
    // A number that nobody can foresee, from a port that nobody can foresee.
    asked.writeUInt16BE(randomInt(0x1_0000), 0);
    try {
      const answer = await withinTime({ clock, limitMs: SERVER_MS, signal }, async (limit) =>
        transport === 'udp' ? askByUdp(asked, server, limit) : askByTcp(asked, server, limit),
      );
      answer.writeUInt16BE(query.readUInt16BE(0), 0);
      if (!isFailure(answer)) return answer;
      last = answer;
    } catch {
      signal.throwIfAborted();
    }
  }
  return last;
}

async function askByUdp(
  asked: Buffer,
  { address, port = DNS_PORT }: NameServer,
  signal: AbortSignal,
): Promise<Buffer> {
  const socket = createSocket({ type: isIPv6(address) ? 'udp6' : 'udp4', signal });
  try {
    return await new Promise<Buffer>((resolve, reject) => {
      socket.on('error', reject);
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      socket.on('message', (packet) => {
        if (isAnswerTo(asked, packet)) resolve(packet);
      });
      // A connected socket hears that address alone, and that nobody listens there.
      socket.connect(port, address, (error?: Error) => {
        // Node hands a failure to this function, too; a socket without an address cannot send.
        if (error !== undefined) reject(error);
        else socket.send(asked, (failure) => failure !== null && reject(failure));
      });
    });
  } finally {
    if (!signal.aborted) socket.close();
  }
}

async function askByTcp(
  asked: Buffer,
  { address, port = DNS_PORT }: NameServer,
  signal: AbortSignal,
): Promise<Buffer> {
  const socket = connect({ host: address, port });
  try {
    return await new Promise<Buffer>((resolve, reject) => {
      let read = Buffer.alloc(0);
      socket.on('error', reject);
      socket.on('close', () => reject(new Error('it has closed the connection')));
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      socket.on('data', (chunk) => {
        read = Buffer.concat([read, chunk]);
        if (read.length < 2 || read.length < 2 + read.readUInt16BE(0)) {
          if (read.length > MAX_BYTES + 2) reject(new Error('too long'));
          return;
        }
        const packet = read.subarray(2, 2 + read.readUInt16BE(0));
        if (isAnswerTo(asked, packet)) resolve(Buffer.from(packet));
        else reject(new Error('it has answered another question'));
      });
      socket.write(Buffer.concat([toLength(asked.length), asked]));
    });
  } finally {
    socket.destroy();
  }
}

/** The two bytes before a packet in a stream. */
export function toLength(bytes: number): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes, 0);
  return length;
}

function isAnswerTo(asked: Buffer, packet: Buffer): boolean {
  if (packet.length < 12 || (packet[2]! & 0x80) === 0 || packet.readUInt16BE(0) !== asked.readUInt16BE(0)) {
    return false;
  }
  const [end, otherEnd] = [endOfQuestion(asked), endOfQuestion(packet)];
  // Some servers answer failures without the question.
  if (otherEnd === undefined) return isFailure(packet);
  const textOf = (buffer: Buffer, to: number): string => buffer.toString('latin1', 12, to).toLowerCase();
  return end !== undefined && textOf(asked, end) === textOf(packet, otherEnd);
}

/** SERVFAIL, NOTIMP or REFUSED: another server may know more. */
function isFailure(packet: Buffer): boolean {
  return [2, 4, 5].includes(packet[3]! & 0x0f);
}
