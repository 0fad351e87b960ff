import { abortable } from '#base/async/abortable.js';
import { messageOf } from '#base/errors/errors.js';
import { type CliHost } from '../../cli-host.js';
import { type Terminal } from '../../terminal.js';
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
  const quit = (): void => quitting.abort();
  using shown = new TopScreen({ terminal, host, title: source.title, report, view, withColor, quit });
  while (await sleptWell(clock.sleep(intervalMs, ended))) {
    // Nobody who quits waits for an agent that does not answer.
    const reading = source.read(ended).then(
      (newest) => shown.take(newest),
      (error: unknown) => shown.fail(messageOf(error)),
    );
    await abortable(reading, ended).catch(() => undefined);
  }
}

async function sleptWell(sleep: Promise<void>): Promise<boolean> {
  return await sleep.then(
    () => true,
    () => false,
  );
}
