import { formatMs, type RuntimeProgress } from '../../agent/doctor.js';
import { formatPod } from '../../model/pod-ref.js';
import { escapeTerminal } from '../print/terminal-text.js';

const STEPS = {
  connecting: 'Connecting to the runtime',
  listing: 'Listing pods and containers',
  inspecting: 'Asking for the status of pods',
  watching: 'Watching the runtime',
} as const;
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
