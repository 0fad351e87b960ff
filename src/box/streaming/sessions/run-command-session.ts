import { type Readable, type Writable } from 'node:stream';
import { abortable } from '#base/async/abortable.js';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { type ContainerConsole, type ContainerProcess } from '../../isolation/container-process.js';
import { type CommandPeer } from './command-peer.js';

/** How long something that an ended command left running may hold its output open without a word. */
const LAST_OUTPUT_MS = 500;

/**
 * Joins a command with its client until the command has ended and the client has all of its output.
 *
 * A client that leaves ends the command: there is nobody left to hear it.
 */
export async function runExec(
  peer: CommandPeer,
  open: () => Promise<ContainerProcess>,
  clock: Clock,
): Promise<void> {
  let process: ContainerProcess;
  try {
    process = await open();
  } catch (error) {
    await peer.finish({ kind: 'failed', message: messageOf(error) });
    return;
  }
  const kill = (): void => process.kill();
  peer.gone.addEventListener('abort', kill, { once: true });
  if (peer.gone.aborted) kill();
  peer.onResize(({ columns, rows }) => void process.resize?.(columns, rows));
  feed(peer.stdin, process.stdin);
  const outputs = [carry(process.stdout, peer.stdout), carry(process.stderr, peer.stderr)];
  const code = await process.exit;
  await waitForOutput(outputs, clock);
  peer.gone.removeEventListener('abort', kill);
  await peer.finish({ kind: 'exited', code });
}

/** Joins a client with a container that runs, until one of them ends. A client that leaves only lets go of it. */
export async function runAttach(
  peer: CommandPeer,
  open: () => Promise<ContainerConsole>,
  clock: Clock,
): Promise<void> {
  let attached: ContainerConsole;
  try {
    attached = await open();
  } catch (error) {
    await peer.finish({ kind: 'failed', message: messageOf(error) });
    return;
  }
  peer.onResize(({ columns, rows }) => void attached.resize?.(columns, rows));
  feed(peer.stdin, attached.stdin);
  const outputs = [carry(attached.stdout, peer.stdout), carry(attached.stderr, peer.stderr)];
  try {
    await abortable(
      attached.ended.then(() => waitForOutput(outputs, clock)),
      peer.gone,
    );
    await peer.finish({ kind: 'exited', code: 0 });
  } catch (error) {
    await peer.finish({ kind: 'failed', message: messageOf(error) });
  } finally {
    attached.close();
  }
}

/** Passes a client's input on. What nobody wants any more is read and dropped, or it would stop its connection. */
function feed(source: Readable | undefined, sink: Writable | undefined): void {
  source?.on('error', () => undefined);
  if (sink === undefined) {
    source?.resume();
    return;
  }
  const drop = (): void => {
    source?.unpipe(sink);
    source?.resume();
  };
  sink.on('error', drop);
  sink.once('close', drop);
  if (source === undefined) sink.end();
  else source.pipe(sink);
}

/** An output on its way to the client. */
interface Output {
  readonly ended: boolean;
  readonly end: Promise<void>;
  /** So many bytes have come through. */
  readonly bytes: number;
  /** The slow side is the client. */
  readonly congested: boolean;
  cut(): void;
}

function carry(source: Readable | undefined, sink: Writable | undefined): Output {
  let ended = source === undefined;
  let bytes = 0;
  const end = new Promise<void>((resolve) => {
    const settle = (): void => {
      ended = true;
      resolve();
    };
    if (source === undefined) settle();
    source?.once('end', settle);
    source?.once('close', settle);
    source?.on('error', settle);
  });
  source?.on('data', (chunk: Buffer) => (bytes += chunk.length));
  if (sink === undefined) {
    source?.resume();
  } else {
    const drop = (): void => {
      source?.unpipe(sink);
      source?.resume();
    };
    sink.on('error', drop);
    sink.once('close', drop);
    source?.pipe(sink, { end: false });
  }
  return {
    get ended() {
      return ended;
    },
    get bytes() {
      return bytes;
    },
    get congested() {
      return sink !== undefined && sink.writableNeedDrain && !sink.destroyed;
    },
    end,
    cut: () => source?.destroy(),
  };
}

/** Waits for the end of all outputs, but not for one that a silent process keeps open. */
async function waitForOutput(outputs: readonly Output[], clock: Clock): Promise<void> {
  const over = new AbortController();
  const end = Promise.all(outputs.map((output) => output.end)).then(() => over.abort());
  while (!over.signal.aborted) {
    const before = outputs.map(({ bytes }) => bytes);
    await Promise.race([end, clock.sleep(LAST_OUTPUT_MS, over.signal).catch(() => undefined)]);
    const open = outputs.filter(({ ended }) => !ended);
    const alive = outputs.some(({ bytes, congested }, at) => bytes !== before[at] || congested);
    if (open.length === 0) return;
    if (!alive) {
      for (const output of open) output.cut();
      return;
    }
  }
}
