import { constants } from 'node:os';
import { expect, it } from 'vitest';
import { Signal } from '../../watch/cri/generated/runtime/v1/cri.js';
import { toSignal, toStopSignal } from './stop-signal.js';

it('knows every signal of CRI by a name or number that this machine has', () => {
  const numbers = Object.values(Signal).map((signal) => {
    const found = toStopSignal(signal);
    return typeof found === 'number' ? found : constants.signals[found];
  });
  expect(numbers).toHaveLength(66);
  expect(numbers.every((number) => Number.isInteger(number) && number > 0 && number <= 64)).toBe(true);
});

it('asks politely unless told otherwise, and by unknown numbers too', () => {
  expect(toStopSignal(Signal.RUNTIME_DEFAULT)).toBe('SIGTERM');
  expect(toStopSignal(999 as Signal)).toBe('SIGTERM');
  expect(toStopSignal(Signal.SIGQUIT)).toBe('SIGQUIT');
  expect(toStopSignal(Signal.SIGRTMINPLUS3)).toBe(37);
  expect(toStopSignal(Signal.SIGRTMAXMINUS14)).toBe(50);
});

it('takes the image’s signal, in any spelling, when the request has none', () => {
  const ofImage = (text: string) => toStopSignal(Signal.RUNTIME_DEFAULT, text);
  expect(['SIGQUIT', 'quit', '3', 'SIGRTMIN+3', 'RTMAX-14', '', 'NONSENSE'].map(ofImage)).toEqual([
    ...['SIGQUIT', 'SIGQUIT', 3, 37, 50],
    ...['SIGTERM', 'SIGTERM'],
  ]);
  expect(toStopSignal(Signal.SIGINT, 'SIGQUIT')).toBe('SIGINT');
});

it('asks politely when the image’s number is of no signal', () => {
  for (const text of ['99', '65', '0', '00', '-3', '999', '9'.repeat(400), 'SIGRTMIN+99'])
    expect(toStopSignal(Signal.RUNTIME_DEFAULT, text)).toBe('SIGTERM');
  expect(toStopSignal(Signal.RUNTIME_DEFAULT, '64')).toBe(64);
});

it('gives every signal its name in CRI back', () => {
  for (const signal of Object.values(Signal)) {
    if (signal === Signal.RUNTIME_DEFAULT) continue;
    expect(toStopSignal(toSignal(toStopSignal(signal)))).toBe(toStopSignal(signal));
  }
});
