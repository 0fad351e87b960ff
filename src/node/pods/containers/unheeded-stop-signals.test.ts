import { expect, it } from 'vitest';
import {
  somePodActionInputs,
  aBareContainer,
  type BlueprintContainer,
} from '#support/builders/pod-action-inputs.js';
import { UnheededStopSignals } from './unheeded-stop-signals.js';

function look(main: BlueprintContainer, stopSignal?: string): string[] {
  const told: string[] = [];
  const signals = new UnheededStopSignals({
    events: { record: (_, { reason, message }) => told.push(`${reason}: ${message}`) },
  });
  const lifecycle = stopSignal === undefined ? {} : { lifecycle: { stopSignal } };
  const { pod, observed } = somePodActionInputs({
    spec: { containers: [aBareContainer('main', lifecycle)] },
    containers: { main },
  });
  signals.look(pod, observed);
  signals.look(pod, observed);
  return told;
}

it('says once that a container will not be ended by the signal that it asks for', () => {
  expect(look({}, 'SIGUSR2')).toEqual([
    'StopSignalIgnored: The runtime does not know of lifecycle.stopSignal: container main is ended by the signal of its image, or SIGTERM, and not by SIGUSR2',
  ]);
});

it('says nothing where the runtime knows of it, nothing asks for it, or nothing runs', () => {
  expect(look({ stopSignal: 'SIGUSR2' }, 'SIGUSR2')).toEqual([]);
  expect(look({})).toEqual([]);
  expect(look({ state: 'exited' }, 'SIGUSR2')).toEqual([]);
});
