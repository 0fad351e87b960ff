import { formatMs, type RuntimeProgress } from '#node';
import { formatPod } from '#kube/pod/pod-ref.js';
import { type CliHost } from '../../cli-host.js';
import { escapeTerminal } from '../../shared/print/terminal-text.js';

const STEPS = {
  connecting: 'Connecting to the runtime',
  listing: 'Listing pods and containers',
  inspecting: 'Asking for the status of pods',
  watching: 'Watching the runtime',
} as const;
const USUAL_COLUMNS = 80;
const CLEAR = '\r\u001B[K';
/** What waits longer than that is worth a word. */
const LONG_MS = 1_000;

/** How far an examination is, in one line. */
export function toProgressLine({ step, asked, pods, underWay }: RuntimeProgress): string {
  const far = asked === undefined || pods === undefined ? '' : ` (${asked} of ${pods})`;
  const [oldest] = underWay.filter(({ forMs }) => forMs >= LONG_MS);
  const waits =
    oldest === undefined
      ? ''
      : `; ${oldest.method}${oldest.pod === undefined ? '' : ` of ${formatPod(oldest.pod)}`} has not been answered for ${formatMs(oldest.forMs)}`;
  return escapeTerminal(`${STEPS[step]}${far}${waits}`);
}

/** The progress of an examination, redrawn on one line of standard error; nothing if that is no terminal. */
export class ProgressLine {
  readonly #host: CliHost;
  readonly #isShown: boolean;
  #last = '';

  constructor(host: CliHost) {
    this.#host = host;
    this.#isShown = host.stderr.isTerminal && host.env['TERM'] !== 'dumb';
  }

  show(progress: RuntimeProgress): void {
    if (!this.#isShown) return;
    const columns = this.#host.terminal?.columns ?? USUAL_COLUMNS;
    // A line that is broken could not be taken away again.
    const line = toProgressLine(progress).slice(0, columns - 1);
    if (line !== this.#last) void this.#host.stderr.write(`${CLEAR}${line}`);
    this.#last = line;
  }

  clear(): void {
    if (this.#last !== '') void this.#host.stderr.write(CLEAR);
    this.#last = '';
  }
}
