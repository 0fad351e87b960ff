import { constants } from 'node:os';
import { expect, it } from 'vitest';
import { Signal } from '../cri/generated/runtime/v1/cri.js';
import { toStopSignal } from './stop-signal.js';

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
