import { Signal } from '../cri/generated/runtime/v1/cri.js';

/** Names that Linux knows under another one, and real-time signals, which have numbers only (as glibc counts). */
const SPECIAL: Readonly<Record<string, NodeJS.Signals | number>> = {
  RUNTIME_DEFAULT: 'SIGTERM',
  SIGCLD: 'SIGCHLD',
  SIGRTMIN: 34,
  SIGRTMAX: 64,
};

/** The signal that asks a container to end; SIGTERM unless its configuration says otherwise. */
export function toStopSignal(signal: Signal): NodeJS.Signals | number {
  const name = Object.keys(Signal).find((key) => Signal[key as keyof typeof Signal] === signal);
  if (name === undefined) return 'SIGTERM';
  const offset = /^(SIGRTMINPLUS|SIGRTMAXMINUS)(\d+)$/.exec(name);
  if (offset !== null) return offset[1] === 'SIGRTMINPLUS' ? 34 + Number(offset[2]) : 64 - Number(offset[2]);
  return SPECIAL[name] ?? (name as NodeJS.Signals);
}
