import { expect, it } from 'vitest';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { podOf } from '#support/harness/pleg-harness.js';
import { logTransitions } from './log-transitions.js';

it('logs what became of each container, in the kubelet’s words, and nothing of those that did not change', () => {
  const logger = new LogRecorder();
  const before = podOf('p', { made: 'created', gone: 'exited', dead: 'running', same: 'running' });
  const now = podOf('p', { made: 'running', dead: 'exited', same: 'running', odd: 'unknown' });
  logTransitions(logger, 'p', before, now);
  logTransitions(logger, 'p', now, now);
  const lines = logger.lines.map(({ message, fields }) => {
    const { podUID, containerID, oldState, newState } = fields as Record<string, string>;
    return `${message} ${podUID} ${containerID}: ${oldState} -> ${newState}`;
  });
  expect(lines.sort()).toEqual([
    'GenericPLEG p dead: running -> exited',
    'GenericPLEG p gone: exited -> non-existent',
    'GenericPLEG p made: unknown -> running',
    'GenericPLEG p odd: non-existent -> unknown',
  ]);
});
