import { connect } from 'node:net';
import { type HostFiles, SilentFilesError } from '../facts/host-files.js';

/** A shim that works answers within milliseconds, and not while it waits for a runc that takes seconds. */
const ANSWER_LIMIT_MS = 10_000;
const REQUEST = 1;
const STREAM = 1;

/** Where a shim listens, and the version of its API. */
interface ShimSocket {
  readonly path: string;
  readonly version: number;
}

/** How a shim took a question at its socket: `unknown` where it was not asked. */
export type ShimAnswer = 'answers' | 'silent' | 'gone' | 'unknown';

/** The folder of the bundle that a shim was started in; undefined when this may not be read. */
export async function findBundle(files: HostFiles, pid: number): Promise<string | undefined> {
  return await files.findLink(`/proc/${pid}/cwd`);
}

/**
 * Asks a shim for the state of a container or of its sandbox (`State` of containerd's task API), as containerd does: a
 * question that changes nothing. Whatever it answers, it is alive, and nothing is locked there.
 */
export async function askShim(
  files: HostFiles,
  bundle: string,
  id: string,
): Promise<{ readonly answer: ShimAnswer; readonly forMs: number }> {
  const socket = await findSocket(files, bundle);
  if (socket === undefined) return { answer: 'unknown', forMs: 0 };
  const stop = new AbortController();
  try {
    const path = await files.locate(socket.path);
    await files.within(sendRequest(path, stateRequest(id, socket.version), stop.signal), ANSWER_LIMIT_MS);
    return { answer: 'answers', forMs: 0 };
  } catch (error) {
    if (error instanceof SilentFilesError) return { answer: 'silent', forMs: error.forMs };
    return { answer: 'gone', forMs: 0 };
  } finally {
    stop.abort();
  }
}

async function findSocket(files: HostFiles, bundle: string): Promise<ShimSocket | undefined> {
  const bootstrap = await files.findOnce(`${bundle}/bootstrap.json`);
  const address = bootstrap ?? (await files.findOnce(`${bundle}/address`));
  return address === undefined ? undefined : parseShimSocket(address);
}

/** Reads what a shim says on its start: an address alone, or an object with its version and protocol. */
export function parseShimSocket(text: string): ShimSocket | undefined {
  const trimmed = text.trim();
  let [address, version, protocol] = [trimmed, 2, 'ttrpc'];
  if (trimmed.startsWith('{')) {
    try {
      const fields = JSON.parse(trimmed) as Partial<Record<'address' | 'protocol' | 'version', unknown>>;
      address = String(fields.address);
      protocol = String(fields.protocol);
      version = Number(fields.version);
    } catch {
      return undefined;
    }
  }
  const path = /^unix:\/\/(\/.+)$/.exec(address)?.[1];
  return path === undefined || protocol !== 'ttrpc' ? undefined : { path, version };
}

/** A request in ttrpc: a header of ten bytes, then service, method and message in protobuf. */
export function stateRequest(id: string, version: number): Buffer {
  const field = (number: number, value: Buffer): Buffer =>
    Buffer.concat([Buffer.from([(number << 3) | 2, value.length]), value]);
  const service = `containerd.task.v${version >= 3 ? 3 : 2}.Task`;
  const body = Buffer.concat([
    field(1, Buffer.from(service)),
    field(2, Buffer.from('State')),
    field(3, field(1, Buffer.from(id))),
  ]);
  const header = Buffer.alloc(10);
  header.writeUInt32BE(body.length, 0);
  header.writeUInt32BE(STREAM, 4);
  header.writeUInt8(REQUEST, 8);
  return Buffer.concat([header, body]);
}

/** Resolves with the first bytes of the answer. */
function sendRequest(path: string, request: Buffer, signal: AbortSignal): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path });
    const end = (): void => void socket.destroy();
    signal.addEventListener('abort', end, { once: true });
    socket.once('connect', () => socket.write(request));
    socket.once('data', resolve);
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('the shim hung up')));
  });
}
