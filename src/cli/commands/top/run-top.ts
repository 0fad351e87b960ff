import { type Readable } from 'node:stream';
import { abortable } from '#base/async/abortable.js';
import { messageOf } from '#base/errors/errors.js';
import { type CliHost } from '../../cli-host.js';
import { isTerminalInput, makeRaw } from '../../shared/streaming/raw-terminal.js';
import { type Terminal } from '../../terminal.js';
import { decodeKeys } from './keys.js';
import { type ReportSource } from './report-source.js';
import { TopScreen } from './top-screen.js';
import { type TopView } from './top-view.js';

/** What {@link runTop} needs. */
export interface RunTopOptions {
  readonly host: CliHost;
  readonly terminal: Terminal;
  readonly source: ReportSource;
  readonly intervalMs: number;
  readonly view: TopView;
  /** Aborts when it is to end. */
  readonly signal: AbortSignal;
}

/** Shows reports on the terminal until the signal aborts or somebody quits. Rejects when there is not even a first one. */
export async function runTop({
  host,
  terminal,
  source,
  intervalMs,
  view,
  signal,
}: RunTopOptions): Promise<void> {
  const { clock, env } = host;
  const report = await source.read(signal);
  const quitting = new AbortController();
  const ended = AbortSignal.any([signal, quitting.signal]);
  const withColor = (env['NO_COLOR'] ?? '') === '';
  let screen: TopScreen | undefined;
  // Before there is a screen: a Ctrl-Z that comes just then is to find somebody who gives the terminal back.
  const takeKeyboard = (): Disposable => readKeys(host.stdin, onKeys, () => quitting.abort());
  let keyboard = takeKeyboard();
  const suspension = host.handleSuspension?.({
    leave: () => {
      keyboard[Symbol.dispose]();
      screen?.suspend();
    },
    enter: () => {
      keyboard = takeKeyboard();
      screen?.resume();
    },
  });
  function onKeys(text: string): void {
    for (const key of decodeKeys(text)) {
      const action = screen?.press(key);
      if (action === 'quit') quitting.abort();
      if (action === 'suspend') suspension?.suspend();
    }
  }
  try {
    const shown = new TopScreen({ terminal, clock, title: source.title, report, view, withColor });
    screen = shown;
    while (await sleptWell(clock.sleep(intervalMs, ended))) {
      // Nobody who quits waits for an agent that does not answer.
      const reading = source.read(ended).then(
        (newest) => shown.take(newest),
        (error: unknown) => shown.fail(messageOf(error)),
      );
      await abortable(reading, ended).catch(() => undefined);
    }
  } finally {
    suspension?.[Symbol.dispose]();
    keyboard[Symbol.dispose]();
    screen?.[Symbol.dispose]();
  }
}

async function sleptWell(sleep: Promise<void>): Promise<boolean> {
  return await sleep.then(
    () => true,
    () => false,
  );
}

/** Hands on what is typed, key by key; nothing where nobody types. */
function readKeys(stdin: Readable, onKeys: (text: string) => void, onEnd: () => void): Disposable {
  if (!isTerminalInput(stdin)) return { [Symbol.dispose]: () => undefined };
  const restore = makeRaw(stdin);
  const onData = (chunk: Buffer): void => onKeys(chunk.toString('utf8'));
  stdin.on('data', onData);
  stdin.once('end', onEnd);
  stdin.once('error', onEnd);
  stdin.resume();
  return {
    [Symbol.dispose]: () => {
      stdin.off('data', onData);
      stdin.off('end', onEnd);
      stdin.off('error', onEnd);
      stdin.pause();
      restore();
    },
  };
}
