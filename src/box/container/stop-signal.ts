import { constants } from 'node:os';
import { Signal } from '#watch/messages';

/** Names that Linux knows under another one, and real-time signals, which have numbers only (as glibc counts). */
const SPECIAL: Readonly<Record<string, NodeJS.Signals | number>> = {
  RUNTIME_DEFAULT: 'SIGTERM',
  SIGCLD: 'SIGCHLD',
  SIGRTMIN: 34,
  SIGRTMAX: 64,
};

/** The highest that Linux has. */
const LAST_SIGNAL = 64;

/** The signal that asks a container to end: the request's, else the image's (a name or a number), else SIGTERM. */
export function toStopSignal(signal: Signal, imageSignal = ''): NodeJS.Signals | number {
  const name = Object.keys(Signal).find((key) => Signal[key as keyof typeof Signal] === signal);
  if (name !== undefined && signal !== Signal.RUNTIME_DEFAULT) return fromName(name);
  const image = imageSignal.toUpperCase().replaceAll('+', 'PLUS').replaceAll('-', 'MINUS');
  if (/^\d+$/.test(image)) {
    const number = Number(image);
    return number >= 1 && number <= LAST_SIGNAL ? number : 'SIGTERM';
  }
  const full = image.startsWith('SIG') ? image : `SIG${image}`;
  return full in Signal || full in SPECIAL ? fromName(full) : 'SIGTERM';
}

function fromName(name: string): NodeJS.Signals | number {
  const offset = /^(SIGRTMINPLUS|SIGRTMAXMINUS)(\d+)$/.exec(name);
  if (offset !== null) return offset[1] === 'SIGRTMINPLUS' ? 34 + Number(offset[2]) : 64 - Number(offset[2]);
  return SPECIAL[name] ?? (name as NodeJS.Signals);
}

/** The message's name for a signal; RUNTIME_DEFAULT for one that has none. */
export function toSignal(signal: NodeJS.Signals | number): Signal {
  const name = typeof signal === 'string' ? signal : nameOfNumber(signal);
  return name in Signal ? Signal[name as keyof typeof Signal] : Signal.RUNTIME_DEFAULT;
}

function nameOfNumber(number: number): string {
  if (number >= 34) {
    if (number === 34 || number === 64) return number === 34 ? 'SIGRTMIN' : 'SIGRTMAX';
    return number <= 49 ? `SIGRTMINPLUS${number - 34}` : `SIGRTMAXMINUS${64 - number}`;
  }
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? '';
}
